"""The graph of passages and names: what leads where, and that changes equal a rebuild."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.catalog.words import Named
from silmari.graph import links
from silmari.graph.links import BACK, DAMPING, MOST, TOPIC, Link, Links

EULER = Named(1, "=leonhardeuler leonhardeuler johannbernoulli basel")
JOHANN = Named(2, "=johannbernoulli johannbernoulli danielbernoulli basel")
DANIEL = Named(3, "=danielbernoulli danielbernoulli hydrodynamica")
UNTITLED = Named(4, "~hydrodynamica hydrodynamica")


def graph(*rows: Named) -> Links:
    return Links(rows or (EULER, JOHANN, DANIEL, UNTITLED))


def test_a_title_leads_from_the_passage_that_names_it() -> None:
    found = graph().spread([(1, 0.5)])
    assert found == {2: Link(0.5, 1, "johannbernoulli", "title")}


def test_a_title_leads_back_to_passages_that_name_it_less_strongly() -> None:
    found = graph().spread([(2, 1.0)])
    assert found[3] == Link(1.0, 2, "danielbernoulli", "title")
    assert found[1] == Link(BACK * 2**-DAMPING, 2, "johannbernoulli", "mention")


def test_the_topic_of_a_passage_without_title_counts_if_it_is_the_only_one() -> None:
    assert graph().spread([(3, 1.0)])[4] == Link(TOPIC, 3, "hydrodynamica", "topic")
    other = Named(5, "~hydrodynamica hydrodynamica")
    assert 4 not in graph(EULER, JOHANN, DANIEL, UNTITLED, other).spread([(3, 1.0)])
    titled = UNTITLED._replace(names=f"=water {UNTITLED.names}")
    assert 4 not in graph(EULER, JOHANN, DANIEL, titled).spread([(3, 1.0)])


def test_the_name_of_a_file_is_a_title() -> None:
    manual = Named(7, "pump", "MB-300")
    assert graph(manual, Named(8, "mb-300 price")).spread([(8, 1.0)])[7].kind == "title"


def test_a_title_of_many_passages_says_less_of_each_and_a_hub_nothing() -> None:
    def chapters(count: int) -> dict[int, Link]:
        rows = [Named(10 + at, "=report report") for at in range(count)]
        return graph(Named(1, "report"), *rows).spread([(1, 1.0)])

    assert chapters(1)[10].gain == 1.0
    assert chapters(8)[10].gain == pytest.approx(8**-DAMPING)
    assert len(chapters(MOST)) == MOST
    assert chapters(MOST + 1) == {}


def test_the_strongest_link_counts_and_of_equal_ones_the_first() -> None:
    rows = [Named(1, "b a"), Named(2, "a"), Named(3, "=a =b a b")]
    assert graph(*rows).spread([(1, 0.2), (2, 0.4)])[3] == Link(0.4, 2, "a", "title")
    assert graph(*rows).spread([(1, 0.4), (2, 0.4)])[3] == Link(0.4, 1, "b", "title")


def test_passages_of_one_document_do_not_lead_to_each_other_by_its_title() -> None:
    pages = [Named(1, "=manual manual", "", 5), Named(2, "=manual manual", "", 5), Named(3, "=manual manual", "", 6)]
    found = graph(*pages).spread([(1, 1.0)])
    assert list(found) == [3]
    grown = graph(pages[0])
    grown.update([2, 3], pages[1:])
    assert grown.spread([(1, 1.0)]) == found


def test_a_passage_does_not_lead_to_itself_and_unknown_ones_lead_nowhere() -> None:
    assert graph(Named(1, "=a a")).spread([(1, 1.0), (99, 1.0)]) == {}
    assert Links().spread([(1, 1.0)]) == {}


keys = st.sampled_from("a b c d e f".split())


def _names(title: set[str], marked: list[str], named: set[str], given: set[str], file: str) -> str:
    plain = sorted({*title, *marked, *named})
    marks = [*(f"={one}" for one in sorted(title)), *(f"~{one}" for one in marked)]
    return " ".join([*marks, *plain, *(f"+{one}" for one in sorted(given))]) + f"|{file}"


few = st.sets(keys, max_size=2)
rows = st.builds(
    _names, few, st.lists(keys, max_size=1), st.sets(keys, max_size=4), few, st.sampled_from(["", "aa bb", "cc"])
)
steps = st.lists(st.dictionaries(st.integers(1, 12), st.none() | rows, min_size=1, max_size=5), max_size=8)


@settings(max_examples=150, deadline=None)
@given(steps, st.integers(0, 4), st.integers(0, 8))
def test_changes_equal_a_rebuild(changes: list[dict[int, str | None]], loose: int, kept: int) -> None:
    links._LOOSE, before = loose, links._LOOSE  # also across rebuilds of the arrays
    try:
        held: dict[int, Named] = {}
        grown = Links()
        for at, change in enumerate(changes):
            if at == kept:
                # As it comes from the disk.
                arrays = {name: array.copy() for name, array in grown.arrays().items()}
                for array in arrays.values():
                    array.flags.writeable = False
                grown = Links.from_arrays(arrays)
            for item, text in change.items():
                held.pop(item, None)
                if text is not None:
                    names, _, file = text.partition("|")
                    held[item] = Named(item, names, file, item // 3)
            grown.update(change, [held[item] for item in change if item in held])
        fresh = Links(held.values())
        assert len(grown) == len(fresh) == len(held)
        for item in range(13):
            assert grown.spread([(item, 0.7), (3, 0.5)]) == fresh.spread([(item, 0.7), (3, 0.5)])
    finally:
        links._LOOSE = before
