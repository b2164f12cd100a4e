"""A grid of cells to tables: notes above, header rows, column names, data rows, the date column.

Shared by CSV, workbooks and HTML, which differ only in how they come to the grid.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from silmari.model import Row, Table
from silmari.reading.dates import date_column, parse_date, says_date

_SAMPLE = 200
_MAX_HEADER_ROWS = 6
_MAX_NAME = 200
_NUMBER = re.compile(
    r"\(?[+\-−▲△]?\s?[₩￦$€£¥]?\s?[+\-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+\-]?\d+)?\s?%?\)?", re.IGNORECASE
)
_CODE = re.compile(r"[\d][\d\-() /:.]{5,}|\S+@\S+\.\S+|https?://\S+|TRUE|FALSE|\d+:\d\d(?::\d\d)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NEUTRAL = re.compile(r"[-–—.…·]*|#[A-Z/0!?]+|n/?a|null|none|nan", re.IGNORECASE)


@dataclass(slots=True)
class GridRow:
    """One row of cells before it is known what it is.

    Attributes:
        number: As a spreadsheet shows it, from 1.
        cells: Stripped strings; merged ranges are filled.
        sources: How many different cells the filled ones come from: a title merged over ten
            columns is one. None when nothing is merged, then the filled cells are counted.
    """

    number: int
    cells: list[str]
    sources: int | None = None

    @property
    def filled(self) -> int:
        """Number of cells that are not empty."""
        return sum(1 for cell in self.cells if cell)

    @property
    def stated(self) -> int:
        """Number of different cells with content."""
        return self.filled if self.sources is None else self.sources


@dataclass(frozen=True, slots=True)
class _Head:
    first_data: int
    names: list[str]


def tables(
    name: str,
    grid: Sequence[GridRow],
    *,
    keep_empty_columns: bool = False,
    header_spans: Mapping[int, int] | None = None,
) -> list[Table]:
    """Find the tables in a grid.

    Args:
        name: The sheet's name, or ``""``.
        grid: Rows in order; all of one width; rows without content may be there or missing.
        keep_empty_columns: Whether a column that has neither name nor values stays.
        header_spans: For a row number, the last row down to which a merged range beginning there
            reaches: labels merged downwards show how deep a header is.

    Returns:
        Usually one table. Blocks after blank rows are tables of their own only where they clearly
        begin with a header. A grid without content gives none.
    """
    found: list[Table] = []
    notes: list[str] = []
    for block in _blocks([row for row in grid if any(row.cells)]):
        above, body = _split_notes(block)
        notes += above
        if body:
            found.append(_table(name, body, notes, keep_empty_columns, header_spans or {}))
            notes = []
    return found


def is_data(cell: str) -> bool:
    """Whether a cell holds a value such as a number, a full date or a code, and no words."""
    return bool(_NUMBER.fullmatch(cell) or _CODE.fullmatch(cell)) or parse_date(cell) is not None


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Make column names non-empty and different: ``column 3``, ``합계``, ``합계 (2)``."""
    taken: set[str] = set()
    copies: dict[str, int] = {}
    result = []
    for position, raw in enumerate(names, start=1):
        base = " ".join(raw.split())[:_MAX_NAME] or f"column {position}"
        name = base
        while name in taken:
            copies[base] = copies.get(base, 1) + 1
            name = f"{base} ({copies[base]})"
        taken.add(name)
        result.append(name)
    return tuple(result)


def _blocks(rows: Sequence[GridRow]) -> list[list[GridRow]]:
    """Cut at blank rows after which a new header stands."""
    blocks: list[list[GridRow]] = []
    for index, row in enumerate(rows):
        if not blocks or (row.number > rows[index - 1].number + 1 and _starts_table(rows, index, blocks[-1])):
            blocks.append([])
        blocks[-1].append(row)
    return blocks


def _starts_table(rows: Sequence[GridRow], index: int, block: Sequence[GridRow]) -> bool:
    before = block[-8:]
    if sum(1 for row in before if _has_data(row)) * 2 < len(before):
        return False
    if not _has_data(before[-1]) and before[-1].stated > 1:
        return False
    ahead = rows[index : index + 8]
    for at, row in enumerate(ahead):
        if at and row.number > ahead[at - 1].number + 2:
            return False
        if _has_data(row):
            # Words alone right above data, at least two of them: a header, not a subtotal's label.
            return at > 0 and ahead[at - 1].stated >= 2 and ahead[at - 1].filled >= row.filled - 1
    return False


def _has_data(row: GridRow) -> bool:
    return any(is_data(cell) for cell in row.cells if cell)


def _split_notes(block: list[GridRow]) -> tuple[list[str], list[GridRow]]:
    """Lines above the table: rows with one cell (or two) where the table's rows have more."""
    widths = sorted(row.filled for row in block[:_SAMPLE] if row.stated > 1)
    if not widths:
        return [], block
    typical = widths[len(widths) // 2]
    start = 0
    for row in block:
        one = row.stated == 1 and typical >= 2
        few = row.stated == 2 and typical >= 5 and row.filled <= typical // 2 and not _labels_groups(block, start)
        if not (one or few):
            break
        start += 1
    if start == len(block):
        return [], block
    lines = [" ".join(dict.fromkeys(cell for cell in row.cells if cell)) for row in block[:start]]
    return lines, block[start:]


def _labels_groups(block: Sequence[GridRow], index: int) -> bool:
    """Whether the row's few labels stand over the columns of a header row right below."""
    if index + 2 >= len(block) or block[index + 1].number != block[index].number + 1:
        return False
    row, below, then = block[index : index + 3]
    return not _has_data(row) and not _has_data(below) and _has_data(then) and below.filled > row.filled


def _table(
    name: str, body: list[GridRow], notes: list[str], keep_empty: bool, header_spans: Mapping[int, int]
) -> Table:
    head = _head(body, header_spans)
    rows = body[head.first_data :]
    used = [
        index
        for index in range(len(head.names))
        if head.names[index] or keep_empty or any(row.cells[index] for row in rows)
    ]
    names = unique_names([head.names[index] or f"column {index + 1}" for index in used])
    if len(used) < len(head.names):
        for row in rows:
            row.cells = [row.cells[index] for index in used]
    return Table(name, names, _dated(names, rows), "\n".join(notes))


def _dated(columns: Sequence[str], rows: Sequence[GridRow]) -> list[Row]:
    """Data rows with their dates, if one of the columns holds dates."""
    step = max(1, len(rows) // _SAMPLE)
    column = date_column(columns, [Row(row.number, tuple(row.cells)) for row in rows[::step]])
    if column is None:
        return [Row(row.number, tuple(row.cells)) for row in rows]
    named = says_date(columns[column])
    known: dict[str, str | None] = {}
    result = []
    for row in rows:
        cell = row.cells[column]
        if cell not in known:
            known[cell] = parse_date(cell, in_date_column=named)
        result.append(Row(row.number, tuple(row.cells), known[cell]))
    return result


def _head(body: Sequence[GridRow], header_spans: Mapping[int, int]) -> _Head:
    width = len(body[0].cells)
    nothing = _Head(0, [""] * width)
    if len(body) == 1 or not _may_be_header(body):
        return nothing
    depth = _header_depth(body, header_spans)
    if depth >= len(body):
        depth = 1
    parts: list[list[str]] = [[] for _ in range(width)]
    for level in range(depth):
        label = ""
        for index, cell in enumerate(body[level].cells):
            if cell:
                label = cell
            elif level == depth - 1 or not _under(body, level, depth, index):
                label = ""
            if label and (not parts[index] or parts[index][-1] != label):
                parts[index].append(label)
    return _Head(depth, ["/".join(column) for column in parts])


def _under(body: Sequence[GridRow], level: int, depth: int, index: int) -> bool:
    """Whether an empty header cell belongs to the group label on its left: a lower row names the column."""
    return not any(body[above].cells[index] for above in range(level)) and any(
        body[below].cells[index] for below in range(level + 1, depth)
    )


def _may_be_header(body: Sequence[GridRow]) -> bool:
    first, rest = body[0], body[1:_SAMPLE]
    values = [(index, cell) for index, cell in enumerate(first.cells) if cell and not _NEUTRAL.fullmatch(cell)]
    if not values:
        return False
    data = [(index, cell) for index, cell in values if is_data(cell)]
    if data and not _is_series(first, data, rest):
        return False
    if len(values) == 1 and len(first.cells) == 1:
        # One column: only a word above values is a header.
        column = [row.cells[0] for row in rest]
        return not data and len(values[0][1]) <= 40 and all(map(is_data, column))
    if data:
        return True
    texts = Counter(cell for _, cell in values)
    for index, cell in values:
        # A name does not occur among its own values, unless the whole header is printed again
        # or a merged label reaches into the next header row.
        again = [row for row in rest if row.cells[index] == cell and row.cells != first.cells]
        if (
            again
            and texts[cell] == 1
            and any(row.number - first.number > _MAX_HEADER_ROWS or _has_data(row) for row in again)
        ):
            return False
    return not _is_form(first, rest, len(values))


def _is_form(first: GridRow, rest: Sequence[GridRow], values: int) -> bool:
    """Two columns of which the first names what stands in the second: a form, which has no header."""
    if len(first.cells) != 2 or values != 2 or not rest:
        return False
    if first.cells[0].endswith((":", "：")):
        return True
    labels = [row.cells[0] for row in rest]
    right = [row.cells[1] for row in rest if row.cells[1] and not _NEUTRAL.fullmatch(row.cells[1])]
    # Below a column's name stand values of one kind, now and then a word among them; in a form, words
    # stand beside a date here and a number or a telephone number there.
    kinds = {"date" if parse_date(cell) else bool(_NUMBER.fullmatch(cell)) for cell in right if is_data(cell)}
    mixed = len(kinds) > 1 and not all(map(is_data, right))
    return mixed and len(rest) <= 40 and len(set(labels)) == len(labels) and not any(map(is_data, labels))


def _is_series(first: GridRow, data: Sequence[tuple[int, str]], rest: Sequence[GridRow]) -> bool:
    """Whether the values in a first row are names in sequence, such as 2019 2020 2021 or days."""
    if not first.cells[0] or is_data(first.cells[0]) or len(data) < 2:
        # Even a single year may stand over numbers, if the row has words beside it and nothing else.
        return (
            len(data) == 1
            and first.stated >= 2
            and bool(_YEAR.fullmatch(data[0][1]))
            and not any(_YEAR.fullmatch(row.cells[data[0][0]]) for row in rest)
        )

    def steps(cells: Sequence[str]) -> set[int]:
        days = [parse_date(cell) for cell in cells]
        if all(days):
            return {(str(after) > str(before)) - (str(after) < str(before)) for before, after in pairwise(days)}
        if not all(cell.isascii() and cell.isdigit() and len(cell) <= 4 for cell in cells):
            return {0}
        numbers = [int(cell) for cell in cells]
        return {after - before for before, after in pairwise(numbers)}

    step = steps([cell for _, cell in data])
    if len(step) != 1 or step == {0}:
        return False
    below = [[row.cells[index] for index, _ in data] for row in rest[:5]]
    return not any(steps(cells) == step for cells in below if all(cells))


def _header_depth(body: Sequence[GridRow], header_spans: Mapping[int, int]) -> int:
    last = header_spans.get(body[0].number, 0)
    depth = 1
    while depth < min(len(body) - 1, _MAX_HEADER_ROWS):
        above, row = body[depth - 1], body[depth]
        if row.number != above.number + 1 or _has_values(row):
            break
        # A row under vertically merged labels belongs to them even if it adds nothing; it does not
        # if it has contents of its own: then the merged label is that of a group of data rows.
        spanned = row.number <= last and all(
            not cell or cell == upper for cell, upper in zip(row.cells, above.cells, strict=True)
        )
        if not spanned and not (
            _groups(above, row) and (row.number <= last or any(map(_has_values, body[depth + 1 : depth + 4])))
        ):
            break
        last = max(last, header_spans.get(row.number, 0))
        depth += 1
    return depth


def _has_values(row: GridRow) -> bool:
    """Whether there are data other than years, which stand in headers too."""
    return any(is_data(cell) and not _YEAR.fullmatch(cell) for cell in row.cells if cell)


def _groups(above: GridRow, row: GridRow) -> bool:
    """Whether the upper row's labels stand over several columns that the lower row tells apart."""
    if row.stated < 2:
        return False
    wide = [
        index
        for index in range(1, len(row.cells))
        if row.cells[index] and (not above.cells[index] or above.cells[index] == above.cells[index - 1])
    ]
    return any(row.cells[index] != row.cells[index - 1] for index in wide)
