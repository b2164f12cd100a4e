"""Carries out a policy: goes through its tiers until there are k hits.

Every filter reaches the engine before it takes its best; what is taken once is not taken again; and for each
step the trace tells how many hits were found, how many lay below the relevance asked for, and how near they came.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from silmari.model import CATEGORIES, Filter, Hit, Way
from silmari.retrieval.distinct import Distinct
from silmari.retrieval.policy import Policy, Tier
from silmari.retrieval.question import Question
from silmari.retrieval.search import Searcher
from silmari.retrieval.steer import NOTHING, Steer
from silmari.retrieval.tiers import Bounds, Step, hit_date, steps
from silmari.retrieval.trace import Trace

# Hits among which the most relevant one of all is looked for.
_BEST_OF = 10
# Searches that run ahead of the one whose hits are needed now.
_AHEAD = 4
# A step is searched this many times deeper when all that it found was good enough but not enough.
_DEEPER = 4


@dataclass(frozen=True, slots=True)
class Run:
    """One search by a policy.

    Attributes:
        searcher: Finds hits by a way and a filter.
        question: What is asked.
        policy: What is taken, in which order.
        way: For tiers that name none.
        k: How many hits, at most.
        where: The caller's filter.
        today: What ages are counted from.
        categories: The categories that the base holds.
        undated: How many passages of the base have no date.
        file_times: Whether the time of a file counts as its date.
        duplicates: Whether passages that are nearly the same as an earlier one are kept.
        steer: What a model put first; counts only for a policy that has no tiers to fill.
    """

    searcher: Searcher
    question: Question
    policy: Policy
    way: Way
    k: int
    where: Filter
    today: dt.date
    categories: Callable[[], Collection[str]]
    undated: Callable[[], int]
    file_times: bool = False
    duplicates: bool = False
    steer: Steer = NOTHING

    def hits(self, trace: Trace, asked: Bounds | None = None) -> list[Hit]:
        """The hits, ranked in the order of the tiers.

        Args:
            trace: What happened is added.
            asked: Days that the question asks for: only passages of these, then undated ones.
        """
        if self.policy.plain and asked is None:
            way = self.policy.tiers[0].way or self.way
            steer = self.steer if way == self.way else NOTHING
            return self.searcher.search(
                self.question, way, self.k, self.where, trace, duplicates=self.duplicates, steer=steer
            )
        with trace.stage("policy") as entry:
            entry["policy"] = self.policy.name
            rows: list[dict[str, Any]] = []
            entry["tiers"] = rows
            filling = _Filling(self, asked, trace, rows)
            hits = filling.fill()
            entry["found"] = len(hits)
        self._tell(hits, asked, trace)
        return hits

    def _tell(self, hits: Sequence[Hit], asked: Bounds | None, trace: Trace) -> None:
        """What a user should know of categories and dates."""
        known = set(self.categories())
        for tier in self.policy.tiers:
            for name in sorted(set(tier.categories or ()) - known - set(CATEGORIES)):
                trace.note(
                    f"No document has the category {name}, which the policy {self.policy.name} asks for;"
                    f" those of the base are {', '.join(sorted(known)) or 'none'}."
                )
            if not tier.undated and (count := self.undated()):
                trace.note(
                    f"{count:,} passages without a date were left out by the tier {tier.name or 'of the policy'}."
                )
        days = [day for hit in hits if (day := hit_date(hit, self.file_times)) is not None]
        ages = asked is None and any(tier.max_age_days or tier.order == "date" for tier in self.policy.tiers)
        if ages and (future := sum(day > self.today.isoformat() for day in days)):
            trace.note(
                f"{future} of the hits {'has a date' if future == 1 else 'have dates'} later than today"
                f" ({self.today.isoformat()}), which does not count as new."
            )
        if ages and (odd := sum(day < "1000" for day in days)):
            trace.note(
                f"{odd} of the hits {'is' if odd == 1 else 'are'} dated before the year 1000: the date may be wrong."
            )


class _Filling:
    """The state of one `Run.hits`."""

    def __init__(self, run: Run, asked: Bounds | None, trace: Trace, rows: list[dict[str, Any]]) -> None:
        self._run = run
        self._trace = trace
        self._rows = rows
        self._tiers = run.policy.tiers
        known = run.categories() if any(tier.except_categories for tier in self._tiers) else ()
        self._steps = [
            step
            for number, tier in enumerate(self._tiers)
            for step in steps(number, tier, run.where, run.today, known, asked)
        ]
        self._hits: list[Hit] = []
        self._ids: set[int] = set()
        self._seen = Distinct()
        self._taken = [0] * len(self._tiers)
        self._found: dict[int, _Searched] = {}

    def fill(self) -> list[Hit]:
        rounds = max(len(self._run.policy.floors(tier)) for tier in self._tiers)
        with self._searching() as search:
            for turn in range(rounds):
                for place, step in enumerate(self._steps):
                    if len(self._hits) >= self._run.k:
                        return self._hits
                    if self._wanted(step) > 0:
                        self._take(place, step, turn, search)
        return self._hits

    def _wanted(self, step: Step) -> int:
        """How many hits may still be taken here."""
        room = self._run.k - len(self._hits)
        quota = self._tiers[step.tier].quota
        return room if quota is None else min(room, quota - self._taken[step.tier])

    def _take(self, place: int, step: Step, turn: int, search: Callable[[int], _Searched]) -> None:
        tier = self._tiers[step.tier]
        start = time.perf_counter()
        floor = self._floor(tier, turn)
        searched = search(place)
        taken = duplicates = 0
        while True:
            while len(self._fit(searched.hits, floor)) < self._wanted(step) and searched.may_hold_more(floor):
                searched = self._deeper(place, searched)
            for hit in self._ordered(tier, self._fit(searched.hits, floor)):
                if self._wanted(step) < 1:
                    break
                self._ids.add(hit.passage.id)
                if not self._run.duplicates and not self._seen.add(searched.tokens(self._run.searcher, hit)):
                    duplicates += 1
                    continue
                taken += 1
                self._taken[step.tier] += 1
                self._hits.append(self._placed(hit, step, floor))
            # What was nearly the same has left places open.
            if self._wanted(step) < 1 or not searched.may_hold_more(floor):
                break
            searched = self._deeper(place, searched)
        told = self._told(step, turn, floor, searched)
        told |= {"duplicates": duplicates, "taken": taken, "ms": round((time.perf_counter() - start) * 1000, 2)}
        self._rows.append(told)

    def _deeper(self, place: int, searched: _Searched) -> _Searched:
        self._found[place] = self._search(self._steps[place], searched.depth * _DEEPER)
        return self._found[place]

    def _placed(self, hit: Hit, step: Step, floor: float) -> Hit:
        evidence: dict[str, Any] = {"policy": self._run.policy.name, "tier": self._name(step.tier), "part": step.label}
        evidence["floor"] = round(floor, 4)
        return replace(hit, rank=len(self._hits) + 1, evidence={**hit.evidence, "tier": evidence})

    def _name(self, number: int) -> str:
        return self._tiers[number].name or str(number + 1)

    def _floor(self, tier: Tier, turn: int) -> float:
        """The least relevance here."""
        floor, share = self._run.policy.floors(tier)[turn]
        return max(floor, share * self._best) if share else floor

    @cached_property
    def _best(self) -> float:
        """The best relevance that there is without tiers."""
        run = self._run
        hits = run.searcher.search(run.question, run.way, _BEST_OF, run.where, Trace(), duplicates=True)
        return max((hit.relevance for hit in hits), default=0.0)

    def _fit(self, hits: Sequence[Hit], floor: float) -> list[Hit]:
        return [hit for hit in hits if hit.relevance >= floor and hit.passage.id not in self._ids]

    def _told(self, step: Step, turn: int, floor: float, searched: _Searched) -> dict[str, Any]:
        below = [hit.relevance for hit in searched.hits if hit.relevance < floor]
        told: dict[str, Any] = {"tier": self._name(step.tier), "part": step.label, "round": turn + 1}
        if step.where.since or step.where.until:
            told |= {"since": step.where.since, "until": step.where.until}
        told |= {"floor": round(floor, 3), "found": len(searched.hits), "below": len(below)}
        if below:
            told["best_below"] = round(max(below), 3)
        return told

    def _ordered(self, tier: Tier, hits: list[Hit]) -> list[Hit]:
        """As the tier wants them; equal ones keep their order."""
        if tier.order == "date":
            return sorted(hits, key=self._newness, reverse=True)
        return nearer(hits, self._age, tier.recency, tier.half_life_days) if tier.recency else hits

    def _newness(self, hit: Hit) -> tuple[int, str]:
        day = hit_date(hit, self._run.file_times)
        if day is None:
            return (0, "")
        return (1, "") if day > self._run.today.isoformat() else (2, day)

    def _age(self, hit: Hit) -> int | None:
        day = hit_date(hit, self._run.file_times)
        if day is None:
            return None
        days = (self._run.today - dt.date.fromisoformat(day)).days
        return days if days >= 0 else None

    def _search(self, step: Step, depth: int) -> _Searched:
        run, tier, trace = self._run, self._tiers[step.tier], Trace()
        hits = run.searcher.search(run.question, tier.way or run.way, depth, step.where, trace, duplicates=True)
        return _Searched(hits, depth, trace)

    @contextmanager
    def _searching(self) -> Iterator[Callable[[int], _Searched]]:
        """A function that gives what a step finds; from the second one on, those after it are searched meanwhile."""
        first = 3 * self._run.k + 10
        waiting: dict[int, Future[_Searched]] = {}
        pool: ThreadPoolExecutor | None = None

        def search(place: int) -> _Searched:
            nonlocal pool
            if place not in self._found:
                if place == 0 or (place == len(self._steps) - 1 and place not in waiting):
                    self._found[place] = self._search(self._steps[place], first)
                else:
                    if pool is None and any((tier.way or self._run.way) != "sparse" for tier in self._tiers):
                        self._run.question.prepare()
                    pool = pool or ThreadPoolExecutor(_AHEAD, thread_name_prefix="silmari-tier")
                    for ahead in range(place, min(place + _AHEAD, len(self._steps))):
                        if ahead not in self._found and ahead not in waiting:
                            waiting[ahead] = pool.submit(self._search, self._steps[ahead], first)
                    self._found[place] = waiting.pop(place).result()
                for note in self._found[place].trace.notes:
                    self._trace.note(note)
            return self._found[place]

        try:
            yield search
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)


class _Searched:
    """What a step found."""

    def __init__(self, hits: list[Hit], depth: int, trace: Trace) -> None:
        self.hits = hits
        self.depth = depth
        self.trace = trace
        self._tokens: dict[int, str] | None = None

    def may_hold_more(self, floor: float) -> bool:
        """Whether deeper hits may reach the floor: there are more, and the last ones seen still did."""
        last = self.hits[-max(5, len(self.hits) // 5) :]
        return len(self.hits) >= self.depth and any(hit.relevance >= floor for hit in last) and self.depth < 10_000

    def tokens(self, searcher: Searcher, hit: Hit) -> str:
        if self._tokens is None:
            self._tokens = dict(searcher.shelf.tokens([one.passage.id for one in self.hits]))
        return self._tokens.get(hit.passage.id, "")


def nearer(hits: Sequence[Hit], age: Callable[[Hit], int | None], cap: float, half_life: float) -> list[Hit]:
    """Let newer hits overtake better ones where their scores are nearly the same.

    The newest gain and the oldest lose half of ``cap`` standard deviations of the scores, so no two hits change
    places whose scores lie further apart than ``cap`` of them. Undated ones neither gain nor lose.

    Args:
        hits: Best first.
        age: Days, or None without a date.
        cap: In standard deviations of the scores.
        half_life: Days in which recency loses half of its weight.
    """
    if len(hits) < 2:
        return list(hits)
    spread = float(np.std([hit.score for hit in hits]))
    ages = [age(hit) for hit in hits]
    gains = [0.0 if days is None else 0.5 ** (days / half_life) - 0.5 for days in ages]
    raised = [hit.score + cap * spread * gain for hit, gain in zip(hits, gains, strict=True)]
    order = sorted(range(len(hits)), key=lambda place: -raised[place])
    return [hits[place] for place in order]
