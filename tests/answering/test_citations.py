from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.answering.citations import CitationStream, cited_in, clean, statements, unsupported


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("매출은 10억이다 [1].", "매출은 10억이다 [1]."),
        ("A [2] and B [1].", "A [1] and B [2]."),
        ("A [1, 2] B [2;1]", "A [1][2] B [2][1]"),
        ("가 【1】 나 ［2］", "가 [1] 나 [2]"),
        ("가 [출처 2] 나 [자료: 1] [Source 3]", "가 [1] 나 [2] [3]"),
        ("A 【2†report.pdf】", "A [1]"),
        ("A [1-3] B [^2]", "A [1][2][3] B [2]"),
        ("A [[2]] B [1 및 2]", "A [1] B [2][1]"),
        ("A [9]. B [0].", "A. B."),
        ("A [1, 9].", "A [1]."),
        ("[2024] 보고서 [1]", "(2024) 보고서 [1]"),
        ("arr[i] and [see below] [1", "arr[i] and [see below] [1"),
        ("[[9]1]", "[…1]"),
        ("x [1][1] y", "x [1][1] y"),
    ],
)
def test_spellings(raw: str, shown: str) -> None:
    assert clean(raw, 3).text == shown


def test_order_and_dropped() -> None:
    cleaned = clean("Rain [3]. Snow [1]. Sun [3]. Wind [7][8].", 3)
    assert cleaned.order == (3, 1)
    assert cleaned.dropped == (7, 8)
    assert cleaned.unsupported == ("Wind.",)


def test_a_half_citation_waits() -> None:
    stream = CitationStream(3)
    assert stream.feed("비는 온다") == "비는 온다"
    assert stream.feed(" [") == ""
    assert stream.feed("2") == ""
    assert stream.feed("] 그") == " [1] 그"
    assert stream.feed(" [7") == ""
    assert stream.feed("].") == "."
    assert stream.close() == ""


def test_marks_belong_to_the_sentence_before_them() -> None:
    text = "비가 왔다. [1] 눈이 왔다 [2]. 해가 떴다.\n- 바람이 불었다 [1]\n요약:\n"
    assert [marks for _, marks in statements(text)] == [(1,), (2,), (), (1,), ()]
    assert unsupported(text) == ("해가 떴다.",)


def test_abbreviations_and_decimals_do_not_split() -> None:
    assert unsupported("Dr. Kim paid 3.5 million won [1].") == ()


PIECES = st.lists(
    st.sampled_from(
        ["[", "]", "[[", "]]", "【", "】", "［", "］", "1", "2", "9", "12", ",", " ", "\n", "-", "†",
         "출처", "source", "가", "다. ",
         "[1]", "[2, 9]", " [7]", "(", ")", "^", ":", "and", "[2024]"]
    ),
    max_size=30,
)  # fmt: skip


@given(PIECES, st.integers(0, 4), st.data())
def test_stream_equals_whole_and_names_no_missing_source(pieces: list[str], count: int, data: st.DataObject) -> None:
    raw = "".join(pieces)
    whole = clean(raw, count)
    stream = CitationStream(count)
    shown = ""
    rest = raw
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        shown += stream.feed(rest[:cut])
        rest = rest[cut:]
        assert all(1 <= int(number) <= count for number in re.findall(r"\[(\d+)\]", shown))
    shown += stream.close()
    assert shown == whole.text
    assert stream.result() == whole
    numbers = cited_in(shown)
    assert set(numbers) == set(range(1, len(whole.order) + 1))
    firsts = list(dict.fromkeys(numbers))
    assert firsts == sorted(firsts)
    assert len(set(whole.order)) == len(whole.order)
    assert all(1 <= original <= count for original in whole.order)


@given(st.text(max_size=200), st.integers(0, 3))
def test_any_text_passes(raw: str, count: int) -> None:
    shown = clean(raw, count).text
    assert clean(shown, count).text == shown
