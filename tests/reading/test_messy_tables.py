"""The table files of the shared set of troubled files, each with what is known about it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from silmari.errors import SkippedError, UnreadableError
from silmari.model import Document, Table
from silmari.reading import read

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2].parent / "shared"))
MESSY = SHARED / "data" / "messy"

pytestmark = pytest.mark.skipif(not MESSY.is_dir(), reason="the shared set of troubled files is not here")


def load(name: str) -> tuple[Document, list[Table]]:
    (document,) = read(MESSY / name)
    return document, [section for section in document.sections if isinstance(section, Table)]


def cell(table: Table, key: str, column: str) -> str:
    row = next(row for row in table.rows if key in row.cells)
    return row.cells[table.columns.index(column)]


def test_utf8_with_mark() -> None:
    _, (table,) = load("csv/ko-CCTV_in_Seoul.utf8.csv")
    assert table.columns[0] == "기관명"
    assert len(table.rows) == 25
    assert cell(table, "강남구", "소계") == "2780"


def test_cp949_with_a_nameless_column() -> None:
    _, (table,) = load("csv/ko-city-parks.cp949.head2000.csv")
    assert len(table.rows) == 2000
    assert len(table.columns) == 20
    assert table.columns[-1] == "column 20"
    assert cell(table, "26440-00001", "공원명") == "구랑공원"
    assert table.rows[0].date == "2019-05-02"


def test_euc_kr_with_thousands() -> None:
    _, (table,) = load("csv/ko-crime_in_Seoul.euckr.csv")
    assert (len(table.rows), len(table.columns)) == (31, 11)
    assert cell(table, "중부서", "절도 발생") == "1,395"


def test_sheets_of_every_kind() -> None:
    _, tables = load("xlsx/any_sheets.xlsx")
    assert [table.name for table in tables] == ["Visible"]


@pytest.mark.parametrize("name", ["date.xlsx", "date_1904.xlsx"])
def test_both_epochs(name: str) -> None:
    _, (table,) = load(f"xlsx/{name}")
    assert [row.cells for row in table.rows] == [("2021-01-01", "15"), ("2021-01-02", "16"), ("255:10:10", "17")]


def test_iso_dates() -> None:
    _, (table,) = load("xlsx/date_iso.xlsx")
    assert [row.cells[0] for row in table.rows[:3]] == ["2021-01-01", "2021-01-01 10:10:10", "10:10:10"]


def test_note_above_the_header() -> None:
    _, (table,) = load("xlsx/header-row.xlsx")
    assert (table.notes, table.columns[0], len(table.rows)) == ("Note 1", "Columns", 1)


def test_title_rows_of_the_old_format() -> None:
    document, (table,) = load("xlsx/ko-gas-stations.xls")
    assert table.columns[:5] == ("지역", "상호", "주소", "상표", "전화번호")
    assert len(table.rows) == 46
    assert table.rows[0].number == 4
    assert table.rows[0].cells[-1] == "-"
    assert document.category == "excel"


def test_three_header_rows() -> None:
    _, (table,) = load("xlsx/ko-population_in_Seoul.xls")
    assert "인구/한국인/남자" in table.columns
    # 30 rows in all: three of header, 26 of districts and their sum, one that is blank.
    assert [row.number for row in table.rows] == list(range(4, 4 + len(table.rows)))
    assert len(table.rows) in (26, 27)
    assert table.rows[0].date == "2017-01-01"


def test_merged_ranges_are_the_same_in_both_formats() -> None:
    _, old = load("xlsx/merged_range.xls")
    _, new = load("xlsx/merged_range.xlsx")
    assert [(table.columns, [row.cells for row in table.rows]) for table in old] == [
        (table.columns, [row.cells for row in table.rows]) for table in new
    ]
    assert new[1].rows[0].cells[:1] == ("A1",)


def test_repeated_rows() -> None:
    _, tables = load("xlsx/number_rows_repeated.ods")
    assert [[row.number for row in table.rows] for table in tables] == [[2, 3, 6, 8], [3, 4, 7, 9], [4, 5, 8, 10]]


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("empty_sheet.xlsx", lambda tables: tables == []),
        ("vba.xlsm", lambda tables: tables == []),
        ("inventory-table.xlsx", lambda tables: tables[0].columns == ("Item", "Type", "Quantity")),
        ("sales-funnel.xlsx", lambda tables: len(tables[0].rows) == 17),
        ("phonetic-runs.xlsx", lambda tables: tables[0].rows[0].cells == ("課きく\u3000毛こ",)),
    ],
)
def test_plain_ones(name: str, check: Callable[[list[Table]], bool]) -> None:
    _, tables = load(f"xlsx/{name}")
    assert check(tables)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("xlsx/dos_repeat.ods", "claims .* cells"),
        ("xlsx/oom_alloc3.xls", "damaged"),
        ("xlsx/pass_protected.xlsb", "password"),
        ("xlsx/pass_protected.xlsx", "password"),
    ],
)
def test_refused_ones(name: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read(MESSY / name)


def test_an_image() -> None:
    with pytest.raises(SkippedError, match="OCR"):
        read(MESSY / "img/english_and_korean.png")
