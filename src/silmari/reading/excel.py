"""Workbooks: xlsx, xlsm, xls, xlsb and ods, every sheet, hidden ones too."""

from __future__ import annotations

import datetime as dt
import io
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from silmari.errors import UnreadableError
from silmari.model import Table
from silmari.panics import is_panic
from silmari.reading.cells import Budget
from silmari.reading.content import Content
from silmari.reading.limits import Limits
from silmari.reading.sheet_scan import SheetFacts
from silmari.reading.tabular import GridRow, tables
from silmari.reading.workbook import PROTECTED, scan

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

Value = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
_T = TypeVar("_T")
_DAMAGED = "is a damaged workbook; open it in a spreadsheet program and save it anew"
# The parser holds a sheet as a full rectangle before the first row can be read, so a sheet with much
# empty space is refused earlier than one whose cells are simply many, of which the first are read.
_SPARSE = 4
_REMEMBERED = 50_000


def read(data: bytes, name: str, limits: Limits) -> Content:
    """Read a workbook.

    Args:
        data: The file's bytes.
        name: The file's name; not needed, the format shows in the bytes.
        limits: Cells past the limit are cut and noted; a sheet whose extent is far beyond is left out.

    Raises:
        UnreadableError: If it is encrypted, damaged, or would take too much memory.
    """
    del name
    book = scan(data, limits)
    workbook = _parse(lambda: _load(data))
    budget = Budget(limits)
    sections: list[Table] = []
    metas = list(workbook.sheets_metadata)
    for position, meta in enumerate(metas):
        if str(meta.typ).endswith(("ChartSheet", "Vba")):
            continue
        title = unicodedata.normalize("NFC", meta.name)
        facts = book.sheets[position] if len(book.sheets) == len(metas) else SheetFacts()
        if _too_far(facts, limits):
            budget.notes.append(f"The sheet {title!r} was left out: {_extent(facts, limits)}.")
            continue
        grid, spans = _grid(_parse(partial(workbook.get_sheet_by_index, position)), facts, budget)
        found = tables(title, grid, header_spans=spans)
        if found and not str(meta.visible).endswith(".Visible"):
            budget.notes.append(f"The sheet {title!r} is hidden; it was read like the others.")
        sections += found
        if budget.cut_rows:
            break
    if not sections:
        if any(_too_far(facts, limits) for facts in book.sheets):
            raise UnreadableError(_extent(max(book.sheets, key=lambda facts: facts.area), limits))
        budget.notes.append("There are no cells with content.")
    source: Literal["metadata"] | None = "metadata" if book.date else None
    return Content("excel", book.title, tuple(sections), book.date, source, budget.all_notes())


def _load(data: bytes) -> CalamineWorkbook:
    from python_calamine import CalamineWorkbook

    return CalamineWorkbook.from_filelike(io.BytesIO(data))


def _parse(call: Callable[[], _T]) -> _T:
    """Run the parser; whatever it raises about the file becomes one UnreadableError."""
    from python_calamine import CalamineError, PasswordError

    try:
        return call()
    except PasswordError as error:
        raise UnreadableError(PROTECTED) from error
    except (CalamineError, OSError, ValueError, OverflowError) as error:
        raise UnreadableError(_DAMAGED) from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise UnreadableError(_DAMAGED) from error


def _too_far(facts: SheetFacts, limits: Limits) -> bool:
    return max(facts.area, facts.values) > _SPARSE * limits.max_cells


def _extent(facts: SheetFacts, limits: Limits) -> str:
    return (
        f"its cells spread over {max(facts.area, facts.values):,} places, far more than max_cells "
        f"({limits.max_cells:,}); delete stray cells outside of the table or raise max_cells"
    )


def _grid(sheet: CalamineSheet, facts: SheetFacts, budget: Budget) -> tuple[list[GridRow], dict[int, int]]:
    start = sheet.start
    if start is None:
        return [], {}
    top = start[0]
    width = sheet.width
    rows: list[GridRow] = []
    seen: dict[Value, str] = {}
    # The parser's iterator begins at the sheet's first row and column, however empty.
    for number, values in enumerate(_parse(sheet.iter_rows)):
        if number < top:
            continue
        if not budget.take(width):
            break
        if len(seen) > _REMEMBERED:
            seen.clear()
        rows.append(GridRow(number + 1, _shown_row(values, seen, budget)))
    for (row, column), text in facts.errors.items():
        if top <= row < top + len(rows) and column < len(rows[row - top].cells) and not rows[row - top].cells[column]:
            rows[row - top].cells[column] = text
    ranges = [(a, b, c, d) for (a, b), (c, d) in sheet.merged_cell_ranges or ()] or facts.merged
    spans = _fill_merged(rows, top, ranges)
    return rows, spans


def _fill_merged(rows: list[GridRow], top: int, ranges: Sequence[tuple[int, int, int, int]]) -> dict[int, int]:
    """Give every cell of a merged range its value, within the rows that were read.

    Returns:
        For a row number, the last row number to which a range that begins there reaches.
    """
    if not rows:
        return {}
    spans: dict[int, int] = {}
    own: dict[int, int] = {}
    width, last = len(rows[0].cells), top + len(rows) - 1
    room = 4 * len(rows) * width  # overlapping ranges in a hostile file must not cost more than this
    for first_row, first_column, end_row, end_column in ranges:
        end_row, end_column = min(end_row, last), min(end_column, width - 1)
        if not (top <= first_row <= end_row and 0 <= first_column <= end_column):
            continue
        value = rows[first_row - top].cells[first_column]
        room -= (end_row - first_row + 1) * (end_column - first_column + 1)
        if not value or room < 0:
            continue
        for row in range(first_row, end_row + 1):
            cells = rows[row - top].cells
            own.setdefault(row - top, sum(1 for cell in cells if cell))
            for column in range(first_column, end_column + 1):
                cells[column] = cells[column] or value
        spans[first_row + 1] = max(spans.get(first_row + 1, 0), end_row + 1)
    for index, stated in own.items():
        rows[index] = replace(rows[index], sources=max(1, stated))
    return spans


def _shown_row(values: Sequence[Value], seen: dict[Value, str], budget: Budget) -> list[str]:
    """`shown` for a row; texts and days mostly repeat, and remembering them saves half of the time."""
    cells = []
    for value in values:
        kind = type(value)
        if kind is str or kind is dt.date:
            text = seen.get(value)
            if text is None:
                text = seen[value] = shown(value, budget)
            cells.append(text)
        elif kind is float:
            cells.append(shown_number(value))  # type: ignore[arg-type]
        else:
            cells.append(shown(value, budget))
    return cells


def shown(value: Value, budget: Budget) -> str:
    """A cell's value as a person sees it: ``1395``, ``0.1``, ``2024-01-31``, ``30:00:00``, ``TRUE``."""
    if isinstance(value, str):
        return budget.clean(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return shown_number(value)
    if isinstance(value, dt.datetime):
        if value.microsecond >= 500_000 and value < dt.datetime.max - dt.timedelta(seconds=1):
            value += dt.timedelta(seconds=1)  # days are stored as fractions, which rarely hit the second
        return value.replace(microsecond=0, tzinfo=None).isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, dt.timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, dt.time):
        return value.replace(microsecond=0).isoformat()
    return str(value)


def shown_number(value: float) -> str:
    """A float with the 15 digits that a spreadsheet keeps, without exponent where that stays short."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = f"{value:.15g}"
    if "e" in text and 1e-10 < abs(value) < 1e21:
        return format(Decimal(text), "f")
    return text
