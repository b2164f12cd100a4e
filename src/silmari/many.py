"""Many questions at once: so many in flight, each with its answer or its fault, none waiting for another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from silmari.errors import SilmariError, UsageError

if TYPE_CHECKING:
    from silmari.answering.answer import Answer

MOST_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Fault:
    """A question that could not be answered.

    Attributes:
        question: As it was asked.
        error: Why; its text is one sentence.
    """

    question: str
    error: SilmariError

    def as_json(self) -> dict[str, Any]:
        """The shape that ``ask --file --json`` prints."""
        return {"question": self.question, "error": str(self.error)}

    def __str__(self) -> str:
        return str(self.error)


async def each(
    questions: Iterable[str], ask: Callable[[str], Awaitable[Answer]], concurrency: int
) -> AsyncIterator[tuple[int, Answer | Fault]]:
    """Ask all questions, and give each result with its question's place (from 0) as soon as it is there.

    Args:
        questions: Taken one by one as there is room, so that it may be long.
        ask: Answers one.
        concurrency: How many are in flight at once.

    Raises:
        UsageError: `concurrency` is out of range, or `questions` is one text.
    """
    if not 1 <= concurrency <= MOST_AT_ONCE:
        raise UsageError(f"concurrency is {concurrency}; it must be from 1 to {MOST_AT_ONCE}.")
    if isinstance(questions, str):
        raise UsageError("questions is one text; give a list of questions, or use ask.")

    async def one(place: int, question: str) -> tuple[int, Answer | Fault]:
        try:
            return place, await ask(question)
        except SilmariError as error:
            return place, Fault(question, error)

    waiting = enumerate(questions)
    running: set[asyncio.Task[tuple[int, Answer | Fault]]] = set()
    try:
        while True:
            while len(running) < concurrency and (following := next(waiting, None)) is not None:
                running.add(asyncio.create_task(one(*following)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def all_of(results: AsyncIterator[tuple[int, Answer | Fault]]) -> list[Answer | Fault]:
    """The results of `each` in the order of the questions."""
    async with aclosing(results) as stream:  # type: ignore[type-var]
        found = {place: result async for place, result in stream}
    return [found[place] for place in sorted(found)]
