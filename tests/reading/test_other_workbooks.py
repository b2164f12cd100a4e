"""Binary workbooks and OpenDocument, built by hand here since no writer of them is at hand."""

import io
import struct
import zipfile

import pytest

from silmari.errors import UnreadableError
from silmari.model import Table
from silmari.reading.detect import detect
from silmari.reading.excel import read
from silmari.reading.limits import Limits

LIMITS = Limits()
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def record(kind: int, body: bytes = b"") -> bytes:
    head = bytes((kind,)) if kind < 0x80 else bytes((kind & 0x7F | 0x80, kind >> 7))
    size = len(body)
    return head + (bytes((size,)) if size < 0x80 else bytes((size & 0x7F | 0x80, size >> 7))) + body


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def row(number: int, *cells: tuple[int, str | float | int]) -> bytes:
    """Cells as (column, value); an int is an error code."""
    parts = [record(0, struct.pack("<I", number) + bytes(21))]
    for column, value in cells:
        place = struct.pack("<II", column, 0)
        if isinstance(value, str):
            parts.append(record(6, place + wide(value)))
        elif isinstance(value, float):
            parts.append(record(5, place + struct.pack("<d", value)))
        else:
            parts.append(record(3, place + bytes((value,))))
    return b"".join(parts)


def xlsb(*rows: bytes, merged: tuple[tuple[int, int, int, int], ...] = ()) -> bytes:
    merges = b"".join(record(176, struct.pack("<4I", *area)) for area in merged)
    if merged:
        merges = record(177, struct.pack("<I", len(merged))) + merges + record(178)
    sheet = (
        record(129) + record(148, struct.pack("<4I", 0, 5, 0, 5)) + record(145) + b"".join(rows) + record(146) + merges
    )
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("시트")) + record(144)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.bin", book + record(132))
        relation = f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.bin"/>'
        archive.writestr("xl/_rels/workbook.bin.rels", RELATIONS.format(relation))
        archive.writestr("xl/worksheets/sheet1.bin", sheet + record(130))
    return buffer.getvalue()


def ods(body: str, name: str = "시트") -> bytes:
    names = "".join(
        f' xmlns:{key}="urn:oasis:names:tc:opendocument:xmlns:{key}:1.0"' for key in ("office", "table", "text")
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body><office:spreadsheet>"
            f'<table:table table:name="{name}">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return buffer.getvalue()


def text(value: str, more: str = "") -> str:
    return f'<table:table-cell office:value-type="string"{more}><text:p>{value}</text:p></table:table-cell>'


def number(value: float, more: str = "") -> str:
    return (
        f'<table:table-cell office:value-type="float" office:value="{value}"{more}>'
        f"<text:p>{value}</text:p></table:table-cell>"
    )


def line(*cells: str, more: str = "") -> str:
    return f"<table:table-row{more}>{''.join(cells)}</table:table-row>"


def only(data: bytes) -> Table:
    assert detect(data, "a") == "workbook"
    (section,) = read(data, "a", LIMITS).sections
    assert isinstance(section, Table)
    return section


def test_a_binary_workbook() -> None:
    found = only(
        xlsb(
            row(0, (0, "구분"), (1, "인구"), (3, "세대")),
            row(1, (1, "남"), (2, "여")),
            row(2, (0, "서울"), (1, 10.0), (2, 0.1), (3, 0x2A)),
            merged=((0, 1, 0, 0), (0, 0, 1, 2), (0, 1, 3, 3)),
        )
    )
    assert found.name == "시트"
    assert found.columns == ("구분", "인구/남", "인구/여", "세대")
    assert found.rows[0].cells == ("서울", "10", "0.1", "#N/A")


def test_far_cells_of_a_binary_workbook() -> None:
    with pytest.raises(UnreadableError, match="max_cells"):
        read(xlsb(row(0, (0, "a")), row(1_048_575, (16_383, "b"))), "a.xlsb", LIMITS)


def test_open_document() -> None:
    day = '<table:table-cell office:value-type="date" office:date-value="2024-01-31"/>'
    covered = "<table:covered-table-cell/>"
    found = only(
        ods(
            line(text("인구 현황", ' table:number-columns-spanned="3"'), covered, covered)
            + line(text("날짜"), text("지점"), text("수"))
            + line(day, text("서울", ' table:number-rows-spanned="2"'), number(1))
            + line(day, covered, number(2.5))
            + line(
                "<table:table-cell table:number-columns-repeated='16384'/>",
                more=' table:number-rows-repeated="1048570"',
            )
        )
    )
    assert found.name == "시트"
    assert found.notes == "인구 현황"
    assert found.columns == ("날짜", "지점", "수")
    assert [row.cells for row in found.rows] == [("2024-01-31", "서울", "1"), ("2024-01-31", "서울", "2.5")]
    assert found.rows[1].date == "2024-01-31"


@pytest.mark.parametrize(
    "body",
    [
        line(text("x", ' table:number-columns-repeated="99999999"')),
        line(text("x"), more=' table:number-rows-repeated="99999999"'),
        line("<table:table-cell table:number-columns-repeated='16000'/>", text("x")) * 2000,
        line(text("a")) + line(more=' table:number-rows-repeated="99999999"') + line(text("b")),
    ],
)
def test_repeats_beyond_the_limit(body: str) -> None:
    with pytest.raises(UnreadableError, match="max_cells"):
        read(ods(body), "a.ods", LIMITS)


def test_an_encrypted_document() -> None:
    buffer = io.BytesIO(ods(line(text("a"))))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("META-INF/manifest.xml", "<x/>")
    with pytest.raises(UnreadableError, match="damaged"):  # two parts of one name
        read(buffer.getvalue(), "a.ods", LIMITS)
    protected = ods("").replace(b"<manifest/>", b"<manifest/>")
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(protected)) as source, zipfile.ZipFile(result, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            if info.filename.startswith("META"):
                data = b"<manifest><file-entry><encryption-data/></file-entry></manifest>"
            target.writestr(info, data)
    with pytest.raises(UnreadableError, match="password"):
        read(result.getvalue(), "a.ods", LIMITS)
