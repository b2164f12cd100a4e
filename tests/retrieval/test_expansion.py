"""The way ``expansion`` against a naive reference of its method: dense matrices of all entities and relations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from silmari.catalog.words import EntityRow, Stated
from silmari.graph.facts import Facts
from silmari.model import Filter
from silmari.retrieval.expansion import Expanded, expand, merged, passages
from silmari.settings import Expansion

DIM = 6
OPEN, SHUT = Filter(), Filter(categories=frozenset({"open"}))


@dataclass
class Exact:
    """The two questions that expansion asks an engine, answered exactly from arrays."""

    vectors: dict[str, dict[int, NDArray[np.float32]]]

    def dense(self, kind: str, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        assert where.empty
        found = self.similarity(kind, vector, list(self.vectors[kind]))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]

    def similarity(self, kind: str, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        held = self.vectors[kind]
        return {item: float(held[item] @ vector) for item in ids if item in held}


@dataclass
class World:
    """A small graph: relation r joins ``triplets[r][:2]`` and stands in the passages ``triplets[r][2]``."""

    triplets: list[tuple[int, int, frozenset[int]]]
    engine: Exact
    question: NDArray[np.float32]
    names: list[tuple[int | None, NDArray[np.float32]]]

    @property
    def facts(self) -> Facts:
        names = sorted({end for one in self.triplets for end in one[:2]})
        rows = [
            Stated(10 + at, one[0], one[1], tuple(sorted(one[2]))) for at, one in enumerate(self.triplets) if one[2]
        ]
        return Facts.build([EntityRow(name, f"name{name}", f"name{name}") for name in names], rows)


def unit(numbers: Sequence[int]) -> NDArray[np.float32]:
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


# No two are equally similar to a third: ties have no order to compare.
VECTORS = st.lists(st.integers(-9, 9), min_size=DIM, max_size=DIM).filter(any).map(unit)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    triplets = draw(
        st.lists(
            st.tuples(
                st.integers(1, 8), st.integers(1, 8), st.frozensets(st.integers(100, 106), min_size=1, max_size=2)
            ),
            min_size=1,
            max_size=12,
        )
    )
    entities = sorted({end for one in triplets for end in one[:2]})
    vectors = {
        "entity": {item: draw(VECTORS) for item in entities},
        "relation": {10 + at: draw(VECTORS) for at in range(len(triplets))},
    }
    names: list[tuple[int | None, NDArray[np.float32]]] = [
        (draw(st.sampled_from([None, *entities])), draw(VECTORS)) for _ in range(draw(st.integers(0, 2)))
    ]
    return World(triplets, Exact(vectors), draw(VECTORS), names)


def reference(world: World, chosen: Expansion) -> set[int]:
    """All relations that the method reaches, by powers of the matrices."""
    count = len(world.triplets)
    incidence = np.zeros((9, count), int)
    for at, (subject, object_, _) in enumerate(world.triplets):
        incidence[[subject, object_], at] = 1
    among_entities = np.linalg.matrix_power(incidence @ incidence.T, chosen.degree) @ incidence
    among_relations = np.linalg.matrix_power(incidence.T @ incidence, chosen.degree)
    found: set[int] = set()
    for item, cosine in world.engine.dense("relation", world.question, chosen.top_k, OPEN):
        if cosine >= chosen.relation_threshold:
            found |= set(np.flatnonzero(among_relations[item - 10]) + 10)
    for exact, vector in world.names:
        near = [
            item
            for item, cosine in world.engine.dense("entity", vector, chosen.top_k, OPEN)
            if cosine >= chosen.entity_threshold
        ]
        for entity in near if exact is None else [exact, *near]:
            found |= set(np.flatnonzero(among_entities[entity]) + 10)
    return found


def everything(ids: Collection[int], where: Filter) -> Collection[int]:
    return ids


def run(world: World, chosen: Expansion, where: Filter = OPEN, through: Collection[int] | None = None) -> Expanded:
    def allowed(ids: Collection[int], _: Filter) -> Collection[int]:
        return ids if through is None else [item for item in ids if item in through]

    return expand(
        world.question, world.names, world.engine, world.facts, chosen, where, allowed, lambda cosine: max(cosine, 0.0)
    )


CHOSEN = st.builds(
    Expansion,
    top_k=st.integers(1, 4),
    degree=st.integers(1, 2),
    entity_threshold=st.sampled_from([0.0, 0.3, 0.7]),
    relation_threshold=st.sampled_from([0.0, 0.3, 0.7]),
)


@given(worlds(), CHOSEN)
def test_reaches_what_the_matrices_reach(world: World, chosen: Expansion) -> None:
    # With relevance cut at 0, a threshold of 0 keeps everything, as the method without thresholds does.
    kept = chosen.model_copy(
        update={
            name: -1.0 if getattr(chosen, name) == 0 else getattr(chosen, name)
            for name in ("entity_threshold", "relation_threshold")
        }
    )
    found = run(world, chosen)
    assert set(found.similarity) == reference(world, kept)
    cosines = world.engine.similarity("relation", world.question, list(found.similarity))
    assert list(found.similarity) == sorted(cosines, key=lambda item: (-cosines[item], item))
    seen: list[int] = []
    for item in found.similarity:
        seen += sorted(world.triplets[item - 10][2])
    assert list(passages(found, ())) == list(dict.fromkeys(seen))


@given(worlds(), CHOSEN, st.integers(1, 4))
def test_a_budget_keeps_the_most_similar(world: World, chosen: Expansion, budget: int) -> None:
    found = run(world, chosen.model_copy(update={"budget": budget}))
    # What the question is most similar to is kept beside what lies around it.
    assert len(set(found.similarity) - set(found.relations)) <= budget
    assert set(found.similarity) <= set(run(world, chosen).similarity)


@given(worlds(), CHOSEN, st.frozensets(st.integers(100, 106)))
def test_a_filter_comes_before_the_top(world: World, chosen: Expansion, through: frozenset[int]) -> None:
    found = run(world, chosen, SHUT, through)
    assert all(set(places) <= through and places for places in found.passages.values())
    assert set(found.similarity) == set(found.passages)
    open_to = [item for item in world.engine.vectors["relation"] if world.triplets[item - 10][2] & through]
    cosines = world.engine.similarity("relation", world.question, open_to)
    best = sorted(open_to, key=lambda item: (-cosines[item], item))[: chosen.top_k]
    assert list(found.relations) == [item for item in best if max(cosines[item], 0.0) >= chosen.relation_threshold]


@given(worlds(), CHOSEN)
def test_paths_lead_from_where_it_began(world: World, chosen: Expansion) -> None:
    found = run(world, chosen)
    for item in found.similarity:
        road = found.path(item)
        assert road[-1] == item and len(set(road)) == len(road) <= chosen.degree + 4
        begun = set(found.ends[road[0]]) & set(found.entities)
        assert begun or road[0] in found.relations
        assert all(set(found.ends[a]) & set(found.ends[b]) for a, b in pairwise(road))


@given(worlds(), worlds())
def test_merging_keeps_both(world: World, other: World) -> None:
    one = run(world, Expansion())
    both = merged(one, [run(World(world.triplets, world.engine, other.question, other.names[:0]), Expansion())])
    assert set(one.similarity) <= set(both.similarity) == set(both.passages) == set(both.ends)
    assert all(both.similarity[item] == cosine for item, cosine in one.similarity.items())
    assert list(both.similarity.values()) == sorted(both.similarity.values(), reverse=True)
    assert both.order([*list(one.similarity)[-1:], 9_999])[0] == list(one.similarity)[-1]
