"""The graph of names at 200,000 passages and 400,000 entities: ``python benchmarks/graph.py``.

Each passage has a title (a fifth of them share theirs with others) and mentions twelve names, drawn by Zipf's law,
so that there are hubs; every third of its mentions is another passage's title, as in an encyclopaedia.
Times are medians.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

from silmari.catalog.words import Named
from silmari.graph.links import Links

PASSAGES = 200_000
ENTITIES = 400_000
MENTIONS = 12
SOURCES = 10
ROUNDS = 300


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


def _ms(times: list[float]) -> str:
    return f"{statistics.median(times) * 1000:.2f}"


def run() -> list[dict[str, Any]]:
    """Building, spreading, changing, and memory."""
    held = list(rows())
    gc.collect()
    tracemalloc.start()
    graph = Links(held)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    start = time.perf_counter()
    graph = Links(held)
    built = time.perf_counter() - start
    dice = np.random.default_rng(1)
    spread, changed, after = [], [], []
    for at in range(ROUNDS):
        sources = [(int(one), 0.5) for one in dice.integers(1, PASSAGES, SOURCES)]
        start = time.perf_counter()
        graph.spread(sources)
        spread.append(time.perf_counter() - start)
        row = held[int(dice.integers(0, PASSAGES))]._replace(id=PASSAGES + 1 + at)
        start = time.perf_counter()
        graph.update([row.id], [row])
        changed.append(time.perf_counter() - start)
        start = time.perf_counter()
        graph.spread(sources)
        after.append(time.perf_counter() - start)
    return [
        {"": f"{PASSAGES:,} passages, {ENTITIES:,} entities", "ms": ""},
        {"": "built from the catalog's names", "ms": f"{built * 1000:.0f}"},
        {"": f"spreading from {SOURCES} passages, median", "ms": _ms(spread)},
        {"": "the same, slowest of 300", "ms": f"{max(spread) * 1000:.2f}"},
        {"": "a passage added", "ms": _ms(changed)},
        {"": "spreading with added passages", "ms": _ms(after)},
        {"": "memory, MB (no ms)", "ms": f"{memory / 1e6:.0f}"},
    ]


if __name__ == "__main__":
    for line in run():
        print(*line.values(), sep="\t")
