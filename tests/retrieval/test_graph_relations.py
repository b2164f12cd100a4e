"""The ways ``graph`` and ``fused`` on a base with relations: chains, aliases, paths, what comes and goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit
from silmari.retrieval.trace import Trace
from word_embeddings import WordEmbeddings

# The texts share nothing with the questions but in the first passage of each chain; the relations lead further.
RECORDS: list[dict[str, Any]] = [
    {
        "id": "작업장",
        "text": "여울철공소는 1931년에 문을 연 대장간이다.",
        "triplets": [["여울철공소", "창업자", "오만석"], ["여울철공소", "시작 연도", "1931년"]],
    },
    {"id": "사람", "text": "그는 소작농의 셋째 아들이었다.", "triplets": [["오만석 회장", "고향", "달머리마을"]]},
    {"id": "마을", "text": "음력 정월이면 배를 띄운다.", "triplets": [["달머리마을", "세시풍속", "연등배 띄우기"]]},
    {
        "id": "teacher",
        "text": "Leonhard Euler went to school in Basel.",
        "triplets": [["Leonhard Euler", "was taught by", "Johann Bernoulli"]],
    },
    {"id": "son", "text": "He was born in 1700.", "triplets": [["Daniel Bernoulli", "son of", "Johann Bernoulli"]]},
]
NOISE = [
    {"id": f"n{at}", "text": f"잡음 {at} noise", "triplets": [[f"name {at}", "is beside", f"name {at + 1}"]]}
    for at in range(25)
]
KOREAN = "여울철공소 창업자의 고향에 이어져 오는 세시풍속은?"
ENGLISH = "Who is the son of the man that Leonhard Euler was taught by?"


def filled(base: KnowledgeBase) -> KnowledgeBase:
    base.add_records([*RECORDS, *NOISE])
    return base


def ids(hits: list[Hit]) -> list[str]:
    return [hit.source.uri.removeprefix("record:") for hit in hits]


@pytest.mark.parametrize("way", ["graph", "fused"])
def test_every_passage_of_a_chain_is_found(base: KnowledgeBase, way: Any) -> None:
    filled(base)
    assert ids(base.search(KOREAN, way=way, k=3)) == ["작업장", "사람", "마을"]
    assert set(ids(base.search(ENGLISH, way=way, k=2))) == {"teacher", "son"}


def test_a_path_leads_from_an_entity_over_relations_and_names_of_one_entity(base: KnowledgeBase) -> None:
    hits = filled(base).search(KOREAN, way="graph", k=3)
    numbers = dict(zip(ids(hits), (hit.passage.id for hit in hits), strict=True))
    path = hits[2].evidence["path"]
    assert [step.get("entity") for step in path if "entity" in step] == [
        "여울철공소",
        "오만석",
        "오만석 회장",
        "달머리마을",
    ]
    assert [step["entity"] for step in path if step.get("link") == "alias"] == ["오만석 회장"]
    relations = [step for step in path if "relation" in step]
    assert [step["relation"] for step in relations] == ["창업자", "고향", "세시풍속"]
    assert [step["passage_id"] for step in relations] == [numbers["작업장"], numbers["사람"], numbers["마을"]]
    assert relations[0]["text"] == "여울철공소 창업자 오만석"
    assert path[-1]["passage_id"] == hits[2].passage.id and path[-1]["uri"] == "record:마을"
    # Its own text shares nothing with the question; what led to it does.
    assert hits[2].similarity is not None and hits[2].relevance > 0.2


def test_passages_that_have_an_entity_in_common_say_so(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        hits = filled(base).search("여울철공소", way="graph", k=2)
        assert ids(hits) == ["작업장", "사람"]
        start, before, here, alias, after, end = hits[1].evidence["path"]
        assert "오만석" in before["text"] and before["passage_id"] == hits[0].passage.id
        assert "오만석 회장" in after["text"] and after["passage_id"] == hits[1].passage.id
        assert start["passage_id"] == hits[0].passage.id and end == {"passage_id": hits[1].passage.id}
        assert (here["entity"], here["link"]) == ("오만석", "given")
        assert (alias["entity"], alias["link"]) == ("오만석 회장", "alias")


def test_relations_that_nobody_wants_lead_nowhere(tmp_path: Path, embedder: WordEmbeddings) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, relations="sentences") as base:
        hits = filled(base).search(KOREAN, way="graph", k=40)
        assert not any("relation" in step for hit in hits for step in hit.evidence.get("path", ()))


def test_a_filter_holds_for_chains(base: KnowledgeBase) -> None:
    base.add_records([{**record, "category": "kept" if record["id"] != "사람" else "other"} for record in RECORDS])
    hits = base.search(KOREAN, way="graph", k=5, filters={"category": "kept"})
    assert "사람" not in ids(hits)
    assert not any("오만석 회장 고향" in step.get("text", "") for hit in hits for step in hit.evidence.get("path", ()))


def test_ranks_follow_what_is_added_and_removed(base: KnowledgeBase, embedder: WordEmbeddings) -> None:
    filled(base)

    def ranks(of: KnowledgeBase) -> list[list[tuple[str, float]]]:
        found = [of.search(question, way="graph", k=8) for question in (KOREAN, ENGLISH, "name 3")]
        return [[(hit.source.uri, round(hit.score, 5)) for hit in hits] for hits in found]

    before = ranks(base)
    later = {"id": "축제", "text": "등불이 걸린다.", "triplets": [["연등배 띄우기", "때", "정월 열엿새"]]}
    base.add_records([later])
    assert "축제" in ids(base.search("여울철공소 창업자 고향 세시풍속 때", way="graph", k=5))
    base.remove(["record:축제"])
    assert ranks(base) == before
    with KnowledgeBase.open(base.folder, embedder=embedder) as again:
        assert ranks(again) == before


def test_the_trace_says_how_much_was_looked_at(base: KnowledgeBase) -> None:
    trace = Trace()
    filled(base).search(KOREAN, way="graph", k=3, trace=trace)
    stage = next(stage for stage in trace.stages if stage["stage"] == "graph")
    assert stage["relations"] >= 4 and stage["chained"] >= 1


def test_the_worked_example(tmp_path: Path, shared: Path) -> None:
    from silmari.evaluation.beir import load

    nano = load(shared / "data" / "nano")
    with KnowledgeBase.open(tmp_path / "kb", relations="given") as base:
        if base.embedder is None:
            pytest.skip("the bundled embedder is not here")
        base.add_records(
            {
                "id": key,
                "title": title,
                "text": text,
                "triplets": [[one.subject, one.predicate, one.object] for one in nano.triplets.get(key, ())],
            }
            for key, (title, text) in nano.documents.items()
        )
        for query, question in nano.queries.items():
            hits = base.search(question, way="graph", k=2)
            assert set(ids(hits)) == {key for key, gain in nano.qrels[query].items() if gain > 0}
