import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.language.normalise import MAX_EMBEDDED_CHARS, clean, key, normalise

# Lone surrogates too: they come from file names and broken JSON.
TEXT = st.text(st.characters(), max_size=60) | st.text(
    st.sampled_from("서울은 ㈜㎏ㆍ\u200b\u00adſﬁİß\u1100\u1161\u11a8\ud800\x00\t\n'"), max_size=30
)


@given(TEXT)
def test_normalise_is_stable_and_ignores_composition(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert normalise(unicodedata.normalize("NFD", text)) == once
    assert unicodedata.is_normalized("NFKC", once)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＩ　Straße", "ai strasse"),
        ("서\u200b울\ufeff", "서울"),
        ("soft\u00adware\x07", "software"),
        ("연구ㆍ개발", "연구·개발"),
        ("a\tb\nc", "a\tb\nc"),
        ("㈜한빛 5㎏", "(주)한빛 5kg"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(TEXT)
def test_clean_can_be_encoded_and_is_short(text: str) -> None:
    shown = clean(text * 400)
    assert len(shown) <= MAX_EMBEDDED_CHARS
    assert "\0" not in shown
    shown.encode("utf-8")


def test_clean_composes_and_writes_out_ligatures() -> None:
    assert clean(unicodedata.normalize("NFD", "한글")) == "한글"
    assert "\ufdfa" not in clean("\ufdfa" * 10)
    assert clean("가" + "\ud800" + "A\0B") == "가 A B"
    assert len(clean(unicodedata.normalize("NFD", "각" * 20_000))) == MAX_EMBEDDED_CHARS


@pytest.mark.parametrize(
    "names",
    [
        [
            "한빛전자",
            "㈜한빛전자",
            "한빛전자(주)",
            "한빛 전자 ㈜",
            "주식회사 한빛전자",
            "(주)한빛전자는",
            unicodedata.normalize("NFD", "한빛전자"),
        ],
        ["서울", "서울에서", "서울을", "서울까지"],
        ["대한민국", "대한민국은", "대한민국의", "대한민국이"],
        ["Leonhard Euler", "leonhard  euler", "ＬＥＯＮＨＡＲＤ ＥＵＬＥＲ", "Leonhard Euler"],
        ["Kubernetes", "kubernetes"],
        ["홍기표", "홍기표 씨", "홍기표 씨는", "홍기표  씨의"],
        ["Marie Curie", "Dr. Marie Curie", "Dr Marie Curie", "Prof. Marie Curie", "Ms. Marie  Curie"],
    ],
)
def test_key_joins_spellings(names: list[str]) -> None:
    assert {key(name) for name in names} == {key(names[0])}


@pytest.mark.parametrize(
    "name", ["김정은", "고양이", "경기도", "제주도", "회의", "가", "작가", "영은", "부산만", "아저씨", "Dr.No"]
)
def test_key_leaves_names_that_look_inflected(name: str) -> None:
    assert key(name) == name.casefold()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mr. Smith", "Smith"),
        ("Dr. Dre", "Dre"),
        ("Mr. and Mrs. Jason", "and Mrs. Jason"),
        ("Mrs. John Smith", "John Smith"),
        ("수박 씨", "수박"),
        ("해바라기 씨", "해바라기"),
        ("홍 씨", "홍"),
        ("홍기표 교수", "홍기표"),
        ("Dr. Oetker pizza", "Oetker pizza"),
    ],
)
def test_key_keeps_titles_where_they_may_matter(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize(("name", "expected"), [("(주)", "(주)"), ("㈜은", "은"), ("", ""), ("  ", "")])
def test_key_of_almost_nothing(name: str, expected: str) -> None:
    assert key(name) == expected
