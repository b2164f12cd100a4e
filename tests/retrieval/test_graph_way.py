"""The way ``graph`` on a real base: second hops, paths, filters, and what comes and goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from silmari.knowledge_base import KnowledgeBase
from silmari.model import WAYS, Hit
from word_embeddings import WordEmbeddings

# The answer of the second hop shares no word with the question; many others share some.
RECORDS = [
    {"id": "teacher", "title": "Leonhard Euler", "text": "Leonhard Euler was taught by Johann Bernoulli in Basel."},
    {
        "id": "work",
        "title": "Johann Bernoulli",
        "text": "He solved the curve of quickest descent.",
        "date": "2020-01-01",
    },
    {"id": "회사", "title": "한빛중공업", "text": "한빛중공업은 오인환이 세운 조선소이다."},
    {"id": "사람", "title": "오인환", "text": "그는 새여울에서 태어나 대장간에서 일을 배웠다.", "category": "people"},
]
NOISE = [
    {"id": f"n{at}", "title": f"Note {at}", "text": f"teacher contribution number {at} 조선소 {at}번"}
    for at in range(30)
]


def filled(base: KnowledgeBase) -> KnowledgeBase:
    base.add_records([*RECORDS, *NOISE])
    return base


def ids(hits: list[Hit]) -> list[str]:
    return [hit.source.uri.removeprefix("record:") for hit in hits]


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [("Who was Leonhard Euler taught by?", "teacher", "work"), ("한빛중공업을 세운 사람은?", "회사", "사람")],
)
def test_the_second_hop_is_found_with_its_path(base: KnowledgeBase, question: str, first: str, second: str) -> None:
    hits = filled(base).search(question, way="graph", k=3)
    assert ids(hits)[0] == first and second in ids(hits)
    hop = hits[ids(hits).index(second)]
    start, link, end = hop.evidence["path"]
    assert start["uri"] == f"record:{first}" and end == {"passage_id": hop.passage.id}
    assert link["entity"] in hits[0].passage.text and link["entity"] == hop.source.title
    assert hop.relevance >= hits[0].relevance
    assert hop.as_json()["evidence"]["path"][1]["link"] == "title"


def test_without_an_embedder_shares_of_bm25_are_spread(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        filled(base)
        hits = base.search("Who was Leonhard Euler taught by?", way="graph", k=2)
        assert ids(hits) == ["teacher", "work"]
        assert hits[0].score == pytest.approx(1.0, abs=0.3) and hits[1].similarity is None


def test_a_filter_holds_for_what_the_graph_reaches(base: KnowledgeBase) -> None:
    filled(base)
    question = "한빛중공업을 세운 사람은?"
    assert "사람" not in ids(base.search(question, way="graph", filters={"category": "record"}))
    assert ids(base.search(question, way="graph", filters={"category": "people"})) == ["사람"]
    dated = base.search("Who was Leonhard Euler taught by?", way="graph", filters={"since": "2019-01-01"})
    assert ids(dated) == ["work"]


def test_ranks_follow_what_is_added_and_removed(base: KnowledgeBase, embedder: WordEmbeddings) -> None:
    filled(base)
    questions = ("Who was Leonhard Euler taught by?", "한빛중공업을 세운 사람은?", "조선소 3번")

    def ranks(of: KnowledgeBase) -> list[list[tuple[str, float]]]:
        found = [of.search(question, way="graph", k=8) for question in questions]
        return [[(hit.source.uri, round(hit.score, 6)) for hit in hits] for hits in found]

    before = ranks(base)
    base.add_records([{"id": "late", "title": "Basel", "text": "A city on the Rhine.", "date": "2021-01-01"}])
    assert "late" in ids(base.search(questions[0], way="graph", k=3))
    base.remove(["record:late"])
    assert ranks(base) == before
    with KnowledgeBase.open(base.folder, embedder=embedder) as again:
        assert ranks(again) == before


def test_other_ways_say_nothing_of_paths(base: KnowledgeBase) -> None:
    filled(base)
    for way in WAYS:
        hits = base.search("Leonhard Euler", way=way)
        assert hits and (way in ("graph", "fused") or not any("path" in hit.evidence for hit in hits))


def test_given_triplets_join_passages_that_name_nothing_of_each_other(tmp_path: Path, embedder: WordEmbeddings) -> None:
    hidden = [
        {"id": "a", "text": "한빛중공업은 조선소이다.", "triplets": [["한빛중공업", "설립자", "오인환"]]},
        {"id": "b", "text": "그는 새여울에서 태어났다.", "triplets": [["오인환", "출생지", "새여울"]]},
    ]
    for relations, found in (("sentences", False), ("given", True)):
        with KnowledgeBase.open(tmp_path / relations, embedder=embedder, relations=relations) as base:
            base.add_records([*hidden, *NOISE])
            hits = base.search("한빛중공업은 무엇인가?", way="graph", k=20)
            paths = {ids([hit])[0]: hit.evidence.get("path") for hit in hits}
            assert bool(paths.get("b")) is found
            if found:
                assert "오인환" in [step.get("entity") for step in paths["b"]]
