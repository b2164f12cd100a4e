"""A search that a model may steer: what is asked, when, and what becomes of the reply.

The rooms are synchronous and run in threads; between them, here, the model is awaited, so that no thread waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from silmari.model import Filter, Hit, Way
from silmari.retrieval.expansion import Expanded
from silmari.retrieval.question import Question
from silmari.retrieval.rerank import Candidate, rerank
from silmari.retrieval.rerank_prompt import Language
from silmari.retrieval.trace import Trace

if TYPE_CHECKING:
    from silmari.providers.calling import Calling
    from silmari.retrieval.search import Searcher

Policy = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class Steer:
    """What was found out before the search.

    Attributes:
        expanded: For the way ``expansion``.
        chosen: What a model put first, the most useful first: relations for ``expansion``, passages for ``graph``.
        further: Likewise, what was found for the questions that it asked back; comes after `chosen`.
    """

    expanded: Expanded | None = None
    chosen: tuple[int, ...] = ()
    further: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model is to be asked.

    Attributes:
        why: Why it is asked, for the Trace; empty when it is not.
        candidates: What it chooses from, the likeliest first.
        best: How many it may choose.
        stated: For each candidate the ids that `Steer.chosen` wants of it.
    """

    steer: Steer
    why: str = ""
    candidates: tuple[Candidate, ...] = ()
    best: int = 3


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
    policy: Policy
    language: Language
    fresh: Callable[[str], Question]


async def steered(
    searcher: Searcher, question: Question, way: Way, k: int, where: Filter, trace: Trace, helper: Helper
) -> Steer:
    """Ask the model, at most once, and search for what it asks back.

    Returns:
        For `Searcher.search`; whatever the model replies, one that can be used.
    """
    plan = await asyncio.to_thread(searcher.plan, question, way, k, where, trace, helper.policy)
    if not plan.candidates:
        return plan.steer
    gate = helper.calling.gate.part()
    with trace.stage("rerank") as entry:
        entry.update(why=plan.why, candidates=len(plan.candidates), best=plan.best)
        try:
            result = await rerank(question.text, plan.candidates, plan.best, helper.language, helper.calling.chat, gate)
        finally:
            trace.used(gate.usage)
        entry.update(chosen=list(result.chosen), questions=list(result.questions))
        if result.fault is not None:
            entry.update(fault=result.fault)
            trace.note(f"The model's reranking could not be used, so the order is the one without it: {result.fault}")
    if result.questions:
        with trace.stage("questions asked back") as entry:
            asked = [helper.fresh(one) for one in result.questions]
            found = await asyncio.gather(*(asyncio.to_thread(searcher.explore, one, way, k, where) for one in asked))
            steer = searcher.merged(plan.steer, found)
            entry.update(found=len(steer.further))
    else:
        steer = plan.steer
    return replace(steer, chosen=result.chosen)


def interleaved(lists: Sequence[Sequence[int]]) -> list[int]:
    """The first of each list, then the second of each, and so on; each item once."""
    longest = max(map(len, lists), default=0)
    return list(dict.fromkeys(found[place] for place in range(longest) for found in lists if place < len(found)))
