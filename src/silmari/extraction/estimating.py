"""What it will take to let a chat model read the passages that wait, told before it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from silmari.extraction.prompting import messages
from silmari.providers.calling import Calling
from silmari.providers.tokens import estimate_tokens
from silmari.providers.usage import price_of

# Passages that are looked at; the others are taken to be like them.
SAMPLE = 500
# Each statement repeats names and carries three keys.
_REPLY_PER_TOKEN = 1.2
_REPLY_LEAST = 60
# Of a hosted model: to the first token, and tokens a second.
_LATENCY = 1.0
_SPEED = 60.0
_FRAME = 8


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a run.

    Attributes:
        passages: How many wait.
        calls: At least; a reply that has to be repaired takes another.
        cost: In US dollars; None if the model's price is unknown.
        minutes: With the calls in flight that the settings allow, by a hosted model of usual speed.
    """

    passages: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    minutes: float

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        cost = None if self.cost is None else round(self.cost, 4)
        return {
            "passages": self.passages,
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": cost,
            "minutes": round(self.minutes, 1),
        }

    def __str__(self) -> str:
        cost = "cost unknown" if self.cost is None else f"about ${self.cost:,.2f}"
        tokens = self.input_tokens + self.output_tokens
        return (
            f"{self.passages:,} passages for the chat model: {self.calls:,} calls, about {tokens:,} tokens, {cost}, "
            f"about {max(1, math.ceil(self.minutes)):,} min."
        )


def estimate(sample: Sequence[tuple[int, str, str]], waiting: int, calling: Calling) -> Estimate:
    """Estimate from the first passages of the queue, as (id, context, text), what all that wait will take."""
    if not sample or not waiting:
        return Estimate(0, 0, 0, 0, 0.0, 0.0)
    sent = sum(_prompt_tokens(context, text) for _, context, text in sample)
    got = sum(expected_reply(text) for _, _, text in sample)
    share = waiting / len(sample)
    sent, got = round(sent * share), round(got * share)
    price = price_of(calling.chat.name, calling.gate.prices, listed=calling.chat.priced)
    cost = None if price is None else (sent * price[0] + got * price[1]) / 1_000_000
    seconds = (waiting * _LATENCY + got / _SPEED) / min(calling.gate.concurrency, waiting)
    return Estimate(waiting, waiting, sent, got, cost, seconds / 60)


def expected_reply(text: str) -> int:
    """Tokens that the reply about a passage is likely to have at most."""
    return _REPLY_LEAST + round(_REPLY_PER_TOKEN * estimate_tokens(text))


def _prompt_tokens(context: str, text: str) -> int:
    return sum(estimate_tokens(str(message.content)) + _FRAME for message in messages(context, text))
