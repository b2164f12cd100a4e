import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.model import Row
from silmari.reading.dates import date_column, date_in_name, parse_date


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("20240131", "2024-01-31"),
        ("2024-01-31", "2024-01-31"),
        ("2024.1.31", "2024-01-31"),
        ("2024. 1. 31.", "2024-01-31"),
        ("2024/1/31", "2024-01-31"),
        ("2024년 1월 31일", "2024-01-31"),
        ("2024년1월31일(수)", "2024-01-31"),
        ("'24.1.31", "2024-01-31"),
        ("24년 1월 31일", "2024-01-31"),
        ("'98.12.3", "1998-12-03"),
        ("31 Jan 2024", "2024-01-31"),
        ("31-Jan-2024", "2024-01-31"),
        ("January 31, 2024", "2024-01-31"),
        ("Jan. 31st, 2024", "2024-01-31"),
        ("2024년 1월", "2024-01-01"),
        ("2024-03", "2024-03-01"),
        ("May 2024", "2024-05-01"),
        ("2017.1/4", "2017-01-01"),
        ("2017.3/4", "2017-07-01"),
        ("2017년 1분기", "2017-01-01"),
        ("2024 Q3", "2024-07-01"),
        ("2024-01-31 10:11:12", "2024-01-31"),
        ("2024-01-31T10:11:12.123Z", "2024-01-31"),
        ("2024-01-31 오후 3:04", "2024-01-31"),
        ("２０２４년 １월 ３１일", "2024-01-31"),
        ("2024년 1월 31일", "2024-01-31"),
        ("2024-02-30", None),
        ("2023-13-01", None),
        ("20241301", None),
        ("0999-01-01", None),
        ("3000-01-01", None),
        ("2024", None),
        ("2024년", None),
        ("24.1.31", None),
        ("202401", None),
        ("1,395", None),
        ("02-445-6870", None),
        ("1-2-3", None),
        ("2024.5", None),
        ("report 2024-01-31", None),
        ("", None),
    ],
)
def test_cells(text: str, day: str | None) -> None:
    assert parse_date(text) == day


def test_a_date_column_allows_more() -> None:
    assert parse_date("24.1.31", in_date_column=True) == "2024-01-31"
    assert parse_date("202401", in_date_column=True) == "2024-01-01"
    assert parse_date("2024", in_date_column=True) == "2024-01-01"
    assert parse_date("2024년", in_date_column=True) == "2024-01-01"
    assert parse_date("2024-02-30", in_date_column=True) is None


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("보고서_20240131.pdf", "2024-01-31"),
        ("2024-01-31 회의.txt", "2024-01-31"),
        ("2024년 1월 31일 회의록.md", "2024-01-31"),
        ("회의록(2024년 3월).hwp", "2024-03-01"),
        ("매출 2017년 1분기.xls", "2017-01-01"),
        ("IMG_20240131_101112.jpg", "2024-01-31"),
        ("20240101-20241231.csv", "2024-12-31"),
        ("report-31Jan2024.pdf", "2024-01-31"),
        ("Minutes January 31, 2024.docx", "2024-01-31"),
        ("2024-01.csv", "2024-01-01"),
        ("2024년 1월 31일.txt", "2024-01-31"),
        ("매출_2023.xlsx", None),
        ("120240131.pdf", None),
        ("20231301.pdf", None),
        ("account 10240612.csv", None),
        ("v1.2.3.txt", None),
        ("readme.txt", None),
    ],
)
def test_names(name: str, day: str | None) -> None:
    assert date_in_name(name) == day


def rows(*cells: tuple[str, ...]) -> list[Row]:
    return [Row(number, row) for number, row in enumerate(cells, start=2)]


def test_the_column_that_says_date_is_taken() -> None:
    data = rows(("a", "2011-09-02", "2019-05-02", "2020-01-01"), ("b", "2008-02-28", "2019-05-02", "2020-01-01"))
    assert date_column(("name", "지정고시일", "데이터기준일자", "만료일"), data) == 2
    assert date_column(("name", "End date", "Created", "x"), data) == 2
    assert date_column(("name", "x", "y", "시행일"), data) == 3


def test_a_column_of_dates_without_a_telling_header_is_taken() -> None:
    data = rows(*[("a", f"2024-01-{day:02}") for day in range(1, 11)])
    assert date_column(("x", "y"), data) == 1
    assert date_column(("x", "y"), rows(*[("a", f"1024{month:02}11") for month in range(1, 11)])) is None


def test_a_header_alone_makes_no_date_column() -> None:
    assert date_column(("date", "n"), rows(("soon", "1"), ("later", "2"))) is None
    assert date_column(("candidate", "n"), rows(("Kim", "1"), ("Lee", "2"))) is None
    assert date_column(("date",), []) is None


def test_years_count_only_below_a_header_that_says_so() -> None:
    data = rows(("2019", "1"), ("2020", "2"), ("2021", "3"))
    assert date_column(("연도", "값"), data) == 0
    assert date_column(("수", "값"), data) is None


@given(st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)))
def test_every_day_is_read_in_every_full_form(day: dt.date) -> None:
    iso = day.isoformat()
    for text in (
        iso,
        day.strftime("%Y%m%d").zfill(8),
        f"{day.year}.{day.month}.{day.day}",
        f"{day.year}년 {day.month}월 {day.day}일",
        f"{day.year}/{day.month:02}/{day.day:02}",
    ):
        assert parse_date(text) == iso


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_none(text: str) -> None:
    day = parse_date(text, in_date_column=True)
    assert day is None or dt.date.fromisoformat(day)
    date_in_name(text)
