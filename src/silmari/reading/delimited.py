"""CSV, TSV and their like: delimiter, header and broken quotes are found out from the content."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Iterator

from silmari.model import Table
from silmari.reading.cells import MAX_COLUMNS, Budget
from silmari.reading.content import Content
from silmari.reading.encoding import decoded
from silmari.reading.limits import Limits
from silmari.reading.tabular import GridRow, tables

_DELIMITERS = ",\t;|"
_SAMPLE = 64 * 1024
_SAMPLE_RECORDS = 100
_MAX_REPAIRS = 20


def read(data: bytes, name: str, limits: Limits) -> Content:
    """Read a delimited text file as one table (several where a blank line and a new header say so).

    Args:
        data: The file's bytes in any encoding that `silmari.reading.encoding` knows.
        name: The file's name; ``.tsv`` decides in favour of tabs when the content does not.
        limits: Cells past the limit are cut and noted.
    """
    source = decoded(data)
    # NUL bytes come from broken exports; they are no content and would end the cell in many programs.
    text = unicodedata.normalize("NFC", source.text.replace("\0", ""))
    delimiter = find_delimiter(text) or ("\t" if name.lower().endswith((".tsv", ".tab")) else ",")
    budget = Budget(limits)
    grid = _grid(text, delimiter, budget)
    found = tables("", grid, keep_empty_columns=True)
    if not found:
        budget.notes.append("There are no cells with content.")
    sections: tuple[Table, ...] = tuple(found)
    return Content("csv", "", sections, notes=source.notes + budget.all_notes())


def find_delimiter(text: str) -> str | None:
    """The character that cuts the records into the same number of fields (at least two), or None."""
    best: tuple[float, int, int] | None = None
    for rank, delimiter in enumerate(_DELIMITERS):
        widths = _sample_widths(text, delimiter)
        wide = [width for width in widths if width > 1]
        if not wide:
            continue
        usual, count = Counter(wide).most_common(1)[0]
        near = sum(1 for width in wide if abs(width - usual) <= 1)
        agreement = (count + 0.5 * (near - count)) / len(widths)
        choice = (round(agreement, 1), usual, -rank)
        if agreement >= 0.2 and (best is None or choice > best):
            best = choice
    return None if best is None else _DELIMITERS[-best[2]]


def looks_delimited(text: str) -> bool:
    """Whether a text whose name does not say so is a table: tabs, or at least three steady columns."""
    delimiter = find_delimiter(text)
    if delimiter is None:
        return False
    widths = _sample_widths(text, delimiter)
    usual, count = Counter(widths).most_common(1)[0]
    least = 2 if delimiter == "\t" else 3
    return len(widths) >= 3 and usual >= least and count >= 0.95 * len(widths)


def _sample_widths(text: str, delimiter: str) -> list[int]:
    sample = text[:_SAMPLE]
    _allow_long_fields(len(sample))
    widths = []
    for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
        if record and any(field.strip() for field in record):
            widths.append(len(record))
        if len(widths) > _SAMPLE_RECORDS:
            break
    if len(text) > len(sample) and len(widths) > 1 and len(widths) <= _SAMPLE_RECORDS:
        widths.pop()  # the last record of the sample may be cut in the middle
    return widths


def _allow_long_fields(length: int) -> None:
    # The csv module's limit belongs to the whole process: it is only ever raised.
    if csv.field_size_limit() <= length:
        csv.field_size_limit(length + 1)


def _records(text: str, delimiter: str, budget: Budget) -> Iterator[list[str]]:
    """All records. A quote that is never closed would swallow the rest: its line is then taken literally."""
    _allow_long_fields(len(text))
    start = repairs = 0
    while start < len(text):
        lines = _Lines(text, start)
        held: list[str] | None = None
        for record in csv.reader(lines, delimiter=delimiter):
            if held is not None:
                yield held
            held = record
            lines.mark()
        if held is None:
            return
        begin = lines.last_record
        swallowed = text.find("\n", begin, len(text) - 1) >= 0 and _unclosed(text[begin:], delimiter)
        if not swallowed:
            yield held
            return
        repairs += 1
        budget.notes.append("A quotation mark is never closed; it was taken as a character of its cell.")
        end = text.find("\n", begin) + 1 if repairs <= _MAX_REPAIRS else len(text)
        yield from csv.reader(io.StringIO(text[begin:end], newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE)
        start = end


class _Lines:
    """Lines of a text for the csv module, which also know where the current record began."""

    def __init__(self, text: str, start: int) -> None:
        self._buffer = io.StringIO(text if start == 0 else text[start:], newline="")
        self._start = start
        self._position = start
        self._marked = start
        self.last_record = start

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._buffer)
        self._position += len(line)
        return line

    def mark(self) -> None:
        """A record has ended here."""
        self.last_record, self._marked = self._marked, self._position


def _unclosed(text: str, delimiter: str) -> bool:
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _grid(text: str, delimiter: str, budget: Budget) -> list[GridRow]:
    rows: list[GridRow] = []
    usual = _usual_width(text, delimiter)
    widest = 1
    for number, record in enumerate(_records(text, delimiter, budget), start=1):
        if not any(record):
            continue
        if len(record) > usual and not any(field.strip() for field in record[usual:]):
            record = record[:usual]
        # A row with far more fields than the others has stray delimiters in its text; columns for
        # them would only be empty everywhere else.
        bound = min(MAX_COLUMNS, 2 * usual + 20) if usual > 1 else MAX_COLUMNS
        if len(record) > bound:
            record = [*record[: bound - 1], delimiter.join(record[bound - 1 :])]
        if not budget.take(max(len(record), usual)):
            break
        joined = "".join(record)
        if joined.isprintable() and len(joined) <= budget.limits.max_cell_chars:
            cells = [field.strip() for field in record]  # the text is NFC already: nothing else to clean
        else:
            cells = [budget.clean(field) for field in record]
        widest = max(widest, len(cells))
        rows.append(GridRow(number, cells))
    for row in rows:
        missing = widest - len(row.cells)
        if missing:
            row.cells.extend([""] * missing)
    return rows


def _usual_width(text: str, delimiter: str) -> int:
    widths = _sample_widths(text, delimiter)
    return max((width for width, _ in Counter(widths).most_common(1)), default=1)
