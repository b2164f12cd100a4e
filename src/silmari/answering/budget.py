"""Sources fitted into a number of tokens; what does not fit is left out, and said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from silmari.answering.units import Unit, split
from silmari.model import Hit
from silmari.providers.tokens import estimate_tokens

# Tokens that title, place and tags of one source take.
_HEAD_TOKENS = 60
_LEAST_TOKENS = 40
LEAST_ROOM = _HEAD_TOKENS + _LEAST_TOKENS


@dataclass(frozen=True, slots=True)
class Piece:
    """A source as the model reads it.

    Attributes:
        n: Its number in the prompt, from 1.
        text: The passage's content, or the sentences of it that fitted.
        cut: Whether something was left out of it.
    """

    n: int
    hit: Hit
    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """The sources that fitted.

    Attributes:
        tokens: Estimated tokens of all pieces with their heads.
        left_out: One entry for each hit that is missing or cut, for the Trace:
            ``{"passage_id", "source", "reason", "tokens", "of"}``: which, why, how many of its tokens
            are missing, and how many it has.
    """

    pieces: tuple[Piece, ...]
    tokens: int
    left_out: tuple[dict[str, Any], ...]


def fit(
    hits: Sequence[Hit],
    budget: int,
    *,
    estimate: Callable[[str], int] = estimate_tokens,
    worth: Callable[[str], float] | None = None,
) -> Fitted:
    """Fit hits, best first, into a budget, cutting long ones at the borders of sentences and rows.

    Args:
        hits: Best first.
        budget: Tokens that all sources together may take.
        estimate: Counts tokens.
        worth: How much a sentence says about the question; the worthiest of a long passage stay, in
            their order. Without it the first ones stay.
    """
    pieces: list[Piece] = []
    left_out: list[dict[str, Any]] = []
    rest = budget
    needs = [estimate(hit.passage.content) for hit in hits]
    for place, hit in enumerate(hits):
        content, needed = hit.passage.content, needs[place]
        # The best may be long, but half a fair share is kept for each of the others.
        kept = sum(min(later + _HEAD_TOKENS, budget // (2 * len(hits))) for later in needs[place + 1 :])
        share = max(rest - kept, min(rest, _HEAD_TOKENS + _LEAST_TOKENS)) - _HEAD_TOKENS
        if needed <= share:
            text, cut = content, False
        elif share < _LEAST_TOKENS and pieces:
            left_out.append(_left(hit, "no room in the token budget", needed, needed))
            continue
        else:
            text, cut = _shorten(hit, max(share, 1), estimate, worth), True
        if not text:
            left_out.append(_left(hit, "no sentence of it fits the token budget", needed, needed))
            continue
        used = estimate(text) + _HEAD_TOKENS
        if cut:
            left_out.append(_left(hit, "cut to fit the token budget", needed + _HEAD_TOKENS - used, needed))
        pieces.append(Piece(len(pieces) + 1, hit, text, cut))
        rest -= used
    return Fitted(tuple(pieces), budget - rest, tuple(left_out))


def _left(hit: Hit, reason: str, tokens: int, of: int) -> dict[str, Any]:
    name = hit.source.title or hit.source.uri.rsplit("/", 1)[-1]
    return {"passage_id": hit.passage.id, "source": name, "reason": reason, "tokens": tokens, "of": of}


def _shorten(hit: Hit, limit: int, estimate: Callable[[str], int], worth: Callable[[str], float] | None) -> str:
    """The worthiest units that fit, in order; gaps between them are shown as an ellipsis."""
    units = split(hit.passage)
    order = sorted(range(len(units)), key=lambda place: -worth(units[place].text)) if worth else range(len(units))
    kept: list[int] = []
    rest = limit
    for place in order:
        cost = estimate(units[place].text) + 2
        if cost <= rest:
            kept.append(place)
            rest -= cost
        elif not worth:
            break
    return _joined(hit.passage.content, [units[place] for place in sorted(kept)], len(units))


def _joined(content: str, units: list[Unit], total: int) -> str:
    text = ""
    for before, unit in zip([None, *units], units, strict=False):
        between = content[before.end : unit.start] if before else ""
        text += (between if not between.strip() else " … ") if before else ""
        text += unit.text
    return text + (" …" if units and len(units) < total else "")
