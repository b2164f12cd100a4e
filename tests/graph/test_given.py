"""Given triplets become names of the passages that they belong to."""

from __future__ import annotations

import json

from silmari.catalog.words import Named
from silmari.graph.given import with_given
from silmari.graph.links import SHARED, Link, Links


def document(number: int, names: list[str], *triplets: tuple[str, str, str]) -> list[Named]:
    told = json.dumps(triplets)
    return [Named(10 * number + at, one, "", number, "" if at else told) for at, one in enumerate(names)]


def added(rows: list[Named]) -> list[list[str]]:
    return [[name for name in row.names.split() if name[0] == "+"] for row in with_given(rows)]


def test_a_triplet_belongs_to_the_passage_that_names_both_ends_else_either_else_the_first() -> None:
    passages = ["basel", "=euler euler", "euler bernoulli"]
    assert added(document(1, passages, ("Euler", "pupil of", "Bernoulli"))) == [[], [], ["+euler", "+bernoulli"]]
    assert added(document(1, passages, ("Euler", "born in", "Riehen"))) == [[], ["+euler", "+riehen"], []]
    assert added(document(1, passages, ("the A b", "c", "D e"))) == [["+ab", "+de"], [], []]


def test_names_that_join_nothing_are_left_out() -> None:
    rows = document(1, ["x"], ("", "p", "y" * 10_000), ("·", "p", "은"), ("㈜한빛 중공업은", "설립자", "오인환"))
    assert added(rows) == [["+한빛중공업", "+오인환"]]


def test_documents_without_triplets_stay_as_they_are() -> None:
    rows = [*document(1, ["a", "b"]), *document(2, ["c"])]
    assert list(with_given(rows)) == rows
    assert list(with_given([])) == []


def test_passages_whose_triplets_share_a_name_are_joined() -> None:
    rows = [*document(1, ["a"], ("A a", "p", "Bridge")), *document(2, ["b"], ("Bridge", "p", "C c"))]
    assert Links(rows).spread([(10, 1.0)]) == {}
    assert Links(with_given(rows)).spread([(10, 1.0)]) == {20: Link(SHARED, 10, "bridge", "given")}
    three = [*rows, *document(3, ["d"], ("Bridge", "p", "Dd"))]
    assert Links(with_given(three)).spread([(10, 1.0)])[20].gain < SHARED
