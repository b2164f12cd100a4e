"""A graph of names for the graph benchmark: 200,000 passages and 400,000 entities.

Each passage has a title (a fifth of them share theirs with others) and mentions twelve names, drawn by Zipf's law,
so that there are hubs; every third of its mentions is another passage's title, as in an encyclopaedia.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from silmari.catalog.words import Named

PASSAGES = 200_000
ENTITIES = 400_000
MENTIONS = 12


def rows(passages: int = PASSAGES, entities: int = ENTITIES, seed: int = 0) -> Iterator[Named]:
    """Passages with their names."""
    dice = np.random.default_rng(seed)
    titles = dice.permutation(passages)
    shared = dice.random(passages) < 0.2
    titles[shared] = titles[shared] // 50
    for at, title in enumerate(titles):
        popular = np.minimum(dice.zipf(1.15, MENTIONS) - 1, entities - 1)
        named = dice.integers(0, passages, MENTIONS)
        mentions = np.where(dice.random(MENTIONS) < 1 / 3, named, popular)
        keys = dict.fromkeys([f"e{title}", *(f"e{one}" for one in mentions.tolist())])
        yield Named(at + 1, f"=e{title} {' '.join(keys)}", "", at + 1)
