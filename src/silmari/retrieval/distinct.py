"""Near-identical passages do not fill k: of each group only the best-ranked one is kept.

Two passages are near-identical when their numbers are the same and nearly all of their tokens are:
forms and tables differ in nothing but their numbers, and those must stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SHARED = 0.9
_NUMBERS = re.compile(r"\d+")


class Distinct:
    """The texts that were kept so far."""

    def __init__(self) -> None:
        self._seen: list[tuple[Sequence[str], frozenset[str]]] = []

    def add(self, text: str) -> bool:
        """Keep a text; False, and it is not kept, if one that is nearly the same was kept before."""
        numbers, words = sorted(_NUMBERS.findall(text)), frozenset(text.split())
        if any(numbers == other and _overlap(words, held) >= SHARED for other, held in self._seen):
            return False
        self._seen.append((numbers, words))
        return True


def distinct(items: Iterable[tuple[int, str]], k: int) -> tuple[list[int], list[int]]:
    """Keep the first of each group of near-identical texts.

    Args:
        items: (id, text) in rank order; read only as far as needed to keep k.
        k: How many to keep.

    Returns:
        The ids kept, in order, and the ids dropped as near-identical to one of them.
    """
    kept: list[int] = []
    dropped: list[int] = []
    seen = Distinct()
    for item, text in items:
        if len(kept) == k:
            break
        (kept if seen.add(text) else dropped).append(item)
    return kept, dropped


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard: shared words over all words of both."""
    smaller, larger = sorted((len(a), len(b)))
    if not larger:
        return 1.0
    if smaller < SHARED * larger:
        return 0.0
    common = len(a & b)
    return common / (smaller + larger - common)
