from __future__ import annotations

import unicodedata

import pytest

from silmari.extraction.grounding import NO_NAME, NOT_THERE, PRONOUN, SAME, Grounds, grounded
from silmari.model import Triplet

ENGLISH = Grounds(
    "Leonhard Euler", "Born in Basel in 1707, he worked at the St. Petersburg Academy; the US honoured him."
)
KOREAN = Grounds("㈜한빛전자 연혁", "한빛전자는 1998년 수원시에서 김민수가 설립했다. 매출은 1,200억 원이다.")


@pytest.mark.parametrize(
    "name",
    [
        "Leonhard Euler",
        "leonhard  euler",
        "Basel",
        "1707",
        "the St. Petersburg Academy",
        "A St Petersburg Academy",
        "US",
    ],
)
def test_names_that_stand_in_an_english_passage(name: str) -> None:
    assert ENGLISH.has(name)


@pytest.mark.parametrize("name", ["Daniel Bernoulli", "asel", "Leonhard Paul Euler", "70", "", "...", "7"])
def test_names_that_do_not(name: str) -> None:
    assert not ENGLISH.has(name)


@pytest.mark.parametrize(
    "name",
    [
        "한빛전자",
        "한빛 전자",
        "㈜한빛전자",
        "(주)한빛전자",
        "한빛전자가",
        "수원시",
        "김민수",
        "1,200억 원",
        "1200억원",
        "1998년",
    ],
)
def test_names_that_stand_in_a_korean_passage(name: str) -> None:
    assert KOREAN.has(name)
    assert KOREAN.has(unicodedata.normalize("NFD", name))


def test_only_statements_that_the_passage_can_have_made_are_kept() -> None:
    given = [
        Triplet("한빛전자", "설립한 사람", "김민수"),
        Triplet("한빛전자", "설립한 사람", "김민수"),
        Triplet("한빛전자", "경쟁사", "삼성전자"),
        Triplet("그", "설립한 회사", "한빛전자"),
        Triplet("김민수", "는", "김민수가"),
        Triplet("한빛전자", "설립한 해", "..."),
        Triplet("한빛전자", "가" * 300, "수원시"),
        Triplet("가" * 10_000, "설립한 회사", "한빛전자"),
    ]
    kept, dropped = grounded(given, KOREAN)
    assert kept == given[:1]
    assert dropped == {NOT_THERE: 1, PRONOUN: 1, SAME: 1, NO_NAME: 3}


def test_capitals_are_names_though_they_look_like_pronouns() -> None:
    kept, dropped = grounded(
        [Triplet("US", "honoured", "Euler"), Triplet("he", "was born in", "Basel"), Triplet("Euler", "was", "Him")],
        ENGLISH,
    )
    assert [triplet.subject for triplet in kept] == ["US"] and dropped == {PRONOUN: 2}
