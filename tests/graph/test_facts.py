"""Entities, relations and passages in arrays: what leads where, the walk, and that changes equal a rebuild."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from silmari.catalog.words import EntityRow, FactsChange, Stated
from silmari.graph import rows
from silmari.graph.facts import Facts
from silmari.graph.walk import steps_for

EULER, JOHANN, DANIEL, BASEL, FLUIDS = 1, 2, 3, 4, 5
NAMES = {
    EULER: "leonhardeuler",
    JOHANN: "johannbernoulli",
    DANIEL: "danielbernoulli",
    BASEL: "바젤",
    FLUIDS: "유체역학",
}
ENTITIES = [EntityRow(item, key, key.title()) for item, key in NAMES.items()]
STATED = [
    Stated(1, EULER, JOHANN, (10,)),
    Stated(2, DANIEL, JOHANN, (11, 12)),
    Stated(3, DANIEL, FLUIDS, (12,)),
    Stated(4, EULER, BASEL, (13,)),
]


@pytest.fixture
def facts() -> Facts:
    return Facts.build(ENTITIES, STATED)


def first(ids: Sequence[int], budget: int) -> Sequence[int]:
    """Stands for the similarity to a question."""
    return sorted(ids, key=lambda item: (item * 7919) % 101)[:budget]


def test_lookups(facts: Facts) -> None:
    assert len(facts) == 4
    assert facts.relations_of([JOHANN, FLUIDS, 99]) == [1, 2, 3]
    assert facts.ends([3, 99, 1]) == ([DANIEL, 0, EULER], [FLUIDS, 0, JOHANN])
    assert facts.passages_of([2, 99, 1]) == {2: (11, 12), 1: (10,)}
    assert facts.passage_counts([JOHANN, BASEL, 99]) == [3, 1, 0]
    assert facts.entity_of("바젤") == BASEL
    assert facts.entity_of("basel") is facts.entity_of("") is None
    assert facts.mentions("Leonhard Euler는 바젤에서") == [(EULER, 0, 14), (BASEL, 16, 18)]


def test_expansion_goes_from_relation_to_relation_through_entities(facts: Facts) -> None:
    assert facts.expand([3], [], 0, 9, first) == [3]
    assert facts.expand([3], [], 1, 9, first) == [2, 3]
    assert facts.expand([3], [], 2, 9, first) == [1, 2, 3]
    assert facts.expand([], [BASEL], 0, 9, first) == [4]
    assert facts.expand([99], [BASEL, 99], 1, 9, first) == [1, 4]
    assert facts.expand([], [], 2, 9, first) == []
    assert facts.expand([3], [], 2, 2, lambda ids, budget: [1, 3]) == [1, 3]


def test_the_walk_reaches_what_the_question_does_not_name(facts: Facts) -> None:
    found = facts.walk({EULER: 1.0}, {})
    assert {item for item, _ in found} == {10, 11, 12, 13}
    assert found[0][0] in (10, 13)
    masses = dict(found)
    assert masses[11] == masses[12] / 2 or masses[11] < masses[10]
    assert [item for item, _ in facts.walk({EULER: 1.0}, {}, top=2)] == [item for item, _ in found[:2]]


def test_seeds_that_are_not_there(facts: Facts) -> None:
    assert facts.walk({}, {}) == facts.walk({99: 1.0}, {}) == facts.walk({1: 0.0}, {}) == []
    # A passage without relations keeps its share.
    assert facts.walk({}, {77: 2.0, 78: 2.0}) == [(77, 0.25), (78, 0.25)]
    assert Facts.build().walk({1: 1.0}, {5: 1.0}) == [(5, 0.25)]
    assert Facts.build().expand([1], [1], 2, 5, first) == []
    assert Facts.build().mentions("바젤") == []


def test_edges_between_aliases_join_what_nothing_else_joins() -> None:
    facts = Facts.build(ENTITIES, [Stated(1, EULER, BASEL, (10,)), Stated(2, DANIEL, FLUIDS, (12,))])
    assert [item for item, _ in facts.walk({EULER: 1.0}, {})] == [10]
    edges = ((BASEL, DANIEL, 0.9), (BASEL, 99, 1.0), (BASEL, BASEL, 1.0))
    assert [item for item, _ in facts.walk({EULER: 1.0}, {}, extra=edges)] == [10, 12]
    assert [item for item, _ in facts.walk({EULER: 1.0}, {}, extra=())] == [10]


def test_hubs_can_be_damped() -> None:
    crowd = [Stated(10 + at, BASEL, 100 + at, (100 + at,)) for at in range(50)]
    facts = Facts.build([], [Stated(1, EULER, BASEL, (1,)), Stated(2, EULER, JOHANN, (2,)), *crowd])
    plain, damped = (dict(facts.walk({EULER: 1.0}, {}, hubs=hubs)) for hubs in (0.0, 0.5))
    assert plain[2] > damped[100] > 0
    assert sum(plain[100 + at] for at in range(50)) > sum(damped[100 + at] for at in range(50))


def test_how_long_a_walk_is() -> None:
    assert [steps_for(damping) for damping in (0.0, 0.5, 0.85, 1.0)] == [1, 5, 20, 1]


def dense_walk(
    stated: Sequence[Stated], entities: Mapping[int, float], passages: Mapping[int, float], hubs: float, edges: float
) -> dict[int, float]:
    """The walk by its definition."""
    nodes = sorted({end for row in stated for end in (row.subject, row.object)})
    places = sorted({passage for row in stated for passage in row.passages})
    size = len(nodes) + len(places)
    weights = np.zeros((size, size))
    for row in stated:
        ends = {nodes.index(row.subject), nodes.index(row.object)}
        for a in ends:
            for b in ends - {a}:
                weights[a, b] += edges
            for passage in row.passages:
                at = len(nodes) + places.index(passage)
                weights[a, at] = weights[at, a] = 1
    gain = np.ones(size)
    gain[: len(nodes)] = np.maximum(weights[: len(nodes), len(nodes) :].sum(1), 1) ** -hubs
    weights *= gain[:, None] * gain[None, :]
    weights /= np.maximum(weights.sum(0), 1e-300)
    start = np.zeros(size)
    total = sum(entities.values()) + sum(passages.values())
    for item, weight in entities.items():
        if item in nodes:
            start[nodes.index(item)] = weight / total
    for item, weight in passages.items():
        if item in places:
            start[len(nodes) + places.index(item)] = weight / total
    here = start
    for _ in range(steps_for(0.5)):
        here = 0.5 * start + 0.5 * weights @ here
    return {item: here[len(nodes) + at] for at, item in enumerate(places) if here[len(nodes) + at] > 0}


entity = st.integers(1, 8)
passages = st.sets(st.integers(1, 9), max_size=3).map(lambda found: tuple(sorted(found)))
relation = st.tuples(entity, entity, passages)
seeds = st.dictionaries(st.integers(1, 9), st.floats(0.01, 1), max_size=3)


@pytest.fixture(params=[0.05, 1e9], ids=["all edges", "few edges"])
def sparse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("silmari.graph.walk._SPARSE", request.param)
    yield


@pytest.mark.usefixtures("sparse")
@settings(max_examples=40, deadline=None)
@given(st.lists(relation, max_size=12), seeds, seeds, st.sampled_from([0.0, 0.5]), st.sampled_from([1.0, 0.3]))
def test_the_walk_is_what_it_says(
    held: list[tuple[int, int, tuple[int, ...]]],
    entities: dict[int, float],
    places: dict[int, float],
    hubs: float,
    edges: float,
) -> None:
    stated = [Stated(at, *row) for at, row in enumerate(held, 1) if row[2]]
    found = dict(Facts.build([], stated).walk(entities, places, hubs=hubs, entity_edges=edges))
    known = {passage for row in stated for passage in row.passages}
    assert {item: mass for item, mass in found.items() if item in known} == pytest.approx(
        dense_walk(stated, entities, places, hubs, edges), rel=1e-5, abs=1e-9
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(relation, max_size=15),
    st.sets(st.integers(0, 16), max_size=3),
    st.sets(st.integers(0, 9), max_size=2),
    st.integers(0, 3),
    st.integers(1, 20),
)
def test_expansion_equals_a_search_step_by_step(
    held: list[tuple[int, int, tuple[int, ...]]], relations: set[int], entities: set[int], degree: int, budget: int
) -> None:
    stated = {at: Stated(at, *row) for at, row in enumerate(held, 1) if row[2]}
    reached = {item for item in relations if item in stated}
    reached |= {row.id for row in stated.values() if entities & {row.subject, row.object}}
    for step in range(degree + 1):
        if step:
            ends = {end for item in reached for end in (stated[item].subject, stated[item].object)}
            reached |= {row.id for row in stated.values() if ends & {row.subject, row.object}}
        if len(reached) > budget:
            reached = set(first(sorted(reached), budget))
    facts = Facts.build([], [Stated(at, *row) for at, row in enumerate(held, 1)])
    assert facts.expand(relations, entities, degree, budget, first) == sorted(reached)


NO_EXPLAIN = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
change = st.tuples(
    st.dictionaries(st.integers(1, 15), st.none() | relation, max_size=5),
    st.dictionaries(entity, st.none() | st.sampled_from(["가나", "다라", "ab", "cd"]), max_size=3),
)


def everything(facts: Facts) -> tuple[object, ...]:
    """All that can be asked."""
    ids = range(1, 16)
    return (
        len(facts),
        facts.ends(ids),
        facts.passages_of(ids),
        [facts.relations_of([item]) for item in ids],
        facts.passage_counts(ids),
        [facts.expand([item], [item], 2, 4, first) for item in (1, 4, 7, 10)],
        [facts.walk({item: 1.0, 3: 0.5}, {item: 0.2}, hubs=hubs) for item in (1, 4, 7) for hubs in (0.0, 0.5)],
        [facts.walk({item: 1.0}, {}, extra=((1, 5, 0.5), (7, 2, 1.0))) for item in (2, 5)],
        facts.mentions("가나는 다라 ab cd"),
        [facts.entity_of(key) for key in ("가나", "다라", "ab", "cd")],
    )


def kept(facts: Facts) -> Facts:
    """As it comes from the disk."""
    arrays = {name: array.copy() for name, array in facts.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    return Facts.from_arrays(arrays)


@pytest.mark.usefixtures("sparse")
@settings(max_examples=40, deadline=None, phases=NO_EXPLAIN)
@given(st.lists(change, max_size=6), st.integers(0, 6))
def test_changes_equal_a_rebuild(
    changes: list[tuple[dict[int, tuple[int, int, tuple[int, ...]] | None], dict[int, str | None]]], packed: int
) -> None:
    stated: dict[int, Stated] = {}
    named: dict[int, EntityRow] = {}
    grown = Facts.build()
    for at, (relations, entities) in enumerate(changes):
        if at == packed:
            grown = kept(grown)
        touched = set(entities)
        for item, key in entities.items():
            named.pop(item, None)
            if key is not None:
                # A key belongs to one entity.
                for other in [row.id for row in named.values() if row.key == key]:
                    named.pop(other)
                    touched.add(other)
                named[item] = EntityRow(item, key, key)
        for item, row in relations.items():
            stated.pop(item, None)
            if row is not None:
                stated[item] = Stated(item, *row)
        grown.update(
            FactsChange(
                at,
                tuple(touched),
                tuple(named[item] for item in touched if item in named),
                tuple(relations),
                tuple(stated[item] for item in relations if item in stated),
            )
        )
    for found, expected in zip(
        everything(grown), everything(Facts.build(named.values(), stated.values())), strict=True
    ):
        assert found == expected


def test_changed_rows_come_into_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LOOSE", 3)
    monkeypatch.setattr(rows, "_LOOSE_SHARE", 0.0)
    grown = Facts.build(ENTITIES, STATED[:1])
    for at, row in enumerate(STATED[1:]):
        grown.update(FactsChange(at, (), (), (row.id,), (row,)))
    assert not grown._ground.near._changed
    assert everything(grown) == everything(Facts.build(ENTITIES, STATED))


def test_a_graph_of_which_most_is_gone_is_worn() -> None:
    held = [Stated(at, 1, 2, (at,)) for at in range(1, 11_000)]
    facts = Facts.build([], held)
    assert not facts.worn
    facts.update(FactsChange(1, (), (), tuple(range(1, 10_990)), ()))
    assert facts.worn
    assert len(facts) == 10


def test_cycles_loops_and_a_hub_of_a_hundred_thousand_relations() -> None:
    hub, count = 1, 100_000
    held = [Stated(at, hub, at + 1, (at,)) for at in range(1, count + 1)]
    held += [Stated(count + 1, 7, 7, (5,)), Stated(count + 2, 3, 2, (1,)), Stated(count + 3, 2, hub, (1,))]
    facts = Facts.build([], held)
    assert len(facts.relations_of([hub])) == count + 1
    kept = facts.expand([5], [], 2, 50, first)
    assert len(kept) == 50 and kept == sorted(first(range(1, count + 4), 50))
    assert facts.walk({3: 1.0}, {}, top=1)[0][0] == 1
    assert facts.walk({7: 1.0}, {}, top=1)[0][0] == 5
    facts.update(FactsChange(1, (), (), (5, count + 4), (Stated(count + 4, hub, 3, (9,)),)))
    assert len(facts.relations_of([hub])) == count + 1
    assert facts.passages_of([5, count + 4]) == {count + 4: (9,)}


def test_a_relation_whose_passage_is_gone_is_gone(facts: Facts) -> None:
    facts.update(FactsChange(1, (), (), (3,), (Stated(3, DANIEL, FLUIDS, ()),)))
    assert facts.relations_of([FLUIDS]) == []
    assert facts.expand([3], [FLUIDS], 1, 9, first) == []
    assert facts.walk({FLUIDS: 1.0}, {}) == []
    assert facts.ends([3]) == ([0], [0])


def test_searches_and_changes_in_several_threads(facts: Facts) -> None:
    problems: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(100):
                facts.walk({EULER: 1.0}, {})
                facts.expand([1], [], 2, 10, first)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at in range(100):
        facts.update(FactsChange(at, (), (), (), (Stated(5 + at, 1 + at % 9, 20 + at, (50 + at,)),)))
    for thread in threads:
        thread.join()
    assert not problems
