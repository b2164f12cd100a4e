"""What a tier means on a given day: filters that do not overlap, in the order in which they are searched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from silmari.model import Filter, Hit
from silmari.retrieval.policy import Tier

Bounds = tuple[str | None, str | None]
Part = Literal["all", "dated", "future", "undated"]


@dataclass(frozen=True, slots=True)
class Step:
    """One search of a tier.

    Attributes:
        tier: The tier's place in its policy, from 0.
        label: Such as ``31–60 days``; empty for a tier of one step.
        part: What of the tier this is.
        where: What may be found.
    """

    tier: int
    label: str
    part: Part
    where: Filter


def steps(
    number: int, tier: Tier, where: Filter, today: dt.date, known: Collection[str], asked: Bounds | None = None
) -> list[Step]:
    """The searches of a tier.

    Args:
        number: The tier's place in its policy, from 0.
        tier: What it allows.
        where: The caller's filter, which is always kept to.
        today: What ages are counted from.
        known: The categories that the base holds.
        asked: First and last day that the question asks for; undated passages are left for the end.
    """
    where = replace(where, categories=_categories(tier, where, known))
    if where.categories == frozenset():
        return []
    if where.undated:
        return [Step(number, "undated", "undated", where)] if tier.undated else []
    limits: list[Bounds] = [(where.since, where.until), (tier.since, tier.until), asked or (None, None)]
    own = limits[1] != (None, None) or asked is not None or tier.max_age_days is not None
    if not own:
        return [Step(number, "", "all", where)]
    found: list[Step] = []
    for label, part, since, until in _windows(tier, today):
        bounds = _meet([*limits, (since, until)])
        if bounds is not None:
            found.append(Step(number, label, part, replace(where, since=bounds[0], until=bounds[1])))
    # Who filters by dates wants no undated ones; a tier only puts them last.
    if tier.undated and where.since is None and where.until is None:
        found.append(Step(number, "undated", "undated", replace(where, undated=True)))
    return found


def hit_date(hit: Hit, file_times: bool) -> str | None:
    """The date that counts for a hit: the rows' own, else the document's, unless only its file's time is known."""
    if hit.passage.date is not None:
        return hit.passage.date
    return None if hit.source.date_source == "file-time" and not file_times else hit.source.date


def _windows(tier: Tier, today: dt.date) -> list[tuple[str, Part, str | None, str | None]]:
    if tier.max_age_days is None:
        return [("dated", "dated", None, None)]
    found: list[tuple[str, Part, str | None, str | None]] = []
    youngest = 0
    for oldest in tier.max_age_days:
        until = _before(today, youngest)
        if until is not None:
            first = _before(today, oldest) or dt.date.min
            found.append((f"{youngest}–{oldest} days", "dated", first.isoformat(), until.isoformat()))
        youngest = oldest + 1
    if tier.older:
        if (until := _before(today, youngest)) is not None:
            found.append((f"over {youngest - 1} days", "dated", None, until.isoformat()))
        if today < dt.date.max:
            # A date yet to come says nothing of how new a document is.
            found.append(("later than today", "future", (today + dt.timedelta(days=1)).isoformat(), None))
    return found


def _before(today: dt.date, days: int) -> dt.date | None:
    """So many days ago; None before the calendar begins."""
    number = today.toordinal() - days
    return dt.date.fromordinal(number) if number >= 1 else None


def _meet(limits: list[Bounds]) -> Bounds | None:
    """The days that lie within all of the bounds; None if there are none."""
    since = max((first for first, _ in limits if first is not None), default=None)
    until = min((last for _, last in limits if last is not None), default=None)
    return None if since is not None and until is not None and since > until else (since, until)


def _categories(tier: Tier, where: Filter, known: Collection[str]) -> frozenset[str] | None:
    if tier.categories is None and not tier.except_categories:
        return where.categories
    allowed = frozenset(known if tier.categories is None else tier.categories) - set(tier.except_categories)
    return allowed if where.categories is None else allowed & where.categories
