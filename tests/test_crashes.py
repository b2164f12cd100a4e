"""Processes that die in the middle: nothing that was reported done is lost, and the rest is done by the next."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crash_worker import LoggedEmbeddings
from silmari.knowledge_base import KnowledgeBase

pytestmark = pytest.mark.slow

ROUNDS = 20
WORDS = (
    "연차 휴가 계약 예산 지점 회의 보고 직원 규정 bridge contract annual report budget leave branch meeting staff"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all lengths, one of records that take several transactions, and one that is damaged."""
    made = tmp_path_factory.mktemp("files")
    source = random.Random(7)

    def sentence() -> str:
        return " ".join(source.choices(WORDS, k=9)) + "."

    def triplets(number: int) -> str:
        return f'[["회사{number}", "makes", "물건 {number % 40}"]]' if number % 3 == 0 else "[]"

    for number in range(8):
        (made / f"글{number}.txt").write_text("\n\n".join(sentence() for _ in range(60 * (number + 1))), "utf-8")
    rows = "\n".join(f"{number},{sentence()},2024-01-{number % 28 + 1:02}" for number in range(400))
    (made / "표.csv").write_text(f"번호,내용,날짜\n{rows}\n", "utf-8")
    records = "\n".join(
        f'{{"id": "{number}", "text": "{sentence()}", "triplets": {triplets(number)}}}' for number in range(1_200)
    )
    (made / "records.jsonl").write_text(records, "utf-8")
    (made / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    return made


def start(
    kb: Path, folder: Path, log: Path, cache: Path, catalog: str = "sqlite", *gate: Path
) -> subprocess.Popen[str]:
    own = {"SILMARI_CACHE": str(cache), "SILMARI_CATALOG": catalog}
    environment = {**os.environ, **own, "PYTHONPATH": os.pathsep.join(sys.path)}
    # Imported, so that its embedder has the same name here and there.
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import crash_worker; crash_worker.main()",
            str(kb),
            str(folder),
            str(log),
            *map(str, gate),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def contents(kb: Path, cache: Path, catalog: str = "sqlite") -> dict[str, object]:
    """All that a user could tell two bases apart by."""
    embedder = LoggedEmbeddings(os.devnull)
    with KnowledgeBase.open(kb, embedder=embedder, create=False, cache=cache, catalog=catalog) as base:
        assert base.catalog.check() is None
        state = base.status()
        documents = base.documents()
        passages = {entry.uri: base.catalog.passages_of(entry.id) for entry in documents}
        vectors = base.catalog.vectors([one.id for group in passages.values() for one in group])
        found = {
            (way, question): [(hit.source.uri, hit.passage.text) for hit in base.search(question, way=way, k=20)]
            for way in ("dense", "cascade")
            for question in ("연차 휴가 규정", "annual budget report")
        }
        return {
            "failed": state.failed,
            "pending": state.pending,
            "relations": sorted(
                (relation.text, uri)
                for uri, group in passages.items()
                for stated in base.relations(one.id for one in group).values()
                for relation in stated
            ),
            "entities": state.entities,
            "engine": state.engine_counts,
            "lag": state.lag,
            "passages": {
                uri: [(one.text, one.context, one.locator, vectors[one.id].tobytes()) for one in group]
                for uri, group in passages.items()
            },
            "found": {key: sorted(value) for key, value in found.items()},
        }


def reported_files_are_there(kb: Path, lines: list[str], folder: Path) -> None:
    """What the killed process said of its files must hold in what it left behind."""
    done = max((int(line.split()[1]) for line in lines if line.startswith("read ")), default=0)
    if not any(line.startswith("open") for line in lines):
        return
    with KnowledgeBase.open(kb, embedder="none", create=False) as base:
        known = set(base.catalog.file_paths())
        first = sorted(str(path) for path in folder.iterdir())[:done]
        assert set(first) <= known
        found = {hit.source.uri.partition("#")[0] for hit in base.search("연차 휴가", way="sparse", k=50)}
        assert found or not set(first) - {str(folder / "broken.pdf")}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_killed_at_any_moment(folder: Path, tmp_path: Path, sent: signal.Signals) -> None:
    begun = time.monotonic()
    calm = start(tmp_path / "calm", folder, tmp_path / "calm.log", tmp_path / "calm-cache")
    output, errors = calm.communicate()
    assert calm.returncode == 0, errors
    took = time.monotonic() - begun
    expected = contents(tmp_path / "calm", tmp_path / "calm-cache")
    assert expected["pending"] == {"vectors": 0, "relations": 0} and expected["lag"] == 0
    assert expected["entities"] == 440
    texts = (tmp_path / "calm.log").read_text("ascii").split()
    assert len(texts) == len(set(texts))

    moments = random.Random(int(sent))
    for turn in range(ROUNDS if sent is signal.SIGKILL else ROUNDS // 3):
        kb, log, cache = (tmp_path / f"{name}{turn}" for name in ("kb", "log", "cache"))
        kills = 0
        for _ in range(moments.randint(1, 3)):
            process = start(kb, folder, log, cache)
            try:
                output, errors = process.communicate(timeout=moments.uniform(0.1, took))
            except subprocess.TimeoutExpired:
                process.send_signal(sent)
                output, errors = process.communicate()
                kills += 1
                if (kb / "silmari.sqlite").exists():
                    reported_files_are_there(kb, output.splitlines(), folder)
        process = start(kb, folder, log, cache)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        assert contents(kb, cache) == expected
        # What was in the model's hands at the moment of death may come again; nothing else.
        embedded = log.read_text("ascii").split()
        assert set(embedded) == set(texts)
        assert len(embedded) <= len(texts) + 64 * kills
