"""Where the graph of relations is entered, and what lies around: nearest relations, their entities, their passages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Engine
from silmari.model import Filter, Kind
from silmari.retrieval.chains import Alike, Pool

# Chains may begin with so many nearest relations; they are made of the relations within STEPS of these, and of not
# more than BUDGET.
STARTS = 20
STEPS = 2
BUDGET = 300
# The walk begins at the ends of fewer: with 20 it is led astray.
WALKED = 5
# With a filter, nearest relations are taken so deep, since many of them may be stated by other passages only.
_DEEP = 500
# Entities of more passages join nothing.
MOST = 200
# Names that more passages have in common say less of each: see `silmari.graph.links`.
DAMPING = 0.7
_ALL = Filter()

Vector = NDArray[np.float32]


class FactsGraph(Protocol):
    """What is needed of `silmari.graph.facts.Facts`."""

    def __len__(self) -> int:
        """How many relations there are."""

    def ends(self, relations: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Subjects and objects of relations; 0 for those of one that is gone."""

    def passages_of(self, relations: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """The passages that state each relation."""

    def entities_of(self, passages: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """The ends of the relations that each passage states."""

    def stating(self, entities: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """The passages that state a relation of each entity."""

    def keys(self, entities: Sequence[int]) -> Sequence[str]:
        """The keys of entities."""

    def passage_counts(self, entities: Sequence[int]) -> Sequence[int]:
        """In how many passages each entity is an end of a relation."""

    def expand(
        self,
        relations: Iterable[int],
        entities: Iterable[int],
        degree: int,
        budget: int,
        nearest: Callable[[Sequence[int], int], Sequence[int]],
    ) -> Sequence[int]:
        """The relations within `degree` steps."""

    def walk(
        self, entities: Mapping[int, float], passages: Mapping[int, float], *, top: int
    ) -> Sequence[tuple[int, float]]:
        """Passages by the time that a random walk with restart spends there."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a base knows beside its passages, for one question.

    Attributes:
        facts: The graph of its relations.
        aliases: Pairs of entities that may be the same, with at least one of these, each with how surely (0 to 1).
        vectors: The stored vectors of items of a kind.
    """

    facts: FactsGraph
    aliases: Callable[[Iterable[int]], Sequence[tuple[int, int, float]]]
    vectors: Callable[[Collection[int], Kind], Mapping[int, NDArray[Any]]]
    _alike: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def alike(self, entities: Iterable[int]) -> Alike:
        """For each of these entities those that may be the same, itself first."""
        wanted = list(dict.fromkeys(entities))
        fresh = {item: [(item, 1.0)] for item in wanted if item not in self._alike}
        for one, other, surely in self.aliases(list(fresh)) if fresh else ():
            for left, right in ((one, other), (other, one)):
                if left in fresh:
                    fresh[left].append((right, surely))
        self._alike.update(fresh)
        return {item: self._alike[item] for item in wanted}


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a passage gets because a relation of its and one of another passage have an entity in common.

    Attributes:
        gain: The other passage's weight times the strength of what joins them.
        source: The other passage.
        entity: The entity there.
        other: The entity here: the same, or one that may be the same.
    """

    gain: float
    source: int
    entity: int
    other: int


def nearest_relations(
    question: Vector, engine: Engine, known: Known, may: Callable[[Collection[int]], Collection[int]] | None
) -> list[tuple[int, float]]:
    """The `STARTS` relations most similar to the question, with their cosines.

    Args:
        question: Unit vector.
        engine: Has the vectors of relations.
        known: Which passages state them.
        may: Which passages may be found; None for all.
    """
    if may is None:
        return engine.dense("relation", question, STARTS, _ALL)
    found = engine.dense("relation", question, _DEEP, _ALL)
    stated = known.facts.passages_of(item for item, _ in found)
    allowed = set(may({passage for passages in stated.values() for passage in passages}))
    return [(item, cosine) for item, cosine in found if not allowed.isdisjoint(stated.get(item, ()))][:STARTS]


def gather(
    question: Vector,
    starts: Sequence[int],
    engine: Engine,
    known: Known,
    may: Callable[[Collection[int]], Collection[int]] | None,
) -> tuple[Pool, dict[int, tuple[int, ...]], Alike]:
    """The relations around some relations: what chains are made of.

    Returns:
        Those that have a vector, the passages that state each of them, and which of their ends may be the same.
    """

    def closest(ids: Sequence[int], count: int) -> list[int]:
        cosines = engine.similarity("relation", question, ids)
        kept = sorted(cosines, key=lambda item: -cosines[item])[:count]
        return list(dict.fromkeys([*starts, *kept]))

    around = list(starts)
    for _ in range(STEPS):
        # Step by step, so that the aliases of what was reached are steps away, too.
        ends = {end for pair in zip(*known.facts.ends(around), strict=True) for end in pair if end}
        others = sorted({other for pairs in known.alike(ends).values() for other, _ in pairs})
        counts = known.facts.passage_counts(others)
        few = [other for other, count in zip(others, counts, strict=True) if count <= MOST]
        around = list(known.facts.expand(around, few, 0, BUDGET, closest))
    stated = {item: tuple(passages) for item, passages in known.facts.passages_of(around).items()}
    if may is not None:
        allowed = set(may({passage for passages in stated.values() for passage in passages}))
        kept = {item: tuple(p for p in passages if p in allowed) for item, passages in stated.items()}
        stated = {item: passages for item, passages in kept.items() if passages}
    vectors = known.vectors(list(stated), "relation")
    ids = sorted(vectors)
    stated = {item: stated[item] for item in ids}
    subjects, objects = known.facts.ends(ids)
    matrix = np.array([vectors[item] for item in ids], np.float32).reshape(len(ids), len(question))
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-6)
    pool = Pool(np.array(ids, np.int64), np.array([subjects, objects], np.int64).T.reshape(-1, 2), matrix)
    return pool, stated, known.alike({*subjects, *objects})


def walk_seeds(nearest: Sequence[tuple[int, float]], facts: FactsGraph, unrelated: float) -> dict[int, float]:
    """Where the walk begins: the ends of the nearest relations, by the relations' relevance.

    An entity of many passages says little of each: it gets its share of the weight.
    """
    weights: dict[int, float] = {}
    first = nearest[:WALKED]
    subjects, objects = facts.ends([item for item, _ in first])
    for (_, cosine), *ends in zip(first, subjects, objects, strict=True):
        for end in ends:
            if end:
                weights[end] = weights.get(end, 0.0) + max(0.0, (cosine - unrelated) / (1 - unrelated))
    counts = facts.passage_counts(list(weights))
    return {item: weight / max(1, count) for (item, weight), count in zip(weights.items(), counts, strict=True)}


def meet(sources: Sequence[tuple[int, float]], known: Known) -> dict[int, Meeting]:
    """One step from each source to the passages whose relations have an entity in common with its own.

    Names without a letter (numbers) join nothing.

    Args:
        sources: Passages with their weights, the best first; weights are not negative.
        known: The graph.

    Returns:
        The strongest meeting of each passage that is reached; of equal ones the first source's.
    """
    held = known.facts.entities_of(item for item, _ in sources)
    entities = sorted({entity for found in held.values() for entity in found})
    names = known.facts.keys(entities)
    alike = known.alike(entity for entity, name in zip(entities, names, strict=True) if any(map(str.isalpha, name)))
    others = sorted({other for pairs in alike.values() for other, _ in pairs})
    counts = dict(zip(others, known.facts.passage_counts(others), strict=True))
    stating = known.facts.stating(other for other in others if 0 < counts[other] <= MOST)
    best: dict[int, Meeting] = {}
    for source, weight in sources:
        for entity in held.get(source, ()):
            for other, surely in alike.get(entity, ()):
                # How many passages the source is joined with; it is one of those that have the entity.
                joined = counts[other] - (other == entity)
                if joined < 1 or other not in stating:
                    continue
                gain = weight * surely * float(joined) ** -DAMPING
                for target in stating[other]:
                    if target != source and (target not in best or gain > best[target].gain):
                        best[target] = Meeting(gain, source, entity, other)
    return best
