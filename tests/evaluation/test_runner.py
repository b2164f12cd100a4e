"""Asking ways, summing up, and what is shown of it in the terminal and in the report."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from silmari.errors import ProviderError, UsageError
from silmari.evaluation.beir import Dataset, load
from silmari.evaluation.html import make_html
from silmari.evaluation.metrics import METRICS
from silmari.evaluation.misses import missed_questions, trace_lines
from silmari.evaluation.runner import Found, Report, best_passages, evaluate
from silmari.evaluation.table import dollars, make_table, milliseconds, share

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2].parent / "shared")) / "data"

DATASET = Dataset(
    "작은 <모음>",
    {
        "a": ("한강", "서울을 지나는 강이다. <b>길다</b>"),
        "b": ("낙동강", "부산으로 흐른다."),
        "c": ("", "The Thames flows through London."),
        "d": ("금강", "공주와 부여를 지난다."),
    },
    {"q1": "서울의 강은?", "q2": "Which river & city?", "q3": "답이 없는 물음", "q4": "공주와 부산의 강은?"},
    {"q1": {"a": 1}, "q2": {"c": 1, "a": 0}, "q4": {"d": 2, "b": 1}},
)
RIGHT = {"서울의 강은?": ["a", "b"], "Which river & city?": ["c"], "공주와 부산의 강은?": ["d", "b"]}


def always(*documents: str) -> Callable[[str], list[tuple[str, float]]]:
    return lambda question: [(document, 1.0 / rank) for rank, document in enumerate(documents, start=1)]


def right(question: str) -> list[tuple[str, float]]:
    return [(document, 1.0 / rank) for rank, document in enumerate(RIGHT[question], start=1)]


def overlap(dataset: Dataset) -> Callable[[str], Found]:
    """A true if simple way: documents by how many of the question's character pairs they hold."""

    def pairs(text: str) -> set[str]:
        return {text[at : at + 2] for at in range(len(text) - 1) if not text[at : at + 2].isspace()}

    held = {key: pairs(f"{title} {text}") for key, (title, text) in dataset.documents.items()}

    def search(question: str) -> Found:
        asked = pairs(question)
        scored = sorted(((key, float(len(asked & own))) for key, own in held.items()), key=lambda one: -one[1])
        return Found(scored[:20], trace={"stages": [{"stage": "pairs", "ms": 0.5, "asked": len(asked)}]})

    return search


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(DATASET, {"poor": always("b", "a"), "right": right, "<odd> & 이상": always("c")})


def test_means_are_those_of_the_questions_that_have_an_answer(report: Report) -> None:
    assert report.queries == ("q1", "q2", "q4")
    assert set(report.ways["right"].metrics.values()) == {1.0, (1 + 1 + 0.5) / 3}  # only recall@1 cannot be 1
    poor = report.ways["poor"].metrics
    assert poor["recall@1"] == pytest.approx((0 + 0 + 0.5) / 3)
    assert poor["recall@10"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert poor["mrr@10"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert "1 questions have no relevant document and were not asked." in report.notes


def test_json_has_the_promised_shape(report: Report) -> None:
    shown = json.loads(json.dumps(report.as_json()))
    assert shown["dataset"] == "작은 <모음>"
    assert shown["questions"] == 3
    assert list(shown["ways"]) == ["poor", "right", "<odd> & 이상"]
    for way in shown["ways"].values():
        assert {*METRICS, "p50_ms", "p95_ms", "intervals", "versus_first"} <= set(way)
        assert set(way["intervals"]) == {*METRICS, "p50_ms", "p95_ms", "model_calls", "cost"}
        for metric in (*METRICS, "p50_ms"):
            low, high = way["intervals"][metric]
            assert low <= way[metric] <= high
    assert shown["ways"]["poor"]["versus_first"] == {}
    against = shown["ways"]["right"]["versus_first"]["ndcg@10"]
    assert against["difference"] == pytest.approx(1 - shown["ways"]["poor"]["ndcg@10"])
    assert set(against) == {"difference", "interval", "p"}


def test_a_document_counts_by_its_best_passage_and_ten_documents_count() -> None:
    ranked = [("b", 9.0), ("b", 8.0)] * 10 + [("a", 7.0), ("b", 6.0), ("a", 5.0)]
    found = evaluate(DATASET, {"way": lambda question: ranked}, limit=1)
    assert found.outcomes["way"][0].documents == (("b", 9.0), ("a", 7.0))
    assert found.ways["way"].metrics["recall@2"] == 1
    many = evaluate(DATASET, {"way": always(*(f"x{number}" for number in range(15)))}, limit=1)
    assert len(many.outcomes["way"][0].documents) == 10


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 1))))
def test_best_passages_keep_the_order_of_first_sight(pairs: list[tuple[str, float]]) -> None:
    ranked = sorted(pairs, key=lambda pair: -pair[1])
    documents = best_passages(ranked)
    assert {document for document, _ in documents} == {document for document, _ in pairs}
    assert [score for _, score in documents] == sorted((score for _, score in documents), reverse=True)
    assert all(score == max(value for one, value in pairs if one == document) for document, score in documents)


def test_effort_is_summed_and_given_times_are_used() -> None:
    def costly(question: str) -> Found:
        return Found([("a", 1.0)], ms=40.0 if question == "서울의 강은?" else 20.0, model_calls=2, cost=0.003)

    found = evaluate(DATASET, {"costly": costly, "plain": always("a")})
    shown = found.ways["costly"].as_json()
    assert (shown["model_calls"], shown["cost"], shown["p50_ms"]) == (2, pytest.approx(0.003), 20)
    assert shown["intervals"]["model_calls"] == [2, 2]
    assert 0 < found.ways["plain"].times["p50_ms"] < 20


def test_progress_and_the_unmeasured_first_call() -> None:
    seen: list[tuple[str, int, int]] = []
    asked: list[str] = []

    def way(question: str) -> list[tuple[str, float]]:
        asked.append(question)
        return [("a", 1.0)]

    evaluate(DATASET, {"one": way, "two": always()}, limit=2, on_progress=lambda *step: seen.append(step))
    assert seen == [("one", 1, 4), ("two", 2, 4), ("one", 3, 4), ("two", 4, 4)]
    assert asked == ["서울의 강은?", "서울의 강은?", "Which river & city?"]


def test_a_failure_counts_as_nothing_found_and_is_told() -> None:
    def shaky(question: str) -> list[tuple[str, float]]:
        if question.startswith("Which"):
            raise ProviderError("the service did not answer")
        return right(question)

    found = evaluate(DATASET, {"right": right, "shaky": shaky})
    assert found.ways["shaky"].failed == 1
    assert found.ways["shaky"].metrics["ndcg@10"] == pytest.approx(2 / 3)
    assert "shaky failed on 1 questions." in found.notes
    assert "The way failed: the service did not answer" in make_html(found)
    with pytest.raises(ZeroDivisionError):  # a fault of ours is not hidden
        evaluate(DATASET, {"broken": lambda question: [("a", 1 / 0)]})


@pytest.mark.parametrize(
    ("ways", "limit", "qrels", "message"),
    [
        ({}, None, {"q1": {"a": 1}}, "no way to evaluate"),
        ({"a": always("a")}, 0, {"q1": {"a": 1}}, "limit is 0"),
        ({"a": always("a")}, None, {"q1": {"a": 0}}, "no question with a relevant document"),
    ],
)
def test_wrong_use_is_refused(
    ways: dict[str, Callable[[str], list[tuple[str, float]]]],
    limit: int | None,
    qrels: dict[str, dict[str, int]],
    message: str,
) -> None:
    dataset = Dataset("x", DATASET.documents, DATASET.queries, qrels)
    with pytest.raises(UsageError, match=message):
        evaluate(dataset, ways, limit=limit)


def test_misses_say_where_the_documents_stood() -> None:
    found = evaluate(DATASET, {"poor": always("b", "a"), "right": right})
    missed = {one.query: one for one in missed_questions(found, depth=1)}
    assert set(missed) == {"q1", "q2", "q4"} - {"q4"}  # depth 1 holds one relevant document of q4: as many as it can
    assert missed["q1"].relevant == {"a": {"poor": 2, "right": 1}}
    assert missed["q1"].misses[0].reason == "“한강” stands at rank 2, 0.5 below the score of rank 1."
    assert missed["q1"].misses[0].instead == ((1, "b", 1.0),)
    assert missed["q2"].misses[0].reason == "c is not among the first 2."
    assert [one.query for one in missed_questions(found)] == ["q2", "q4"]


def test_trace_lines_tell_stages_and_notes() -> None:
    trace = {
        "stages": [{"stage": "fused", "ms": 1.5, "kept": 3, "found": ["가", "나"]}, {"stage": "distinct"}],
        "notes": ["3 passages have no vector yet."],
    }
    assert trace_lines(trace) == (
        'fused (1.5 ms): kept 3, found ["가", "나"]',
        "distinct",
        "3 passages have no vector yet.",
    )
    assert trace_lines({}) == ()
    assert len(trace_lines({"stages": [{"stage": "s", "long": "x" * 999}]})[0]) < 250


def render(report: Report, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(make_table(report))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_table_fits_80_characters_and_shows_all(report: Report) -> None:
    shown = render(report, 80)
    assert "작은 <모음>: 3 questions, 4 documents" in shown
    for word in ("Recall@1", "nDCG@10", "MRR@10", "p50 ms", "p95 ms", "model calls", "US$", "right", "1.000"):
        assert word in shown
    assert "…" not in shown
    assert "[bold]" not in shown


def test_marks_only_where_the_difference_is_clear() -> None:
    queries = {f"q{number}": f"question {number}" for number in range(40)}
    dataset = Dataset("many", {"a": ("", ""), "b": ("", "")}, queries, {query: {"a": 1} for query in queries})
    found = evaluate(
        dataset, {"first": always("b", "a"), "better": always("a"), "worse": always("b"), "same": always("b", "a")}
    )
    ndcg = next(line for line in render(found, 100).splitlines() if "nDCG@10" in line)
    assert [cell.strip() for cell in ndcg.split("│")[2:6]] == [".631", "▲1.000", "▼.000", ".631"]
    page = make_html(found)
    assert '<span class="up">▲</span> <span class="best">1.000</span>' in page
    assert '<span class="down">▼</span> .000' in page


def test_numbers_are_shown_short() -> None:
    assert [share(value) for value in (0.6842, 0.0, 1.0, 0.9999)] == [".684", ".000", "1.000", "1.000"]
    assert [milliseconds(value) for value in (0.04, 3.14159, 31.4159, 31415.9)] == ["0.04", "3.14", "31.4", "31,416"]
    assert [dollars(value) for value in (0.0, 0.0031, 0.0000123)] == ["0", "0.0031", "0.000012"]


class Strict(HTMLParser):
    """Checks that every element is closed in order, and gathers what would be fetched."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "action")]
        if tag in ("script", "link", "iframe", "object", "img"):
            self.fetched.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> Strict:
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_page_is_whole_fetches_nothing_and_escapes(report: Report) -> None:
    page = make_html(report)
    parser = parsed(page)
    assert parser.fetched == []
    assert not re.search(r"url\(|@import|https?://", page)
    text = "".join(parser.text)
    for words in ("작은 <모음>", "Which river & city?", "<odd> & 이상", "서울을 지나는 강이다. <b>길다</b>"):
        assert words in text
    assert page.count("<svg") == 1 + len(METRICS)
    assert "nan" not in page
    assert "prefers-color-scheme: dark" in page


def test_page_with_one_way_that_is_always_right_or_always_wrong() -> None:
    for way in (right, always()):
        page = make_html(evaluate(DATASET, {"only": way}))
        parsed(page)
        for number in re.findall(r'\b(?:cx|cy|x|y)="([^"]+)"', page):
            assert math.isfinite(float(number))


def test_page_shows_at_most_so_many_missed_questions() -> None:
    found = evaluate(DATASET, {"none": always()})
    page = make_html(found, max_missed=2)
    assert page.count("<details>") == 2
    assert "The 2 that most ways missed are shown." in page
    assert "It found nothing at all." in page


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_a_simple_way_on_the_shared_korean_world(tmp_path: Path) -> None:
    dataset = load(SHARED / "ko-world")
    found = evaluate(dataset, {"first": always("p01", "p02"), "pairs": overlap(dataset)})
    assert found.ways["pairs"].metrics["recall@5"] > 0.4
    assert found.ways["pairs"].versus_first["recall@5"].low > 0
    page = make_html(found)
    parsed(page)
    assert "pairs (0.5 ms): asked" in page
    nano = load(SHARED / "nano")
    one = evaluate(nano, {"pairs": overlap(nano)})
    assert one.as_json()["questions"] == 1
    assert one.ways["pairs"].intervals["recall@5"] == (1.0, 1.0)
    parsed(make_html(one))
