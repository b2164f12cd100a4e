"""Triplets that users bring: with records, and by file for documents of every kind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from silmari.errors import UsageError
from silmari.ingest import AddReport, Progress
from silmari.knowledge_base import KnowledgeBase
from word_embeddings import WordEmbeddings

RIVER = "한강은 서울을 지나 서해로 흐른다."
ADA = "Ada Lovelace wrote the first program. It was meant for a machine of brass."
FACTS = {
    "강.txt": [["한강", "지난다", "서울"], ["한강", "흘러드는 곳", "서해"]],
    "ada.txt": [["Ada Lovelace", "wrote", "Note G"], ["Note G", "describes", "Analytical Engine"]],
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two documents, and a file of triplets beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "강.txt").write_text(RIVER, "utf-8")
    (tmp_path / "docs" / "ada.txt").write_text(ADA, "utf-8")
    write(tmp_path / "facts.jsonl", FACTS)
    return tmp_path


def write(path: Path, facts: dict[str, list[Any]]) -> Path:
    lines = [{"_id": name, "triplets": triplets} for name, triplets in facts.items()]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


def texts(base: KnowledgeBase, target: str | Path) -> set[str]:
    """The relations of a document."""
    found = base.relations([passage.id for passage, _ in base.show(target)])
    return {relation.text for relations in found.values() for relation in relations}


def failures(report: AddReport) -> str:
    return " ".join(file.reason or "" for file in report.files if file.status == "failed")


def modes(base: KnowledgeBase) -> list[str]:
    return [document.relations for document in base.documents()]


def test_triplets_come_with_their_documents(base: KnowledgeBase, files: Path) -> None:
    report = base.add("docs", triplets="facts.jsonl")
    assert report.counts == {"added": 3} and report.pending == {"vectors": 0, "relations": 0}
    assert report.files[-1].reason == "4 triplets for 2 documents."
    assert texts(base, "docs/강.txt") == {"한강 지난다 서울", "한강 흘러드는 곳 서해"}
    state = base.status()
    assert (state.relations, state.entities) == (4, 6) and state.pending["vectors"] == 0
    assert modes(base) == ["given", "given"]
    assert state.as_json()["relations"] == 4


def test_triplets_for_documents_that_are_there_and_again(base: KnowledgeBase, files: Path) -> None:
    base.add("docs")
    assert base.status().relations == 0 and modes(base) == ["sentences", "sentences"]
    for _ in range(2):
        assert base.add(triplets=files / "facts.jsonl").counts == {"added": 1}
        assert base.status().relations == 4
    (files / "docs" / "ada.txt").write_text(ADA + " She was a countess.", "utf-8")
    assert base.add("docs").counts == {"updated": 1, "unchanged": 1}
    assert base.status().relations == 4
    base.remove("docs/ada.txt")
    assert base.status().relations == 2 and texts(base, "docs/강.txt")
    base.add("docs/ada.txt")
    assert base.status().relations == 2


def test_a_file_of_triplets_within_the_folder_is_no_document(base: KnowledgeBase, files: Path) -> None:
    write(files / "docs" / "facts.jsonl", FACTS)
    base.add("docs", triplets="docs/facts.jsonl")
    assert base.status().documents == 2 and base.status().relations == 4


def test_triplets_before_their_documents(base: KnowledgeBase, files: Path) -> None:
    report = base.add(triplets="facts.jsonl")
    assert report.counts == {"failed": 1}
    assert failures(report) == (
        "2 of the 2 ids in it match no document of the base, such as '강.txt', 'ada.txt'; add these documents and then "
        "this file again (silmari list shows the names of those there). "
        "4 triplets wait for that and were not taken in."
    )
    base.add("docs/강.txt")
    report = base.add(triplets="facts.jsonl")
    assert report.counts == {"added": 1, "failed": 1} and "1 of the 2 ids" in failures(report)
    assert base.status().relations == 2


def test_every_kind_of_bad_triplet_is_told_and_the_rest_goes_in(base: KnowledgeBase, files: Path) -> None:
    bad = [
        ["한강", "길이"],
        ["a", "b", "c", "d"],
        ["", "은", "강"],
        ["은", "이다", "강"],
        ["강" * 10_000, "은", "강"],
        7,
    ]
    write(files / "facts.jsonl", {**FACTS, "ada": bad, "없는 것": [["가나", "다", "라마"]]})
    with (files / "facts.jsonl").open("a", encoding="utf-8") as file:
        file.write("\nnot JSON\n")
    report = base.add("docs", triplets="facts.jsonl")
    told = failures(report)
    for said in (
        "3 triplets without three parts (subject, predicate, object) were left out (the first: line 3, number 1: ",
        "1 triplet with an empty part was left out (line 3, number 3: ",
        "1 triplet with a name that is only a particle or punctuation was left out (line 3, number 4: ",
        "1 triplet with a name of more than 200 characters was left out (line 3, number 5: ",
        "1 line without valid JSON was left out (line 5)",
        "1 of the 4 ids in it match no document of the base, such as '없는 것'",
    ):
        assert said in told
    assert len(told) < 2_000
    assert report.counts == {"added": 3, "failed": 1} and base.status().relations == 4


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_a_csv_file(base: KnowledgeBase, files: Path, encoding: str) -> None:
    rows = ["문서,주어,서술어,목적어"]
    rows += [",".join([name, *triplet]) for name, triplets in FACTS.items() for triplet in triplets]
    (files / "facts.csv").write_text("\n".join(rows), encoding)
    base.add("docs", triplets="facts.csv")
    assert base.status().relations == 4


def test_names_that_match_several_documents(base: KnowledgeBase, files: Path) -> None:
    (files / "docs" / "old").mkdir()
    (files / "docs" / "old" / "강.txt").write_text("한강은 얼어 있다.", "utf-8")
    report = base.add("docs", triplets="facts.jsonl")
    assert "1 of the 2 ids in it match several documents, such as '강.txt': " in failures(report)
    write(files / "facts.jsonl", {"docs/old/강.txt": FACTS["강.txt"]})
    assert base.add(triplets="facts.jsonl").counts == {"added": 1}
    assert len(texts(base, "docs/old/강.txt")) == 2 and not texts(base, "docs/강.txt")


def test_files_of_triplets_that_cannot_be_read(base: KnowledgeBase, files: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.csv: there is no such file of triplets"):
        base.add("docs", triplets=["facts.jsonl", "nowhere.csv"])
    assert base.status().documents == 0
    (files / "empty.csv").write_text("", "utf-8")
    (files / "cut.jsonl.gz").write_bytes(gzip.compress((files / "facts.jsonl").read_bytes())[:-9])
    report = base.add("docs", triplets=["empty.csv", "cut.jsonl.gz"])
    assert [file.status for file in report.files[:2]] == ["added", "added"]
    assert "holds no triplets: each line must be" in failures(report)
    assert "is not a whole gzip file" in failures(report)


def test_records_in_a_file_and_their_triplets(base: KnowledgeBase, files: Path) -> None:
    records = [{"id": "p0", "text": RIVER}, {"id": "p1", "text": ADA, "triplets": [["Ada", "met", "Babbage"], ["x"]]}]
    path = files / "글.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    write(files / "facts.jsonl", {"p0": FACTS["강.txt"], "글.jsonl#p1": FACTS["ada.txt"]})
    report = base.add(path, triplets="facts.jsonl")
    assert "1 triplet without three parts" in str(report.files[0].reason)
    assert texts(base, f"{path}#p0") == {"한강 지난다 서울", "한강 흘러드는 곳 서해"}
    assert len(texts(base, f"{path}#p1")) == 3


def test_records_with_triplets_and_without(base: KnowledgeBase) -> None:
    report = base.add_records(
        [
            {"id": "a", "text": RIVER, "triplets": FACTS["강.txt"]},
            {"id": "b", "text": ADA, "triplets": [["Ada"], ["the", "is", "x"], *FACTS["ada.txt"], ["Ada", "is"]]},
            {"id": "c", "text": "제주에는 바람이 많다."},
        ]
    )
    assert report.counts == {"added": 3}
    parts, particle = report.notes
    assert parts.startswith("2 triplets without three parts") and "record 'b', number 1: ['Ada']" in parts
    assert particle.startswith("1 triplet with a name that is only a particle")
    assert modes(base) == ["given", "given", "sentences"] and base.status().relations == 4


def test_where_relations_come_from_can_be_changed_and_changed_back(base: KnowledgeBase, files: Path) -> None:
    base.add("docs", triplets="facts.jsonl", relations="sentences")
    assert base.status().relations == 0 and modes(base) == ["sentences", "sentences"]
    base.build(relations="given")
    assert base.status().relations == 4 and base.status().pending["vectors"] == 0
    report = base.add("docs/강.txt", relations="triplets")  # unchanged, and yet it is wished for
    assert report.counts == {"unchanged": 1} and report.pending["relations"] == 1
    assert sorted(modes(base)) == ["given", "triplets"] and base.status().relations == 4
    base.build(relations="sentences")
    assert base.status().relations == 0 and base.status().pending["relations"] == 0
    base.add(triplets="facts.jsonl", relations="given")
    assert base.status().relations == 4
    for call in (base.add, base.build, base.add_records):
        with pytest.raises(UsageError, match="relations is 'all'; it takes sentences, given, triplets"):
            call(*([[]] if call == base.add_records else []), relations="all")  # type: ignore[operator]


def test_the_setting_counts_where_nobody_says_otherwise(tmp_path: Path, embedder: WordEmbeddings) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, relations="sentences") as base:
        base.add_records([{"id": "a", "text": RIVER, "triplets": FACTS["강.txt"]}])
        base.add_records([{"id": "b", "text": ADA, "triplets": FACTS["ada.txt"]}], relations="given")
        assert modes(base) == ["sentences", "given"] and base.status().relations == 2


class Stopping(WordEmbeddings):
    """Counts texts; raises as Ctrl-C would once it was asked for some."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if len(self.texts) >= self.most:
            raise KeyboardInterrupt
        return super().embed_documents(texts)


@pytest.fixture
def many() -> Iterator[dict[str, Any]]:
    facts = [[f"회사{number}", "설립자", f"사람{number}"] for number in range(1_000)]
    yield {"id": "a", "text": "회사와 사람의 목록이다.", "triplets": facts}


def test_an_interrupted_run_loses_nothing(tmp_path: Path, many: dict[str, Any]) -> None:
    stopping = Stopping(600)
    with KnowledgeBase.open(tmp_path / "kb", embedder=stopping) as base, pytest.raises(KeyboardInterrupt):
        base.add_records([many])
    seen: list[Progress] = []
    made = len(stopping.texts)
    with KnowledgeBase.open(tmp_path / "kb", embedder=Stopping(10_000)) as base:
        assert base.status().pending["vectors"] == 3_001 - made
        assert base.status().relations == 1_000
        base.build(on_progress=seen.append)
        assert base.status().pending["vectors"] == 0
    assert {step.stage for step in seen} == {"relations"}
    assert (seen[-1].done, seen[-1].total) == (3_001 - made, 3_001 - made)


def test_progress_of_both_stages_ends_at_its_total(base: KnowledgeBase, many: dict[str, Any]) -> None:
    last: dict[str, Progress] = {}
    base.add_records([many], on_progress=lambda step: last.update({step.stage: step}))
    assert list(last) == ["read", "vectors", "relations"]
    assert [(step.done, step.total) for step in last.values()] == [(1, 1), (1, 1), (3_000, 3_000)]


def test_without_an_embedder_relations_are_there_all_the_same(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        base.add_records([{"id": "a", "text": RIVER, "triplets": FACTS["강.txt"]}])
        assert base.status().relations == 2 and base.status().pending == {"vectors": 0, "relations": 0}
