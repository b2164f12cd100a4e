"""A search that a model may steer: when it is asked, what, and what becomes of its reply.

The rooms are synchronous and run in threads; between them, here, the model is awaited, so that no thread waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from silmari.model import Filter, Hit, Way
from silmari.retrieval.doubt import READ, candidates, doubt
from silmari.retrieval.expansion import Expanded, merged
from silmari.retrieval.question import Question
from silmari.retrieval.rerank import Candidate, rerank
from silmari.retrieval.rerank_prompt import Language
from silmari.retrieval.sparse import Scored
from silmari.retrieval.trace import Trace

if TYPE_CHECKING:
    from silmari.providers.calling import Calling
    from silmari.retrieval.search import Searcher

Reranking = Literal["auto", "always", "never"]
RERANKING: tuple[Reranking, ...] = ("auto", "always", "never")
# What `Hit.evidence["rerank"]` says of those that came first by a model's choice, or by its questions.
MODEL, ASKED_BACK = "model", "asked back"
# Of what a model may put first in the way `graph`, and of what is found for each question that it asks back.
_BEST, _FOUND = 5, 2


@dataclass(frozen=True, slots=True)
class Steer:
    """What was found out before a search.

    Attributes:
        expanded: For the way ``expansion``.
        chosen: What a model put first, the most useful first: relations for ``expansion``, passages for ``graph``.
        further: Likewise, what was found for the questions that it asked back; comes after `chosen`.
    """

    expanded: Expanded | None = None
    chosen: tuple[int, ...] = ()
    further: tuple[int, ...] = ()

    @property
    def first(self) -> list[int]:
        """All that comes first, each once."""
        return list(dict.fromkeys([*self.chosen, *self.further]))


NOTHING = Steer()


@dataclass(frozen=True, slots=True)
class Helper:
    """The model that may steer.

    Attributes:
        calling: The model and its gate.
        policy: When it is asked.
        language: Of the question.
        fresh: Makes a question of a text.
    """

    calling: Calling
    policy: Reranking
    language: Language
    fresh: Callable[[str], Question]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model is to be asked.

    Attributes:
        why: Why it is asked, for the Trace.
        candidates: What it chooses from, the likeliest first; empty when it is not asked.
        stands: By a candidate's id, what `Steer.chosen` holds for it.
        best: How many it may choose.
    """

    steer: Steer
    why: str = ""
    candidates: tuple[Candidate, ...] = ()
    stands: Sequence[Sequence[int]] = ()
    best: int = _BEST


async def steered(
    searcher: Searcher, question: Question, way: Way, k: int, where: Filter, trace: Trace, helper: Helper
) -> Steer:
    """Ask the model, at most once, and search for what it asks back.

    Returns:
        For `Searcher.search`; whatever the model replied, one that can be used.
    """
    plan = await asyncio.to_thread(planned, searcher, question, way, k, where, trace, helper.policy)
    if not plan.candidates:
        return plan.steer
    gate = helper.calling.gate.part()
    with trace.stage("rerank") as entry:
        entry.update(why=plan.why, candidates=len(plan.candidates), best=plan.best)
        try:
            result = await rerank(question.text, plan.candidates, plan.best, helper.language, helper.calling.chat, gate)
        finally:
            trace.used(gate.usage)
        chosen = list(dict.fromkeys(one for item in result.chosen for one in plan.stands[item]))
        entry.update(chosen=chosen, questions=list(result.questions))
        if result.fault is not None:
            entry.update(fault=result.fault)
            trace.note(f"The model's reranking could not be used, so the order is the one without it: {result.fault}")
    steer = replace(plan.steer, chosen=tuple(chosen))
    if not result.questions:
        return steer
    with trace.stage("asked back") as entry:
        asked = [helper.fresh(one) for one in result.questions]
        found = await asyncio.gather(*(asyncio.to_thread(_answered, searcher, one, way, where) for one in asked))
        steer = replace(
            steer,
            expanded=merged(steer.expanded, [one for one, _ in found if one]) if steer.expanded else None,
            further=tuple(interleaved([ids for _, ids in found])),
        )
        entry.update(questions=len(asked), found=len(steer.further))
    return steer


def planned(
    searcher: Searcher, question: Question, way: Way, k: int, where: Filter, trace: Trace, policy: Reranking
) -> Plan:
    """What a model is to be asked before a search, if anything."""
    if way == "expansion":
        expanded = searcher.expander.expanded(question, where, trace)
        if expanded is None or policy == "never":
            return Plan(Steer(expanded))
        offered, stands = searcher.expander.candidates(expanded)
        return Plan(Steer(expanded), "the way expansion always asks", offered, stands, searcher.expander.chosen.rerank)
    if way != "graph" or policy == "never":
        return Plan(NOTHING)
    hits = searcher.search(question, way, max(READ, k), where, Trace())
    with trace.stage("doubt") as entry:
        why = "it is always asked" if policy == "always" else doubt(hits, k)
        entry.update(doubt=why or "none")
        if not why or not hits:
            return Plan(NOTHING)
        offered, stands = candidates(hits, searcher.expander, question, searcher.weights(question))
    return Plan(NOTHING, why, offered, stands)


def _answered(searcher: Searcher, question: Question, way: Way, where: Filter) -> tuple[Expanded | None, list[int]]:
    """What is found for a question that a model asked back: for each way, what `Steer.further` holds."""
    if way == "expansion":
        expanded = searcher.expander.expanded(question, where)
        return expanded, [] if expanded is None else expanded.order()[:_FOUND]
    return None, [hit.passage.id for hit in searcher.search(question, way, _FOUND, where, Trace())]


def interleaved(lists: Sequence[Sequence[int]]) -> list[int]:
    """The first of each list, then the second of each, and so on; each item once."""
    longest = max(map(len, lists), default=0)
    return list(dict.fromkeys(found[place] for place in range(longest) for found in lists if place < len(found)))


def put_first(ranked: Scored, steer: Steer, k: int) -> Scored:
    """The best k passages with those that a model chose first; scores stay the way's own."""
    if not steer.first:
        return ranked
    scores = dict(ranked)
    # What was found for a question asked back may not have been found for the question itself.
    order = dict.fromkeys([*steer.first, *scores])
    return [(item, scores.get(item, 0.0)) for item in order][:k]


def marked(hits: Sequence[Hit], steer: Steer) -> list[Hit]:
    """The hits, with what a model did to them in their evidence."""
    if not steer.first:
        return list(hits)
    by = dict.fromkeys(steer.further, ASKED_BACK) | dict.fromkeys(steer.chosen, MODEL)
    return [
        replace(hit, evidence={**hit.evidence, "rerank": by[hit.passage.id]}) if hit.passage.id in by else hit
        for hit in hits
    ]
