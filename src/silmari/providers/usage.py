"""What model calls cost: prices, counts, and a limit that is watched before each call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Self

from silmari.errors import BudgetError

Prices = Mapping[str, tuple[float, float]]

# US dollars for a million tokens in and out, as listed by the provider; override with `prices`.
PRICES: Prices = {
    "openai:gpt-4o": (2.50, 10.00),
    "openai:gpt-4o-mini": (0.15, 0.60),
    "openai:gpt-4.1": (2.00, 8.00),
    "openai:gpt-4.1-mini": (0.40, 1.60),
    "openai:gpt-4.1-nano": (0.10, 0.40),
    "openai:text-embedding-3-small": (0.02, 0.0),
    "openai:text-embedding-3-large": (0.13, 0.0),
}
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def price_of(name: str, own: Prices, *, listed: bool = True) -> tuple[float, float] | None:
    """US dollars for a million tokens in and out; None if unknown.

    Args:
        name: ``provider:model``; a date at its end may be missing in the tables.
        own: The user's prices, which come first.
        listed: Whether the price in `PRICES` applies when `own` has none.
    """
    for table in (own, PRICES) if listed else (own,):
        for spelled in (name, _DATED.sub("", name)):
            if spelled in table:
                return table[spelled]
    return None


@dataclass(slots=True)
class Usage:
    """Calls of models, counted.

    Attributes:
        calls: Calls that were sent, each retry counted.
        retries: Of these, repetitions after a fault.
        cached: Replies that came from the cache.
        uncounted: Replies for which the service told no token counts; they are estimated.
        unpriced: Replies whose cost is not known, for want of a price.
        spent: Cost of the others in US dollars.
        seconds: Time spent waiting for services, summed over calls.
    """

    calls: int = 0
    retries: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    unpriced: int = 0
    spent: float = 0.0
    seconds: float = 0.0

    @property
    def cost(self) -> float | None:
        """In US dollars; None once a reply's cost was unknown."""
        return None if self.unpriced else self.spent

    def __str__(self) -> str:
        cost = "cost unknown" if self.cost is None else f"${self.cost:.4f}"
        return f"{self.calls:,} calls, {self.input_tokens + self.output_tokens:,} tokens, {cost}"

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)})

    def minus(self, other: Usage) -> Usage:
        """What this one has more."""
        return Usage(**{each.name: getattr(self, each.name) - getattr(other, each.name) for each in fields(Usage)})

    def as_counts(self) -> dict[str, float]:
        """All numbers by name, as they are added up and kept."""
        return {each.name: getattr(self, each.name) for each in fields(Usage)}

    @classmethod
    def of(cls, counts: Mapping[str, float]) -> Self:
        """From numbers by name; unknown names, which another version may have kept, are passed over."""
        return cls(**{each.name: counts[each.name] for each in fields(Usage) if each.name in counts})  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """For the Trace and for ``--json``."""
        shown = {each.name: getattr(self, each.name) for each in fields(Usage) if each.name != "spent"}
        cost = None if self.cost is None else round(self.cost, 6)
        return shown | {"cost": cost, "seconds": round(self.seconds, 3)}


@dataclass
class Meter:
    """Counts usage and watches a limit; all that it counts, its parents count too.

    Attributes:
        max_cost: US dollars that the calls may cost; None for no limit.
        parent: Counts, and limits, what several meters count together.
    """

    max_cost: float | None = None
    parent: Meter | None = None
    usage: Usage = field(default_factory=Usage)
    _reserved: float = 0.0

    def add(self, **counts: float) -> None:
        """Add to the counts of the same names."""
        for meter in self._chain():
            for name, value in counts.items():
                setattr(meter.usage, name, getattr(meter.usage, name) + value)

    @contextmanager
    def reserved(self, cost: float | None, name: str) -> Iterator[None]:
        """Set aside what a call may cost while it is under way.

        Args:
            cost: In US dollars; None if it is not known, which no limit can hold against the call.
            name: The model, for the message.

        Raises:
            BudgetError: With it, a limit would be passed.
        """
        if cost is None:
            yield
            return
        for meter in self._chain():
            if meter.max_cost is not None and meter.usage.spent + meter._reserved + cost > meter.max_cost:
                raise BudgetError(
                    f"Another call of {name} would go over max_cost: ${meter.usage.spent:.4f} of "
                    f"${meter.max_cost:g} is spent; raise max_cost (--max-cost) to go on."
                )
        for meter in self._chain():
            meter._reserved += cost
        try:
            yield
        finally:
            for meter in self._chain():
                meter._reserved -= cost

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(meter.max_cost is not None for meter in self._chain())

    def _chain(self) -> Iterator[Meter]:
        meter: Meter | None = self
        while meter is not None:
            yield meter
            meter = meter.parent
