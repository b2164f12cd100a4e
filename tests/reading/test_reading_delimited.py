import csv
import io
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.model import Table
from silmari.reading.cells import Budget
from silmari.reading.delimited import find_delimiter, looks_delimited, read
from silmari.reading.limits import Limits

LIMITS = Limits()


def table(text: str | bytes, name: str = "a.csv", limits: Limits = LIMITS) -> Table:
    content = read(text.encode() if isinstance(text, str) else text, name, limits)
    assert content.category == "csv"
    (section,) = content.sections
    assert isinstance(section, Table)
    return section


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = "이름;나이;키\n김철수;20;1,5\n이영희;31;2,5\n".replace(";", delimiter)
    if delimiter == ",":
        text = text.replace("1,5", '"1,5"').replace("2,5", '"2,5"')
    found = table(text)
    assert found.columns == ("이름", "나이", "키")
    assert found.rows[0].cells == ("김철수", "20", "1,5")


def test_quoted_newlines_commas_and_quotes() -> None:
    found = table('a,b\r\n"x\r\ny","say ""hi"", ok"\r\n1,2\r\n')
    assert found.rows[0].cells == ("x\ny", 'say "hi", ok')
    assert [row.number for row in found.rows] == [2, 3]


def test_thousands_stay_as_written() -> None:
    assert table('관서명,절도\n중부서,"1,395"\n').rows[0].cells == ("중부서", "1,395")


def test_ragged_rows_and_nameless_columns() -> None:
    found = table("a,b,\n1,2,3\n4\n5,6,7,8\n")
    assert found.columns == ("a", "b", "column 3", "column 4")
    assert [row.cells for row in found.rows] == [("1", "2", "3", ""), ("4", "", "", ""), ("5", "6", "7", "8")]


def test_a_trailing_delimiter_is_a_nameless_column() -> None:
    assert table("a,b,\n1,2,\n3,4,\n").columns == ("a", "b", "column 3")


def test_repeated_names() -> None:
    assert table("금액,금액,금액\n1,2,3\n").columns == ("금액", "금액 (2)", "금액 (3)")


def test_title_lines_above_the_header() -> None:
    found = table("2024년 매출 현황\n단위: 천원\n\n지점,1월,2월,3월\n서울,10,20,30\n부산,1,2,3\n")
    assert found.columns == ("지점", "1월", "2월", "3월")
    assert found.notes == "2024년 매출 현황\n단위: 천원"
    assert found.rows[0].number == 5


def test_without_a_header() -> None:
    found = table("1,2,3\n4,5,6\n")
    assert found.columns == ("column 1", "column 2", "column 3")
    assert len(found.rows) == 2


def test_rows_are_dated() -> None:
    found = table("거래일,금액\n2024-01-31,10\n24.2.1,20\n미정,30\n2024-03-01,5\n")
    assert [row.date for row in found.rows] == ["2024-01-31", "2024-02-01", None, "2024-03-01"]


def test_korean_encodings_and_decomposed_hangul() -> None:
    text = "이름,도시\n김철수,서울특별시\n"
    for encoding in ("utf-8", "utf-8-sig", "cp949", "utf-16", "utf-16-le"):
        assert table(text.encode(encoding)).columns == ("이름", "도시")
    assert table(unicodedata.normalize("NFD", text)).rows[0].cells == ("김철수", "서울특별시")


def test_nul_bytes_are_dropped() -> None:
    assert table(b"a,b\n1\0,2\0\0\n").rows[0].cells == ("1", "2")


def test_a_long_line_is_cut_and_said() -> None:
    content = read(b"id,text\n1," + b"x" * 10_000_000 + b"\n2,y\n", "a.csv", LIMITS)
    (section,) = content.sections
    assert isinstance(section, Table)
    assert [len(cell) for cell in section.rows[0].cells] == [1, LIMITS.max_cell_chars]
    assert section.rows[1].cells == ("2", "y")
    assert any("32,767" in note for note in content.notes)


def test_a_line_of_millions_of_fields_is_bounded() -> None:
    found = table(b"1," * 3_000_000)
    assert len(found.columns) <= 16_384


def test_too_many_cells_are_cut_and_said() -> None:
    content = read(b"a,b\n" + b"1,2\n" * 100, "a.csv", Limits(max_cells=50))
    (section,) = content.sections
    assert isinstance(section, Table)
    assert len(section.rows) == 24
    assert any("max_cells" in note for note in content.notes)


def test_a_quote_that_never_closes_costs_one_line() -> None:
    content = read(b'a,b\n1,"open\n2,x\n3,"y, z"\n4,w\n', "a.csv", LIMITS)
    (section,) = content.sections
    assert isinstance(section, Table)
    assert section.rows[-1].cells[:2] == ("4", "w")
    content = read(b'a,b\n1,"open\n2,x\n3,y\n', "a.csv", LIMITS)
    (section,) = content.sections
    assert isinstance(section, Table)
    assert [row.cells[0] for row in section.rows] == ["1", "2", "3"]
    assert any("never closed" in note for note in content.notes)


def test_text_that_looks_like_a_table() -> None:
    assert looks_delimited("a|b|c\n1|2|3\n4|5|6\n")
    assert not looks_delimited("Dear all, this is\na letter, with commas, and more.\nBye\nKim\n")
    assert not looks_delimited("한 줄\n두 줄\n세 줄\n")
    assert find_delimiter("no delimiter here") is None


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cc", "Cs"]), max_size=8)


@settings(max_examples=60)
@given(st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=8)))
def test_what_the_csv_module_writes_is_read(rows: list[list[str]]) -> None:
    width = len(rows[0]) if rows else 2
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL)
    writer.writerow([f"name {index}" for index in range(width)])
    writer.writerow(["1"] * width)  # so that the header is told from the data
    writer.writerows(rows)
    found = table(buffer.getvalue())
    assert found.columns == tuple(f"name {index}" for index in range(width))
    budget = Budget(LIMITS)
    clean = [tuple(map(budget.clean, row)) for row in rows]
    assert [row.cells for row in found.rows[1:]] == [row for row in clean if any(row)]
