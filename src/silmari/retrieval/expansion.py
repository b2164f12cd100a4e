"""The way ``expansion``: similar entities and relations, what lies around them, the best few of it, their passages.

For each entity that the question names, the most similar ones; for the question, the most similar relations. From
there `degree` steps over the graph: a relation leads to those that share an entity with it, an entity to the entities
that a relation joins with it, and all of them to their relations. Of what both reach, the best few are chosen (by a
model, or by their similarity to the question), and their passages are the hits, in that order.

Method: vector search over triplets, entities and passages with expansion of a subgraph, as in the graph pipelines
over Milvus. There it needs matrices of all entities and relations; here only the rows that are reached are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Engine
from silmari.language.names import entity_keys
from silmari.model import Filter, Kind
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored
from silmari.settings import Expansion

# Nearest relations are asked for again, and more of them, while a filter leaves too few; at most this many.
_DEEPEST = 2_048
_BLOCK = 256
# What a path that begins at something hardly similar counts longer, in relations.
_WEAK = 3.0
# Names of a question that are looked up; each costs an embedding.
_NAMES = 8
ALL = Filter()

Allowed = Callable[[Collection[int], Filter], Collection[int]]
Vector = NDArray[np.float32]


class Graph(Protocol):
    """What the expansion needs of `silmari.graph.facts.Facts`."""

    def __len__(self) -> int:
        """How many relations there are."""

    def expand(
        self,
        relations: Iterable[int],
        entities: Iterable[int],
        degree: int,
        budget: int,
        nearest: Callable[[Sequence[int], int], Sequence[int]],
    ) -> Sequence[int]:
        """The relations within `degree` steps, `budget` at most; `nearest` says which to keep."""

    def ends(self, relations: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """The subjects and objects of relations."""

    def passages_of(self, relations: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """The passages that state each relation; relations that are gone are left out."""

    def mentions(self, text: str) -> Sequence[tuple[int, int, int]]:
        """The entities that a text names, with where it does."""

    def entity_of(self, key: str) -> int | None:
        """The entity with a key, or None."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was reached.

    Attributes:
        entities: Where it began: entities with their relevance to a name in the question.
        relations: Likewise, relations with their relevance to the question.
        similarity: All relations that were reached and may be shown, with their cosine, best first; those
            without a vector come last with -1.
        passages: Of each of these, the passages that state it and may be shown, ascending.
        ends: Subject and object of each.
    """

    entities: Mapping[int, float]
    relations: Mapping[int, float]
    similarity: Mapping[int, float]
    passages: Mapping[int, Sequence[int]]
    ends: Mapping[int, tuple[int, int]]

    def order(self, first: Sequence[int] = ()) -> list[int]:
        """All relations, these first, the others by their similarity."""
        return [item for item in dict.fromkeys([*first, *self.similarity]) if item in self.similarity]

    def path(self, relation: int) -> list[int]:
        """The relations that lead from where it began to this one, the last being itself.

        As few as there may be; but a path that begins at an entity whose name is hardly like the one in the question,
        or at a relation that is hardly like the question, counts as up to three relations longer.
        """
        around: dict[int, list[int]] = {}
        for item, ends in self.ends.items():
            for end in dict.fromkeys(ends):
                around.setdefault(end, []).append(item)
        turn = count()  # of equal ones the first stays first
        waiting: list[tuple[float, int, int, int | None]] = []
        for entity, value in self.entities.items():
            waiting += [(_WEAK * (1 - value), next(turn), item, None) for item in around.get(entity, ())]
        for item, value in self.relations.items():
            if item in self.ends:
                waiting.append((_WEAK * (1 - value), next(turn), item, None))
        heapify(waiting)
        before: dict[int, int | None] = {}
        while waiting and relation not in before:
            length, _, item, previous = heappop(waiting)
            if item not in before:
                before[item] = previous
                for other in (one for end in self.ends[item] for one in around[end] if one not in before):
                    heappush(waiting, (length + 1, next(turn), other, item))
        found = [relation]
        while (earlier := before.get(found[-1])) is not None:
            found.append(earlier)
        return found[::-1]


def named(question: Question, graph: Graph, given: Sequence[str] | None) -> Sequence[tuple[str, int | None]]:
    """The names in a question, each with the entity of exactly that name, if there is one.

    They are those that the caller gives, else the known names that it mentions, else what looks like a name.
    """
    if given is not None:
        spelled = [one for one in dict.fromkeys(given) if one.strip()]
        return [(one, next(filter(None, map(graph.entity_of, entity_keys([one]))), None)) for one in spelled][:_NAMES]
    known = {entity: question.text[start:end] for entity, start, end in graph.mentions(question.text)}
    if known:
        return [(name, entity) for entity, name in known.items()][:_NAMES]
    return [(one, None) for one in question.names][:_NAMES]


def expand(
    question: Vector,
    names: Sequence[tuple[int | None, Vector]],
    engine: Engine,
    graph: Graph,
    chosen: Expansion,
    where: Filter,
    allowed: Allowed,
    relevance: Callable[[float], float],
) -> Expanded:
    """Find where to begin, and all that lies around it.

    Args:
        question: Its unit vector.
        names: For each name that the question holds, the entity of exactly that name, if there is one, and
            the unit vector of the name.
        engine: Gives nearest entities and relations.
        graph: Which relation joins which entities.
        chosen: How many, how far.
        where: Relations of which no passage passes lead nowhere and are not shown.
        allowed: Those passages that a filter lets through.
        relevance: Of a cosine; thresholds are in it.
    """
    may = _May(graph, where, allowed)
    entities: dict[int, float] = {}
    for exact, vector in names:
        near = {item: relevance(cosine) for item, cosine in engine.dense("entity", vector, chosen.top_k, ALL)}
        kept = {item: value for item, value in near.items() if value >= chosen.entity_threshold}
        for item, value in ({exact: 1.0} | kept if exact is not None else kept).items():
            entities[item] = max(value, entities.get(item, 0.0))
    relations = {
        item: value
        for item, cosine in nearest_relations(question, engine, chosen.top_k, may)
        if (value := relevance(cosine)) >= chosen.relation_threshold
    }

    def nearest(ids: Sequence[int], count: int) -> list[int]:
        ranked = _ranked(engine, "relation", question, ids)
        return ranked[:count] if where.empty else list(may.first(ranked, count))

    reached = graph.expand(list(relations), list(entities), chosen.degree, chosen.budget, nearest)
    passages = may.passages(list(dict.fromkeys([*relations, *reached])))
    ranked = _ranked(engine, "relation", question, list(passages))
    cosines = engine.similarity("relation", question, ranked)
    subjects, objects = graph.ends(ranked)
    return Expanded(
        entities,
        relations,
        {item: cosines.get(item, -1.0) for item in ranked},
        passages,
        {item: (int(a), int(b)) for item, a, b in zip(ranked, subjects, objects, strict=True)},
    )


class _May:
    """Which relations may be shown, and with which passages."""

    def __init__(self, graph: Graph, where: Filter, allowed: Allowed) -> None:
        self._graph, self._where, self._allowed = graph, where, allowed

    def passages(self, relations: Iterable[int]) -> dict[int, Sequence[int]]:
        """Of each relation that may be shown, the passages that may."""
        stated = dict(self._graph.passages_of(relations))
        if not self._where.empty:
            through = set(self._allowed({one for found in stated.values() for one in found}, self._where))
            stated = {item: tuple(one for one in found if one in through) for item, found in stated.items()}
        return {item: found for item, found in stated.items() if found}

    def first(self, relations: Sequence[int], count: int) -> Iterator[int]:
        """The first of these that may be shown; no more is read than is needed."""
        for start in range(0, len(relations), _BLOCK):
            for item in self.passages(relations[start : start + _BLOCK]):
                if not count:
                    return
                count -= 1
                yield item


def nearest_relations(question: Vector, engine: Engine, k: int, may: _May) -> Scored:
    """The k relations most similar to the question among those that may be shown, as (id, cosine)."""
    depth = k
    while True:
        found = engine.dense("relation", question, depth, ALL)
        shown = may.passages([item for item, _ in found])
        kept = [(item, cosine) for item, cosine in found if item in shown][:k]
        if len(kept) == k or len(found) < depth or depth >= _DEEPEST:
            return kept
        depth *= 4


def _ranked(engine: Engine, kind: Kind, vector: Vector, ids: Sequence[int]) -> list[int]:
    """Ids by similarity, of equal ones the smallest first; those without a vector come last."""
    cosines = engine.similarity(kind, vector, ids)
    return sorted(ids, key=lambda item: (-cosines.get(item, -2.0), item))


def merged(expanded: Expanded, others: Sequence[Expanded]) -> Expanded:
    """What was reached and what was reached from other questions, these by their own similarity."""
    cosines = dict(expanded.similarity)
    for other in others:
        for item, cosine in other.similarity.items():
            cosines.setdefault(item, cosine)
    order = sorted(cosines, key=lambda item: (-cosines[item], item))
    everyone = [*others[::-1], expanded]
    return Expanded(
        {item: value for one in everyone for item, value in one.entities.items()},
        {item: value for one in everyone for item, value in one.relations.items()},
        {item: cosines[item] for item in order},
        {item: found for one in everyone for item, found in one.passages.items()},
        {item: ends for one in everyone for item, ends in one.ends.items()},
    )


def passages(expanded: Expanded, first: Sequence[int]) -> dict[int, int]:
    """The passages of relations, these first, then the others by similarity; each with the relation that led to it."""
    found: dict[int, int] = {}
    for relation in expanded.order(first):
        for item in expanded.passages[relation]:
            found.setdefault(item, relation)
    return found
