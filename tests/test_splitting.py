from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.language.sentences import sentences
from silmari.model import Document, Passage, Prose, Row, Section, Table
from silmari.reading.limits import Limits
from silmari.reading.text import read
from silmari.splitting import fingerprint, split

KOREAN = "한강은 서울 한가운데를 지나 서해로 흘러드는 큰 강이다."
ENGLISH = "The river runs through the middle of the city and then into the sea."


def document(*sections: Section, title: str = "") -> Document:
    return Document("/a", "text", title, None, None, "", sections)


def weight(text: str, words: int, chars: int) -> float:
    """The length of a text in limits, counted plainly."""
    total = 0.0
    for token in text.split():
        if any(
            "\u1100" <= char <= "\u11ff" or "\u2e80" <= char <= "\ud7ff" or "\uf900" <= char <= "\ufaff"
            for char in token
        ):
            total += (len(token) + 1) / chars
        else:
            total += (1 + len(token) // 16) / words
    return total


def test_short_texts_stay_whole() -> None:
    text = " ".join([ENGLISH] * 17)
    assert 1.1 < weight(text, 200, 500) < 1.25
    passages = split(document(Prose(text, {"page": 3}), title="Rivers"))
    assert [(passage.text, passage.content) for passage in passages] == [(text, text)]
    assert passages[0].locator == {"page": 3, "chars": [0, len(text)]}
    assert passages[0].context == "Rivers"


@pytest.mark.parametrize("sentence", [KOREAN, ENGLISH])
def test_long_texts_are_cut_between_sentences_evenly_with_overlap(sentence: str) -> None:
    text = " ".join(f"{number}번. {sentence}" for number in range(60))
    passages = split(document(Prose(text)))
    ends = {end for _, end in sentences(text)}
    starts = {start for start, _ in sentences(text)}
    lengths = [weight(passage.text, 200, 500) for passage in passages]
    assert len(passages) > 3
    assert max(lengths) <= 1.25
    assert min(lengths) > 0.6, "no small rest"
    for before, after in pairwise(passages):
        (_, end), (start, _) = before.locator["chars"], after.locator["chars"]
        assert end in ends
        assert start in starts
        assert start < end, "they overlap"
        assert weight(text[start:end], 200, 500) <= 0.15


def test_paragraphs_are_preferred_borders() -> None:
    paragraph = " ".join([ENGLISH] * 9)
    text = "\n\n".join([paragraph] * 8)
    passages = split(document(Prose(text)))
    assert {passage.text for passage in passages} == {paragraph}


def test_a_heading_line_goes_with_what_follows() -> None:
    text = "\n".join(f"제{number}조 목적과 정의\n" + " ".join([KOREAN] * 9) for number in range(1, 12))
    assert not [passage.text for passage in split(document(Prose(text))) if passage.text.endswith("정의")]


def test_a_sentence_longer_than_the_limit_is_cut_at_clauses() -> None:
    text = ", ".join(f"the {number}th boat carried nets and barrels" for number in range(150)) + "."
    passages = split(document(Prose(text)))
    assert len(passages) > 4
    assert all(passage.text.endswith((",", ".")) for passage in passages)
    assert all(weight(passage.text, 200, 500) <= 1.25 for passage in passages)


def test_text_without_any_blank_is_cut_too() -> None:
    passages = split(document(Prose("가" * 2600)))
    assert "".join(passage.text for passage in passages) == "가" * 2600
    assert all(len(passage.text) <= 625 for passage in passages)


def test_mixed_text_weighs_both() -> None:
    text = " ".join([KOREAN, ENGLISH] * 30)
    assert all(weight(passage.text, 200, 500) <= 1.25 for passage in split(document(Prose(text))))


def test_context_has_title_and_headings_once() -> None:
    passages = split(document(Prose("본문이다.", heading="안내 > 준비 > 도구"), title="안내"))
    assert passages[0].context == "안내 > 준비 > 도구"


def test_markdown_passages_point_into_the_file() -> None:
    text = "# 제목\n\n" + "\n\n".join(f"## {number}절\n\n" + " ".join([KOREAN] * 30) for number in range(3))
    content = read(text.encode(), "a.md", Limits())
    passages = split(Document("/a", "text", content.title, None, None, "", content.sections))
    assert len(passages) >= 6
    for passage in passages:
        start, end = passage.locator["chars"]
        assert text[start:end] == passage.text


@pytest.mark.parametrize("text", ["", " \n ", "---\n***\n", "| | |"])
def test_nothing_gives_no_passage(text: str) -> None:
    assert split(document(Prose(text))) == []


def test_fingerprint_tells_limits_apart() -> None:
    assert len({fingerprint(), fingerprint(100, 500), fingerprint(200, 400)}) == 3


tokens = st.sampled_from(
    [
        "강은",
        "the",
        "서울에서",
        "흐른다.",
        "ends.",
        "\n",
        "\n\n",
        "Dr.",
        "e.g.",
        "3.14",
        "東京です。",
        "https://example.org/a/b/c/d",
        "(참고)",
        "가" * 90,
        "—",
        "\t",
    ]
)


@given(st.lists(tokens, max_size=250), st.integers(5, 40), st.integers(20, 120))
@settings(max_examples=150, deadline=None)
def test_passages_are_true_slices_that_cover_everything(parts: list[str], words: int, chars: int) -> None:
    text = " ".join(parts)
    passages = split(document(Prose(text, {"page": 1})), words=words, chars=chars)
    covered = bytearray(len(text))
    longest = [end for end in (weight(text[a:b], words, chars) for a, b in sentences(text)) if end > 1]
    last = -1
    for passage in passages:
        start, end = passage.locator["chars"]
        assert passage.text == text[start:end] == passage.content
        assert passage.text.strip() == passage.text != ""
        assert start > last
        last = start
        covered[start:end] = b"x" * (end - start)
        assert weight(passage.text, words, chars) <= 1.2501 or longest
    if any(map(str.isalnum, text)):
        assert not [char for char, done in zip(text, covered, strict=True) if not done and not char.isspace()]


def table(rows: int, columns: int = 4, name: str = "매출", dated: bool = False) -> Table:
    return Table(
        name,
        tuple(f"열{number}" for number in range(columns)),
        [
            Row(
                number,
                tuple(f"값 {number}-{place}" for place in range(columns)),
                f"2024-01-{number // 30 + 1:02}" if dated else None,
            )
            for number in range(3, rows + 3)
        ],
        "단위: 천원",
    )


def test_row_groups_carry_headers_and_real_row_numbers() -> None:
    passages = split(document(table(5), title="보고서"))
    assert len(passages) == 1
    assert passages[0].locator == {"sheet": "매출", "rows": [3, 7]}
    assert passages[0].context == "보고서 > 매출 > 단위: 천원"
    assert passages[0].content.split("\n")[:2] == [
        "매출: 단위: 천원",
        "열0: 값 3-0 | 열1: 값 3-1 | 열2: 값 3-2 | 열3: 값 3-3",
    ]
    assert passages[0].text == "\n".join(passages[0].content.split("\n")[1:])


def test_a_csv_has_no_sheet_and_empty_cells_are_left_out() -> None:
    rows = [Row(2, ("서울", "", "두\n줄")), Row(3, ("", "", ""))]
    passages = split(document(Table("", ("시", "구", "비고"), rows)))
    assert [(passage.content, passage.locator) for passage in passages] == [
        ("시: 서울 | 비고: 두 줄", {"rows": [2, 3]})
    ]


def test_a_passage_has_one_date() -> None:
    passages = split(document(table(90, dated=True)))
    assert {passage.date for passage in passages} == {"2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"}
    for passage in passages:
        low, high = passage.locator["rows"]
        assert low // 30 == high // 30


def test_long_cells_and_number_tails_are_short_in_the_searched_text_only() -> None:
    wide = Table(
        "", tuple(f"c{n}" for n in range(40)), [Row(2, ("Alabama", "긴 설명 " * 100, *[str(n) for n in range(38)]))]
    )
    passage = split(document(wide))[0]
    assert "c39: 37" in passage.content
    assert passage.content.count("긴 설명") == 100
    assert "c39" not in passage.text
    assert "c0: Alabama" in passage.text
    assert len(passage.text) < 400


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from([None, "2024-01-01", "2024-01-02"]), st.integers(0, 60)),
        max_size=60,
    )
)
@settings(max_examples=100, deadline=None)
def test_row_groups_cover_each_row_once(steps: list[tuple[int, str | None, int]]) -> None:
    rows, number = [], 1
    for step, date, length in steps:
        number += step
        rows.append(Row(number, ("가나 " * length + f"{number}", "x"), date))
    passages = split(document(Table("S", ("a", "b"), rows)), words=20, chars=60)
    groups = [passage.locator["rows"] for passage in passages]
    assert all(low <= high for low, high in groups)
    assert all(before[1] < after[0] for before, after in pairwise(groups))
    for row in rows:
        holding = [
            passage for passage in passages if passage.locator["rows"][0] <= row.number <= passage.locator["rows"][1]
        ]
        assert len(holding) == 1
        assert holding[0].date == row.date
        assert f"a: {row.cells[0]} | b: x" in holding[0].content


def test_fifty_thousand_rows_take_seconds() -> None:
    start = time.process_time()
    passages: list[Passage] = split(document(table(50_000, 10)))
    assert sum(passage.locator["rows"][1] - passage.locator["rows"][0] + 1 for passage in passages) == 50_000
    assert time.process_time() - start < 20


def test_a_remark_merged_over_a_row_is_said_once() -> None:
    rows = (Row(2, ("강릉지점", "150", "155")), Row(3, ("비고: 이전 준비금 포함",) * 3), Row(4, ("0", "0", "0")))
    table = Table("예산", ("지점", "1분기", "2분기"), rows)
    (passage,) = split(document(table))
    assert passage.content.splitlines()[-3:] == [
        "지점: 강릉지점 | 1분기: 150 | 2분기: 155",
        "비고: 이전 준비금 포함",
        "지점: 0 | 1분기: 0 | 2분기: 0",
    ]


@pytest.mark.parametrize("piece", ["가나다라 마바사 ", "word ", "가", "x", "연차, 휴가 "])
def test_a_sentence_without_end_is_cut_evenly_and_completely(piece: str) -> None:
    # As long as a text that a program wrote on one line; cutting must not take the square of its length.
    text = (piece * (300_000 // len(piece))).strip()
    passages = split(document(Prose(text)))
    spans = [passage.locator["chars"] for passage in passages]
    assert all(weight(passage.text, 200, 500) <= 1.3 for passage in passages)
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(not text[end:start].strip() for (_, end), (start, _) in pairwise(spans))
