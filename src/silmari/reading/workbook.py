"""A workbook's container: which parts are its sheets, how far their cells reach, title and date."""

from __future__ import annotations

import posixpath
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from zipfile import ZipInfo

from silmari.errors import UnreadableError
from silmari.reading import zipped
from silmari.reading.dates import parse_date
from silmari.reading.limits import Limits
from silmari.reading.ole import CompoundFile, DamagedFileError, summary
from silmari.reading.sheet_scan import SheetFacts, binary_records, scan_ods, scan_xls, scan_xlsb, scan_xlsx

PROTECTED = "is protected by a password; save a copy without it"
DAMAGED = "is a damaged workbook; open it in a spreadsheet program and save it anew"
_SPARSE = 4
_WHOLE_XLS_SHEET = 65_536 * 256


@dataclass(frozen=True, slots=True)
class Workbook:
    """What is known before the cells are parsed.

    Attributes:
        sheets: One entry a sheet, in the workbook's order.
        title: From the document properties, or ``""``.
        date: Day of the last change, ISO, from the document properties.
    """

    sheets: tuple[SheetFacts, ...]
    title: str = ""
    date: str | None = None


def scan(data: bytes, limits: Limits) -> Workbook:
    """Unpack and measure a workbook without keeping its cells.

    Raises:
        UnreadableError: If it is encrypted, damaged, inflates or spreads beyond the limits.
    """
    if not data.startswith(zipped.MAGIC):
        return _old(data, limits)
    parts = zipped.members(data)
    zipped.check_inflation(data, parts, limits)
    container = _Container(data, parts, limits)
    if "content.xml" in parts:
        sheets = _open_document(container)
    elif "xl/workbook.bin" in parts:
        sheets = tuple(_binary(container))
    else:
        sheets = tuple(_open_xml(container))
    title, date = _properties(container)
    return Workbook(sheets, title, date)


class _Container:
    """The zip's parts; each is unpacked at most as often as it is needed and always counted."""

    def __init__(self, data: bytes, parts: dict[str, ZipInfo], limits: Limits) -> None:
        self._data = data
        self.parts = parts
        self.limits = limits
        self._left = limits.max_inflated_bytes
        for name in parts:  # the parser will unpack any part that the workbook's own lists name
            for piece in self.pieces(name):
                self._left -= len(piece)
                if self._left < 0:
                    raise zipped.too_large(limits)

    def pieces(self, name: str) -> Iterator[bytes]:
        return zipped.pieces(self._data, self.parts[name], self.limits)

    def whole(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def xml(self, name: str) -> ET.Element | None:
        if name not in self.parts:
            return None
        data = zipped.member(self._data, self.parts[name], self.limits)
        try:
            return ET.fromstring(data)
        except (ET.ParseError, LookupError, ValueError) as error:  # the latter two: an encoding that is none
            raise UnreadableError(DAMAGED) from error


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _attribute(element: ET.Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _targets(container: _Container, workbook: str) -> dict[str, str]:
    folder, file = posixpath.split(workbook)
    root = container.xml(f"{folder}/_rels/{file}.rels")
    targets = {}
    for element in root if root is not None else ():
        target = element.get("Target", "")
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        targets[element.get("Id", "")] = path
    return targets


def _find(container: _Container, path: str) -> str | None:
    if path in container.parts:
        return path
    return next((name for name in container.parts if name.lower().replace("\\", "/") == path.lower()), None)


def _open_xml(container: _Container) -> Iterator[SheetFacts]:
    workbook = _find(container, "xl/workbook.xml")
    root = container.xml(workbook) if workbook else None
    if workbook is None or root is None:
        raise UnreadableError(DAMAGED)
    targets = _targets(container, workbook)
    longest = _longest_shared(container)
    for sheet in (element for element in root.iter() if _local(element) == "sheet"):
        part = _find(container, targets.get(_attribute(sheet, "id"), ""))
        if part is None:
            yield SheetFacts()
        else:
            try:
                facts = scan_xlsx(partial(container.pieces, part))
            except DamagedFileError as error:
                raise UnreadableError(DAMAGED) from error
            # A row is handed over as a whole, and each of its cells may name the longest text.
            if longest * (facts.right - facts.left + 1) > container.limits.max_inflated_bytes:
                raise UnreadableError(f"repeats a text of {longest:,} bytes in too many cells to be a real workbook")
            yield facts


def _longest_shared(container: _Container) -> int:
    """Bytes of the longest of the texts that cells share."""
    part = _find(container, "xl/sharedStrings.xml")
    longest = current = 0
    for piece in container.pieces(part) if part else ():
        first, *others = piece.split(b"si>")
        current += len(first)
        if others:
            longest = max(longest, current, *map(len, others[:-1]), 0)
            current = len(others[-1])
    return max(longest, current)


def _binary(container: _Container) -> Iterator[SheetFacts]:
    targets = _targets(container, "xl/workbook.bin")
    data = container.whole("xl/workbook.bin")
    for kind, at, length in binary_records(data):
        if kind != 156 or length < 12:
            continue
        size = struct.unpack_from("<I", data, at + 8)[0]
        identifier = data[at + 12 : at + 12 + 2 * min(size, 64)].decode("utf-16-le", errors="replace")
        part = _find(container, targets.get(identifier, ""))
        yield scan_xlsb(container.whole(part)) if part else SheetFacts()


def _open_document(container: _Container) -> tuple[SheetFacts, ...]:
    manifest = container.xml("META-INF/manifest.xml")
    if manifest is not None and any(_local(element) == "encryption-data" for element in manifest.iter()):
        raise UnreadableError(PROTECTED)
    sheets = tuple(scan_ods(container.pieces("content.xml")))
    _refuse_spread(sheets, container.limits)
    return sheets


def _refuse_spread(sheets: tuple[SheetFacts, ...], limits: Limits) -> None:
    """For the formats whose parser lays out all sheets at once."""
    area = sum(max(sheet.area, sheet.values) for sheet in sheets)
    if area > _SPARSE * limits.max_cells:
        raise UnreadableError(
            f"claims {area:,} cells, far more than the limit of {limits.max_cells:,}; "
            "delete stray cells outside of the tables or raise max_cells"
        )


def _old(data: bytes, limits: Limits) -> Workbook:
    try:
        container = CompoundFile(data)
        stream = container.stream("Workbook", "Book")
    except (DamagedFileError, struct.error, ValueError) as error:
        raise UnreadableError(DAMAGED) from error
    if "EncryptedPackage" in container.names:
        raise UnreadableError(PROTECTED)
    if stream is None:
        raise UnreadableError(DAMAGED)
    book = scan_xls(stream)
    if book.encrypted:
        raise UnreadableError(PROTECTED)
    _refuse_spread(book.sheets, limits)
    if any(sheet.claimed > _WHOLE_XLS_SHEET for sheet in book.sheets):
        raise UnreadableError(DAMAGED)  # the parser would reserve memory for all that is claimed
    about = summary(container)
    return Workbook(book.sheets, about.title, about.date)


def _properties(container: _Container) -> tuple[str, str | None]:
    name = "docProps/core.xml" if "docProps/core.xml" in container.parts else "meta.xml"
    try:
        root = container.xml(name)
    except UnreadableError:  # properties are a courtesy: a workbook without them is whole
        return "", None
    found: dict[str, str] = {}
    for element in root.iter() if root is not None else ():
        if element.text and element.text.strip():
            found.setdefault(_local(element), element.text.strip())
    changed = found.get("modified") or found.get("date") or found.get("created") or found.get("creation-date") or ""
    day = re.match(r"\d{4}-\d\d-\d\d", changed)
    return found.get("title", ""), parse_date(day[0]) if day else None
