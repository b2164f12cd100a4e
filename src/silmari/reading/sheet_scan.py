"""A look at a workbook's raw cells before the real parser sees them.

The parser lays each sheet out as a full rectangle: two cells in opposite corners of a sheet of
1,300 bytes would make it ask for 500 GB and end the process. So the extent of the cells is measured
here first. It also drops error values and, in some formats, merged ranges: those are collected too.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from silmari.reading.ole import DamagedFileError

# How every common writer spells a cell. Whatever else may begin a cell sends the part to a real XML
# parser, which is slower but cannot be led astray by spelling.
_COLUMNS = re.compile(rb'<c r="([A-Z]{1,3})\d{1,7}"')
_ROWS = re.compile(rb'<c r="[A-Z]{1,3}(\d{1,7})"')
_ODD = re.compile(rb"<c[>/\t\r\n]|:c[>/\s]|<!|\0")
_REFERENCE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_ERROR_CELL = re.compile(
    rb'<c r="([A-Z]{1,3})(\d{1,7})"[^>]*? t="e"[^>]*>(?:<f(?:/>|[^>]*/>|[^>]*>[^<]*</f>))?<v>([^<]{1,20})</v>'
)
_ERRORS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A",
}  # fmt: skip


@dataclass(slots=True)
class SheetFacts:
    """What a sheet's raw cells say.

    Attributes:
        top, left, bottom, right: The rectangle of all cells, from 0; bottom is -1 without cells.
        values: How many cells have a value (an upper bound).
        errors: Text of error cells by (row, column), from 0.
        merged: Merged ranges as (top, left, bottom, right).
        last: The cell that was seen last.
        claimed: How many cells the sheet says it has, where the parser believes that.
    """

    top: int = 1 << 30
    left: int = 1 << 30
    bottom: int = -1
    right: int = -1
    values: int = 0
    errors: dict[tuple[int, int], str] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    last: tuple[int, int] = (0, 0)
    claimed: int = 0

    @property
    def area(self) -> int:
        """Cells of the rectangle."""
        return max(0, self.bottom - self.top + 1) * max(0, self.right - self.left + 1)

    def see(self, row: int, column: int, last_column: int | None = None) -> None:
        """Count a cell (or a run of cells in one row) into the rectangle."""
        self.top, self.bottom = min(self.top, row), max(self.bottom, row)
        self.left, self.right = min(self.left, column), max(self.right, last_column or column)
        self.last = row, column


def scan_xlsx(pieces: Callable[[], Iterable[bytes]]) -> SheetFacts:
    """Scan one worksheet part of an xlsx file.

    Args:
        pieces: Gives the part's bytes anew at each call; they are unpacked twice only if the part
            is spelled in an uncommon way.

    Raises:
        DamagedFileError: If the part is no well-formed XML.
    """
    facts = SheetFacts()
    letters: set[bytes] = set()
    numbers: set[bytes] = set()
    for text in _whole_tags(pieces()):
        found = _COLUMNS.findall(text)
        cells = text.count(b"<c ")
        # The plain searches are cheap and nearly always find nothing for the pattern to look at.
        suspicious = text.count(b"<c") != cells or any(part in text for part in (b":c", b"<!", b"\0"))
        if len(found) != cells or (suspicious and _ODD.search(text)):
            return _parsed_xlsx(pieces())
        letters.update(found)
        numbers.update(_ROWS.findall(text))
        facts.values += (text.count(b"v>") + text.count(b"is>")) // 2
        if b't="e"' in text:
            _collect_errors(text, facts)
    if letters:
        columns = [_column(name) for name in letters]
        rows = [int(number) - 1 for number in numbers]
        facts.see(min(rows), min(columns))
        facts.see(max(rows), max(columns))
    return facts


def _parsed_xlsx(pieces: Iterable[bytes]) -> SheetFacts:
    """The same by an XML parser. Cells without a reference stand right of the one before, rows below it."""
    facts = SheetFacts()
    row = column = -1
    error = ""
    inside = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, error, inside
        name = name.rpartition(":")[2]
        reference = attributes.get("r", "")
        if name == "row":
            row, column = int(reference) - 1 if reference.isdecimal() else row + 1, -1
        elif name == "c":
            match = _REFERENCE.fullmatch(reference)
            at = (int(match[2]) - 1, _column(match[1].encode())) if match else (max(row, 0), column + 1)
            column = at[1]
            facts.see(*at)
            inside, error = attributes.get("t") == "e", ""
        elif name in ("v", "is"):
            facts.values += 1

    def end(name: str) -> None:
        nonlocal inside
        if inside and name.rpartition(":")[2] == "v":
            facts.errors[facts.last] = error.strip()
            inside = False

    def text(data: str) -> None:
        nonlocal error
        if inside and len(error) < 20:
            error += data

    def refuse(*_: object) -> None:
        raise DamagedFileError("a worksheet has a document type, which none has")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        for piece in pieces:
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError) as problem:
        raise DamagedFileError("a worksheet is no well-formed XML") from problem
    return facts


def _whole_tags(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut where a row or cell begins, so that no cell lies in two pieces."""
    rest = b""
    for piece in pieces:
        text = rest + piece
        cut = max(text.rfind(b"<row"), text.rfind(b"<c "))
        if cut <= 0:
            cut = text.rfind(b"<")
        if cut <= 0 and len(text) < 8 << 20:
            rest = text
            continue
        cut = cut if cut > 0 else len(text)
        rest = text[cut:]
        yield text[:cut]
    if rest:
        yield rest


def _collect_errors(text: bytes, facts: SheetFacts) -> None:
    for match in _ERROR_CELL.finditer(text):
        place = int(match[2]) - 1, _column(match[1])
        facts.errors[place] = match[3].decode("ascii", errors="replace").strip()


def _column(letters: bytes) -> int:
    """``A`` is 0, ``XFD`` 16,383."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number - 1


def scan_xlsb(data: bytes) -> SheetFacts:
    """Scan one worksheet part of an xlsb file: records of a type, a length and a body."""
    facts = SheetFacts()
    row = 0
    for kind, at, length in binary_records(data):
        if kind == 0 and length >= 4:
            row = struct.unpack_from("<I", data, at)[0]
        elif (2 <= kind <= 11 or kind == 62) and length >= 8:
            column = struct.unpack_from("<I", data, at)[0]
            facts.values += 1
            facts.see(row, column)
            if kind in (3, 11) and length >= 9:
                facts.errors[row, column] = _ERRORS.get(data[at + 8], "#N/A")
        elif kind == 176 and length >= 16:
            top, bottom, left, right = struct.unpack_from("<4I", data, at)
            facts.merged.append((top, left, bottom, right))
    return facts


def binary_records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Records of an xlsb part as (type, offset of the body, its length); stops where they break off."""
    at, end = 0, len(data)
    while at < end:
        kind, at = data[at], at + 1
        if kind & 0x80 and at < end:
            kind, at = (kind & 0x7F) | (data[at] & 0x7F) << 7, at + 1
        length = 0
        for shift in (0, 7, 14, 21):
            if at >= end:
                return
            byte, at = data[at], at + 1
            length |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
        if at + length > end:
            return
        yield kind, at, length
        at += length


_XLS_CELLS = frozenset((0x0006, 0x0203, 0x0204, 0x0205, 0x027E, 0x00BD, 0x00D6, 0x00FD, 0x0201, 0x00BE))


@dataclass(frozen=True, slots=True)
class XlsBook:
    """What the workbook stream of an xls file says: its sheets in order, and whether it is encrypted."""

    sheets: tuple[SheetFacts, ...]
    encrypted: bool


def scan_xls(stream: bytes) -> XlsBook:
    """Scan the workbook stream of an xls file: records of a 2-byte type, a 2-byte length and a body."""
    starts: list[int] = []
    encrypted = False
    for kind, at, length in _xls_records(stream, 0):
        if kind == 0x000A:
            break
        if kind == 0x0085 and length >= 6:
            starts.append(struct.unpack_from("<I", stream, at)[0])
        encrypted = encrypted or kind == 0x002F
    known: dict[int, SheetFacts] = {}
    for start in starts:
        if start not in known and not encrypted:
            known[start] = _xls_sheet(stream, start)
    return XlsBook(tuple(known.get(start, SheetFacts()) for start in starts), encrypted)


def _xls_sheet(stream: bytes, start: int) -> SheetFacts:
    facts = SheetFacts()
    for kind, at, length in _xls_records(stream, start):
        if kind == 0x000A:
            break
        if kind == 0x0200:
            facts.claimed = max(facts.claimed, _xls_dimensions(stream[at : at + length]))
        if kind not in _XLS_CELLS or length < 6:
            continue
        row, column = struct.unpack_from("<HH", stream, at)
        last = column
        if kind in (0x00BD, 0x00BE):
            last = max(column, struct.unpack_from("<H", stream, at + length - 2)[0])
        facts.values += last - column + 1
        facts.see(row, column, last)
        if kind == 0x0205 and length >= 8 and stream[at + 7]:
            facts.errors[row, column] = _ERRORS.get(stream[at + 6], "#N/A")
        elif kind == 0x0006 and length >= 14 and stream[at + 12 : at + 14] == b"\xff\xff" and stream[at + 6] == 2:
            facts.errors[row, column] = _ERRORS.get(stream[at + 8], "#N/A")
    return facts


def _xls_dimensions(body: bytes) -> int:
    """Cells that a sheet claims to have; where the end lies before the start, as many as the parser then counts."""
    if len(body) not in (10, 14):
        return 0
    top, bottom, left, right = struct.unpack_from("<IIHH" if len(body) == 14 else "<4H", body)
    return ((bottom - top) & 0xFFFFFFFF) * ((right - left) & 0xFFFFFFFF) if bottom and right else 0


def _xls_records(stream: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    at, end = start, len(stream)
    unpack = struct.Struct("<HH").unpack_from
    while at + 4 <= end:
        kind, length = unpack(stream, at)
        at += 4 + length
        if at > end:  # cut short
            return
        yield kind, at - length, length


_ODS_TAG = re.compile(rb"<(/?)table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]*)>")
_ODS_COUNT = re.compile(rb"""table:number-(rows|columns)-(repeated|spanned)=["'](\d{1,12})["']""")


def scan_ods(pieces: Iterable[bytes]) -> list[SheetFacts]:
    """Scan content.xml of an ods file: one entry a table, in order, with its merged ranges."""
    sheets: list[SheetFacts] = []
    row = column = counted = 0
    height = 1
    for text in _whole_elements(pieces):
        for match in _ODS_TAG.finditer(text):
            closing, tag, attributes = match.groups()
            if closing:
                row += height if tag == b"table-row" else 0
                continue
            counts = {(axis, how): int(number) for axis, how, number in _ODS_COUNT.findall(attributes)}
            if tag == b"table":
                sheets.append(SheetFacts())
                row = 0
            elif tag == b"table-row":
                column, counted, height = 0, 0, max(1, counts.get((b"rows", b"repeated"), 1))
                row += height if attributes.endswith(b"/") else 0
            elif sheets:
                width = max(1, counts.get((b"columns", b"repeated"), 1))
                if not attributes.endswith(b"/") or b"value" in attributes:
                    sheets[-1].see(row, column, column + width - 1)
                    sheets[-1].see(row + height - 1, column)
                    # Empty cells on the left of content are laid out too, however they are repeated.
                    sheets[-1].values += height * (column + width - counted)
                    counted = column + width
                down = counts.get((b"rows", b"spanned"), 1)
                across = counts.get((b"columns", b"spanned"), 1)
                if (down > 1 or across > 1) and tag == b"table-cell":
                    sheets[-1].merged.append((row, column, row + down - 1, column + across - 1))
                column += width
    return sheets


def _whole_elements(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        text = rest + piece
        cut = text.rfind(b"<")
        if cut <= 0:
            rest = text
            continue
        rest = text[cut:]
        yield text[:cut]
    yield rest
