from __future__ import annotations

import json

import pytest
from extraction_scripts import said
from hypothesis import given
from hypothesis import strategies as st

from silmari.extraction.replies import read
from silmari.model import Triplet

EULER = ("Euler", "taught", "Lexell")
HANBIT = ("한빛전자", "세운 곳", "수원")
BOTH = (Triplet(*EULER), Triplet(*HANBIT))
WHOLE = said(EULER, HANBIT)


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here are the facts:\n```\n{WHOLE}\n```\nI hope this helps!",
        f"Sure! {WHOLE} That is all.",
        f"<think>[what] {{shall}} I say</think>\n{WHOLE}",
        json.dumps([list(EULER), list(HANBIT)]),
        json.dumps([dict(zip(("head", "relation", "tail"), each, strict=True)) for each in (EULER, HANBIT)]),
        json.dumps([dict(zip(("Subject", " Predicate", "OBJECT"), each, strict=True)) for each in (EULER, HANBIT)]),
        json.dumps({"result": {"facts": [list(EULER), list(HANBIT)]}, "count": 2}),
        json.dumps({"1": dict(zip("spo", EULER, strict=True)), "2": dict(zip("spo", HANBIT, strict=True))}),
        "\n".join(said(each) for each in (EULER, HANBIT)),
        json.dumps([dict(zip(("주어", "서술어", "목적어"), each, strict=True)) for each in (EULER, HANBIT)]),
    ],
)
def test_good_replies_in_other_clothes(reply: str) -> None:
    found = read(reply)
    assert (found.triplets, found.malformed, found.fault) == (BOTH, 0, "")


def test_single_ones_and_none() -> None:
    assert read(json.dumps(list(EULER))).triplets == BOTH[:1]
    assert read(json.dumps(dict(zip(("subject", "predicate", "object"), EULER, strict=True)))).triplets == BOTH[:1]
    nothing = read('{"triplets": []}')
    assert nothing.triplets == () and not nothing.fault


def test_items_that_are_none_are_counted() -> None:
    items = [
        list(EULER),
        ["Euler", "taught"],
        ["Euler", "taught", "Lexell", "too"],
        {"subject": "Euler", "predicate": "taught"},
        {"subject": "Euler", "predicate": "", "object": "Lexell"},
        {"subject": "Euler", "predicate": "taught", "object": ["Lexell"]},
        {"subject": "Euler", "predicate": True, "object": "Lexell"},
        None,
        7,
        "Euler taught Lexell",
        {"subject": "Euler", "predicate": "born in", "object": 1707},
    ]
    found = read(json.dumps({"triplets": items}))
    assert found.triplets == (BOTH[0], Triplet("Euler", "born in", "1707"))
    assert found.malformed == 9 and not found.fault


def test_nothing_but_malformed_items_is_a_fault() -> None:
    found = read(json.dumps({"triplets": [["a", "b"], ["c", "d", "e", "f"]]}))
    assert found.triplets == () and found.malformed == 2 and "subject" in found.fault


@pytest.mark.parametrize(
    "reply", ["", "   ", "I cannot do that.", '{"error": "no"}', "<think>only this", "{}", "null", "17"]
)
def test_faults(reply: str) -> None:
    found = read(reply)
    assert found.triplets == () and found.fault


def test_a_reply_that_is_cut_off_keeps_its_complete_items() -> None:
    for cut in range(1, len(WHOLE) - 1):
        found = read(WHOLE[:cut])
        assert found.fault
        assert found.triplets == BOTH[: len(found.triplets)]
    assert read(WHOLE[:-2]).triplets == BOTH
    assert read(WHOLE[: WHOLE.index("수원")]).triplets == BOTH[:1]


def test_what_is_nearly_json_is_mended_without_making_things_up() -> None:
    bad = "{'triplets': [{'subject': 'Euler', 'predicate': 'taught', 'object': 'Lexell'}, {'subject': 'Euler', 'pred"
    found = read(bad)
    assert found.triplets == BOTH[:1] and found.fault
    unquoted = (
        '{"triplets": [{"subject": "the "Basel" problem", "predicate": "solved by", "object": "Euler"}, '
        + json.dumps(dict(zip(("subject", "predicate", "object"), HANBIT, strict=True)), ensure_ascii=False)
    )
    found = read(unquoted + "]}")
    assert found.triplets == BOTH[1:] and found.fault


def test_runaway_replies_end() -> None:
    assert read("[" * 100_000).fault
    for nested in ('{"a":' * 9_000 + "}", "[" * 9_000 + "]", '{"a":[{' * 9_000 + "x]}", "{'a':" * 9_000 + "}"):
        assert read(nested).fault
    assert read(said(EULER)[:-2] + ", {}" * 50_000).fault


@given(st.text(max_size=300))
def test_any_text_is_read(reply: str) -> None:
    found = read(reply)
    assert all(triplet.subject and triplet.object for triplet in found.triplets)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_is_read(value: object) -> None:
    read(json.dumps(value))
    read(json.dumps({"triplets": value}))
