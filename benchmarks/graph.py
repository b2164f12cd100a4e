"""The graph at 1,000,000 relations, 400,000 entities and 200,000 passages: ``python -m benchmarks graph``.

Ends of relations are drawn by a power law: the greatest hub has tens of thousands of relations. Beside ours stands
the first source's method, matrices of all distances (`benchmarks.degree_matrices`), as far as it fits.
`benchmarks.names_graph` makes the graph of names. Similarities to the question are at hand in all expansions.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import names_graph
from benchmarks.degree_matrices import DegreeMatrices
from silmari.catalog.words import EntityRow, FactsChange, Stated
from silmari.graph.facts import Facts
from silmari.graph.links import Links
from silmari.graph.snapshot import Saved, Snapshots

RELATIONS, ENTITIES, PASSAGES = 1_000_000, 400_000, 200_000
SKEW = 0.85
SEEDS = 20
BUDGET = 1_000
ROUNDS = 40
CONVERGED = 60
SMALL = ((500, 1_000), (2_000, 5_000), (4_000, 10_000), (8_000, 20_000))

Row = dict[str, Any]


class World:
    """Relations between entities.

    Args:
        relations: How many.
        entities: How many may have relations.
        passages: How many state them.
    """

    def __init__(self, relations: int, entities: int, passages: int) -> None:
        dice = np.random.default_rng(0)
        share = np.cumsum(np.arange(1, entities + 1) ** -SKEW)
        names = dice.permutation(entities)
        popular = names[np.searchsorted(share / share[-1], dice.random((2, relations)))]
        # Every second object is anything.
        anything = dice.integers(0, entities, relations)
        self.ends = np.stack([popular[0], np.where(dice.random(relations) < 0.5, popular[1], anything)])
        self.places = np.sort(dice.integers(0, passages, relations))
        self.entities = entities
        self.likeness = dice.random(relations + 10_000)

    def names(self) -> Iterator[EntityRow]:
        return (EntityRow(at, f"entity{at:x}", "") for at in range(1, self.entities + 1))

    def stated(self) -> Iterator[Stated]:
        rows = zip(*self.ends.tolist(), self.places.tolist(), strict=True)
        return (Stated(at, one + 1, other + 1, (place + 1,)) for at, (one, other, place) in enumerate(rows, 1))

    def nearest(self, ids: Sequence[int], count: int) -> list[int]:
        found = np.array(ids)
        kept: list[int] = found[np.argpartition(-self.likeness[found], count)[:count]].tolist()
        return kept


def timed(call: Callable[[], object], rounds: int = ROUNDS) -> Row:
    """The median and the slowest of some calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return {"ms": statistics.median(times), "slowest": max(times)}


def once(call: Callable[[], Any]) -> tuple[Any, Row]:
    start = time.perf_counter()
    result = call()
    return result, {"ms": (time.perf_counter() - start) * 1000}


def run() -> list[Row]:
    size = f"{RELATIONS:,} relations, {ENTITIES:,} entities, {PASSAGES:,} passages"
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_whole(Snapshots(Path(folder)))]
    return [{"": size}, *rows, {"": "the first source's method beside ours, degree 2"}, *_beside()]


def _whole(kept: Snapshots) -> Iterator[Row]:
    links, facts, *built = _built()
    yield from built
    saved, spent = once(
        lambda: [
            kept.save(*part)
            for part in (("links", Saved("", 0, links.arrays())), ("facts", Saved("", 0, facts.arrays())))
        ]
    )
    assert all(saved)
    yield {"": "kept on disk", **spent}
    mapped = sum(array.nbytes for graph in (links, facts) for array in graph.arrays().values())
    del links, facts
    gc.collect()
    world = World(RELATIONS, ENTITIES, PASSAGES)
    tracemalloc.start()
    (links, facts), spent = once(lambda: _loaded(kept))
    yield {"": "loaded from disk, checked", "asked": 3_000, **spent}
    dice = np.random.default_rng(1)
    facts.walk({1: 1.0}, {})
    facts.mentions("entity1")
    links.spread([(1, 1.0)])
    memory = (mapped + tracemalloc.get_traced_memory()[0]) / 1e6
    tracemalloc.stop()
    yield {"": "memory of both, mapped files and what searches make of them, MB", "asked": 500, "MB": memory}
    yield from _walks(facts, world, dice)
    yield from _others(links, facts, world, dice)


def _built() -> tuple[Any, ...]:
    named = list(names_graph.rows(PASSAGES, ENTITIES))
    links, first = once(lambda: Links(named))
    del named
    world = World(RELATIONS, ENTITIES, PASSAGES)
    facts, second = once(lambda: Facts.build(world.names(), world.stated()))
    hub = int(np.bincount(world.ends.ravel()).max())
    return (
        links,
        facts,
        {"": "built: names", **first},
        {"": f"built: relations; the greatest hub has {hub:,}", **second},
    )


def _loaded(kept: Snapshots) -> tuple[Links, Facts]:
    links, facts = kept.load("links"), kept.load("facts")
    assert links is not None and facts is not None
    return Links.from_arrays(links.arrays), Facts.from_arrays(facts.arrays)


def _walks(facts: Facts, world: World, dice: np.random.Generator) -> Iterator[Row]:
    seeds = [_seeds(facts, world, dice) for _ in range(ROUNDS)]
    shared = []
    for entities, passages in seeds:
        found, best = (
            {item for item, _ in facts.walk(entities, passages, top=10, steps=steps)} for steps in (None, CONVERGED)
        )
        shared.append(len(found & best) / len(best))
    turns = iter(seeds)
    yield {"": "walk from 5 relations and 50 passages", "asked": 100, **timed(lambda: facts.walk(*next(turns)))}
    yield {"": f"its best 10 among those after {CONVERGED} steps", "asked": 0.95, "share": statistics.mean(shared)}


def _seeds(facts: Facts, world: World, dice: np.random.Generator) -> tuple[dict[int, float], dict[int, float]]:
    """The ends of five relations, by how rare they are, and some passages."""
    subjects, objects = facts.ends([int(item) for item in dice.integers(1, RELATIONS, 5)])
    entities = dict.fromkeys([*subjects, *objects], 0.0)
    for item, count in zip(entities, facts.passage_counts(list(entities)), strict=True):
        entities[item] = 1 / count
    return entities, {int(item): 0.002 for item in dice.integers(1, PASSAGES, 50)}


def _others(links: Links, facts: Facts, world: World, dice: np.random.Generator) -> Iterator[Row]:
    def sources() -> list[tuple[int, float]]:
        return [(int(item), 0.5) for item in dice.integers(1, PASSAGES, 10)]

    def around(degree: int) -> list[int]:
        relations, entities = dice.integers(1, RELATIONS, SEEDS // 2), dice.integers(1, ENTITIES, SEEDS // 2)
        return facts.expand(relations.tolist(), entities.tolist(), degree, BUDGET, world.nearest)

    yield {"": "spreading from 10 passages", "asked": 5, **timed(lambda: links.spread(sources()))}
    yield {"": f"expansion of {SEEDS} seeds, degree 1", "asked": 5, **timed(lambda: around(1))}
    yield {"": f"degree 2, budget {BUDGET:,}", "asked": 20, **timed(lambda: around(2))}
    question = " ".join(f"entity{item:x}에서" for item in dice.integers(1, 2 * ENTITIES, 400))[:2_000]
    yield {"": "names in a question of 2,000 characters", "asked": 3, **timed(lambda: facts.mentions(question))}
    late = iter(range(ROUNDS))

    def added() -> None:
        at = next(late)
        facts.update(_document(world, dice, at))
        assert facts.walk({ENTITIES + 1 + at: 1.0}, {})[0][0] == PASSAGES + 1 + at

    yield {"": "a document of 20 relations added, until a walk finds it", "asked": 100, **timed(added)}
    row = next(names_graph.rows(1, ENTITIES))
    ids = iter(range(PASSAGES + 1, PASSAGES + 1 + ROUNDS))

    def named() -> None:
        passage = row._replace(id=next(ids))
        links.update([passage.id], [passage])
        links.spread(sources())

    yield {"": "a passage added, until spreading finds it", "asked": 100, **timed(named)}


def _document(world: World, dice: np.random.Generator, at: int) -> FactsChange:
    fresh, passage = ENTITIES + 1 + at, PASSAGES + 1 + at
    known = world.ends[:, dice.integers(0, RELATIONS, 20)].ravel()[:20] + 1
    relations = [Stated(RELATIONS + 1 + 20 * at + n, fresh, int(end), (passage,)) for n, end in enumerate(known)]
    row = EntityRow(fresh, f"fresh{at}", "")
    return FactsChange(at, (fresh,), (row,), tuple(item.id for item in relations), tuple(relations))


def _beside() -> Iterator[Row]:
    dice = np.random.default_rng(2)
    for entities, relations in SMALL:
        world = World(relations, entities, relations // 5)
        seeds = dice.integers(0, relations, SEEDS // 2), dice.integers(0, entities, SEEDS // 2)
        theirs, spent = once(lambda: DegreeMatrices(world.ends.T.tolist(), entities, 2))  # noqa: B023
        memory = theirs.dense_bytes + theirs.sparse_bytes
        facts, built = once(lambda: Facts.build(world.names(), world.stated()))  # noqa: B023
        ours = sum(array.nbytes for array in facts.arrays().values())
        chosen = [(part + 1).tolist() for part in seeds]
        found = facts.expand(*chosen, 2, relations, world.nearest)
        assert {item - 1 for item in found} == theirs.expand(*seeds)
        size = f"{relations:,} relations, {entities:,} entities"
        yield {"": f"{size}: matrices built", "MB": memory / 1e6, **spent}
        yield {"": "ours built", "MB": ours / 1e6, **built}
        yield {"": f"{len(found):,} relations found: by matrices", **timed(lambda: theirs.expand(*seeds), 5)}  # noqa: B023
        yield {"": "by ours", **timed(lambda: facts.expand(*chosen, 2, relations, world.nearest), 5)}  # noqa: B023
        del theirs
        gc.collect()
