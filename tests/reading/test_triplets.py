"""Triplets are checked one by one: what is in order goes in, the rest is told by kind."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.model import Triplet
from silmari.reading.records import parse_record, read_text
from silmari.reading.triplets import Fault, LeftOut, checked, names_something, triplets_of


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (["한강", "지난다", "서울"], Triplet("한강", "지난다", "서울")),
        (("Ada  Lovelace", " wrote\n", "\u200bnotes"), Triplet("Ada Lovelace", "wrote", "notes")),
        ([unicodedata.normalize("NFD", "한강"), "길이", 494], Triplet("한강", "길이", "494")),
        ({"주어": "금강", "서술어": "닿는 곳", "목적어": "서해"}, Triplet("금강", "닿는 곳", "서해")),
        ({"head": "π", "relation": "is about", "tail": 3.14}, Triplet("π", "is about", "3.14")),
        (["A", "precedes", "B"], Triplet("A", "precedes", "B")),
        (["가" * 200, "p" * 1000, "x" * 200], Triplet("가" * 200, "p" * 1000, "x" * 200)),
        (["C++", "=", "언어"], Triplet("C++", "=", "언어")),
        (["a", "b"], Fault.PARTS),
        (["a", "b", "c", "d"], Fault.PARTS),
        ([], Fault.PARTS),
        ("abc", Fault.PARTS),
        (None, Fault.PARTS),
        (["서울", ["이다"], "도시"], Fault.NO_TEXT),
        (["서울", "도시이다", True], Fault.NO_TEXT),
        (["서울", "", "도시"], Fault.BLANK),
        (["서울", "이다", None], Fault.BLANK),
        (["\u200b", "이다", "도시"], Fault.BLANK),
        ({"subject": "서울", "predicate": "이다"}, Fault.BLANK),
        (["가" * 10_000, "이다", "도시"], Fault.LONG_NAME),
        (["도시", "이다", "x" * 201], Fault.LONG_NAME),
        (["서울", "이" * 1001, "도시"], Fault.LONG_PREDICATE),
        (["은", "이다", "도시"], Fault.WORDLESS),
        (["서울", "이다", "에서는"], Fault.WORDLESS),
        (["the", "is", "city"], Fault.WORDLESS),
        (["서울", "이다", "—"], Fault.WORDLESS),
        (["「」", "이다", "도시"], Fault.WORDLESS),
        (["\u3164", "이다", "도시"], Fault.WORDLESS),
        (["'은'", "이다", "도시"], Fault.WORDLESS),
    ],
)
def test_a_triplet_or_what_is_wrong_with_it(item: Any, found: Triplet | Fault) -> None:
    assert checked(item) == found


@pytest.mark.parametrize("name", ["은하", "이순신", "에이", "The Who", "OR", "A", "3", "㈜한빛", "서울은", "도쿄도"])
def test_names_that_look_like_particles(name: str) -> None:
    assert names_something(name)


def test_each_kind_of_fault_is_told_once_with_its_first_example() -> None:
    left_out = LeftOut()
    items = [
        ["한빛", "설립자"],
        ["a", "b", "c"],
        ["x"],
        ["가" * 10_000, "이다", "나비"],
        ["a", "b", "c"],
        ["은", "는", "이"],
    ]
    assert triplets_of(items, "line 7", left_out) == (Triplet("a", "b", "c"),)
    parts, long, particle = left_out.sentences()
    assert parts == (
        "2 triplets without three parts (subject, predicate, object) were left out (the first: line 7, number 1: "
        "['한빛', '설립자']); correct them and add again."
    )
    assert long.startswith("1 triplet with a name of more than 200 characters was left out (line 7, number 4: ")
    assert "particle or punctuation" in particle and len(long) < 250


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(anything, max_size=8))
def test_whatever_comes_is_a_triplet_or_counted(items: list[Any]) -> None:
    left_out = LeftOut()
    found = triplets_of(items, "here", left_out)
    kept = [one for item in items if isinstance(one := checked(item), Triplet)]
    assert set(found) == set(kept) and len(kept) + sum(left_out.counts.values()) == len(items)
    for one in found:
        assert checked(one) == one
        "".join((one.subject, one.predicate, one.object)).encode()


def test_a_record_goes_without_its_faulty_triplets() -> None:
    left_out = LeftOut()
    record = parse_record({"id": 1, "text": "t", "triplets": [["a", "b", "c"], ["a", "", "c"]]}, left_out)
    assert record.triplets == (Triplet("a", "b", "c"),)
    assert left_out.sentences() == (
        "1 triplet with an empty part was left out (record '1', number 2: ['a', '', 'c']); correct it and add again.",
    )


def test_a_file_of_records_tells_each_kind_once() -> None:
    lines = [{"id": n, "text": "글", "triplets": [["한강", "지난다", "서울"], ["한강", "지난다"]]} for n in range(3)]
    found = read_text("\n".join(json.dumps(line) for line in lines))
    assert [len(record.triplets) for record in found.records] == [1, 1, 1] and not found.problems
    (note,) = found.notes
    assert note.startswith("3 triplets without three parts") and "record '0', number 2" in note
