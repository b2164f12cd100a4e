"""One search or answer of a knowledge base, with a model's help where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from silmari.comparison import Compared, Comparison
from silmari.errors import SilmariError
from silmari.model import Filter, Hit, Way
from silmari.retrieval.question import Question
from silmari.retrieval.search import Searcher
from silmari.retrieval.steer import NOTHING, Helper, Steer, steered
from silmari.retrieval.trace import Trace

if TYPE_CHECKING:
    from silmari.answering.answer import Answer
    from silmari.answering.answering import Answering

# The ways in which a model may put hits first.
STEERED: frozenset[Way] = frozenset({"expansion", "graph"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for, checked.

    Attributes:
        helper: The model that may reorder what is found; None without one.
    """

    question: Question
    way: Way
    k: int
    where: Filter
    searcher: Searcher
    helper: Helper | None = None
    duplicates: bool = False

    def found(self, trace: Trace) -> list[Hit]:
        """The hits as they are without a model.

        Raises:
            UsageError: The way needs an embedder, and there is none.
        """
        return self._search(trace, NOTHING)

    async def steered(self, trace: Trace) -> list[Hit]:
        """The hits, reordered by the model where that is wanted."""
        steer = NOTHING
        if self.helper is not None:
            steer = await steered(self.searcher, self.question, self.way, self.k, self.where, trace, self.helper)
        return await asyncio.to_thread(self._search, trace, steer)

    async def pieces(self, answering: Answering) -> AsyncIterator[str | Answer]:
        """An answer as it comes, then the finished `Answer`."""
        trace = Trace()
        hits = await self.steered(trace)
        async for piece in self.answered(answering, hits, trace):
            yield piece

    async def answered(self, answering: Answering, hits: list[Hit], trace: Trace) -> AsyncIterator[str | Answer]:
        """An answer from hits that are there."""
        weights = await asyncio.to_thread(self.searcher.weights, self.question)
        async for piece in answering.pieces(self.question.text, hits, weights, trace):
            yield piece

    def _search(self, trace: Trace, steer: Steer) -> list[Hit]:
        return self.searcher.search(
            self.question, self.way, self.k, self.where, trace, duplicates=self.duplicates, steer=steer
        )


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
