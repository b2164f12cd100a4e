"""Whether the passages that were found answer a question at all, or are merely the nearest there are.

The cosine finds something near every question. What helps to tell is how many of the question's words the same
passage has: both together separate better than either (docs/notes-fusion.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from silmari.retrieval.relevance import coverage

# As many as are shown by default; further ones would let through what merely shares words.
FIRST = 5
# Of the coverage beside the relevance, as in the fused score.
WORDS = 0.5
# Half the coverage of a passage that just answers; so the sum is in the scale of the least relevance.
ENOUGH = 0.3

# A passage that was found: its relevance by cosine, None while it has no vector, and its tokens.
Passage = tuple[float | None, Collection[str]]


def support(weights: Mapping[str, float], found: Iterable[Passage]) -> float:
    """How well the best of the first passages supports an answer, to be compared with the least relevance.

    Args:
        weights: The question's tokens with their weights (idf times the token's own), none negative.
        found: Best first, analysed like the question.

    Returns:
        Of the best passage: the relevance, lowered by .3 where it has none of the question's words, unchanged
        where it covers .6 of their weight, raised by .2 where it has all. Where one half is unknown, the other
        decides alone: the coverage of a passage without a vector, the relevance for a question without
        weights. 0 if nothing was found.
    """
    return max((_support(weights, *one) for one in islice(found, FIRST)), default=0.0)


def answerable(weights: Mapping[str, float], found: Iterable[Passage], least: float) -> bool:
    """Whether an answer should be given.

    Args:
        weights: See `support`.
        found: See `support`.
        least: The setting ``min_relevance``.
    """
    return support(weights, found) >= least


def _support(weights: Mapping[str, float], relevance: float | None, tokens: Collection[str]) -> float:
    covered = coverage(weights, tokens)
    if relevance is None:
        return covered
    if not any(weights.values()):
        return relevance
    return relevance + WORDS * covered - ENOUGH
