import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.reading.encoding import decode, decoded

KOREAN = "서울특별시 강남구의 공원은 모두 27개이며, 2024년 1월에 새로 문을 연 곳도 있다.\n"
JAPANESE = "東京都の公園はすべてここに載っています。カタカナもあります。\n"
GERMAN = "Die Größe der Grünflächen in München beträgt fünf Hektar, südlich der Straße.\n"
FRENCH = "Les parcs de la ville sont fermés à l'été; où êtes-vous allés, François?\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN, "utf-8"),
        (KOREAN, "cp949"),
        (KOREAN, "euc-kr"),
        (KOREAN, "utf-8-sig"),
        (KOREAN, "utf-16"),
        (KOREAN, "utf-16-le"),
        (KOREAN, "utf-16-be"),
        (KOREAN, "utf-32"),
        (JAPANESE, "cp932"),
        (JAPANESE, "utf-8"),
        (JAPANESE, "utf-16-le"),
        (GERMAN, "cp1252"),
        (GERMAN, "utf-8"),
        (FRENCH, "latin-1"),
        ("plain ASCII, nothing else\n", "ascii"),
        ("plain ASCII in wide characters\n", "utf-16-le"),
        ("plain ASCII in wide characters\n", "utf-16-be"),
        ("이름,나이\n김철수,20\n", "cp949"),
        ("구분\n서울\n", "cp949"),
        ("똠방각하 펲시콜라 뷁\n" + KOREAN, "cp949"),
        ("품목,단가\n㈜한빛 A형,1,200원\n", "cp949"),
        ("名前,年齢\nたろう,20\n", "cp932"),
        ("naïve café\n", "cp1252"),
    ],
)
def test_text_comes_back(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text
    assert decode((text * 50).encode(encoding)).count(text[:6]) == 50


def test_a_damaged_byte_does_not_change_the_encoding() -> None:
    for encoding in ("utf-8", "cp949"):
        raw = bytearray((KOREAN * 40).encode(encoding))
        raw[len(raw) // 2 : len(raw) // 2 + 1] = b"\xff"
        found = decoded(bytes(raw))
        assert found.text.startswith(KOREAN)
        assert found.replaced
        assert "\ufffd" in found.text
        assert str(found.replaced) in found.notes[0]


def test_foreign_letters_far_behind_ascii_are_seen() -> None:
    raw = b"id,value\n" * 100_000 + KOREAN.encode("cp949")
    assert decode(raw).endswith(KOREAN)


def test_a_declared_encoding_is_believed_only_if_it_fits() -> None:
    assert decoded(KOREAN.encode("cp949"), "euc-kr").text == KOREAN
    assert decoded(KOREAN.encode("cp949"), "ascii").text == KOREAN
    assert decoded(KOREAN.encode("cp949"), "no-such").text == KOREAN


def test_large_files_take_a_sample() -> None:
    raw = (KOREAN * 200_000).encode("cp949")
    start = time.process_time()
    assert decoded(raw).encoding == "cp949"
    assert time.process_time() - start < 3


@given(st.binary(max_size=300))
def test_any_bytes_give_text(raw: bytes) -> None:
    assert isinstance(decode(raw), str)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=200).filter(lambda text: "\0" not in text))
def test_utf8_always_comes_back(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")
