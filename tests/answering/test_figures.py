from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from silmari.answering.figures import figures, known_in, strange
from silmari.answering.numerals import spelled

SAME = [
    ("1,000", "1000", "천 원", "1천", "일천 원", "1.0 thousand"),
    ("3억 원", "300,000,000원", "삼억 원", "3억", "₩300,000,000", "300 million won", "30000만 원"),
    ("3억 5천만 원", "350,000,000", "3억5천만원", "3.5억 원", "삼억 오천만 원", "350백만원"),
    ("12 %", "12%", "12퍼센트", "12 퍼센트", "12 percent", "12 per cent", "１２％", "12%p", "12.0%"),
    ("1.2 million", "1,200,000", "120만", "1.2백만", "백이십만 명", "1,200 thousand"),
    ("2023년", "2023", "year 2023", "FY2023"),
    ("2024년 3월 5일", "2024-03-05", "2024.3.5.", "2024. 3. 5.", "2024/03/05", "March 5, 2024", "5 March 2024",
     "20240305", "Mar 5th, 2024", "'24년 3월 5일"),
    ("2024년 3월", "2024-03", "March 2024", "2024.03"),
    ("오후 2시 30분", "14:30", "2:30 pm", "2:30 p.m."),
    ("1.5 km", "1,500 m", "1.5킬로미터", "1500미터"),
    ("90분", "1.5시간", "90 minutes", "1.5 hours"),
    ("2주", "14일", "2 weeks", "14 days"),
    ("$5 million", "500만 달러", "US$5,000,000", "$5m"),
    ("12만 3,456명", "123,456명", "십이만삼천사백오십육 명"),
    ("MX-300", "mx300", "MX 300"),
]  # fmt: skip
OTHER = [
    ("12 %", "12명"), ("12 %", "1.2 %"), ("3억 원", "3억 달러"), ("5 km", "5 kg"), ("2024년 3월 5일", "2024년 3월 6일"),
    ("2023년", "2024년"), ("MX-300", "MX-500"), ("1,200", "1,300"), ("10시 30분", "10시 20분"),
    ("051-123-4567", "051-123-4568"), ("March 5, 2024", "April 5, 2024"), ("제3조", "3조 원"),
]  # fmt: skip


@pytest.mark.parametrize("forms", SAME, ids=lambda forms: str(forms[0]))
def test_forms_of_one_figure_are_the_same(forms: tuple[str, ...]) -> None:
    for one in forms:
        assert figures(one), one
        for other in forms:
            assert not strange(one, known_in([other])), (one, other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_figures_are_told(one: str, other: str) -> None:
    assert strange(f"{one}이다", known_in([f"{other}이다"])) or strange(f"{other}이다", known_in([f"{one}이다"]))


def test_what_is_told_is_what_was_written() -> None:
    assert strange("2023년 매출은 3억 6천만 원, 12 % 늘었다 [1].", known_in(["2023: 350,000,000, 12퍼센트"])) == [
        "3억 6천만 원"
    ]


def test_a_percentage_may_be_a_share_in_a_table() -> None:
    assert not strange("비율은 12 %이다.", known_in(["비율: 0.12 | 건수: 3"]))
    assert not strange("비율은 12 %이다.", known_in(["비율(%): 12 | 건수: 3"]))
    assert strange("비율은 12 %이다.", known_in(["인원: 12명"])) == ["12 %"]


def test_a_table_may_say_in_its_head_what_it_counts_in() -> None:
    assert not strange("매출은 486억 원이다.", known_in(["(단위: 백만원)\n연도: 2025 | 매출: 48,600"]))
    assert not strange("Revenue was $48.6 million.", known_in(["(in thousands)\nRevenue 48,600"]))
    assert strange("매출은 486억 원이다.", known_in(["연도: 2025 | 매출: 48,600"]))


def test_a_date_may_stand_in_columns_or_under_a_year() -> None:
    assert not strange("2024년 3월 5일에 열렸다.", known_in(["연도: 2024 | 월: 3 | 일: 5"]))
    assert not strange("2024년 3월 5일에 열렸다.", known_in(["2024년 행사", "3월 5일 개막"]))
    assert strange("2024년 3월 5일에 열렸다.", known_in(["2023년 3월 5일 개막"])) == ["2024년 3월 5일"]


def test_a_rounded_figure_is_near_enough_only_if_it_says_so() -> None:
    known = known_in(["인구는 1,234,567명이다."])
    assert not strange("인구는 약 123만 명이다.", known)
    assert not strange("About 1.23 million people live there.", known)
    assert not strange("120만여 명이 산다.", known)
    assert strange("인구는 123만 명이다.", known)
    assert strange("인구는 약 140만 명이다.", known)


def test_what_counts_steps_and_words_is_no_claim() -> None:
    known = known_in(["세 명이 forty-two 개를 옮겼다."])
    assert not strange("1. 먼저 3명이 42개를 옮겼다 [2].", known)
    assert not strange("2가지 까닭이 있다.", known)
    assert strange("5명이 옮겼다.", known) == ["5명"]


def test_words_of_numbers() -> None:
    assert set(spelled("two hundred and forty-two, three million, a dozen; the third")) == {242, 3_000_000, 12, 3}
    assert set(spelled("스물다섯 명과 세 마리, 열두 달")) == {25, 3, 12}


DIGITS = "영일이삼사오육칠팔구"


def korean(number: int, digits: bool) -> str:
    """``3억 5,000만 12`` or ``삼억오천만십이``."""
    parts = []
    for place, scale in ((12, "조"), (8, "억"), (4, "만"), (0, "")):
        group = number // 10**place % 10_000
        if group and digits:
            parts.append(f"{group:,}{scale}")
        elif group:
            said = ""
            for power, small in ((3, "천"), (2, "백"), (1, "십"), (0, "")):
                if digit := group // 10**power % 10:
                    said += ("" if digit == 1 and small else DIGITS[digit]) + small
            parts.append(said + scale)
    return (" " if digits else "").join(parts)


@given(st.integers(10, 10**16 - 1))
@example(10_080_401)
@example(20_240_305)
def test_any_integer_is_itself_in_all_its_forms(number: int) -> None:
    forms = [f"{number}개", f"{number:,}개", f"{korean(number, True)}원", f"{korean(number, False)}원", f"${number:,}"]
    if number % 10_000 == 0 and number % 10**8:
        forms.append(f"{number // 10_000:,}만 명")
    if number % 1000 == 0:
        forms.append(f"{number // 1000:,} thousand")
    if number % 10**5 == 0:
        forms.append(f"{number / 10**6:,.1f} million" if number < 10**12 else f"{number // 10**5}00 thousand")
    for form in forms:
        found = figures(f"값은 {form}.")
        assert [figure.value for figure in found if figure.kind == "number"] == [number], form
    assert not strange(f"값은 {number:,}이다.", known_in([f"모두 {korean(number, False)}원"]))


@given(st.dates(dt.date(1600, 1, 1), dt.date(2099, 12, 31)))
def test_any_day_is_itself_in_all_its_forms(day: dt.date) -> None:
    forms = [
        f"{day:%Y-%m-%d}", f"{day.year}년 {day.month}월 {day.day}일", f"{day.year}. {day.month}. {day.day}.",
        f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b} {day.year}", f"{day.month}월 {day.day}일",
    ]  # fmt: skip
    for form in forms:
        assert not strange(f"{form}에 열렸다.", known_in([f"개최: {day:%Y-%m-%d}"])), form
    other = day + dt.timedelta(days=1)
    assert strange(f"{day:%Y-%m-%d}에 열렸다.", known_in([f"개최: {other:%Y-%m-%d}"]))


@given(st.text(alphabet="0123456789,.만억조천백십 년월일원%-:약a$~", max_size=40))
def test_any_text_has_figures_and_knows_its_own(text: str) -> None:
    assert not strange(text, known_in([text]))
