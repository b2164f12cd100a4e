from __future__ import annotations

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
        ("나 〔2〕 다 ［１，３］", "나 [1] 다 [2][3]"),
        ("매출은 늘었다 (출처 2). 줄었다 (자료: 1, 9) (Sources 2 and 3)", "매출은 늘었다 [1]. 줄었다 [2] [1][3]"),
        ("(자료가 많다) (출처) (source code) (s", "(자료가 많다) (출처) (source code) (s"),
        ("강에 산다[1]. In rivers[2][9].", "강에 산다[1]. In rivers[2]."),
    ],
)
def test_spellings(raw: str, shown: str) -> None:
    assert clean(raw, 3).text == shown


@pytest.mark.parametrize(
    "code",
    [
        "`x[0]`",
        "x[0]",
        "x[1]",
        "arr[1]",
        "my_list[7]",
        "rows[0][7]",
        "f(x)[0]",
        "items[1] = 3",
        "items[9].name",
        "items[1]['a']",
        "a = [1, 2, 3]",
        "sum([1, 2])",
        "return [9]",
        "``a `b` [9]``",
        "`매출[2]`",
        "```python\nprint(data[1])  # [9]\n```\n",
        "  ```\n[9]\n``\n ````",
        "```\n[9] is open to the end [1]",
        "The list `items` begins with items[1]",
        "`rows[2]` is a row, and so is rows[3]",
    ],
)
def test_brackets_of_code_are_no_citations(code: str) -> None:
    cleaned = clean(f"{code}", 3)
    assert cleaned.text == code
    assert not cleaned.order and not cleaned.dropped
    assert not cited_in(code)
    assert all(not marks for _, marks in statements(code))
    if not code.startswith(("```\n[9] is", "  ```")):
        mixed = clean(f"{code}\n위와 같다 [2] [9].", 3)
        assert mixed.text == f"{code}\n위와 같다 [1]."
        assert (mixed.order, mixed.dropped) == ((2,), (9,))


@pytest.mark.parametrize("text", ["` is one [9]", "a ` b\n[9] `", "``[9]`", "` [9]" + "x" * 500 + "`"])
def test_a_backtick_that_nothing_closes_is_no_code(text: str) -> None:
    assert clean(text, 3).dropped == (9,)


def test_a_code_span_waits_for_its_end() -> None:
    stream = CitationStream(3)
    assert stream.feed("식은 `x[") == "식은"
    assert stream.feed("9]") == ""
    assert stream.feed("`") == ""
    assert stream.feed("이다 [9].") == " `x[9]`이다."
    assert stream.close() == ""


def test_a_mark_that_begins_a_line_belongs_to_the_line() -> None:
    text = "비가 왔다.\n[1] 눈이 왔다.\n[2]: 해가 떴다.\n바람이 불었다.\n[1]\n"
    assert [marks for _, marks in statements(text)] == [(), (1,), (2,), (1,)]


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
         "[1]", "[2, 9]", " [7]", "(", ")", "^", ":", "and", "[2024]", "`", "```",
         "〔", "x", "arr", "(출처 ", "=", "[0]"]
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
        assert all(1 <= number <= count for number in cited_in(shown))
    shown += stream.close()
    assert shown == whole.text
    assert stream.result() == whole
    numbers = cited_in(shown)
    # A mark that was removed may have stood between the brackets of what is code without it.
    if not whole.dropped:
        assert set(numbers) == set(range(1, len(whole.order) + 1))
        firsts = list(dict.fromkeys(numbers))
        assert firsts == sorted(firsts)
    assert len(set(whole.order)) == len(whole.order)
    assert all(1 <= original <= count for original in whole.order)


@given(st.text(max_size=200), st.integers(0, 3))
def test_any_text_passes(raw: str, count: int) -> None:
    shown = clean(raw, count).text
    assert clean(shown, count).text == shown
