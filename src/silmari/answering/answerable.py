"""Whether the passages that were found answer a question at all, or are merely the nearest there are.

The cosine finds something near every question. What helps to tell is how many of the question's words the same
passage has: both together separate better than either (docs/notes-fusion.md has the measurements).
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from silmari.retrieval.relevance import coverage

# As many as are shown by default; further ones would let through what merely shares words.
FIRST = 5
# Of the coverage beside the relevance, as in the fused score.
WORDS = 0.5
# Half the coverage of a passage that just answers; so the sum is in the scale of the least relevance.
ENOUGH = 0.3

# Sentences among which one can stand out.
_FEW = 6
# What the cosine of one sentence among many has by chance.
_BY_CHANCE = 0.05

# A passage that was found: its relevance by cosine, None while it has no vector, and its tokens, None
# where they cannot meet the question's: it is in another language.
Passage = tuple[float | None, Collection[str] | None]


def support(weights: Mapping[str, float], found: Iterable[Passage]) -> float:
    """How well the best of the first passages supports an answer, to be compared with the least relevance.

    Args:
        weights: The question's tokens with their weights (idf times the token's own), none negative.
        found: Best first, analysed like the question.

    Returns:
        Of the best passage: the relevance, lowered by .3 where it has none of the question's words, unchanged
        where it covers .6 of their weight, raised by .2 where it has all. Where one half is unknown, the other
        decides alone: the coverage of a passage without a vector, the relevance for a question without
        weights or a passage in another language. 0 if nothing was found.
    """
    return max((_support(weights, *one) for one in islice(found, FIRST)), default=0.0)


def _support(weights: Mapping[str, float], relevance: float | None, tokens: Collection[str] | None) -> float:
    if tokens is None or not any(weights.values()):
        return relevance or 0.0
    covered = coverage(weights, tokens)
    return covered if relevance is None else relevance + WORDS * covered - ENOUGH


def standing_out(cosines: Sequence[float]) -> float:
    """How far one sentence stands out from the others, to be compared with the least relevance.

    A passage about many things is near no question, although one sentence of it may be.

    Args:
        cosines: Of the question with each of the sentences found.

    Returns:
        Where the highest cosine lies between their median and 1, lowered by .05; 0 for fewer than six.
    """
    if len(cosines) < _FEW:
        return 0.0
    usual = statistics.median(cosines)
    return max(0.0, (max(cosines) - usual) / max(1.0 - usual, 1e-6) - _BY_CHANCE)
