"""One search or answer of a knowledge base: what is wanted, checked, and how it is carried out.

A search has up to three layers: the ways (`Searcher`), a chat model's help before them (`steered`), and what a
policy and the times in the question make of them (`Run`, `search_timed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from silmari.comparison import Compared, Comparison
from silmari.errors import SilmariError
from silmari.language.times import Times
from silmari.model import Filter, Hit, Way
from silmari.retrieval.filling import Run
from silmari.retrieval.filters import Now
from silmari.retrieval.policy import Policy
from silmari.retrieval.steer import Helper, Reranking, steered
from silmari.retrieval.timed import search_timed
from silmari.retrieval.trace import Trace

if TYPE_CHECKING:
    from silmari.answering.answer import Answer
    from silmari.answering.answering import Answering

# The ways in which a model may put hits first.
STEERED: frozenset[Way] = frozenset({"expansion", "graph"})
Filters = Filter | Mapping[str, Any]


class SearchOptions(TypedDict, total=False):
    """How a question is searched for; what is left out or None is as the settings say.

    Attributes:
        way: One of `silmari.model.WAYS`.
        k: How many hits, at most.
        filters: A `Filter`, or a mapping with ``category``, ``since``, ``until``, ``documents``, ``undated``.
        policy: ``best``, ``fresh``, ``latest``, one of your own (docs/policies.md), or a `Policy`.
        time: Whether times in the question, such as ``지난달``, choose among dated passages. Dates among the
            filters come before them.
        now: Today, for ages and times: a date or its ISO form; else the clock's.
        entities: The names that the question holds, from a recogniser of your own; None to find them.
        rerank: Whether the chat model reorders what ``expansion`` and ``graph`` found: ``always``, ``never``,
            or ``auto`` (``graph``: only where its order is doubtful).
        expansion: Parameters of the way ``expansion`` that differ from the settings', such as
            ``{"degree": 2}``; see `silmari.settings.Expansion`.
        duplicates: Whether passages that are nearly the same as a better one are kept.
    """

    way: Way | None
    k: int | None
    filters: Filters | None
    policy: str | Policy | None
    time: bool | None
    now: Now
    entities: Sequence[str] | None
    rerank: Reranking | None
    expansion: Mapping[str, Any] | None
    duplicates: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for, checked.

    Attributes:
        run: The search.
        times: What the question says of times.
        dated: How many passages of the base have a date.
        least: The least relevance that an answer is built from.
        helper: The model that may reorder what is found; None without one.
        notes: Sentences for the trace.
    """

    run: Run
    times: Times
    dated: int
    least: float
    helper: Helper | None = None
    notes: tuple[str, ...] = ()

    def found(self, trace: Trace) -> list[Hit]:
        """The hits as they are without a model.

        Raises:
            UsageError: The way needs an embedder, and there is none.
        """
        return self._search(trace, self.run)[0]

    async def steered(self, trace: Trace) -> list[Hit]:
        """The hits, reordered by the model where that is wanted."""
        return (await self._found(trace))[0]

    async def pieces(self, answering: Answering, trace: Trace) -> AsyncIterator[str | Answer]:
        """An answer as it comes, then the finished `Answer`."""
        hits, bounded = await self._found(trace)
        held: str | None = None
        async for piece in self.answered(answering, hits, trace):
            if isinstance(piece, str):
                if held is not None:
                    yield held
                held = piece
            elif bounded and not piece.found:
                # Whoever is asked of last month should not be silent on what any other time answers.
                trace.note("Nothing of that time answers the question, so all times were searched.")
                again = replace(self, times=Times())
                async for other in self.answered(answering, await again.steered(trace), trace):
                    yield other
                return
            else:
                if held is not None:
                    yield held
                yield piece

    async def answered(self, answering: Answering, hits: list[Hit], trace: Trace) -> AsyncIterator[str | Answer]:
        """An answer from hits that are there."""
        from silmari.answering.answer import with_tiers

        question = self.run.question
        weights = await asyncio.to_thread(self.run.searcher.weights, question)
        async for piece in answering.pieces(question.text, hits, weights, trace):
            yield piece if isinstance(piece, str) else with_tiers(piece, hits)

    async def _found(self, trace: Trace) -> tuple[list[Hit], bool]:
        run = self.run
        if self.helper is not None:
            steer = await steered(run.searcher, run.question, run.way, run.k, run.where, trace, self.helper)
            run = replace(run, steer=steer)
        return await asyncio.to_thread(self._search, trace, run)

    def _search(self, trace: Trace, run: Run) -> tuple[list[Hit], bool]:
        """The hits, and whether passages of other times than those asked for were left out."""
        for note in self.notes:
            trace.note(note)
        return search_timed(run, self.times, self.dated, self.least, trace)


async def compared(
    question: str, k: int, ways: list[Way], wanted: Callable[[Way], Wanted], answering: Answering | None
) -> Comparison:
    """Run several ways at once.

    Args:
        question: As it was asked.
        k: How many hits of each.
        ways: In the order in which they are shown.
        wanted: What is to be searched for, by way.
        answering: How each answers; None for hits alone.
    """
    return Comparison(question, k, tuple(await asyncio.gather(*(_one(way, wanted, answering) for way in ways))))


async def _one(way: Way, wanted: Callable[[Way], Wanted], answering: Answering | None) -> Compared:
    from silmari.answering.generative import written

    trace = Trace()
    try:
        mine = await asyncio.to_thread(wanted, way)
        hits = await mine.steered(trace)
    except SilmariError as error:  # without an embedder there is no `dense`, but the others can be compared
        return Compared(way, fault=str(error), trace=trace.as_json())
    found = Compared(way, tuple(hits), trace=trace.as_json())
    if answering is None:
        return found
    try:
        answer = await written(mine.answered(answering, hits, trace))
    except SilmariError as error:
        return replace(found, fault=str(error), trace=trace.as_json())
    return replace(found, answer=answer, trace=answer.trace)
