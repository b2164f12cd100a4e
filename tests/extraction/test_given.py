"""Given triplets: which are sound, and which passage each belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.extraction.given import placed, sound
from silmari.language.names import entity_keys
from silmari.model import Triplet
from silmari.reading.triplets import Fault, checked


def test_a_triplet_belongs_to_the_passage_that_names_both_ends_else_either_else_the_first() -> None:
    names = ["basel", "=euler euler", "euler ~bernoulli"]
    both, either = Triplet("Euler", "pupil of", "Bernoulli"), Triplet("Riehen", "birthplace of", "Euler")
    neither, second = Triplet("the A b", "c", "D e"), Triplet("Bernoulli", "in", "Vienna")
    assert placed(names, [both, neither, either, second]) == [[neither], [either], [both, second]]


def test_a_document_of_one_passage_or_none() -> None:
    triplet = Triplet("한강", "지난다", "서울")
    assert placed(["가"], [triplet, triplet]) == [[triplet, triplet]]
    assert placed([], [triplet]) == []


words = st.sampled_from("euler bernoulli 바젤 한강 서울 vienna".split())


@given(st.lists(st.lists(words, max_size=4), max_size=5), st.lists(st.tuples(words, words), max_size=6))
def test_placing_equals_its_definition(names: list[list[str]], ends: list[tuple[str, str]]) -> None:
    triplets = [Triplet(subject, str(at), object_) for at, (subject, object_) in enumerate(ends)]
    expected: list[list[Triplet]] = [[] for _ in names]
    for triplet in triplets if names else []:
        keys = set(entity_keys([triplet.subject, triplet.object]))
        held = [len(keys & set(one)) for one in names]
        expected[held.index(max(held))].append(triplet)
    assert placed([" ".join(one) for one in names], triplets) == expected


@pytest.mark.parametrize("name", ["", " \n", "·", "「」", "\u200b", "y" * 201, "\ufdfa" * 50, "\ud800", "("])
def test_a_name_that_names_nothing_is_not_sound(name: str) -> None:
    assert sound(Triplet(name, "p", "서울")) is None
    assert sound(Triplet("서울", "p", name)) is None


@given(
    st.text(max_size=12), st.text(min_size=1, max_size=12), st.sampled_from(["주식회사", "(주)", "은하", "7", "서울의"])
)
def test_what_is_taken_in_is_stored_as_it_is(subject: str, predicate: str, object_: str) -> None:
    triplet = checked([subject, predicate, object_])
    assert isinstance(triplet, Fault) or sound(triplet) == triplet


def test_spellings_are_kept_but_for_blanks_and_what_cannot_be_stored() -> None:
    assert sound(Triplet(" ㈜한빛\n 전자", "a\x00b \ud800", "Ångström")) == Triplet("㈜한빛 전자", "a b", "Ångström")
    assert sound(Triplet("7", "", "y" * 200)) == Triplet("7", "", "y" * 200)
