"""Runs of a PDF page → lines in reading order: columns one after the other, table rows from cell to cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from silmari.reading.pdf_glyphs import CJK, UPRIGHT, VERTICAL, Run, Turn

# What stands between the cells of a row.
CELL = "\t"
# Where a line ends within a cell.
FOLD = "\x1e"
# Lines on both sides of a white gap before it can be one between columns.
_MIN_SIDE = 3
# No page that is read for its text has more; a drawing full of labels may.
_MAX_ROWS = 1000


@dataclass(slots=True)
class Line:
    """One line of a page.

    Attributes:
        text: What it reads, cells of a row with `CELL` between them.
        block: Lines of one column or stretch of the page share the number.
        start, end: Its extent along the line, in points; `left`, `right`: that of its block.
        top, bottom, size: Extent across it, and height of its characters.
        cells: How many parts stand apart in it.
        spaced: Whether the source ends it with a blank.
        broken: Whether it ends with the hyphen of a broken word.
        place: Where it stands on its page, 0 at the top and 1 at the bottom; None for turned text.
    """

    text: str
    block: int
    start: float
    end: float
    left: float
    right: float
    top: float
    bottom: float
    size: float
    cells: int = 1
    spaced: bool = False
    broken: bool = False
    place: float | None = None


def lines(
    runs: list[Run],
    bottom: float,
    top: float,
    fold: Callable[[list[Run], Turn], list[Run]] = lambda group, _: group,
) -> list[Line]:
    """All lines of a page in reading order; text in the page's main direction comes first.

    Args:
        runs: From `silmari.reading.pdf_glyphs.runs`.
        bottom: The page's lower edge, in points.
        top: Its upper edge.
        fold: Makes one run of each row of a ruled table, for the runs of one direction.
    """
    turned: dict[Turn, list[Run]] = defaultdict(list)
    for run in runs:
        turned[run.turn].append(run)
    found: list[Line] = []
    for turn, group in sorted(turned.items(), key=lambda item: -sum(len(run.text) for run in item[1])):
        for block in _blocks(fold(group, turn), down=turn == VERTICAL):
            found.extend(_block_lines(block, len(found)))
        if turn == UPRIGHT and top > bottom:
            for line in found:
                line.place = (top + line.bottom) / (top - bottom) if line.place is None else line.place
    return found


@dataclass(slots=True)
class Row:
    """Runs on about one base line, from left to right."""

    runs: list[Run]
    base: float
    top: float
    bottom: float
    size: float


def rows(runs: list[Run]) -> list[Row]:
    """Group runs into rows, from top to bottom, each from left to right."""
    found: list[Row] = []
    for run in sorted(runs, key=lambda run: run.base):
        row = next((row for row in reversed(found[-3:]) if _beside(row, run)), None)
        if row is None:
            found.append(Row([run], run.base, run.top, run.bottom, run.size))
            continue
        row.runs.append(run)
        if run.size > row.size:
            row.base, row.top, row.bottom, row.size = run.base, run.top, run.bottom, run.size
    for row in found:
        row.runs.sort(key=lambda run: run.start)
    found.sort(key=lambda row: row.base)
    return found


def _beside(row: Row, run: Run) -> bool:
    """Whether a run belongs to a row: the same base line, or raised or lowered small print that touches it."""
    if abs(row.base - run.base) < 0.3 * min(row.size, run.size):
        return True
    small, large = sorted((row.size, run.size))
    overlap = min(row.bottom, run.bottom) - max(row.top, run.top)
    if small > 0.85 * large or overlap < 0.4 * small:
        return False
    return any(
        -large < run.start - each.end < 0.6 * large or -large < each.start - run.end < 0.6 * large for each in row.runs
    )


def _blocks(runs: list[Run], *, down: bool = False) -> list[list[Row]]:
    """Cut a group of runs into blocks that are read one after the other, each row by row.

    Args:
        runs: All of one direction.
        down: They are vertical writing, which has columns (one above the other) but no tables to speak of.
    """
    lines = rows(runs)
    if len(lines) > _MAX_ROWS:
        return [lines]
    size = median([run.size for run in runs])
    blocks: list[list[Row]] = []
    plain: list[Row] = []
    begin = 0
    while begin < len(lines):
        stop, gutters = _band(lines, begin, size)
        band = lines[begin:stop]
        head = _head(band, size)
        if head:
            band, stop = band[:head], begin + head
            gutters = [gap for gap in gutters if _inside(band, gap)]
        cut = _columns(band, gutters, down)
        if cut is None:
            # No columns here: one row on, unless the whole band is a table.
            step = begin + _table_end(band, size) if gutters and _settled(band, gutters) else begin + 1
            plain.extend(lines[begin:step])
            begin = step
            continue
        if plain:
            blocks.append(plain)
            plain = []
        for column in cut:
            blocks.extend(_blocks(column, down=down))
        begin = stop
    if plain:
        blocks.append(plain)
    return blocks


def _head(band: list[Row], size: float) -> int:
    """How many rows at the top of a band are a page header: few, and apart from the rest by a wide white."""
    for number in range(1, min(6, len(band) - 2 * _MIN_SIDE)):
        bottom = max(row.bottom for row in band[:number])
        if band[number].top - bottom > 1.2 * size and len(band) > 4 * number:
            return number
    return 0


def _table_end(band: list[Row], size: float) -> int:
    """How many rows belong to a table: what follows a wide white at its end may share its gaps by chance."""
    for number in range(len(band) - 1, max(len(band) - 4, 1), -1):
        if band[number].top - max(row.bottom for row in band[:number]) > size:
            return number
    return len(band)


Gap = tuple[float, float]


def _band(rows: list[Row], begin: int, size: float) -> tuple[int, list[Gap]]:
    """The longest stretch of rows from `begin` on that share a white gap, and the gaps they share.

    A stretch ends where a row would close all of its gaps, or one that columns have already proved.
    """
    left = min(row.runs[0].start for row in rows)
    right = max(run.end for row in rows for run in row.runs)
    gaps: list[Gap] = [(left - 1, right + 1)]
    stop = begin
    last: list[Gap] = []
    while stop < len(rows):
        narrowed = gaps
        for run in rows[stop].runs:
            narrowed = _without(narrowed, run.start, run.end, 0.7 * size)
        inner = [gap for gap in narrowed if _inside(rows[begin : stop + 1], gap)]
        if last and _settled(rows[begin:stop], last) and len(inner) < len(last):
            lost = [gap for gap in last if not any(gap[0] < other[1] and other[0] < gap[1] for other in inner)]
            if lost and _settled(rows[begin:stop], lost):
                break
        if not narrowed or (stop > begin and not inner and last):
            break
        gaps, last = narrowed, inner
        stop += 1
    return max(stop, begin + 1), last


def _without(gaps: list[Gap], start: float, end: float, least: float) -> list[Gap]:
    """What is left of the gaps when ``start … end`` is filled."""
    left: list[Gap] = []
    for low, high in gaps:
        if end <= low or start >= high:
            left.append((low, high))
            continue
        if start - low >= least:
            left.append((low, start))
        if high - end >= least:
            left.append((end, high))
    return left


def _inside(rows: list[Row], gap: Gap) -> bool:
    """Whether text stands on both sides of a gap."""
    before = any(row.runs[0].end <= gap[0] + 0.01 for row in rows)
    return before and any(row.runs[-1].start >= gap[1] - 0.01 for row in rows)


def _settled(rows: list[Row], gaps: list[Gap]) -> bool:
    """Whether enough lines stand on both sides of one of the gaps."""
    for low, high in gaps:
        before = sum(row.runs[0].end <= low + 0.01 for row in rows)
        after = sum(row.runs[-1].start >= high - 0.01 for row in rows)
        if min(before, after) >= _MIN_SIDE:
            return True
    return False


def _columns(rows: list[Row], gaps: list[Gap], down: bool) -> list[list[Run]] | None:
    """The columns of a band, or None where its rows are to be read across, as in a table."""
    gaps = [gap for gap in gaps if _settled(rows, [gap])]
    if not gaps:
        return None
    columns: list[list[Run]] = [[] for _ in range(len(gaps) + 1)]
    for row in rows:
        for run in row.runs:
            columns[sum(run.start >= high - 0.01 for _, high in gaps)].append(run)
    columns = [column for column in columns if column]
    order = sorted((run.order, number) for number, column in enumerate(columns) for run in column)
    jumps = sum(a[1] != b[1] for a, b in pairwise(order))
    apart = jumps <= 2 * (len(columns) - 1)
    prose = [_proses(column) for column in columns]
    if down or (apart and (all(value > 0.25 for value in prose) or (len(columns) <= 3 and max(prose) > 0.5))):
        return columns
    if apart and jumps < len(columns) and all(_lists(column) for column in columns):
        return columns
    return columns if all(value > 0.6 for value in prose) else None


def _lists(column: list[Run]) -> bool:
    """Whether a column holds phrases, as lists and verses do, rather than labels or numbers."""
    text = "".join(run.text for run in column)
    weight = len(text) * (2 if CJK.search(text) else 1)
    return len(column) >= 5 and weight > 16 * len(column) and sum(map(str.isdigit, text)) < 0.2 * len(text)


def _proses(column: list[Run]) -> float:
    """How much a column looks like running text, 0 to 1: long lines that mostly fill it."""
    lines = rows(column)
    if len(lines) < _MIN_SIDE:
        return 0.0
    left, right = min(row.runs[0].start for row in lines), max(row.runs[-1].end for row in lines)
    fills, lengths = [], []
    for row in lines:
        text = "".join(run.text for run in row.runs)
        fills.append((row.runs[-1].end - row.runs[0].start) / max(right - left, 1))
        lengths.append(len(text) * (2 if CJK.search(text) else 1))
    pitch = [b.base - a.base for a, b in pairwise(lines)]
    # A column of a table with a line now and then is no running text.
    dense = median(pitch) < 2.2 * median([row.size for row in lines])
    full = sum(fill > 0.75 for fill in fills) / len(fills)
    return full * min(1.0, median(lengths) / 30) * (1.0 if dense else 0.4)


def _between(gap: float, before: Run, run: Run, size: float, least: float) -> str:
    """What is written for the white between two runs of a row."""
    if gap < 0.12 * size and not before.text.endswith(" "):
        return ""
    blank = gap <= least or before.text.endswith("(") or run.text.startswith(")")
    return " " if blank else CELL


def _words(row: Row) -> bool:
    """Whether the parts of a row read like words of one sentence."""
    return sum(any(map(str.isalpha, run.text)) for run in row.runs) > 0.7 * len(row.runs)


def _block_lines(rows: list[Row], number: int) -> list[Line]:
    left = min(row.runs[0].start for row in rows)
    right = max(run.end for row in rows for run in row.runs)
    found = []
    for row in rows:
        gaps = [after.start - before.end for before, after in zip(row.runs, row.runs[1:], strict=False)]
        wide = sum(gap > 0.9 * row.size for gap in gaps)
        # A single gap that is not very wide is a number before its text, or a line that was stretched.
        least = (0.9 if wide > 1 else 1.8) * row.size
        # A line that fills its block with gaps that are all alike was justified.
        if (
            gaps
            and max(gaps) < 2.2 * row.size
            and row.runs[-1].end > right - row.size
            and row.runs[0].start < left + 3 * row.size
        ):
            least = 2.2 * row.size if max(gaps) < 1.7 * min(gaps) and _words(row) else least
        parts = [row.runs[0].text.strip()]
        cells = max(run.cells for run in row.runs)
        for gap, (before, run) in zip(gaps, pairwise(row.runs), strict=True):
            between = _between(gap, before, run, row.size, least)
            cells += between == CELL
            parts += [between, run.text.strip()]
        last = row.runs[-1]
        found.append(
            Line(
                text="".join(parts),
                block=number,
                start=row.runs[0].start,
                end=max(run.end for run in row.runs),
                left=left,
                right=right,
                top=row.top,
                bottom=row.bottom,
                size=row.size,
                cells=cells,
                spaced=last.text.endswith(" "),
                broken=last.broken,
            )
        )
    return found
