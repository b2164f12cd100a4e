"""Files that bring triplets for documents: JSON Lines, or CSV with a line a triplet; read as a stream.

The form of JSON Lines is that of an evaluation set's ``triplets.jsonl``: ``{"_id": "d1", "triplets": [["한강",
"지난다", "서울"]]}``. A CSV file has the columns subject, predicate, object and document (주어, 서술어, 목적어, 문서).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from silmari.errors import UnreadableError
from silmari.model import Triplet
from silmari.reading.cleaning import clean
from silmari.reading.delimited import find_delimiter
from silmari.reading.encoding import decoded
from silmari.reading.triplets import COLUMNS, Fault, LeftOut, checked, field_of, triplets_of

FORM = (
    "each line must be a JSON object with _id (or uri) and triplets, or a CSV row of subject, predicate, object and "
    "document"
)
_PIECE = 128 * 1024
_MAX_LINE = 50_000_000
_PEEKED = 50
# A quoted cell may run over so many lines; beyond that its quotation mark is taken as never closed.
_ROW_LINES = 20
_DELIMITERS = ",\t;|"


class Brought(NamedTuple):
    """Triplets for one document, as one line of a file brings them.

    Attributes:
        document: What the file calls the document.
        triplets: Those that are in order; none if it says so.
    """

    document: str
    triplets: tuple[Triplet, ...]


class _Line(NamedTuple):
    place: str
    text: str


def read_triplets(path: Path, left_out: LeftOut) -> Iterator[Brought]:
    """Read a file of triplets, plain or gzipped, in any encoding that `silmari.reading.encoding` knows.

    Args:
        path: The file.
        left_out: Takes note of the lines and triplets that are not in order; the others are read.

    Raises:
        UnreadableError: The file is not there, is no text, or its columns are not known.
    """
    try:
        encoding = _encoding(path)
        with _opened(path) as binary, io.TextIOWrapper(binary, encoding, errors="replace", newline="") as text:
            lines = _lines(text, left_out)
            peeked = list(islice(lines, _PEEKED))
            lines = chain(peeked, lines)
            if peeked and peeked[0].text.lstrip().startswith("["):
                yield from _array(lines, left_out)
            elif _is_json(path, peeked):
                yield from _objects(((line.place, _parsed(line.text)) for line in lines), left_out)
            else:
                yield from _rows(path, peeked, lines, left_out)
    except FileNotFoundError as error:
        raise UnreadableError("does not exist; check the name") from error
    except PermissionError as error:
        raise UnreadableError("may not be read: give yourself the right to open it") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableError("is not a whole gzip file; fetch it again") from error
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error


# Bytes to lines


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not gzipped:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast(IO[bytes], unpacked)


def _encoding(path: Path) -> str:
    """The file's encoding, found without holding the whole file."""
    with _opened(path) as file:
        piece = file.read(_PIECE)
        found = decoded(piece).encoding
        if found.startswith(("utf-16", "utf-32")):
            return found
        if b"\0" in piece:
            raise UnreadableError(f"is no text file: {FORM}")
        decoder = codecs.getincrementaldecoder("utf-8")()
        before = b""
        while piece:
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                # From a line's begin, so that no character of two bytes is cut.
                return decoded(_from_line(before + piece)).encoding
            before, piece = piece, file.read(_PIECE)
    return "utf-8"


def _from_line(data: bytes) -> bytes:
    return data[data.find(b"\n") + 1 :] if len(data) > _PIECE else data


def _lines(text: io.TextIOWrapper, left_out: LeftOut) -> Iterator[_Line]:
    """The lines that are not blank, with their line ends; those that are far too long are left out."""
    number = 0
    while line := text.readline(_MAX_LINE):
        number += 1
        if len(line) == _MAX_LINE and not line.endswith(("\n", "\r")):
            left_out.note(Fault.TOO_LONG, f"line {number}", line[:60])
            while (rest := text.readline(_MAX_LINE)) and not rest.endswith(("\n", "\r")):
                pass
            continue
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line.strip():
            yield _Line(f"line {number}", line)


def _is_json(path: Path, peeked: Iterable[_Line]) -> bool:
    lines = [line.text.lstrip() for line in peeked]
    objects = sum(line.startswith("{") for line in lines)
    name = path.name.lower().removesuffix(".gz")
    return 2 * objects > len(lines) or (objects > 0 and name.endswith((".jsonl", ".json", ".ndjson")))


# JSON


def _parsed(text: str) -> Any:
    """The value of a line, or the fault."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return Fault.NOT_JSON


def _array(lines: Iterable[_Line], left_out: LeftOut) -> Iterator[Brought]:
    items = _parsed("".join(line.text for line in lines))
    if not isinstance(items, list):
        raise UnreadableError(f"is no valid JSON: {FORM}")
    yield from _objects(((f"item {number}", item) for number, item in enumerate(items, 1)), left_out)


def _objects(items: Iterable[tuple[str, Any]], left_out: LeftOut) -> Iterator[Brought]:
    for place, item in items:
        if not isinstance(item, dict):
            left_out.note(Fault.NOT_JSON if item is Fault.NOT_JSON else Fault.NO_DOCUMENT, place)
            continue
        document = _document(field_of(item, "document"))
        listed = item.get("triplets")
        if not document:
            left_out.note(Fault.NO_DOCUMENT, place, item)
        elif isinstance(listed, list):
            yield Brought(document, triplets_of(listed, place, left_out))
        elif listed is None and field_of(item, "predicate") is not None:
            yield from _one(document, item, place, left_out)
        else:
            left_out.note(Fault.NO_LIST, place, item)


def _one(document: str, item: Any, place: str, left_out: LeftOut) -> Iterator[Brought]:
    triplet = checked(item)
    if isinstance(triplet, Fault):
        left_out.note(triplet, place, item)
    else:
        yield Brought(document, (triplet,))


def _document(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    return clean(value).strip() if isinstance(value, str) else ""


# CSV


class _Columns(NamedTuple):
    """Where the three parts and the document stand, of how many; and whether the first row says so."""

    delimiter: str
    ends: tuple[int, int, int]
    document: int
    width: int
    header: bool


def _rows(path: Path, peeked: list[_Line], lines: Iterable[_Line], left_out: LeftOut) -> Iterator[Brought]:
    columns = _columns(path, peeked)
    if columns is None:
        return
    rows = _cells(lines, columns.delimiter)
    if columns.header:
        next(rows)
    for place, row in rows:
        if len(row) < columns.width or any(cell.strip() for cell in row[columns.width :]):
            left_out.note(Fault.PARTS, place, row)
            continue
        document = _document(row[columns.document])
        if not document:
            left_out.note(Fault.NO_DOCUMENT, place, row)
            continue
        yield from _one(document, [row[at] for at in columns.ends], place, left_out)


def _columns(path: Path, peeked: list[_Line]) -> _Columns | None:
    """How the file is laid out: as its header says, else the four columns in their order; None if it is empty."""
    if not peeked:
        return None
    missing = list(COLUMNS)
    for delimiter in _DELIMITERS:
        header = [_heading(cell) for cell in next(_cells(peeked, delimiter))[1]]
        at = {
            name: next((header.index(one) for one in called if one in header), -1) for name, called in COLUMNS.items()
        }
        lacking = [name for name, place in at.items() if place < 0]
        if not lacking:
            ends = (at["subject"], at["predicate"], at["object"])
            return _Columns(delimiter, ends, at["document"], len(header), True)
        missing = min(missing, lacking, key=len)
    usual = find_delimiter("".join(line.text for line in peeked)) or ("\t" if ".tsv" in path.name.lower() else ",")
    # One known word may stand in a triplet; two make a header.
    if len(missing) <= 2 or len(next(_cells(peeked, usual))[1]) < 4:
        raise UnreadableError(
            f"has no column {', '.join(missing)}: the first line must name the columns subject, predicate, object and "
            "document (주어, 서술어, 목적어, 문서)"
        )
    return _Columns(usual, (0, 1, 2), 3, 4, False)


def _heading(cell: str) -> str:
    return "_".join(unicodedata.normalize("NFKC", cell.replace("\ufeff", "")).casefold().split())


def _cells(lines: Iterable[_Line], delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Rows, each with where it begins. A quotation mark that is never closed harms no row but its own."""
    waiting = iter(lines)
    held: list[_Line] = []
    while held := held or list(islice(waiting, 1)):
        for length in range(1, _ROW_LINES + 1):
            if length > len(held):
                held += islice(waiting, 1)
            row = _row(held[:length], delimiter)
            if row is not None or length > len(held):
                break
        if row is None:
            row, length = _split(held[0].text, delimiter), 1
        yield held[0].place, row
        held = held[length:]


def _row(lines: list[_Line], delimiter: str) -> list[str] | None:
    """The lines as one row, or None if it goes on in the next line."""
    text = "".join(line.text for line in lines)
    if '"' not in text:
        return _split(text, delimiter)
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            return row
    except csv.Error as error:
        if len(lines) > 1 or "unexpected end" in str(error):
            return None
    return _split(text, delimiter)


def _split(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:  # a cell of more than 131,072 characters
        return text.split(delimiter)
