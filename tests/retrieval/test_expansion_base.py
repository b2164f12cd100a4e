"""The ways ``expansion`` and ``graph`` on a real base, with and without a model that puts statements first."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from model_fixtures import service
from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit
from silmari.retrieval.trace import Trace
from standin import StandIn, reply
from word_embeddings import WordEmbeddings

__all__ = ["service"]

RECORDS: list[dict[str, Any]] = [
    {
        "id": "euler",
        "text": "As a boy in Basel, Leonhard Euler had lessons from Johann Bernoulli every Saturday.",
        "triplets": [["Leonhard Euler", "was a pupil of", "Johann Bernoulli"], ["Euler", "lived in", "Basel"]],
    },
    {
        "id": "johann",
        "text": "Johann Bernoulli put forward the problem of the quickest descent in a journal in 1696.",
        "triplets": [["Johann Bernoulli", "put forward", "the problem of the quickest descent"]],
    },
    {
        "id": "daniel",
        "text": "Daniel Bernoulli, son of Johann Bernoulli, showed how the pressure of a flowing liquid falls.",
        "triplets": [
            ["Daniel Bernoulli", "was the son of", "Johann Bernoulli"],
            ["Daniel Bernoulli", "contributed to", "the theory of flowing liquids"],
        ],
    },
    {
        "id": "jakob",
        "text": "Jakob Bernoulli wrote about games of chance.",
        "triplets": [["Jakob Bernoulli", "wrote about", "games of chance"]],
    },
    {
        "id": "다리",
        "text": "달맞이다리는 서문경이 설계하였다.",
        "date": "2020-01-01",
        "triplets": [["달맞이다리", "설계자", "서문경"]],
    },
    {
        "id": "서문경",
        "text": "서문경은 노을선에게서 일을 배웠다.",
        "date": "2021-01-01",
        "triplets": [["서문경", "스승", "노을선"]],
    },
    {
        "id": "노을선",
        "text": "노을선은 한여울시 토목국에서 평생 일하였다.",
        "date": "2022-01-01",
        "triplets": [["노을선", "근무지", "한여울시 토목국"]],
    },
    {"id": "시장", "text": "한여울시 시장은 해마다 다리를 돌아본다.", "triplets": [["한여울시", "시장", "마루한"]]},
    {"id": "bare", "text": "A page about liquids that states nothing of anyone."},
]
QUESTION = "What did the son of Euler's teacher contribute?"
KOREAN = "달맞이다리를 설계한 사람의 스승은 어디에서 일했나요?"


def ids(hits: Any) -> list[str]:
    return [hit.source.uri.removeprefix("record:") for hit in hits]


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The records under the bundled embedder."""
    folder = tmp_path_factory.mktemp("meaning")
    with KnowledgeBase.open(folder / "kb", embedder="bundled", cache=folder / "cache") as opened:
        opened.add_records(RECORDS)
        yield opened


@pytest.fixture
def filled(base: KnowledgeBase) -> KnowledgeBase:
    base.add_records(RECORDS)
    return base


class Chooser:
    """Replies of a model: a choice for statements, made by their words; else the stand-in's answer."""

    def __init__(self) -> None:
        self.wanted: tuple[str, ...] = ()
        self.missing: list[str] = []
        self.said: str | None = None
        self.shown: list[str] = []

    def __call__(self, body: dict[str, Any]) -> str:
        prompt = str(body["messages"][-1]["content"])
        if "<statements-" not in prompt:
            return reply(body, "answer")
        self.shown = re.findall(r"^\[\d+\] (.*)$", prompt, re.M)
        if self.said is not None:
            return self.said
        numbers = [self.shown.index(text) + 1 for text in self.wanted]
        return json.dumps({"thinking": "…", "useful": numbers, "missing": self.missing})


@pytest.fixture
def chooser(service: StandIn) -> Chooser:
    made = Chooser()
    service.replier = made
    return made


@pytest.fixture
def helped(tmp_path: Path, service: StandIn, chooser: Chooser, embedder: WordEmbeddings) -> Iterator[KnowledgeBase]:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": embedder}
    with KnowledgeBase.open(tmp_path / "helped", llm="openai:any", **options) as opened:
        opened.add_records(RECORDS)
        yield opened


def rerank_of(trace: Trace) -> dict[str, Any]:
    return next(stage for stage in trace.stages if stage["stage"] == "rerank")


def test_the_second_hop_is_reached_without_a_model(meaning: KnowledgeBase) -> None:
    trace = Trace()
    hits = meaning.search(QUESTION, way="expansion", trace=trace)
    assert len(hits) == 2  # the method's own number
    assert set(ids(hits)) == {"euler", "daniel"}
    assert [hit.score for hit in hits] == [1.0, 0.5] and trace.calls == 0
    answer = meaning.ask(QUESTION, way="expansion")
    assert answer.found and {cited.source.uri for cited in answer.sources} <= {"record:euler", "record:daniel"}
    assert "pressure" in answer.text


def test_korean_is_reached_as_english_is(meaning: KnowledgeBase) -> None:
    hits = meaning.search(KOREAN, way="expansion", k=4, expansion={"degree": 2})
    assert set(ids(hits)) >= {"다리", "서문경", "노을선"}
    last = hits[ids(hits).index("노을선")]
    told = [step.get("entity") or step.get("text") for step in last.evidence["path"]]
    assert told == [
        "달맞이다리",
        "달맞이다리 설계자 서문경",
        "서문경",
        "서문경 스승 노을선",
        "노을선",
        "노을선 근무지 한여울시 토목국",
        None,
    ]
    assert last.evidence["path"][-1]["uri"] == "record:노을선"
    assert last.evidence["path"][1]["passage_id"] == next(hit for hit in hits if ids([hit]) == ["다리"]).passage.id


def test_more_passages_than_relations_give_are_filled_up_and_it_is_said(filled: KnowledgeBase) -> None:
    trace = Trace()
    hits = filled.search("Who wrote about games of chance?", way="expansion", k=9, trace=trace)
    by = [hit.evidence["expansion"]["by"] for hit in hits]
    assert len(hits) == 9 and ids(hits)[0] == "jakob" and by[0] == "similarity"
    assert by == sorted(by, key=["similarity", "filled", "dense"].index) and by[-1] == "dense"
    assert "path" not in hits[-1].evidence
    counted = next(stage for stage in trace.stages if stage["stage"] == "passages of relations")
    assert {name: counted[name] for name in set(by)} == {name: by.count(name) for name in set(by)}


def test_names_from_the_caller_begin_it(filled: KnowledgeBase) -> None:
    trace = Trace()
    exact = {"top_k": 1, "entity_threshold": 1, "relation_threshold": 1}
    hits = filled.search("Who is it?", way="expansion", entities=["서문경"], expansion=exact, trace=trace)
    assert ids(hits)[0] in ("다리", "서문경") and trace.stages[0]["names"] == ["서문경"]
    none = Trace()
    filled.search(KOREAN, way="expansion", entities=[], trace=none)
    assert none.stages[0]["names"] == []


def test_a_filter_comes_before_the_first_passages(filled: KnowledgeBase) -> None:
    hits = filled.search(KOREAN, way="expansion", k=4, filters={"since": "2020-06-01"}, expansion={"degree": 2})
    assert set(ids(hits)) == {"서문경", "노을선"}
    shown = {step.get("passage_id") for hit in hits for step in hit.evidence.get("path", ())} - {None}
    assert shown <= {hit.passage.id for hit in hits}  # no path leads through what is filtered out


def test_what_is_wrong_is_told_in_one_sentence(filled: KnowledgeBase, tmp_path: Path) -> None:
    for given, said in (
        ({"degree": 3}, "degree"),
        ({"depth": 1}, "no parameter named depth"),
        ({"top_k": "many"}, "top_k"),
    ):
        with pytest.raises(UsageError, match=said):
            filled.search(QUESTION, way="expansion", expansion=given)
    with pytest.raises(UsageError, match="sometimes"):
        filled.search(QUESTION, way="graph", rerank="sometimes")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="llm"):
        filled.search(QUESTION, way="graph", rerank="always")
    with KnowledgeBase.open(tmp_path / "words", embedder="none") as words:
        words.add_records(RECORDS)
        with pytest.raises(UsageError, match="embedder"):
            words.search(QUESTION, way="expansion")


def test_a_base_without_relations_says_what_to_do(tmp_path: Path, embedder: WordEmbeddings) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        base.add_records([{**record, "triplets": []} for record in RECORDS])
        trace = Trace()
        hits = base.search(QUESTION, way="expansion", k=3, trace=trace)
        assert ids(hits) == ids(base.search(QUESTION, way="dense", k=3))
        assert any("--triplets" in note for note in trace.notes)


def test_settings_hold_the_parameters(tmp_path: Path, embedder: WordEmbeddings, monkeypatch: Any) -> None:
    monkeypatch.setenv("SILMARI_EXPANSION", '{"degree": 2, "top_k": 1, "k": 3}')
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        base.add_records(RECORDS)
        trace = Trace()
        assert len(base.search(KOREAN, way="expansion", trace=trace)) == 3
        nearer = Trace()
        base.search(KOREAN, way="expansion", expansion={"degree": 1}, trace=nearer)
        assert nearer.stages[0]["reached"] < trace.stages[0]["reached"]
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, k=4) as base:
        assert len(base.search(KOREAN, way="expansion")) == 4


def test_a_model_puts_relations_first_in_one_call(helped: KnowledgeBase, service: StandIn, chooser: Chooser) -> None:
    chooser.wanted = (
        "Daniel Bernoulli contributed to the theory of flowing liquids",
        "Leonhard Euler was a pupil of Johann Bernoulli",
    )
    trace = Trace()
    hits = helped.search(QUESTION, way="expansion", trace=trace)
    assert ids(hits) == ["daniel", "euler"] and trace.calls == len(service.requests) == 1
    assert [hit.evidence["rerank"] for hit in hits] == ["model", "model"]
    assert rerank_of(trace)["candidates"] == len(chooser.shown) and "fault" not in rerank_of(trace)
    # Chains read together: all of Daniel stands side by side.
    daniel = [at for at, text in enumerate(chooser.shown) if text.startswith("Daniel")]
    assert daniel[-1] - daniel[0] == len(daniel) - 1
    answer = helped.ask(QUESTION, way="expansion")
    assert answer.found and {cited.source.uri for cited in answer.sources} <= {"record:euler", "record:daniel"}
    assert len(service.requests) == 2  # the choice came from the cache
    assert ids(helped.search(QUESTION, way="expansion", rerank="never")) != [] and len(service.requests) == 2


@pytest.mark.parametrize("way", ["expansion", "graph"])
def test_a_useless_reply_leaves_the_order_and_says_so(
    helped: KnowledgeBase, service: StandIn, chooser: Chooser, way: Any
) -> None:
    before = helped.search(QUESTION, way=way, k=4, rerank="never")
    chooser.said = "I am not sure."
    trace = Trace()
    hits = helped.search(QUESTION, way=way, k=4, rerank="always", trace=trace)
    assert ids(hits) == ids(before) and len(service.requests) == 1
    assert "fault" in rerank_of(trace) and any("order is the one without" in note for note in trace.notes)


def test_what_the_model_asks_back_is_searched_once(helped: KnowledgeBase, service: StandIn, chooser: Chooser) -> None:
    chooser.wanted = ("달맞이다리 설계자 서문경",)
    chooser.missing = ["노을선의 근무지는?", "서문경의 스승은?", "한여울시의 시장은?", "그 밖에는?"]
    trace = Trace()
    hits = helped.search(KOREAN, way="expansion", k=4, trace=trace)
    assert ids(hits)[0] == "다리" and hits[0].evidence["rerank"] == "model"
    assert set(ids(hits)[1:]) == {"노을선", "서문경", "시장"}
    assert {hit.evidence["rerank"] for hit in hits[1:]} == {"asked back"}
    assert len(service.requests) == 1 and rerank_of(trace)["questions"] == chooser.missing[:3]
    assert next(stage for stage in trace.stages if stage["stage"] == "asked back")["questions"] == 3


def test_graph_asks_only_in_doubt_or_when_told(helped: KnowledgeBase, service: StandIn, chooser: Chooser) -> None:
    trace = Trace()
    helped.search("Jakob Bernoulli wrote about games of chance.", way="graph", k=1, trace=trace)
    assert not service.requests
    assert next(stage for stage in trace.stages if stage["stage"] == "doubt")["doubt"] == "none"
    chooser.wanted = ("Daniel Bernoulli was the son of Johann Bernoulli",)
    chooser.missing = ["Who wrote about games of chance?"]
    hits = helped.search(QUESTION, way="graph", k=3, rerank="always")
    assert ids(hits)[:2] == ["daniel", "jakob"] and len(service.requests) == 1
    assert [hit.evidence.get("rerank") for hit in hits] == ["model", "asked back", "asked back"]
    helped.search("달", way="graph", k=9)  # the last of nine has nothing to do with it
    assert len(service.requests) == 2


def test_graph_of_sentences_offers_the_best_of_each_passage(
    tmp_path: Path, service: StandIn, chooser: Chooser, embedder: WordEmbeddings
) -> None:
    long = "The bridge was built in spring. " * 3 + "Its architect Seo came from Naru. " + "It rained. " * 5
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": embedder, "llm": "openai:any"}
    with KnowledgeBase.open(tmp_path / "kb", **options) as base:
        base.add_records([{"id": "a", "title": "Moon bridge", "text": long}, {"id": "b", "text": "Naru is a town."}])
        chooser.said = '{"useful": [2]}'
        hits = base.search("Where did the architect Seo come from?", way="graph", k=2, rerank="always")
    assert len(chooser.shown) == 2 and any("Its architect Seo came from Naru." in text for text in chooser.shown)
    assert any(text.startswith("Moon bridge: ") for text in chooser.shown)
    assert hits[0].evidence["rerank"] == "model"


def test_a_failing_service_does_not_stop_the_search(helped: KnowledgeBase, service: StandIn) -> None:
    service.behaviour = "401"
    trace = Trace()
    assert len(helped.search(QUESTION, way="expansion", trace=trace)) == 2
    assert any("401" in note for note in trace.notes)


def test_many_searches_wait_for_the_model_at_once(helped: KnowledgeBase, service: StandIn, chooser: Chooser) -> None:
    chooser.wanted = ("Daniel Bernoulli was the son of Johann Bernoulli",)
    helped.search(QUESTION, way="expansion")
    service.behaviour, service.delay = "slow", 0.7

    async def everyone() -> list[list[Hit]]:
        return await asyncio.gather(*(helped.asearch(f"{QUESTION} {at}", way="expansion") for at in range(10)))

    assert all(ids(hits)[0] == "daniel" for hits in asyncio.run(everyone()))
    assert service.most_in_flight == 10


def test_ways_are_compared_side_by_side(helped: KnowledgeBase, service: StandIn, chooser: Chooser) -> None:
    chooser.wanted = (
        "Daniel Bernoulli was the son of Johann Bernoulli",
        "Leonhard Euler was a pupil of Johann Bernoulli",
    )
    found = helped.compare(QUESTION, k=2)
    assert [one.way for one in found.ways] == ["dense", "cascade", "expansion", "graph", "fused"]
    by = {one.way: one for one in found.ways}
    assert ids(by["expansion"].hits) == ["daniel", "euler"] and ids(by["dense"].hits) != []
    assert all(one.answer is not None and one.fault is None and len(one.hits) == 2 for one in found.ways)
    shown = found.passages()
    assert len({hit.passage.id for hit, _ in shown}) == len(shown)
    assert {way: ranks[way] for hit, ranks in shown if ids([hit]) == ["daniel"] for way in ranks}["expansion"] == 1
    again = json.loads(json.dumps(asyncio.run(helped.acompare(QUESTION, k=2)).as_json(), default=str))
    assert [one["way"] for one in again["ways"]] == [one.way for one in found.ways]
    assert again["ways"][2]["hits"][0]["evidence"]["path"]
    hits_only = helped.compare(QUESTION, ways=["fused", "sparse", "fused"], answers=False)
    assert [(one.way, one.answer) for one in hits_only.ways] == [("fused", None), ("sparse", None)]


def test_comparing_tells_which_way_cannot(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "words", embedder="none") as base:
        base.add_records(RECORDS)
        found = {one.way: one for one in base.compare(QUESTION).ways}
        assert found["dense"].fault and "embedder" in found["dense"].fault and not found["dense"].hits
        assert found["fused"].fault is None and found["fused"].hits
        for wrong in ({"ways": ["best"]}, {"k": 0}, {"filters": {"nothing": 1}}):
            with pytest.raises(UsageError):
                base.compare(QUESTION, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("helping", [False, True])
def test_the_worked_example(shared: Path, tmp_path: Path, service: StandIn, chooser: Chooser, helping: bool) -> None:
    lines = {name: (shared / "data" / "nano" / f"{name}.jsonl").read_text("utf-8") for name in ("corpus", "triplets")}
    stated = {row["_id"]: row["triplets"] for row in map(json.loads, lines["triplets"].splitlines())}
    rows = [json.loads(line) for line in lines["corpus"].splitlines()]
    question = json.loads((shared / "data" / "nano" / "queries.jsonl").read_text("utf-8"))["text"]
    wanted = {row["_id"] for row in rows if row["text"].startswith(("Leonhard", "Daniel"))}
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "llm": "openai:any"} if helping else {}
    with KnowledgeBase.open(tmp_path / "nano", embedder="bundled", **options) as base:
        base.add_records([{"id": row["_id"], "text": row["text"], "triplets": stated[row["_id"]]} for row in rows])
        chooser.wanted = tuple(
            " ".join(parts)
            for parts in chain.from_iterable(stated.values())
            if parts[1] in ("was a student of", "was the son of", "is most famous for")
        )
        for way in ("expansion", "graph"):
            assert set(ids(base.search(question, way=way, k=2, rerank="always" if helping else None))) == wanted  # type: ignore[arg-type]
            answer = base.ask(question, way=way, k=2)  # type: ignore[arg-type]
            assert answer.found and {cited.source.uri.removeprefix("record:") for cited in answer.sources} <= wanted
        assert bool(service.requests) is helping
