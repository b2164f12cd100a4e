"""Measures of answers, by hand-counted cases, and a collection that is really asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from silmari.errors import UsageError
from silmari.evaluation.answers import contains, evaluate_answers, exact, f1, golds_of
from word_embeddings import WordEmbeddings


@pytest.mark.parametrize(
    ("text", "gold", "expected"),
    [
        ("The Han River. [1]", "han river", 1.0),
        ("Han", "Han River", 0.0),
        ("새여울 읍 [2]", "새여울읍", 1.0),
        ("", "강릉", 0.0),
    ],
)
def test_exact(text: str, gold: str, expected: float) -> None:
    assert exact(text, gold) == expected


def test_f1_counts_words_and_in_korean_letters() -> None:
    # Two of three words on one side, two of two on the other.
    assert f1("the big red barn", "red barn") == pytest.approx(2 * 2 / (3 + 2))
    # 강릉에서 and 강릉: two letters of four and of two.
    assert f1("강릉에서", "강릉") == pytest.approx(2 * 2 / (4 + 2))
    assert f1("부산", "강릉") == 0.0


def test_contains_is_about_whole_words_in_english_and_about_letters_in_korean() -> None:
    assert contains("He was born in Basel in 1707. [1]", "Basel") == 1.0
    assert contains("The Baselers left.", "Basel") == 0.0
    assert contains("오만석이 새여울에서 태어났다.", "새여울") == 1.0


def test_golds_in_either_form() -> None:
    assert golds_of({"answer": "강릉"}) == ("강릉",)
    assert golds_of({"answers": ["a", "", 3, "b"]}) == ("a", "b")
    assert golds_of({}) == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "set"
    (made / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "", "text": "부산지점의 전화번호는 051-200-3000이다."},
        {"_id": "d2", "title": "", "text": "The Gangneung branch moves in March 2027."},
    ]
    queries = [
        {"_id": "q1", "text": "부산지점의 전화번호는 무엇인가요?", "metadata": {"answer": "051-200-3000"}},
        {"_id": "q2", "text": "When will the Gangneung branch move?", "metadata": {"answers": ["March 2027"]}},
        {"_id": "q3", "text": "What does the zebra eat on Sundays?"},
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (made / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (made / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", "utf-8")
    return made


def test_answers_of_a_collection(folder: Path, tmp_path: Path) -> None:
    report = evaluate_answers(folder, embedder=WordEmbeddings(), ways=["fused", "sparse"], cache=tmp_path / "cache")
    assert list(report.answers) == ["fused", "sparse"]
    first, second, third = report.answers["fused"]
    assert first.measures["contains"] == 1.0 and first.measures["citation_precision"] == 1.0
    assert second.measures["contains"] == 1.0 and second.measures["declined_wrongly"] == 0.0
    assert third.measures == {"declined_rightly": 1.0} and not third.found
    shown = report.as_json()
    assert shown["ways"]["fused"]["citation_recall"]["questions"] == 2
    assert shown["ways"]["fused"]["model_calls"] == 0
    assert "2 of 3 questions have a gold answer; 1 have no document" in report.notes[0]


def test_a_way_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="no way named best"):
        evaluate_answers(folder, ways=["best"])
