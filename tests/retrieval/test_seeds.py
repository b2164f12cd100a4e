"""Where the graph of relations is entered: meetings of passages, seeds of the walk, what lies around."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from silmari.catalog.words import EntityRow, Stated
from silmari.graph.facts import Facts
from silmari.language.normalise import key
from silmari.model import Filter
from silmari.retrieval.seeds import DAMPING, MOST, STARTS, WALKED, Known, gather, meet, nearest_relations, walk_seeds

Alias = tuple[str, str, float]


class World:
    """A small graph, by names."""

    def __init__(self, *stated: tuple[str, str, Sequence[int]], aliases: Sequence[Alias] = ()) -> None:
        names = dict.fromkeys(name for subject, object_, _ in stated for name in (subject, object_))
        self.number = {name: at for at, name in enumerate(names, 1)}
        rows = [EntityRow(at, key(name), name) for name, at in self.number.items()]
        self.relations = [
            Stated(at, self.number[subject], self.number[object_], tuple(passages))
            for at, (subject, object_, passages) in enumerate(stated, 1)
        ]
        edges = [(self.number[a], self.number[b], sure) for a, b, sure in aliases]
        self.vectors: dict[int, NDArray[np.float16]] = {}

        def aliases_of(items: Iterable[int]) -> list[tuple[int, int, float]]:
            wanted = set(items)
            return [edge for edge in edges if wanted & set(edge[:2])]

        def vectors(ids: Collection[int], kind: str) -> dict[int, NDArray[np.float16]]:
            assert kind == "relation"
            return {item: self.vectors[item] for item in ids if item in self.vectors}

        self.known = Known(Facts.build(rows, self.relations), aliases_of, vectors)

    # The part of an engine that is needed

    def dense(self, kind: str, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        assert kind == "relation" and where.empty
        found = self.similarity(kind, vector, list(self.vectors))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]

    def similarity(self, kind: str, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        return {item: float(self.vectors[item] @ vector) for item in ids if item in self.vectors}


def test_passages_meet_in_an_entity_that_both_have_relations_of() -> None:
    world = World(("한빛중공업", "오인환", [1]), ("오인환", "새여울", [2]), ("Euler", "Basel", [3]))
    found = meet([(1, 0.6)], world.known)
    assert set(found) == {2}
    assert found[2].gain == pytest.approx(0.6) and found[2].source == 1
    assert found[2].entity == found[2].other == world.number["오인환"]


def test_they_meet_under_two_names_as_surely_as_these_are_one() -> None:
    world = World(("은결정밀", "홍기표", [1]), ("홍기표 씨", "가시내골", [2]), aliases=[("홍기표", "홍기표 씨", 0.9)])
    found = meet([(1, 0.5)], world.known)
    assert found[2].gain == pytest.approx(0.45)
    assert (found[2].entity, found[2].other) == (world.number["홍기표"], world.number["홍기표 씨"])


def test_numbers_join_nothing_and_hubs_neither() -> None:
    crowd = [("Korea", f"city {at}", [at]) for at in range(10, 11 + MOST)]
    world = World(("Euler", "1707", [1]), ("Fielding", "1707", [2]), ("Euler", "Korea", [1]), *crowd)
    assert meet([(1, 1.0)], world.known) == {}


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.integers(1, 6)), max_size=12),
    st.lists(st.tuples(st.integers(1, 7), st.floats(0, 1)), max_size=4, unique_by=lambda pair: pair[0]),
)
def test_meetings_are_those_of_the_definition(
    stated: list[tuple[str, str, int]], sources: list[tuple[int, float]]
) -> None:
    world = World(*((subject, object_, [passage]) for subject, object_, passage in stated))
    having: dict[str, set[int]] = {}
    for subject, object_, passage in stated:
        having.setdefault(subject, set()).add(passage)
        having.setdefault(object_, set()).add(passage)
    wanted: dict[int, float] = {}
    for source, weight in sources:
        for passages in having.values():
            if source in passages:
                for target in passages - {source}:
                    gain = weight * (len(passages) - 1) ** -DAMPING
                    wanted[target] = max(gain, wanted.get(target, 0.0))
    assert {item: one.gain for item, one in meet(sources, world.known).items()} == pytest.approx(wanted)


def test_the_walk_begins_at_the_ends_of_the_nearest_relations_less_at_hubs() -> None:
    world = World(("Euler", "Basel", [1]), ("Basel", "Rhine", [2]), ("Basel", "Bern", [3]))
    seeds = walk_seeds([(1, 0.9), (99, 0.8)], world.known.facts, 0.7)
    relevance = (0.9 - 0.7) / 0.3
    assert seeds == pytest.approx({world.number["Euler"]: relevance, world.number["Basel"]: relevance / 3})
    many = World(*((f"n{at}", f"m{at}", [at]) for at in range(WALKED + 3)))
    assert len(walk_seeds([(at, 0.9) for at in range(1, WALKED + 3)], many.known.facts, 0.7)) == 2 * WALKED


def chain_world() -> World:
    """A line of names; every other relation has an alias to cross."""
    world = World(("a", "b", [1]), ("b", "c", [2]), ("c-1", "d", [3]), ("d", "e", [4]), aliases=[("c", "c-1", 0.8)])
    world.vectors = {at: np.eye(4, dtype=np.float16)[at - 1] for at in (1, 2, 3, 4)}
    return world


def test_what_lies_around_is_two_steps_away_through_aliases_too() -> None:
    world = chain_world()
    question = np.array([1, 0, 0, 0], np.float32)
    pool, stated, alike = gather(question, [1], world, world.known, None)  # type: ignore[arg-type]
    assert pool.ids.tolist() == [1, 2, 3] and stated == {1: (1,), 2: (2,), 3: (3,)}
    assert dict(alike[world.number["c"]])[world.number["c-1"]] == 0.8
    del world.vectors[2]  # without a vector yet
    pool, *_ = gather(question, [1], world, world.known, None)  # type: ignore[arg-type]
    assert 2 not in pool.ids.tolist()


def test_a_filter_holds_for_relations_too() -> None:
    world = chain_world()
    question = np.array([1, 0, 0, 0], np.float32)

    def may(passages: Collection[int]) -> list[int]:
        return [item for item in passages if item != 2]

    pool, stated, _ = gather(question, [1], world, world.known, may)  # type: ignore[arg-type]
    assert 2 not in stated and 2 not in pool.ids.tolist()
    assert [item for item, _ in nearest_relations(question, world, world.known, may)] == [1, 3, 4]  # type: ignore[arg-type]
    assert len(nearest_relations(question, world, world.known, None)) <= STARTS  # type: ignore[arg-type]


def test_entities_that_may_be_the_same_are_asked_for_once() -> None:
    asked: list[list[int]] = []

    def aliases(items: Iterable[int]) -> list[tuple[int, int, float]]:
        asked.append(list(items))
        return [(1, 2, 0.5)]

    known = Known(Facts.build(), aliases, lambda ids, kind: {})
    first: Mapping[int, Sequence[tuple[int, float]]] = known.alike([1])
    assert first == {1: [(1, 1.0), (2, 0.5)]}
    assert known.alike([1, 2]) == {1: [(1, 1.0), (2, 0.5)], 2: [(2, 1.0), (1, 0.5)]}
    assert asked == [[1], [2]]
