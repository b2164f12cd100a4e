"""Ruled tables of a PDF page: each row, with its cells side by side, becomes one run of text.

Cells are what the lines enclose, so that text which is wrapped within a cell stays together and a merged cell
counts for each of the rows that it spans.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from silmari.reading.pdf_glyphs import UPRIGHT, Run, Turn
from silmari.reading.pdf_layout import FOLD, rows

# A drawing with more than this many line ends is a picture, no table.
_MAX_SEGMENTS = 20_000
_MAX_GRID = 6_000
_MAX_WALLS = 400
# How far back a piece of a line looks for the piece before it.
_OPEN = 30
# Lines nearer than this, in points, are one; shorter ones are no border.
_NEAR = 2.5
_SHORT = 6.0
# A merged cell of up to this many characters is repeated in each of its rows.
_REPEATED = 60
# Cells with more lines than this are columns of text in a frame.
_MAX_CELL_LINES = 14

Segment = tuple[float, float, float]


@dataclass(slots=True)
class Rulings:
    """Straight lines of a page, as ``(place, from, to)`` in points, with heights growing downwards."""

    across: list[Segment] = field(default_factory=list)
    down: list[Segment] = field(default_factory=list)

    def seen_from(self, turn: Turn) -> Rulings:
        """The same lines in the frame of text that runs in direction `turn`."""
        if turn == UPRIGHT:
            return self
        upward, along, across = turn
        # Back to the page's own heights, which grow upwards, and from there into the other frame.
        flat = [(-place, low, high) for place, low, high in self.across]
        steep = [(place, -high, -low) for place, low, high in self.down]
        if upward:
            flat, steep = steep, flat
        return Rulings(
            [_flipped(each, across, along) for each in flat], [_flipped(each, along, across) for each in steep]
        )


def _flipped(segment: Segment, place_sign: int, sign: int) -> Segment:
    place, low, high = segment
    return (place_sign * place, *((low, high) if sign > 0 else (-high, -low)))


def rulings(page: Any) -> Rulings:
    """The horizontal and vertical lines that a `pypdfium2.PdfPage` draws, alone or as sides of rectangles."""
    import pypdfium2.raw as pdfium

    found = Rulings()
    budget = _MAX_SEGMENTS
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_float(), ctypes.c_float()
    for index in range(pdfium.FPDFPage_CountObjects(page.raw)):
        item = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        count = pdfium.FPDFPath_CountSegments(item)
        pdfium.FPDFPath_GetDrawMode(item, fill, stroke)
        if not (fill.value or stroke.value):
            continue
        # A white ground behind text is not seen; a coloured one has sides.
        sides = bool(stroke.value) or _coloured(item)
        budget -= count
        if budget < 0:
            return Rulings()
        pdfium.FPDFPageObj_GetMatrix(item, matrix)
        points: list[tuple[float, float]] = []
        for number in range(count):
            segment = pdfium.FPDFPath_GetPathSegment(item, number)
            kind = pdfium.FPDFPathSegment_GetType(segment)
            pdfium.FPDFPathSegment_GetPoint(segment, x, y)
            point = (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                -(matrix.b * x.value + matrix.d * y.value + matrix.f),
            )
            if kind == pdfium.FPDF_SEGMENT_MOVETO:
                _add(found, points, sides=sides)
                points = [point]
            elif kind == pdfium.FPDF_SEGMENT_LINETO:
                points.append(point)
                if pdfium.FPDFPathSegment_GetClose(segment):
                    points.append(points[0])
            else:
                points = []
        _add(found, points, sides=sides)
    return found


def _coloured(item: Any) -> bool:
    import pypdfium2.raw as pdfium

    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(item, red, green, blue, alpha):
        return False
    return alpha.value > 0 and min(red.value, green.value, blue.value) < 250


def _add(found: Rulings, points: Sequence[tuple[float, float]], *, sides: bool) -> None:
    """Keep the straight sides of one drawn figure, if it has visible ones; a flat rectangle is a line itself."""
    if len(points) < 2:
        return
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    if bottom - top <= _NEAR < right - left:
        found.across.append(((top + bottom) / 2, left, right))
    elif right - left <= _NEAR < bottom - top:
        found.down.append(((left + right) / 2, top, bottom))
    elif sides:
        for (x0, y0), (x1, y1) in pairwise(points):
            if abs(y0 - y1) < 0.5 and abs(x0 - x1) > _SHORT:
                found.across.append((y0, min(x0, x1), max(x0, x1)))
            elif abs(x0 - x1) < 0.5 and abs(y0 - y1) > _SHORT:
                found.down.append((x0, min(y0, y1), max(y0, y1)))


def fold(runs: list[Run], lines: Rulings) -> list[Run]:
    """Replace the runs inside each ruled table by one run a row.

    Args:
        runs: Of one direction.
        lines: In the frame of that direction.
    """
    for table in _tables(lines):
        inside = [run for run in runs if table.holds(run)]
        folded = table.fold(inside) if inside else None
        if folded is not None:
            taken = {id(run) for run in inside}
            runs = [run for run in runs if id(run) not in taken] + folded
    return runs


def walls(lines: Rulings) -> list[Segment]:
    """Vertical lines of tables: no run goes through one."""
    found = [(x, table.rows[0], table.rows[-1]) for table in _tables(lines) for x in table.columns[1:-1]]
    return found if len(found) <= _MAX_WALLS else []


@dataclass(slots=True)
class _Grid:
    """A table: where its rows and columns meet, and which lines are drawn between."""

    columns: list[float]
    rows: list[float]
    across: list[Segment]
    down: list[Segment]

    def holds(self, run: Run) -> bool:
        x, y = (run.start + run.end) / 2, (run.top + run.bottom) / 2
        return self.columns[0] < x < self.columns[-1] and self.rows[0] < y < self.rows[-1]

    def fold(self, runs: list[Run]) -> list[Run] | None:
        """One run a row; None if this is no table but a frame around text."""
        cells = self._cells()
        content: dict[int, list[Run]] = defaultdict(list)
        for run in runs:
            row = bisect_right(self.rows, (run.top + run.bottom) / 2) - 1
            column = bisect_right(self.columns, (run.start + run.end) / 2) - 1
            content[cells[row][column]].append(run)
        texts = {cell: _text(each) for cell, each in content.items()}
        filled = len(texts)
        if filled < 3 or len(set(cells[0])) == len({cell for squares in cells for cell in squares}):
            return None
        if any(text.count(FOLD) >= _MAX_CELL_LINES for text in texts.values()):
            return None
        folded: list[Run] = []
        shown: set[int] = set()
        for number, squares in enumerate(cells):
            own = list(dict.fromkeys(squares))
            fresh = [cell for cell in own if cell in texts and cell not in shown]
            # A row without text of its own is the lower part of merged cells.
            if not fresh:
                continue
            spans = any(cell in shown for cell in own)
            lines = [] if spans else _several([content[cell] for cell in fresh])
            if lines:
                folded.extend(self._row([_in_line(content[cell], line) for cell in own], line, runs) for line in lines)
            else:
                whole = [
                    "" if cell in shown and len(texts.get(cell, "")) > _REPEATED else texts.get(cell, "")
                    for cell in own
                ]
                folded.append(self._row(whole, (self.rows[number], self.rows[number + 1]), runs))
            shown.update(fresh)
        # Boxes around single lines are no table.
        beside = sum(len([part for part in run.text.split(" | ") if part.strip()]) > 1 for run in folded)
        return folded if 2 * beside >= len(folded) else None

    def _row(self, parts: list[str], extent: tuple[float, float], runs: list[Run]) -> Run:
        size = sorted(run.size for run in runs)[len(runs) // 2]
        middle = sum(extent) / 2
        row = Run(
            turn=UPRIGHT,
            start=self.columns[0],
            end=self.columns[-1],
            top=middle - size / 2,
            bottom=middle + size / 2,
            base=middle,
            size=size,
            order=min(run.order for run in runs),
        )
        row.text, row.cells = " | ".join(parts).rstrip(" |"), len(parts)
        return row

    def _cells(self) -> list[list[int]]:
        """For each square of the grid the number of the cell that it belongs to."""
        width = len(self.columns) - 1
        parent = list(range(width * (len(self.rows) - 1)))

        def root(square: int) -> int:
            while parent[square] != square:
                parent[square] = parent[parent[square]]
                square = parent[square]
            return square

        for row in range(len(self.rows) - 1):
            y = (self.rows[row] + self.rows[row + 1]) / 2
            for column in range(width):
                x = (self.columns[column] + self.columns[column + 1]) / 2
                square = row * width + column
                if column + 1 < width and not _drawn(self.down, self.columns[column + 1], y):
                    parent[root(square + 1)] = root(square)
                if row + 2 < len(self.rows) and not _drawn(self.across, self.rows[row + 1], x):
                    parent[root(square + width)] = root(square)
        return [[root(row * width + column) for column in range(width)] for row in range(len(self.rows) - 1)]


def _drawn(segments: Sequence[Segment], place: float, at: float) -> bool:
    return any(abs(each - place) < _NEAR and low - 1 <= at <= high + 1 for each, low, high in segments)


def _text(runs: list[Run]) -> str:
    """A cell's text, with a mark where a line ends."""
    lines = []
    for row in rows(runs):
        text = " ".join(run.text.strip() for run in row.runs)
        # The blank at the end of a line tells the joining that a word ends there.
        lines.append(text + " " if row.runs[-1].text.endswith(" ") else text)
    return FOLD.join(lines).strip()


def _several(content: list[list[Run]]) -> list[tuple[float, float]]:
    """Where one ruled row holds several rows, as in reports ruled after every fifth: the lines of all cells meet."""
    lines = rows([run for runs in content for run in runs])
    if len(lines) < 2 or len(content) < 3:
        return []
    covered = [sum(bool(_in_line(runs, (row.top, row.bottom))) for runs in content) for row in lines]
    if min(covered) < 0.8 * len(content):
        return []
    parts = [run.text for runs in content for run in runs]
    counted = sum(any(map(str.isdigit, part)) for part in parts)
    return [(row.top, row.bottom) for row in lines] if counted > 0.6 * len(parts) else []


def _in_line(runs: list[Run], line: tuple[float, float]) -> str:
    return _text([run for run in runs if line[0] < (run.top + run.bottom) / 2 < line[1]])


def _tables(lines: Rulings) -> list[_Grid]:
    """Groups of lines that cross or touch, as grids."""
    across, down = _merged(lines.across), _merged(lines.down)
    if len(across) < 2 or not down or len(across) * len(down) > 400_000:
        return []
    groups = _touching(across, down)
    grids = []
    for flat, steep in groups:
        ys, xs = _places(flat), _places(steep)
        if len(flat) < 2 or (len(ys) < 3 and len(xs) < 3):
            continue
        # Many tables are open at the sides.
        left, right = min(low for _, low, _ in flat), max(high for _, _, high in flat)
        xs = ([left] if left < xs[0] - 2 * _NEAR else []) + xs + ([right] if right > xs[-1] + 2 * _NEAR else [])
        if len(xs) < 3 or len(ys) < 2 or len(xs) * len(ys) > _MAX_GRID:
            continue
        edge = [(xs[0], ys[0], ys[-1]), (xs[-1], ys[0], ys[-1])]
        grids.append(_Grid(xs, ys, flat, [*steep, *edge]))
    return grids


def _touching(across: list[Segment], down: list[Segment]) -> list[tuple[list[Segment], list[Segment]]]:
    """Connected groups of horizontal and vertical lines."""
    parent = list(range(len(across) + len(down)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for i, (y, left, right) in enumerate(across):
        for j, (x, top, bottom) in enumerate(down):
            if left - _NEAR <= x <= right + _NEAR and top - _NEAR <= y <= bottom + _NEAR:
                parent[root(i)] = root(len(across) + j)
    groups: dict[int, tuple[list[Segment], list[Segment]]] = defaultdict(lambda: ([], []))
    for i, segment in enumerate(across):
        groups[root(i)][0].append(segment)
    for j, segment in enumerate(down):
        groups[root(len(across) + j)][1].append(segment)
    return [group for group in groups.values() if group[0] and group[1]]


def _merged(segments: list[Segment]) -> list[Segment]:
    """Join pieces of one line, and drop what is too short for a border."""
    merged: list[Segment] = []
    open_at: list[int] = []
    for place, low, high in sorted(segments):
        open_at = [index for index in open_at[-_OPEN:] if place - merged[index][0] < 1.2]
        for index in open_at:
            other = merged[index]
            if low <= other[2] + _NEAR and high >= other[1] - _NEAR:
                merged[index] = (other[0], min(low, other[1]), max(high, other[2]))
                break
        else:
            open_at.append(len(merged))
            merged.append((place, low, high))
    return [segment for segment in merged if segment[2] - segment[1] > _SHORT]


def _places(segments: list[Segment]) -> list[float]:
    places: list[float] = []
    for place, _, _ in sorted(segments):
        if not places or place - places[-1] > _NEAR:
            places.append(place)
    return places
