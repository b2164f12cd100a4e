import datetime as dt
import io
import os
import struct
import unicodedata
import zipfile
from typing import Any

import openpyxl
import pytest
import xlwt
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.errors import UnreadableError
from silmari.model import Table
from silmari.reading import ole
from silmari.reading.cells import Budget
from silmari.reading.content import Content
from silmari.reading.excel import read, shown, shown_number
from silmari.reading.limits import Limits

LIMITS = Limits()


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xlsx(*rows: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    return saved(book)


def changed(data: bytes, **parts: str) -> bytes:
    """The same workbook with other bytes in some parts (``sheet1`` and so on)."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            key = info.filename.rpartition("/")[2].partition(".")[0]
            text = parts.get(key, source.read(info).decode("latin-1"))
            target.writestr(info.filename, text.encode("latin-1"))
        if "sharedStrings" in parts:  # openpyxl may write texts into their cells
            target.writestr("xl/sharedStrings.xml", parts["sharedStrings"])
    return result.getvalue()


def table(content: Content, index: int = 0) -> Table:
    section = content.sections[index]
    assert isinstance(section, Table)
    return section


def test_values_are_shown_as_a_person_sees_them() -> None:
    found = table(
        read(
            xlsx(
                ["지점", "날짜", "시각", "시간", "수", "비율", "참"],
                ["서울", dt.date(2024, 1, 31), dt.time(9, 5), dt.timedelta(hours=30), 1395, 0.1, True],
                ["부산", dt.datetime(2024, 1, 31, 23, 59, 59), dt.time(0), dt.timedelta(minutes=1), 1e15, 1 / 3, False],
            ),
            "a.xlsx",
            LIMITS,
        )
    )
    assert found.columns == ("지점", "날짜", "시각", "시간", "수", "비율", "참")
    assert found.rows[0].cells == ("서울", "2024-01-31", "09:05:00", "30:00:00", "1395", "0.1", "TRUE")
    assert found.rows[1].cells[1] == "2024-01-31 23:59:59"
    assert found.rows[1].cells[3:] == ("0:01:00", "1000000000000000", "0.333333333333333", "FALSE")
    assert [row.date for row in found.rows] == ["2024-01-31", "2024-01-31"]
    assert [row.number for row in found.rows] == [2, 3]


def test_the_epoch_of_1904_gives_the_same_days() -> None:
    from openpyxl.utils.datetime import CALENDAR_MAC_1904

    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    assert book.active is not None
    for row in (["날짜", "수"], [dt.date(2024, 1, 31), 1]):
        book.active.append(row)
    assert table(read(saved(book), "a.xlsx", LIMITS)).rows[0].cells[0] == "2024-01-31"


def test_every_sheet_is_read_and_hidden_ones_are_named() -> None:
    book = openpyxl.Workbook()
    for title, state in (("보임", "visible"), ("숨김", "hidden"), ("깊이 숨김", "veryHidden"), ("빈 시트", "visible")):
        sheet = book.create_sheet(title)
        sheet.sheet_state = state
        if title != "빈 시트":
            sheet.append(["이름", "수"])
            sheet.append([title, 1])
    chart = book.create_chartsheet("차트")
    chart.title = "차트"
    content = read(saved(book), "a.xlsx", LIMITS)
    assert [table(content, index).name for index in range(3)] == ["보임", "숨김", "깊이 숨김"]
    assert len(content.sections) == 3
    assert len(content.notes) == 2
    assert all("hidden" in note for note in content.notes)


def test_merged_cells_belong_to_their_whole_range() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["2024년 인구", None, None, None],
        ["구분", "인구", None, "세대"],
        [None, "남", "여", None],
        ["서울", 10, 20, 5],
        [None, 11, 21, 6],
        ["부산", "없음", None, 1],
    ):
        sheet.append(row)
    for area in ("A1:D1", "A2:A3", "B2:C2", "D2:D3", "A4:A5", "B6:C6"):
        sheet.merge_cells(area)
    found = table(read(saved(book), "a.xlsx", LIMITS))
    assert found.notes == "2024년 인구"
    assert found.columns == ("구분", "인구/남", "인구/여", "세대")
    assert [row.cells for row in found.rows] == [
        ("서울", "10", "20", "5"),
        ("서울", "11", "21", "6"),
        ("부산", "없음", "없음", "1"),
    ]


def test_a_huge_merged_range_costs_nothing() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["a", "b"])
    sheet.append([1, 2])
    raw = saved(book)
    text = zipfile.ZipFile(io.BytesIO(raw)).read("xl/worksheets/sheet1.xml").decode()
    merged = '<mergeCells count="2"><mergeCell ref="A3:XFD1048576"/><mergeCell ref="B2:XFD1048576"/></mergeCells>'
    raw = changed(raw, sheet1=text.replace("</sheetData>", f"</sheetData>{merged}"))
    assert table(read(raw, "a.xlsx", LIMITS)).rows[0].cells == ("1", "2")


def test_error_cells_stay_visible() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["이름", "값", "몫"])
    sheet.append(["a", "#N/A", "#DIV/0!"])
    sheet.append(["b", 1, 2])
    for place in ("B2", "C2"):
        sheet[place].data_type = "e"
    assert table(read(saved(book), "a.xlsx", LIMITS)).rows[0].cells == ("a", "#N/A", "#DIV/0!")


def test_notes_above_and_two_tables_on_a_sheet() -> None:
    content = read(
        xlsx(
            ["매출 현황"],
            [],
            ["지점", "금액"],
            ["서울", 10],
            ["부산", 20],
            [],
            ["직원", "급여", "입사일"],
            ["김", 100, dt.date(2020, 3, 1)],
        ),
        "a.xlsx",
        LIMITS,
    )
    assert table(content, 0).columns == ("지점", "금액")
    assert table(content, 0).notes == "매출 현황"
    assert table(content, 1).columns == ("직원", "급여", "입사일")
    assert table(content, 1).rows[0].number == 8


def test_empty_columns_beside_the_table_are_left_out() -> None:
    found = table(read(xlsx([None, "a", None, "b"], [None, 1, None, 2]), "a.xlsx", LIMITS))
    assert found.columns == ("a", "b")
    assert found.rows[0].cells == ("1", "2")


def test_title_and_date_come_from_the_properties() -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["a"])
    book.properties.title = "연간 보고서"
    content = read(saved(book), "a.xlsx", LIMITS)
    assert content.title == "연간 보고서"
    assert content.date_source == "metadata"
    assert content.date is not None


def test_an_empty_workbook_is_no_error() -> None:
    content = read(xlsx(), "a.xlsx", LIMITS)
    assert content.sections == ()
    assert content.notes


def test_decomposed_hangul_is_composed() -> None:
    found = table(read(xlsx([unicodedata.normalize("NFD", "이름"), "나이"], ["김", 1]), "a.xlsx", LIMITS))
    assert found.columns[0] == "이름"


def old(*rows: list[Any], far: bool = False) -> bytes:
    book = xlwt.Workbook()
    for name in ("첫째", "둘째"):
        sheet = book.add_sheet(name)
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                day = isinstance(value, dt.date)
                style = xlwt.easyxf(num_format_str="yyyy-mm-dd") if day else xlwt.Style.default_style
                sheet.write(number, column, value, style)
        if far:
            sheet.write(65535, 255, "x")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_the_old_format() -> None:
    content = read(old(["이름", "날짜", "수"], ["김", dt.date(2024, 1, 31), 1.5]), "a.xls", LIMITS)
    assert [table(content, index).name for index in (0, 1)] == ["첫째", "둘째"]
    assert table(content).rows[0].cells == ("김", "2024-01-31", "1.5")
    assert table(content).rows[0].date == "2024-01-31"


def test_error_cells_of_the_old_format() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("s")
    for column, value in enumerate(("이름", "값")):
        sheet.write(0, column, value)
    sheet.write(1, 0, "a")
    sheet.row(1).set_cell_error(1, 0x2A)
    sheet.write(2, 0, "b")
    sheet.write(2, 1, 3)
    buffer = io.BytesIO()
    book.save(buffer)
    assert table(read(buffer.getvalue(), "a.xls", LIMITS)).rows[0].cells == ("a", "#N/A")


# --- hostile and broken files


def test_cells_in_far_corners_are_refused() -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active["A1"] = "a"
    book.active["XFD1048576"] = "b"
    with pytest.raises(UnreadableError, match=r"17,179,869,184.*max_cells"):
        read(saved(book), "a.xlsx", LIMITS)
    with pytest.raises(UnreadableError, match="max_cells"):
        read(old(["a"], far=True), "a.xls", LIMITS)


def test_a_far_cell_leaves_out_only_its_sheet() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["XFD1048576"] = sheet["A1"] = 1
    other = book.create_sheet("정상")
    for row in (["이름", "수"], ["a", 1]):
        other.append(row)
    content = read(saved(book), "a.xlsx", LIMITS)
    assert [table(content).name] == ["정상"]
    assert any("left out" in note for note in content.notes)


@pytest.mark.parametrize("quote", ["'", '"'])
def test_far_cells_are_seen_however_they_are_written(quote: str) -> None:
    raw = xlsx(["a", "b"], [1, 2])
    for body in (
        "<row><c><v>1</v></c></row><row><c r='XFD1048576'><v>1</v></c></row>",
        "<row r='1'><c r='A1'><v>1</v></c></row><row r='1048570'>"
        "<c r='A1048570'/><c r='ZZZ1048570' t='s'><v>0</v></c></row>",
        "<x:row r='1'><x:c r='A1'><x:v>1</x:v></x:c></x:row><x:row r='9'>"
        "<x:c r='XFD1000000'><x:v>1</x:v></x:c></x:row>",
    ):
        sheet = (
            "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main' "
            "xmlns:x='http://schemas.openxmlformats.org/spreadsheetml/2006/main'>"
            f"<sheetData>{body}</sheetData></worksheet>"
        ).replace("'", quote)
        with pytest.raises(UnreadableError, match="max_cells"):
            read(changed(raw, sheet1=sheet), "a.xlsx", LIMITS)


def test_wide_and_long_sheets_are_read() -> None:
    wide = read(xlsx([f"c{index}" for index in range(900)], list(range(900))), "a.xlsx", LIMITS)
    assert len(table(wide).columns) == 900


def test_cells_without_references_are_read() -> None:
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>'
        "<row><c><v>1</v></c><c><v>2</v></c></row></sheetData></worksheet>"
    )
    assert table(read(changed(xlsx(["x"]), sheet1=sheet), "a.xlsx", LIMITS)).rows[0].cells == ("1", "2")


def bomb(megabytes: int, *, claim: int | None = None) -> bytes:
    """A workbook whose shared strings inflate to that size, perhaps claiming another."""
    raw = xlsx(["a", "b"], [1, 2])
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            if "sharedStrings" not in info.filename:
                target.writestr(info, source.read(info))
        with target.open("xl/sharedStrings.xml", "w") as part:
            for _ in range(megabytes):
                part.write(b" " * (1 << 20))
    data = bytearray(result.getvalue())
    if claim is not None:
        at = data.rfind(b"PK\1\2")  # the last entry of the directory is the bomb
        struct.pack_into("<I", data, at + 24, claim)
    return bytes(data)


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(UnreadableError, match="unpacks to far more"):
        read(bomb(100), "a.xlsx", LIMITS)


def test_a_zip_bomb_that_lies_about_its_size_is_refused_too() -> None:
    with pytest.raises(UnreadableError, match="unpacks to far more"):
        read(bomb(100, claim=1000), "a.xlsx", LIMITS)
    with pytest.raises(UnreadableError, match="unpacks to more than"):
        read(bomb(20, claim=1000), "a.xlsx", Limits(max_inflated_bytes=8 << 20))


def test_a_long_text_that_every_cell_of_a_row_names_is_refused() -> None:
    start = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>'
    text = f"{start}{'x' * 500_000}</t></si></sst>"
    cells = "".join(f'<c r="{letter}{other}1" t="s"><v>0</v></c>' for letter in ABC for other in ABC)
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        f'<row r="1">{cells}</row></sheetData></worksheet>'
    )
    raw = changed(xlsx(["a", "b"]), sheet1=sheet, sharedStrings=text)
    with pytest.raises(UnreadableError, match="repeats a text"):
        read(raw, "a.xlsx", Limits(max_inflated_bytes=100 << 20))
    assert len(table(read(raw, "a.xlsx", LIMITS)).rows[0].cells) == 676


ABC = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_too_many_cells_are_cut_and_said() -> None:
    content = read(xlsx(["a", "b"], *[[1, 2]] * 100), "a.xlsx", Limits(max_cells=100))
    assert len(table(content).rows) == 49
    assert any("max_cells" in note for note in content.notes)


def test_long_cells_are_cut_and_said() -> None:
    content = read(xlsx(["a", "b"], ["가" * 500, 1]), "a.xlsx", Limits(max_cell_chars=100))
    assert table(content).rows[0].cells[0] == "가" * 100
    assert any("max_cell_chars" in note for note in content.notes)


def test_an_encrypted_old_workbook_is_named() -> None:
    raw = bytearray(old(["a", 1]))
    # The first record after BOF becomes FILEPASS.
    at = raw.find(b"\x09\x08\x10\x00\x00\x06\x05\x00") + 20
    raw[at : at + 2] = b"\x2f\x00"
    with pytest.raises(UnreadableError, match="password"):
        read(bytes(raw), "a.xls", LIMITS)


def test_claimed_dimensions_are_not_believed() -> None:
    for bottom in (0xFFFFFFF0, 1):  # the second ends before it starts
        raw = bytearray(old(["이름", "수"], ["a", 1]))
        at = raw.find(b"\x00\x02\x0e\x00") + 4
        struct.pack_into("<IIHH", raw, at, 9, bottom, 0, 250)
        with pytest.raises(UnreadableError, match="damaged"):
            read(bytes(raw), "a.xls", LIMITS)


def test_an_unknown_encoding_of_a_part_is_damage() -> None:
    book = '<?xml version="1.0" encoding="no-such"?><workbook/>'
    with pytest.raises(UnreadableError, match="damaged"):
        read(changed(xlsx(["a", "b"]), workbook=book), "a.xlsx", LIMITS)


def properties(title: bytes, ticks: int) -> bytes:
    """A property stream with a code page, a title and the time of the last change."""
    text = struct.pack("<II", 30, len(title) + 1) + title + b"\0"
    values = (struct.pack("<IHH", 2, 949, 0), text, struct.pack("<IQ", 64, ticks))
    at, places = 8 + 8 * len(values), b""
    for key, value in zip((1, 2, 13), values, strict=True):
        places += struct.pack("<II", key, at)
        at += len(value)
    section = struct.pack("<II", at, len(values)) + places + b"".join(values)
    return b"\xfe\xff\0\0" + bytes(20) + struct.pack("<I", 1) + bytes(16) + struct.pack("<I", 48) + section


def test_the_old_format_has_properties_too() -> None:
    class Container:
        def stream(self, *_: str) -> bytes:
            return properties("주유소 가격".encode("cp949"), 131_000_000_000_000_000)

    assert ole.summary(Container()) == ole.Summary("주유소 가격", "2016-02-15")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda: xlsx(["이름", "수"], ["a", 1]), lambda: old(["이름", "수"], ["a", 1])])
def test_damage_anywhere_gives_content_or_one_error(make: Any) -> None:
    good = make()
    for cut in (8, 100, 600, len(good) // 2, len(good) - 30):
        with pytest.raises(UnreadableError):
            read(good[:cut], "a.xlsx", LIMITS)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_flipped_bytes_never_break_the_reader(data: st.DataObject) -> None:
    good = FLIPPED[data.draw(st.integers(0, 1))]
    raw = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=6)):
        raw[place] = data.draw(st.integers(0, 255))
    try:
        read(bytes(raw), "a.xlsx", Limits(max_cells=100_000))
    except UnreadableError as error:
        assert str(error)


FLIPPED = (xlsx(["이름", "수"], ["가", 1], ["나", 2.5]), old(["이름", "수"], ["가", 1], ["나", 2.5]))


@given(st.floats(-1e300, 1e300))
def test_numbers_keep_their_fifteen_digits(value: float) -> None:
    text = shown_number(value)
    assert float(text) == pytest.approx(value, rel=1e-14)
    assert not text.endswith(".0")


def test_times_that_miss_the_second_are_rounded() -> None:
    budget = Budget(LIMITS)
    assert shown(dt.datetime(2024, 1, 31, 23, 59, 59, 999_999), budget) == "2024-02-01"
    assert shown(dt.timedelta(seconds=-90), budget) == "-0:01:30"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs resource limits")
def test_memory_stays_bounded() -> None:
    import subprocess
    import sys

    book = openpyxl.Workbook()
    for _ in range(5):
        sheet = book.create_sheet()
        sheet["A1"] = sheet["ZZ99000"] = 1
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from silmari.reading.excel import read; from silmari.reading.limits import Limits\n"
        "from silmari.errors import UnreadableError\n"
        "try: read(sys.stdin.buffer.read(), 'a.xlsx', Limits())\n"
        "except UnreadableError as error: sys.stdout.write(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=saved(book), capture_output=True, check=True)
    assert b"max_cells" in done.stdout
