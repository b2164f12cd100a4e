"""Whole knowledge bases whose catalog is in PostgreSQL: the main job, several processes, servers that go."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from crash_worker import LoggedEmbeddings
from model_fixtures import service
from silmari.diagnosis import diagnose
from silmari.errors import KnowledgeBaseError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import WAYS
from silmari.settings import Settings
from standin import StandIn
from test_crashes import ROUNDS, contents, folder, start
from word_embeddings import WordEmbeddings

__all__ = ["folder", "service"]

LEAVE = "연차휴가는 해마다 15일이다. 3년 이상 일하면 하루가 더해진다."
BRIDGE = "The Seolbong bridge was finished in 1932. It is 214 metres long."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "휴가.txt").write_text(LEAVE, "utf-8")
    (made / "bridge.md").write_text(f"# The bridge\n\n{BRIDGE}\n", "utf-8")
    (made / "parks.csv").write_bytes("이름,주소\n구랑공원,부산 강서구\n달맞이공원,부산 해운대구\n".encode("cp949"))
    (made / "facts.jsonl").write_text(
        '{"id": "1", "text": "오일러는 베르누이에게 배웠다.", "triplets": [["오일러", "스승", "요한 베르누이"]]}\n',
        "utf-8",
    )
    return made


@pytest.fixture
def server() -> Iterator[postgres_server.Server]:
    """A server that a test may stop: one of its own."""
    own = postgres_server.Server()
    yield own
    own.end()


def opened(kb: Path, catalog: str, **options: Any) -> KnowledgeBase:
    return KnowledgeBase.open(kb, embedder=WordEmbeddings(), catalog=catalog, **options)


def found(base: KnowledgeBase) -> dict[tuple[str, str], list[tuple[str, float | None]]]:
    return {
        (way, question): [(hit.passage.text, hit.similarity) for hit in base.search(question, way=way)]
        for way in WAYS
        for question in ("연차휴가는 며칠인가요?", "When was the bridge finished?", "오일러의 스승은?")
    }


def test_the_main_job_is_the_same_as_on_sqlite(postgres: str, docs: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "kb", postgres) as base, opened(tmp_path / "reference", "sqlite") as reference:
        for one in (base, reference):
            report = one.add(docs)
            assert [file.status for file in report.files] == ["added"] * 4
            assert (report.pending, report.problem) == ({"vectors": 0, "relations": 0}, None)
        assert found(base) == found(reference)
        assert base.ask("연차휴가는 며칠인가요?").text == reference.ask("연차휴가는 며칠인가요?").text
        answer = base.ask("When was the Seolbong bridge finished?")
        assert "1932" in answer.text and Path(answer.sources[0].source.uri).name == "bridge.md"
        assert "찾지 못했습니다" in base.ask("화성 탐사선의 연료는 무엇인가요?", way="sparse").text
        assert [one.text for held in base.relations(range(9)).values() for one in held] == ["오일러 스승 요한 베르누이"]
        assert not (tmp_path / "kb" / "silmari.sqlite").exists()
        (docs / "휴가.txt").unlink()
        (docs / "새.txt").write_text("새 규정: 재택근무는 주 2일이다.", "utf-8")
        for one in (base, reference):
            report = one.sync(docs)
            assert len(report.removed) == 1 and Counter(report.counts) == {"added": 1, "unchanged": 3}
            assert one.remove(docs / "parks.csv") == [str(docs / "parks.csv")]
            assert {Path(entry.uri).name for entry in one.documents()} == {"bridge.md", "새.txt", "facts.jsonl#1"}
        assert found(base) == found(reference)
        state, other = base.status(), reference.status()
        assert (state.catalog, state.documents, state.lag) == (postgres, 3, 0)
        assert state.engine_counts == other.engine_counts
        base.reindex()
        assert found(base) == found(reference)
    with opened(tmp_path / "kb", postgres, create=False) as again:
        assert again.status().lag == 0


def test_two_machines_see_one_base(postgres: str, docs: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "here", postgres) as here, opened(tmp_path / "there", postgres) as there:
        here.add(docs / "휴가.txt")
        assert there.search("연차휴가는 며칠인가요?")[0].passage.content == LEAVE
        there.add(docs / "bridge.md")
        assert found(here) == found(there)
        here.remove(docs / "휴가.txt")
        assert [hit.passage.content for hit in there.search("연차휴가 bridge", way="sparse")] != []
        assert {Path(entry.uri).name for entry in there.documents()} == {"bridge.md"}
        assert found(here) == found(there)


def test_a_base_is_found_again_by_its_url_alone(postgres: str, docs: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "kb", postgres) as base:
        base.add(docs)
        expected = found(base)
    with opened(tmp_path / "elsewhere" / "kb", postgres, create=False) as base:
        assert found(base) == expected
    # The folder of a base is passed over when it lies in a folder that is added.
    with opened(tmp_path / "other", "sqlite") as base:
        names = {Path(file.uri).name for file in base.add(tmp_path / "elsewhere").files}
        assert names == set()


def silmari(catalog: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "silmari", *map(str, arguments)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SILMARI_CATALOG": catalog,
            "SILMARI_EMBEDDER": "none",
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
    )


def test_the_commands(postgres: str, docs: Path, tmp_path: Path) -> None:
    kb, secret = tmp_path / "kb", postgres.replace("postgres@", "postgres:geheim@")
    none = silmari(secret, "status", "--kb", kb)
    assert none.returncode == 2 and none.stdout == ""
    assert len(none.stderr.strip().splitlines()) == 1 and "There is no knowledge base in postgresql://" in none.stderr
    assert not kb.exists()
    added = silmari(secret, "add", docs, "--kb", kb)
    assert added.returncode == 0, added.stderr
    shown = silmari(secret, "status", "--kb", kb)
    assert f"Catalog    {postgres}" in shown.stdout.replace("\n", "")
    assert json.loads(silmari(secret, "status", "--kb", kb, "--json").stdout)["catalog"] == postgres
    lost = silmari("sqlite", "status", "--kb", kb)
    assert lost.returncode == 2 and "Name that with SILMARI_CATALOG" in lost.stderr
    for done in (none, added, shown, lost):
        assert "geheim" not in done.stdout + done.stderr


@pytest.mark.slow
def test_the_demo_leaves_the_catalog_alone(postgres: str, docs: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "kb", postgres) as base:
        base.add(docs)
        assert "as expected" in silmari(postgres, "demo").stdout
        assert base.status().documents == 4


def test_doctor(postgres: str, docs: Path, tmp_path: Path) -> None:
    settings = Settings.load(kb=tmp_path / "kb", catalog=postgres, embedder="none")
    assert any("there is none at" in finding.says for finding in diagnose(settings))
    with KnowledgeBase.open(settings) as base:
        base.add(docs)
    findings = {finding.subject: finding for finding in diagnose(settings)}
    assert findings["catalog"].ok and findings["engine"].ok


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_two_who_add_at_once_both_succeed(
    where: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is embedded twice: one does the work of both, or each a part of it."""
    # Embedding takes longer than the other one may need to come to it.
    monkeypatch.setenv("SILMARI_TEST_PAUSE", "0.25")
    catalog = "sqlite" if where == "sqlite" else request.getfixturevalue("postgres")
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(24):
        (texts / f"{number}.txt").write_text("\n\n".join(f"글 {number} {part} " * 30 for part in range(9)), "utf-8")
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    kbs = [tmp_path / "kb"] * 2 if where == "sqlite" else [tmp_path / "kb0", tmp_path / "kb1"]
    started = [
        start(kb, texts, log, tmp_path / f"cache{number}", catalog, tmp_path / "go")
        for number, (kb, log) in enumerate(zip(kbs, logs, strict=True))
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "open 0 0\n"
    (tmp_path / "go").touch()
    for process in started:
        output, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
        assert output.splitlines()[-1].startswith("end 24 0 []"), output.splitlines()[-1]
    embedded = [log.read_text("ascii").split() if log.exists() else [] for log in logs]
    assert len(embedded[0] + embedded[1]) == len(set(embedded[0] + embedded[1]))
    if where == "postgresql":
        assert all(embedded)
    with KnowledgeBase.open(kbs[0], embedder=LoggedEmbeddings(os.devnull), catalog=catalog) as base:
        state = base.status()
        assert (state.documents, state.pending["vectors"], state.lag) == (24, 0, 0)
        assert state.passages == len(set(embedded[0] + embedded[1]))


def test_relations_are_read_once_by_two(postgres: str, service: StandIn, tmp_path: Path) -> None:
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        asked.append(str(body["messages"][-1]["content"]))
        return json.dumps({"triplets": [{"subject": "한강", "predicate": "지나는 곳", "object": "서울"}]})

    service.replier, service.behaviour, service.delay = reply, "slow", 0.05
    (tmp_path / "글.jsonl").write_text(
        "\n".join(json.dumps({"id": str(n), "text": f"한강은 서울을 지난다. {n}번째 글."}) for n in range(120)), "utf-8"
    )
    options = {"embedder": "none", "llm": "openai:any", "base_url": service.url, "api_key": "key", "concurrency": 4}
    bases = [KnowledgeBase.open(tmp_path / f"kb{n}", catalog=postgres, **options) for n in range(2)]
    bases[0].add(tmp_path / "글.jsonl", relations="triplets", until="read")
    reports: list[Any] = []
    threads = [threading.Thread(target=lambda base=base: reports.append(base.build())) for base in bases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.pending["relations"] for report in reports] == [0, 0]
    assert len(asked) == len(set(asked)) == 120
    assert sum(report.extracted.passages for report in reports if report.extracted) == 120
    assert all(report.extracted.passages for report in reports)
    for base in bases:
        assert len(base.catalog.relations(range(9))) == 1
        base.close()


def test_the_server_restarts_while_a_base_is_open(server: postgres_server.Server, docs: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "kb", server.url) as base:
        base.add(docs)
        expected = found(base)
        for end in (server.stop, server.crash):
            end()
            for call in (lambda: base.search("연차"), lambda: base.add(docs), base.status, base.documents):
                with pytest.raises(KnowledgeBaseError, match=r"cannot be reached \(.*refused\)|was lost"):
                    call()
            server.start()
            assert found(base) == expected
            assert base.add(docs).counts == {"unchanged": 4}


def killed(process: subprocess.Popen[str], after: float, sent: signal.Signals) -> tuple[bool, str]:
    try:
        _, errors = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(sent)
        _, errors = process.communicate()
        return True, errors
    return False, errors


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_adding_process_killed_at_any_moment(folder: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    url = postgres_server.new_schema()
    calm = start(tmp_path / "calm", folder, tmp_path / "calm.log", tmp_path / "calm-cache", url)
    _, errors = calm.communicate()
    assert calm.returncode == 0, errors
    took = time.monotonic() - begun
    reference = start(tmp_path / "lite", folder, tmp_path / "lite.log", tmp_path / "lite-cache")
    reference.communicate()
    expected = contents(tmp_path / "lite", tmp_path / "lite-cache")
    moments = random.Random(9)
    for turn in range(ROUNDS // 2):
        catalog = postgres_server.new_schema()
        # Half of the rounds with another who adds the same, who must not be harmed.
        kbs = [tmp_path / f"kb{turn}-{number}" for number in range(1 + turn % 2)]
        caches = [tmp_path / f"cache{turn}-{number}" for number in range(len(kbs))]
        log = tmp_path / f"log{turn}"
        first, *others = [start(kb, folder, log, cache, catalog) for kb, cache in zip(kbs, caches, strict=True)]
        killed(first, moments.uniform(0.1, took), signal.SIGKILL)
        for other in others:
            _, errors = other.communicate(timeout=300)
            assert other.returncode == 0, errors
            assert contents(kbs[1], caches[1], catalog) == expected
        again = start(kbs[0], folder, log, caches[0], catalog)
        _, errors = again.communicate(timeout=300)
        assert again.returncode == 0, errors
        assert contents(kbs[0], caches[0], catalog) == expected
        postgres_server.drop(catalog)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("way", ["stop", "crash"])
def test_the_server_goes_while_a_process_adds(
    server: postgres_server.Server, folder: Path, tmp_path: Path, way: str
) -> None:
    begun = time.monotonic()
    calm = start(tmp_path / "calm", folder, tmp_path / "calm.log", tmp_path / "calm-cache", f"{server.url}?schema=calm")
    calm.communicate()
    took = time.monotonic() - begun
    expected = contents(tmp_path / "calm", tmp_path / "calm-cache", f"{server.url}?schema=calm")
    moments = random.Random(len(way))
    for turn in range(5):
        catalog = f"{server.url}?schema=turn{turn}"
        kb, log, cache = (tmp_path / f"{name}{turn}" for name in ("kb", "log", "cache"))
        process = start(kb, folder, log, cache, catalog)
        time.sleep(moments.uniform(0.5, took))
        getattr(server, way)()
        _, errors = process.communicate(timeout=100)
        if process.returncode:
            assert errors.strip().splitlines()[-1].startswith("silmari.errors.KnowledgeBaseError: The "), errors
            assert "geheim" not in errors
        server.start()
        again = start(kb, folder, log, cache, catalog)
        _, errors = again.communicate(timeout=300)
        assert again.returncode == 0, errors
        assert contents(kb, cache, catalog) == expected
