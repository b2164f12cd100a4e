"""BEIR folders: every form that is read, and what is said about a broken one."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from silmari.errors import UsageError
from silmari.evaluation.beir import load
from silmari.model import Triplet

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2].parent / "shared")) / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")

CORPUS = [
    {"_id": "d1", "title": "한강", "text": "한강은 서울을 지난다."},
    {"_id": 2, "title": None, "text": "The Han river."},
    {"_id": "d3", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "서울의 강은?", "metadata": {"group": "one-hop"}},
    {"_id": "q2", "text": "Which river?"},
    {"_id": "q3", "text": "No answer"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t2\t1\nq2\t2\t1\nq3\td1\t0\n"


def jsonl(records: list[Any]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def write(
    folder: Path,
    corpus: bytes = jsonl(CORPUS),
    queries: bytes = jsonl(QUERIES),
    qrels: str = QRELS,
    split: str = "test",
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_bytes(corpus)
    (folder / "queries.jsonl").write_bytes(queries)
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / f"{split}.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_reads_a_plain_folder(tmp_path: Path) -> None:
    dataset = load(write(tmp_path / "강"))
    assert dataset.name == "강"
    assert dataset.documents == {"d1": ("한강", "한강은 서울을 지난다."), "2": ("", "The Han river."), "d3": ("", "")}
    assert list(dataset.queries) == ["q1", "q2", "q3"]
    assert dataset.qrels == {"q1": {"d1": 2, "2": 1}, "q2": {"2": 1}, "q3": {"d1": 0}}
    assert dataset.metadata == {"q1": {"group": "one-hop"}}
    assert dataset.judged() == ["q1", "q2"]
    assert dataset.notes == ()
    assert dataset.triplets == {}


def test_gzip_bom_blank_lines_and_windows_ends_change_nothing(tmp_path: Path) -> None:
    plain = load(write(tmp_path / "a"))
    folder = write(
        tmp_path / "b",
        corpus=b"\xef\xbb\xbf" + jsonl(CORPUS).replace(b"\n", b"\r\n\r\n"),
        qrels=QRELS.replace("\n", "\r\n").rstrip(),
    )
    for name in ("corpus.jsonl", "queries.jsonl"):
        path = folder / name
        (folder / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    other = load(folder)
    assert other.name == "b"
    assert (other.documents, other.queries, other.qrels) == (plain.documents, plain.queries, plain.qrels)


@pytest.mark.parametrize(
    "qrels",
    [
        QRELS.split("\n", 1)[1],
        "".join(line.replace("\t", "\t0\t", 1) + "\n" for line in QRELS.splitlines()[1:]),
        QRELS.split("\n", 1)[1].replace("\t", " "),
        QRELS.replace("\t1\n", "\t1.0\n"),
    ],
    ids=["no header", "trec_eval's four columns", "blanks", "whole floats"],
)
def test_forms_of_judgements(tmp_path: Path, qrels: str) -> None:
    assert load(write(tmp_path, qrels=qrels)).qrels == load(write(tmp_path / "same")).qrels


def test_split_is_test_then_dev_then_train_or_the_one_that_is_named(tmp_path: Path) -> None:
    write(tmp_path, qrels="q2\td1\t1\n", split="train")
    write(tmp_path, qrels="q2\td3\t1\n", split="my")
    assert load(tmp_path).qrels == {"q2": {"d1": 1}}
    assert load(tmp_path, split="my").qrels == {"q2": {"d3": 1}}
    write(tmp_path, qrels="q2\t2\t1\n", split="dev")
    assert load(tmp_path).qrels == {"q2": {"2": 1}}
    with pytest.raises(UsageError, match=r"no test2\.tsv \(it has dev\.tsv, my\.tsv, train\.tsv\)"):
        load(tmp_path, split="test2")


def test_triplets_are_read(tmp_path: Path) -> None:
    folder = write(tmp_path)
    lines = [{"_id": "d1", "triplets": [["한강", "지나는 곳", "서울"]]}, {"_id": "gone", "triplets": []}]
    (folder / "triplets.jsonl.gz").write_bytes(gzip.compress(jsonl(lines)))
    dataset = load(folder)
    assert dataset.triplets == {"d1": (Triplet("한강", "지나는 곳", "서울"),), "gone": ()}
    assert dataset.notes == (
        "1 of 2 lists of triplets belong to documents that the corpus does not have (such as 'gone').",
    )


def test_judgements_of_unknown_documents_and_questions_are_reported(tmp_path: Path) -> None:
    dataset = load(write(tmp_path, qrels=QRELS + "q2\tlost\t1\nq9\td1\t1\n"))
    assert "1 of 6 judgements name documents" in dataset.notes[0]
    assert "'lost'" in dataset.notes[0]
    assert "1 of 4 judged questions" in dataset.notes[1]
    assert dataset.judged() == ["q1", "q2"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", b'{"_id": "d1", "text": "a"}\n{"_id": "d2"\n', r"corpus\.jsonl line 2 is not JSON"),
        ("corpus.jsonl", b'{"_id": "d1", "text": "a"}\n\n["d2"]\n', r"corpus\.jsonl line 3 is not a JSON object"),
        ("corpus.jsonl", b'{"text": "a"}\n', r'corpus\.jsonl line 1 has no "_id"'),
        ("corpus.jsonl", b'{"_id": "d1"}\n', r'corpus\.jsonl line 1 has no "text"'),
        ("corpus.jsonl", b'{"_id": "d1", "title": 3, "text": "a"}\n', r'line 1 has no "title" that is a string'),
        ("corpus.jsonl", b'{"_id": 1, "text": "a"}\n{"_id": "1", "text": "a"}\n', r"line 2 has the .* a second time"),
        ("corpus.jsonl", "{'_id': '한'}".encode("cp949"), r"corpus\.jsonl is not UTF-8"),
        ("corpus.jsonl", b"", r"holds no documents"),
        ("queries.jsonl", b"\n", r"holds no questions"),
        ("queries.jsonl.gz", b"not gzip", r"queries\.jsonl\.gz is not a whole gzip file"),
        ("queries.jsonl.gz", gzip.compress(jsonl(QUERIES))[:-9], r"queries\.jsonl\.gz is not a whole gzip file"),
        ("qrels/test.tsv", b"", r"test\.tsv holds no judgements"),
        ("qrels/test.tsv", b"q1\td1\t1\nq1\td1\n", r"test\.tsv line 2 has 2 columns"),
        ("qrels/test.tsv", b"q1\td1\t1\nq1\td2\thigh\n", r"line 2: the score 'high' is not a number"),
        ("qrels/test.tsv", b"q1\td1\t0.5\n", r"line 1: the score '0\.5' is not a whole number"),
        ("qrels/test.tsv", b"q1\td1\tnan\n", r"line 1: the score 'nan' is not a whole number"),
        ("qrels/test.tsv", b"q1\td1\t1\nq1\td1\t2\n", r"line 2 judges 'd1' for 'q1' a second time"),
        ("triplets.jsonl", b'{"_id": "d1", "triplets": [["a", "b"]]}', r"line 1: \['a', 'b'\] is not a triplet"),
        ("triplets.jsonl", b'{"_id": "d1"}', r'line 1 has no "triplets"'),
    ],
)
def test_broken_files_are_named_with_their_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    write(tmp_path)
    if name.endswith(".gz"):
        (tmp_path / name.removesuffix(".gz")).unlink()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv", ""])
def test_what_is_missing_is_said(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path / "set")
    (folder / missing).unlink() if missing else None
    with pytest.raises(UsageError, match=Path(missing).name if missing else "is not a folder"):
        load(folder if missing else tmp_path / "nowhere")


@needs_shared
@pytest.mark.parametrize(
    ("name", "documents", "queries", "judged"),
    [("nano", 4, 1, 1), ("ko-world", 60, 60, 55), ("hotpot100", 994, 100, 100), ("ko-autorag", 720, 114, 114)],
)
def test_shared_sets_are_read_without_a_note(name: str, documents: int, queries: int, judged: int) -> None:
    dataset = load(SHARED / name)
    assert (len(dataset.documents), len(dataset.queries), len(dataset.judged())) == (documents, queries, judged)
    assert dataset.notes == ()
    if name in ("nano", "ko-world"):
        assert set(dataset.triplets) <= set(dataset.documents)
        assert sum(map(len, dataset.triplets.values())) > 10
