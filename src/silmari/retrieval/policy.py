"""Policies: in which order, from what, and down to which relevance the k hits are taken.

A policy is a value; `silmari.retrieval.filling` carries it out. The same names stand in ``silmari.toml`` under
``[policy.NAME]`` (docs/policies.md).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, cast, get_type_hints

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from silmari.errors import UsageError
from silmari.model import Way

# Far beyond any document: 2,700 years.
_MOST_DAYS = 1_000_000


def _several(value: Any) -> Any:
    """One value, or several of them, as a tuple."""
    if value is None or isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list | set | frozenset) else (value,)


def _rising(days: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if days is not None and (not days or list(days) != sorted(set(days))):
        raise ValueError("its numbers must rise, such as [30, 60, 90]")
    return days


def _falling(values: tuple[float, ...]) -> tuple[float, ...]:
    if not values or list(values) != sorted(set(values), reverse=True):
        raise ValueError("each of its values must be below the one before, such as [0.4, 0.2]")
    return values


def _iso(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.date().isoformat()
    if isinstance(value, dt.date) or value is None:
        return None if value is None else value.isoformat()
    try:
        return dt.date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise ValueError("this is no date of the calendar; write it as 2024-01-31") from None


_Name = Annotated[str, Field(strict=True, min_length=1)]
_Names = Annotated[tuple[_Name, ...], BeforeValidator(_several)]
_Days = tuple[Annotated[int, Field(strict=True, ge=0, le=_MOST_DAYS)], ...]
_Floor = Annotated[float, Field(strict=True, ge=0, le=1)]
_Floors = Annotated[tuple[_Floor, ...], BeforeValidator(_several), AfterValidator(_falling)]
_Date = Annotated[str | None, BeforeValidator(_iso)]


@dataclass(frozen=True, slots=True)
class Tier:
    """One step of a policy: what may be taken here, in which order.

    Where a tier has ages or dates, passages without a date come after those that have one.

    Attributes:
        name: Shown in the trace and with each source; empty: its number.
        categories: Only these; None for all.
        except_categories: None of these.
        max_age_days: Only as old as this. Several make windows that do not overlap, newest first: 30, 60 gives
            0 to 30 and 31 to 60 days.
        older: Whether a window for everything older comes after them, and one for dates yet to come.
        undated: Whether passages without a date may be taken; False leaves them out, and the trace says so.
        since: First day allowed, ISO.
        until: Last day allowed, ISO.
        min_relevance: In place of the policy's.
        min_share: In place of the policy's.
        quota: The most hits that are taken here; None for as many as are needed.
        way: In place of the way that was asked for.
        order: ``score``, or ``date`` for the newest first among those that reach the relevance.
        recency: How far a newer passage may overtake a better one, in standard deviations of the tier's scores; 0
            for not at all.
        half_life_days: In this time recency loses half of its weight.
    """

    name: Annotated[str, Field(strict=True)] = ""
    categories: _Names | None = None
    except_categories: _Names = ()
    max_age_days: Annotated[_Days | None, BeforeValidator(_several), AfterValidator(_rising)] = None
    older: Annotated[bool, Field(strict=True)] = False
    undated: Annotated[bool, Field(strict=True)] = True
    since: _Date = None
    until: _Date = None
    min_relevance: _Floors | None = None
    min_share: _Floors | None = None
    quota: Annotated[int | None, Field(strict=True, ge=1)] = None
    way: Way | None = None
    order: Literal["score", "date"] = "score"
    recency: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    half_life_days: Annotated[int, Field(strict=True, ge=1, le=_MOST_DAYS)] = 180

    def __post_init__(self) -> None:
        where = f"The tier {self.name}" if self.name else "A tier"
        _check(self, where)
        if self.since and self.until and self.since > self.until:
            raise UsageError(f"{where}: since ({self.since}) is after until ({self.until}); swap them.")
        if self.older and self.max_age_days is None:
            raise UsageError(f"{where}: older = true needs max_age_days; without ages, all are taken anyway.")

    @property
    def plain(self) -> bool:
        """Whether nothing is kept out or put in order: what a search without a policy does."""
        return self == Tier(name=self.name)


@dataclass(frozen=True, slots=True)
class Policy:
    """Tiers that are filled in order until there are k hits.

    Attributes:
        name: Shown in the trace.
        tiers: At least one.
        min_relevance: The least relevance, 0 to 1, of a hit. With several values, all tiers are gone through with
            the first; if fewer than k hits were found, all of them again with the next, and so on.
        min_share: The same relative to the best: the least share, 0 to 1, of the relevance of the best hit that a
            search without tiers finds. Both must be reached.
    """

    name: Annotated[str, Field(strict=True)] = ""
    tiers: Annotated[tuple[Tier, ...], BeforeValidator(_several), Field(min_length=1)] = field(
        default_factory=lambda: (Tier(),)
    )
    min_relevance: _Floors = (0.0,)
    min_share: _Floors = (0.0,)

    def __post_init__(self) -> None:
        _check(self, f"The policy {self.name}" if self.name else "The policy")

    @property
    def plain(self) -> bool:
        """Whether it is a search without a policy."""
        return self.min_relevance == self.min_share == (0.0,) and len(self.tiers) == 1 and self.tiers[0].plain

    def floors(self, tier: Tier) -> list[tuple[float, float]]:
        """The least relevance and the least share of the best in each round; of short lists the last value stays."""
        ours, theirs = self.min_relevance, self.min_share
        lists = [(one.min_relevance or ours, one.min_share or theirs) for one in self.tiers]
        rounds = max(len(values) for pair in lists for values in pair)
        floors, shares = tier.min_relevance or ours, tier.min_share or theirs
        return [(floors[min(turn, len(floors) - 1)], shares[min(turn, len(shares) - 1)]) for turn in range(rounds)]


@cache
def _adapters(kind: Any) -> Mapping[str, TypeAdapter[Any]]:
    """What checks each field; tiers are values already."""
    hints = get_type_hints(kind, include_extras=True)
    config = ConfigDict(allow_inf_nan=False)
    found: dict[str, TypeAdapter[Any]] = {}
    for one in fields(kind):
        if one.name == "tiers":
            found[one.name] = TypeAdapter(hints[one.name])
        else:
            found[one.name] = TypeAdapter(hints[one.name], config=config)
    return found


def _check(value: Tier | Policy, where: str) -> None:
    """Put every field into its normal form.

    Raises:
        UsageError: For the first that is wrong.
    """
    for name, adapter in _adapters(cast(Any, type(value))).items():
        given = getattr(value, name)
        try:
            object.__setattr__(value, name, adapter.validate_python(given))
        except ValidationError as error:
            problem = error.errors()[0]
            what = problem["msg"].removeprefix("Value error, ")
            what = what[0].lower() + what[1:]
            shown = list(given) if isinstance(given, tuple) else given
            raise UsageError(f"{where}: {name} is {shown!r}: {what}.") from None
