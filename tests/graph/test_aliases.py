"""Alias edges: which spellings meet, which stay apart, and that changes equal a rebuild."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.catalog.words import EntityRow
from silmari.graph import aliases as room
from silmari.graph.aliases import Alias, Aliases, find_aliases
from silmari.language.normalise import key

# Two spellings and the least and the greatest score that they may have beside each other.
JOINED = [
    # Persons
    ("Euler", "Leonhard Euler", 0.5, 0.95),
    ("leonhard Euler", "Euler", 0.3, 0.95),
    ("L. Euler", "Leonhard Euler", 0.5, 0.95),
    ("Leonard Euler", "Leonhard Euler", 0.5, 0.95),
    ("Dr. Marie Curie", "Marie Curie", 0.8, 1),
    ("Curie", "Marie Curie", 0.5, 0.95),
    ("José García", "Jose Garcia", 0.9, 1),
    ("Vincent van Gogh", "van Gogh", 0.5, 0.95),
    ("John F. Kennedy", "John Kennedy", 0.5, 0.95),
    ("John F. Kennedy", "John Fitzgerald Kennedy", 0.5, 0.95),
    ("Mr. Darcy", "Darcy", 0.4, 0.95),
    ("President Lincoln", "Abraham Lincoln", 0.5, 0.95),
    ("Prof. Emmy Noether", "Emmy Noether", 0.8, 1),
    ("Kim Jong-un", "Kim Jong Un", 0.9, 1),
    ("Martin Luther King", "Martin Luther King, Jr.", 0.4, 0.7),
    ("Khrushchev", "Nikita Khrushchev", 0.5, 0.95),
    ("Jürgen Mueller", "Jürgen Müller", 0.5, 0.95),
    ("Antonín Dvořák", "Antonin Dvorak", 0.9, 1),
    ("오인환 회장", "오인환", 0.8, 1),
    ("오인환회장", "오인환", 0.8, 1),
    ("이순신 장군", "이순신", 0.8, 1),
    ("장보라 씨", "장보라", 0.85, 1),
    ("시인 윤동주", "윤동주", 0.8, 1),
    ("독립운동가 김구영", "김구영", 0.5, 0.95),
    ("남궁민수 교수님", "남궁민수 교수", 0.85, 1),
    ("최 부장", "최지우 부장", 0.4, 0.9),
    ("박지원(대표)", "박지원 대표", 0.5, 1),
    ("정약전(1758~1816)", "정약전", 0.8, 1),
    # Companies
    ("Apple Inc.", "Apple", 0.85, 1),
    ("Hanbit Heavy Industries Co., Ltd.", "Hanbit Heavy Industries", 0.85, 1),
    ("Hanbit Heavy Industries", "HHI", 0.6, 0.95),
    ("Samsung Electronics", "Samsung", 0.4, 0.95),
    ("삼성전자", "Samsung Electronics", 0.5, 0.95),
    ("현대중공업", "Hyundai Heavy Industries", 0.5, 0.95),
    ("현대중공업", "HHI", 0.3, 0.8),
    ("네이버", "NAVER", 0.0, 1),
    ("바다로보틱스", "Bada Robotics", 0.5, 0.95),
    ("한빛", "한빛중공업", 0.4, 0.9),
    ("한빛에너지솔루션", "Hanbit Energy Solution", 0.5, 0.95),
    ("재단법인 푸른숲", "푸른숲", 0.85, 1),
    ("도레미 전자(주)", "도레미", 0.4, 0.95),
    ("대한은행(Daehan Bank)", "Daehan Bank", 0.7, 1),
    ("The Beatles", "Beatles", 0.85, 1),
    ("McDonald's", "McDonalds", 0.5, 1),
    ("AT&T", "A.T.&T.", 0.8, 1),
    ("Manchester United F.C.", "Manchester United", 0.85, 1),
    # Places and institutions
    ("U.S.A.", "USA", 0.6, 1),
    ("USA", "United States", 0.6, 1),
    ("미국", "United States", 0.6, 1),
    ("U.S. Supreme Court", "United States Supreme Court", 0.8, 1),
    ("World Health Organization (WHO)", "WHO", 0.7, 1),
    ("World Health Organization", "WHO", 0.6, 0.95),
    ("Federal Bureau of Investigation", "FBI", 0.6, 0.95),
    ("Newport, Rhode Island", "Newport", 0.4, 0.9),
    ("새여울읍", "새여울", 0.4, 0.9),
    ("청라포대학교", "청라포대", 0.6, 0.95),
    ("한밭과학고등학교", "한밭과학고", 0.6, 0.95),
    ("서울특별시", "서울", 0.4, 0.9),
    ("Saint-Denis", "Saint Denis", 0.9, 1),
    # Products, works, codes
    ("TG-3", "따개비-3", 0.4, 0.9),
    ("따개비3", "따개비 - 3", 0.9, 1),
    ("『납과 소금』", "납과 소금", 0.85, 1),
    ("Wi-Fi", "WiFi", 0.9, 1),
    ("COVID-19", "Covid19", 0.9, 1),
    (unicodedata.normalize("NFD", "여울·과학관"), "여울과학관", 0.9, 1),
]
APART = [
    ("Martin Luther King Jr.", "Martin Luther King Sr."),
    ("Henry III", "Henry IV"),
    ("Albert I", "Rafael Alberti"),
    ("World War I", "World War II"),
    ("1968년 4월 12일", "1968년 4월 13일"),
    ("1957년", "1957"),
    ("1,200만 원", "1,200만원"),
    ("2019.03.02", "2019.03.20"),
    ("64m", "64 m"),
    ("January 16, 1977", "January 1977"),
    ("따개비-3", "따개비-4"),
    ("Boeing 737", "Boeing 747"),
    ("COVID-19", "COVID"),
    ("Apollo 11", "Apollo"),
    ("박도윤 교수", "박도윤 대리"),
    ("김하늘 시인", "김하늘 과장"),
    ("Michael Jordan (actor)", "Michael Jordan (basketball)"),
    ("Charles Darwin", "Erasmus Darwin"),
    ("Daniel Bernoulli", "Johann Bernoulli"),
    ("North Korea", "South Korea"),
    ("North Korea", "Korea"),
    ("Mississippi River", "River"),
    ("Catholic Church", "Church"),
    ("Stanford University", "University"),
    ("General Motors", "Motors"),
    ("South Africa", "Africa"),
    ("the king", "Martin Luther King"),
    ("jazz drummer", "drummer"),
    ("President of the United States", "United States"),
    ("Princeton, West Virginia", "West Virginia"),
    ("한빛중공업", "한빛전자"),
    ("한빛중공업 회장", "한빛중공업"),
    ("새여울대교", "새여울읍"),
    ("새여울대교", "새여울"),
    ("시인", "시인학교"),
    ("사과", "사과나무"),
    ("서울", "서울대학교"),
    ("교수", "박도윤 교수"),
    ("씨", "홍기표 씨"),
    ("이순신", "이순자"),
    ("HHI", "HHO"),
    ("WHO", "Whole Foods"),
    ("Leonhard Euler", "Leonhard Fuchs"),
    ("Adam Smith", "Adam Smyth Jones"),
    ("Sony Music", "Sony Pictures"),
    ("Hanbit Inc.", "Hanbat Inc."),
]


def entities(*names: str) -> list[EntityRow]:
    return [EntityRow(number, key(name), name) for number, name in enumerate(names, 1)]


def score(a: str, b: str, *others: str) -> float:
    """Of the edge between two names in a base that holds others too."""
    found = {(alias.a, alias.b): alias.score for alias in find_aliases(entities(a, b, *others))}
    return found.get((1, 2), 0.0)


@pytest.mark.parametrize(("a", "b", "least", "most"), JOINED)
def test_spellings_of_one_name_meet(a: str, b: str, least: float, most: float) -> None:
    assert least <= score(a, b) <= most
    assert score(a, b) == score(b, a)


@pytest.mark.parametrize(("a", "b"), APART)
def test_names_of_two_stay_apart(a: str, b: str) -> None:
    assert score(a, b) == 0


def test_all_lists_together_are_no_less_sure_of_what_stays_apart() -> None:
    names = list(ALL)
    rows = entities(*names)
    found = {frozenset((names[alias.a - 1], names[alias.b - 1])) for alias in find_aliases(rows)}
    assert not found & {frozenset(case) for case in APART}


def test_a_bare_name_of_two_persons_is_weakly_joined_with_each_and_they_with_none() -> None:
    alone = score("박도윤", "박도윤 교수")
    shared = score("박도윤", "박도윤 교수", "박도윤 대리")
    assert alone >= 0.8
    assert 0 < shared <= 0.5
    assert score("박도윤 교수", "박도윤 대리", "박도윤", "박도윤 교수님", "박 대리") == 0
    assert score("Michael Jordan", "Michael Jordan (actor)", "Michael Jordan (basketball)") <= 0.3


def test_ranks_of_one_office_may_be_one_person() -> None:
    assert 0.3 <= score("김서연 과장", "김서연 팀장") <= 0.6
    assert score("오인환", "오인환 회장", "오인환 대표") >= 0.8


def test_a_short_name_that_several_continue_is_less_certain() -> None:
    one = score("한빛", "한빛중공업")
    two = score("한빛", "한빛중공업", "한빛전자")
    many = score("한빛", "한빛중공업", "한빛전자", "한빛건설", "한빛화학", "한빛물산", "한빛은행")
    assert one > two > many
    assert many == 0
    family = [f"{given} Bernoulli" for given in ("Daniel", "Jakob", "Nicolaus", "Johann", "Emil")]
    assert score("Bernoulli", family[0]) > 0.5
    assert score("Bernoulli", *family[:2]) > 0.3
    assert score("Bernoulli", *family) == 0


def test_spellings_of_the_longer_name_are_no_rivals() -> None:
    assert score("Euler", "Leonhard Euler", "Prof. Leonhard Euler") == score("Euler", "Leonhard Euler")


def test_an_acronym_of_several_names_is_shared() -> None:
    alone = score("ABA", "American Basketball Association")
    assert alone > score("ABA", "American Basketball Association", "Australian Bankers Association") > 0


def test_edges_are_not_closed_transitively() -> None:
    rows = entities("Hanbit Heavy Industries", "HHI", "현대중공업", "한빛중공업")
    found = {(alias.a, alias.b) for alias in find_aliases(rows)}
    assert (3, 4) not in found


def test_every_edge_says_why() -> None:
    rows = entities("Euler", "Leonhard Euler", "박도윤", "박도윤 교수", "박도윤 대리")
    reasons = {(alias.a, alias.b): alias.reason for alias in find_aliases(rows)}
    assert reasons == {
        (1, 2): "last name alone",
        (3, 4): "title left out; one of 2 that may be meant",
        (3, 5): "title left out; one of 2 that may be meant",
    }


def test_verdicts_override_what_is_computed() -> None:
    rows = entities("Euler", "Leonhard Euler", "쇠재", "오만석")
    aliases = Aliases(rows)
    aliases.decide([(2, 1, False), (3, 4, True)])
    assert aliases.all() == [Alias(3, 4, 1.0, "said to be the same")]
    assert aliases.edges_of([4]) == [(3, 4, 1.0)]
    assert aliases.of(1) == []
    aliases.decide([])
    assert [(alias.a, alias.b) for alias in aliases.all()] == [(1, 2)]
    # A verdict on an entity that is not there (any more) joins nothing.
    aliases.decide([(3, 99, True)])
    assert aliases.of(3) == []


ALL = dict.fromkeys(name for case in [*JOINED, *APART] for name in case[:2])
NAMES = st.sampled_from(
    [*ALL, "박도윤", "박도윤 교수님", "박 대리", "한빛전자", "한빛건설", "Daniel Bernoulli", "Bernoulli", "ABA"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, unique=True, max_size=25), st.data())
def test_changes_give_what_a_rebuild_gives(names: list[str], data: st.DataObject) -> None:
    rows = entities(*names)
    kept = data.draw(st.sets(st.sampled_from(rows))) if rows else set()
    late = data.draw(st.sets(st.sampled_from(rows))) if rows else set()
    begun = [row for row in rows if row not in late]
    aliases = Aliases(begun)
    aliases.update([row.id for row in late], sorted(late & kept))
    aliases.update([row.id for row in rows if row not in kept], [])
    aliases.update([99], [])
    rebuilt = Aliases(sorted(kept))
    assert aliases.all() == rebuilt.all()
    assert len(aliases) == len(kept)
    chosen = [row.id for row in rows[::2]]
    assert aliases.edges_of(chosen) == rebuilt.edges_of(chosen)
    loaded = Aliases.from_arrays(aliases.arrays())
    assert loaded.all() == rebuilt.all()


@settings(max_examples=40, deadline=None)
@given(st.lists(NAMES, unique=True, max_size=25))
def test_edges_of_some_are_those_of_all_that_touch_them(names: list[str]) -> None:
    aliases = Aliases(entities(*names))
    every = [(alias.a, alias.b, alias.score) for alias in aliases.all()]
    for chosen in ([1], [2, 3], list(range(1, 26, 4))):
        assert aliases.edges_of(chosen) == [edge for edge in every if edge[0] in chosen or edge[1] in chosen]
    assert all(0 < edge[2] < 1 and edge[0] < edge[1] for edge in every)


def test_many_changes_are_taken_into_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_LOOSE", 3)
    monkeypatch.setattr(room, "_LOOSE_SHARE", 0.0)
    rows = entities(*(f"{given} Euler" for given in "Anna Bela Carl Dora".split()), "Euler")
    aliases = Aliases(rows[:1])
    for row in rows[1:]:
        aliases.update([row.id], [row])
    aliases.update([2, 3], [])
    assert aliases.all() == find_aliases([rows[0], rows[3], rows[4]])
    assert 2 not in aliases and 5 in aliases


def test_arrays_can_be_read_only() -> None:
    rows = entities("Euler", "Leonhard Euler", "오인환", "오인환 회장")
    arrays = Aliases(rows).arrays()
    for array in arrays.values():
        array.flags.writeable = False
    loaded = Aliases.from_arrays(arrays)
    loaded.update([5], [EntityRow(5, "eulerl", "L. Euler")])
    assert {(alias.a, alias.b) for alias in loaded.all()} >= {(1, 2), (2, 5), (3, 4)}


@given(st.text(max_size=200))
def test_any_name_is_taken(name: str) -> None:
    rows = [EntityRow(1, key(name), name), EntityRow(2, "euler", "Euler"), EntityRow(3, "x", name + "x")]
    for alias in find_aliases(rows):
        assert 0 < alias.score < 1


@pytest.mark.parametrize(
    "name", ["", "은", "...", "(주)", "()", "a" * 10_000, "(" * 5_000, "1" * 9_000 + "x", "시" * 9_000]
)
def test_strange_names_are_taken_quickly(name: str) -> None:
    assert find_aliases(entities(name, "Euler", name + " Euler")) is not None


def test_names_are_never_compared_all_with_all() -> None:
    """Ten times the names take about ten times as long, also where thousands share a last name."""
    count = 4_000
    rows = [
        EntityRow(number, f"g{number}smith", f"G{'abcdefghij'[number % 10]}x{number} Smith") for number in range(count)
    ]
    aliases = Aliases([*rows, EntityRow(count, "smith", "Smith")])
    assert aliases.of(count) == []
    assert len(aliases.arrays()["forms"]) < 8 * count
    assert np.array_equal(aliases.arrays()["ids"], np.arange(count + 1))
