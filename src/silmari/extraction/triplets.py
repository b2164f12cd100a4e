"""Lets a chat model read the statements of passages: many at once, stored as they come, resumable anywhere.

A passage leaves the queue when it was read, or when no reply of the model to it was useful; then it is listed with
the reason. Faults of the service leave it where it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from weakref import WeakValueDictionary

from silmari.errors import BudgetError, ProviderError
from silmari.extraction.estimating import expected_reply
from silmari.extraction.grounding import MALFORMED, NOT_THERE, Grounds, grounded
from silmari.extraction.prompting import SCHEMA, messages
from silmari.extraction.replies import Reply, read
from silmari.language.leaks import repeats
from silmari.model import Triplet
from silmari.providers.calling import Calling
from silmari.providers.faults import ServiceError, UselessReplyError
from silmari.providers.gate import Gate
from silmari.providers.usage import Usage
from silmari.waiting import LOOK_AGAIN, Patience

# Results are stored this often at the latest: what a kill loses has to be looked up in the cache again.
SAVE_EVERY = 2.0
# After so many faults of the service in a row it is given up.
PATIENCE = 5
# Answers of a service that no other passage will change.
_HOPELESS = frozenset({401, 402, 403, 404})
_AHEAD = 64
LEAKED = "repeats what the model was told"
# Shorter predicates, in characters, cannot hold enough of the instructions.
_LEAKING = 20

Waiting = tuple[int, str, str]


class Claimed(Protocol):
    """Passages that no other process reads meanwhile."""

    @property
    def items(self) -> Sequence[Waiting]:
        """In the order of the queue."""

    @property
    def others(self) -> bool:
        """Whether other processes are reading more."""

    def release(self) -> None:
        """Give them back; does nothing the second time."""


class Queue(Protocol):
    """Where passages wait and what was read in them is kept; the catalog is one."""

    def claim_extractions(self, limit: int) -> Claimed:
        """The next passages as (id, context, text), which no other process reads until they are released."""

    def count_extractions(self) -> tuple[int, int]:
        """How many wait, and how many failed."""

    def store_extractions(self, found: Mapping[int, Sequence[Triplet]], flawed: Mapping[int, str]) -> None:
        """Keep what was read, and why some of it is only a part."""

    def note_extraction_failures(self, reasons: Mapping[int, str]) -> None:
        """Take passages out of the queue, and remember why."""


OnRead = Callable[[int, int, Usage], None]


@dataclass(slots=True)
class Extracted:
    """What a run has done.

    Attributes:
        passages: How many were read.
        failed: Of these, how many only in part or not at all; the catalog knows why.
        triplets: What was read in them.
        dropped: How many statements of the model were not taken, by reason.
        usage: What it has cost.
        problem: What ended the run early; empty if it came to its end.
        limited: Whether that was the limit on the cost.
    """

    passages: int = 0
    failed: int = 0
    triplets: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    problem: str = ""
    limited: bool = False

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "passages": self.passages,
            "failed": self.failed,
            "triplets": self.triplets,
            "dropped": dict(self.dropped),
            "usage": self.usage.as_json(),
            "problem": self.problem,
        }


async def extract_pending(catalog: Queue, calling: Calling, on_read: OnRead | None = None) -> Extracted:
    """Let the model read the passages that wait, until none is left, the money is spent, or the service gives up.

    Where processes do not share the work, the lease must be held; where they do, it ends when nothing is left that
    others have claimed, either. However it ends, also cancelled, what was read is stored; the passages that remain wait
    for the next call.

    Args:
        catalog: With the queue.
        calling: The model and its gate, whose limits hold.
        on_read: Called with the passages that are done, their total, and what was used so far.
    """
    return await _Run(catalog, calling, on_read).complete()


@dataclass(slots=True)
class _Outcome:
    """What became of a passage.

    Attributes:
        reason: Why `triplets` is all that could be had, if something was wrong with the replies.
        error: Why there was no reply.
        called: Whether the service gave a reply, rather than the cache.
    """

    triplets: Sequence[Triplet] = ()
    dropped: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    error: ProviderError | None = None
    called: bool = True


class _Run:
    def __init__(self, catalog: Queue, calling: Calling, on_read: OnRead | None) -> None:
        self._catalog, self._calling, self._on_read = catalog, calling, on_read
        self._gate: Gate = calling.gate.part()
        self._result = Extracted(usage=self._gate.usage)
        # Taken out in this run and still in the catalog's queue.
        self._taken: set[int] = set()
        # What each claim is still needed for.
        self._claims: list[tuple[Claimed, set[int]]] = []
        self._others = False
        self._patience = Patience()
        self._ready: list[Waiting] = []
        self._found: dict[int, list[Triplet]] = {}
        self._reasons: dict[int, str] = {}
        # Faults since the last useful reply: the service's, until one comes that shows it well.
        self._doubtful: dict[int, ProviderError] = {}
        self._total = 0
        self._width = self._gate.concurrency
        self._asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def complete(self) -> Extracted:
        self._total = (await asyncio.to_thread(self._catalog.count_extractions))[0]
        tasks: dict[asyncio.Task[_Outcome], Waiting] = {}
        saved = time.monotonic()
        try:
            while True:
                await self._start(tasks)
                if not tasks:
                    if await self._others_work():
                        continue
                    break
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    passage = tasks.pop(task)
                    self._settle(passage, task.result(), len(tasks))
                if len(self._doubtful) >= PATIENCE:
                    break
                if time.monotonic() - saved > SAVE_EVERY:
                    await asyncio.to_thread(self._save)
                    saved = time.monotonic()
        finally:
            # Without waiting for anything: who cancels this may do so twice.
            for task, passage in tasks.items():
                if task.done() and not task.cancelled() and task.exception() is None:
                    self._settle(passage, task.result(), 0)
                task.cancel()
            self._save()
            for claim, _ in self._claims:
                claim.release()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._doubtful and not self._result.problem:
            self._result.problem = str(next(reversed(self._doubtful.values())))
        return self._result

    async def _start(self, tasks: dict[asyncio.Task[_Outcome], Waiting]) -> None:
        """Put as many passages under way as the gate lets through at once."""
        while not self._result.problem and len(tasks) < self._width:
            if not self._ready:
                limit = len(self._taken) + _AHEAD + self._gate.concurrency
                claim = await asyncio.to_thread(self._catalog.claim_extractions, limit)
                self._others = claim.others
                self._ready = [passage for passage in reversed(claim.items) if passage[0] not in self._taken]
                if not self._ready:
                    claim.release()
                    return
                self._claims.append((claim, {passage[0] for passage in self._ready}))
                self._taken.update(passage[0] for passage in self._ready)
            passage = self._ready.pop()
            tasks[asyncio.create_task(self._ask(passage))] = passage

    async def _others_work(self) -> bool:
        """Wait a moment for what others have claimed, keeping nothing from them; False if that is nothing."""
        if not self._others or self._doubtful or self._result.problem:
            return False
        await asyncio.to_thread(self._save)
        await asyncio.sleep(LOOK_AGAIN)
        return self._patience.lasts((await asyncio.to_thread(self._catalog.count_extractions))[0])

    async def _ask(self, passage: Waiting) -> _Outcome:
        _, context, text = passage
        reading = _Reading(context, text)
        # The second of two equal passages finds the reply to the first in the cache.
        lock = self._asking.setdefault((context, text), asyncio.Lock())
        gate = self._gate.part()
        try:
            async with lock:
                outcome = await gate.ask(
                    self._calling.chat,
                    messages(context, text),
                    reading.judge,
                    schema=SCHEMA,
                    expected=expected_reply(text),
                )
        except UselessReplyError as error:
            return reading.best(f"The model's reply could not be used: {error.__cause__}.")
        except ProviderError as error:
            return _Outcome(error=error)
        return replace(outcome, called=gate.usage.calls > 0)

    def _settle(self, passage: Waiting, outcome: _Outcome, under_way: int) -> None:
        number, triplets = passage[0], list(outcome.triplets)
        if isinstance(outcome.error, BudgetError) and under_way:
            # What is set aside for the others may not be needed: try again when there are fewer.
            self._width = under_way
            self._ready.append(passage)
            return
        if outcome.error is not None:
            self._fault(number, outcome.error)
            return
        if outcome.called:
            # The service is well: what it refused before, it refused for the passage's sake.
            for refused, error in self._doubtful.items():
                self._fail(refused, str(error))
            self._doubtful.clear()
        if outcome.reason:
            self._fail(number, outcome.reason)
        else:
            self._result.passages += 1
        if triplets or not outcome.reason:
            self._found[number] = triplets
        self._result.triplets += len(triplets)
        self._result.dropped.update(outcome.dropped)
        self._tell()

    def _fault(self, number: int, error: ProviderError) -> None:
        hopeless = isinstance(error, ServiceError) and (
            error.status in _HOPELESS or (error.status == 429 and not error.retryable)
        )
        if isinstance(error, BudgetError) or hopeless:
            self._result.problem = self._result.problem or str(error)
            self._result.limited = isinstance(error, BudgetError)
        else:
            self._doubtful[number] = error

    def _fail(self, number: int, reason: str) -> None:
        self._reasons[number] = reason
        self._result.passages += 1
        self._result.failed += 1

    def _tell(self) -> None:
        if self._on_read is not None:
            done = self._result.passages
            self._on_read(done, max(self._total, done), self._gate.usage)

    def _save(self) -> None:
        """Store what was read since the last time; may be called again while it is under way."""
        found, reasons = dict(self._found), dict(self._reasons)
        if found:
            self._catalog.store_extractions(found, {one: why for one, why in reasons.items() if one in found})
        if nothing := {one: why for one, why in reasons.items() if one not in found}:
            self._catalog.note_extraction_failures(nothing)
        self._calling.save()
        for number in found:
            self._found.pop(number, None)
        for number in reasons:
            self._reasons.pop(number, None)
        self._taken.difference_update(found, reasons)
        for claim, needed in self._claims:
            needed.difference_update(found, reasons)
            if not needed:
                claim.release()
        self._claims = [(claim, needed) for claim, needed in self._claims if needed]


class _Reading:
    """Judges the replies about one passage, and keeps what is good of the useless ones."""

    def __init__(self, context: str, text: str) -> None:
        self._grounds = Grounds(context, text)
        self._rules, self._known = str(messages(context, text)[0].content), f"{context}\n{text}"
        self._kept: dict[Triplet, None] = {}
        self._dropped: Counter[str] = Counter()

    def judge(self, reply: str) -> _Outcome:
        """What a sound reply says.

        Raises:
            ValueError: It is not sound; the message tells the model why.
        """
        said: Reply = read(reply)
        sound, lost = grounded(said.triplets, self._grounds)
        # Subject and object stand in the passage; what is between them may be anything that a document asked for.
        triplets = [one for one in sound if len(one.predicate) < _LEAKING or not self._leaks(one.predicate)]
        dropped = Counter(lost)
        if len(triplets) < len(sound):
            dropped[LEAKED] += len(sound) - len(triplets)
        if said.malformed:
            dropped[MALFORMED] += said.malformed
        if said.fault or (said.triplets and not triplets and lost[NOT_THERE] == len(said.triplets)):
            self._kept |= dict.fromkeys(triplets)
            self._dropped = dropped
            raise ValueError(said.fault or "its subjects and objects do not stand in the passage as they are spelled")
        return _Outcome(triplets, dropped)

    def _leaks(self, predicate: str) -> bool:
        return repeats(predicate, self._rules, self._known)

    def best(self, reason: str) -> _Outcome:
        """What was good in useless replies."""
        return _Outcome(list(self._kept), self._dropped, reason)
