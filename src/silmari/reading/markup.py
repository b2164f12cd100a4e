"""HTML and its cousins: tables as tables, the rest as text.

Many offices' web systems export "Excel" files that are HTML tables or the XML spreadsheet of 2003
under an ``.xls`` name; both are read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import PurePath

from silmari.model import Prose, Section, Table
from silmari.reading.cells import MAX_COLUMNS, Budget
from silmari.reading.content import Content
from silmari.reading.detect import WORKBOOK_SUFFIXES
from silmari.reading.encoding import decoded
from silmari.reading.limits import Limits
from silmari.reading.tabular import GridRow, tables

_UNSEEN = frozenset(("script", "style", "template", "noscript", "svg", "math", "styles", "documentproperties"))
_BREAKS = frozenset(
    "p div br li ul ol dl dt dd section article header footer main aside nav form blockquote pre hr address figure "
    "figcaption caption fieldset option body".split()
)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w\-]+)""", re.IGNORECASE)
_MAX_SPAN = 1000
_SAME = {"row": "tr", "cell": "td", "worksheet": "table"}  # names of the XML spreadsheet


def read(data: bytes, name: str, limits: Limits) -> Content:
    """Read an HTML page or an XML spreadsheet.

    Args:
        data: The file's bytes.
        name: The file's name; one with a workbook's suffix makes the content ``excel``.
        limits: Cells past the limit are cut and noted.

    Returns:
        Tables of at least two rows and two columns as tables, everything else as prose under its
        headings, in the page's order.
    """
    charset = _CHARSET.search(data[:2048])
    source = decoded(data, charset[1].decode("ascii") if charset else None)
    page = _Page(Budget(limits))
    page.feed(source.text.replace("\0", ""))
    page.close()
    page.finish()
    workbook = PurePath(name).suffix.lower() in WORKBOOK_SUFFIXES
    notes = source.notes + page.budget.all_notes()
    title = "" if workbook else " ".join(page.title.split())
    return Content("excel" if workbook else "text", title, tuple(page.sections), notes=notes)


@dataclass(slots=True)
class _Grid:
    name: str = ""
    rows: list[GridRow] = field(default_factory=list)
    cells: list[tuple[str, int, int, int]] = field(default_factory=list)  # text, column, across, down
    hanging: dict[int, tuple[int, str]] = field(default_factory=dict)  # column: rows left, text
    spans: dict[int, int] = field(default_factory=dict)
    text: list[str] | None = None  # of the open cell
    place: tuple[int, int, int] = (0, 1, 1)
    column: int = 0
    nested: bool = False
    in_row: bool = False


class _Page(HTMLParser):
    def __init__(self, budget: Budget) -> None:
        super().__init__(convert_charrefs=True)
        self.budget = budget
        self.sections: list[Section] = []
        self.title = ""
        self._grids: list[_Grid] = []
        self._unseen = 0
        self._in_title = False
        self._heading_level = 0
        self._headings: list[tuple[int, str]] = []
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag = tag.rpartition(":")[2]
        tag = _SAME.get(tag, tag)
        values = {key.rpartition(":")[2]: value or "" for key, value in attrs}
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "title":
            self._in_title = True
        elif tag == "table":
            self._open_table(values.get("name", ""))
        elif tag in ("tr", "td", "th"):
            self._open_part(tag, values)
        elif re.fullmatch("h[1-6]", tag) and not self._grids:
            self._end_prose()
            self._heading_level = int(tag[1])
        elif tag in _BREAKS:
            self._put("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag.rpartition(":")[2] in _UNSEEN or _SAME.get(tag.rpartition(":")[2], tag) in ("td", "tr", "table"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "table" and _is_sheet(self._grids):  # the table inside of a worksheet
            return
        tag = _SAME.get(tag, tag)
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag == "title":
            self._in_title = False
        elif tag == "table":
            self._close_table()
        elif tag in ("td", "th"):
            self._close_cell()
        elif tag == "tr":
            self._close_row()
        elif re.fullmatch("h[1-6]", tag) and self._heading_level:
            self._take_heading()
        elif tag in _BREAKS:
            self._put("\n")

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._in_title:
            self.title += data
        else:
            # Line ends in the source are blanks; only tags break lines.
            self._put(re.sub(r"[ \t\r\n\f]+", " ", data))

    def _put(self, text: str) -> None:
        if not self._grids:
            self._text.append(text)
        elif self._grids[-1].text is not None:
            self._grids[-1].text.append(text)

    def _open_table(self, name: str) -> None:
        if _is_sheet(self._grids) and not self._grids[-1].rows:
            return  # the table inside of a worksheet
        if self._grids:
            self._grids[-1].nested = True
        else:
            self._end_prose()
        self._grids.append(_Grid(name))

    def _open_part(self, tag: str, values: dict[str, str]) -> None:
        if not self._grids:
            return
        grid = self._grids[-1]
        if tag == "tr":
            self._close_row()
            grid.in_row = True
            return
        self._close_cell()
        grid.in_row = True
        if values.get("index", "").isdigit():  # the XML spreadsheet leaves empty cells out
            grid.column = min(int(values["index"]) - 1, MAX_COLUMNS)
        while grid.column in grid.hanging:
            grid.column += 1
        across = _number(values.get("colspan")) or _number(values.get("mergeacross")) + 1
        down = _number(values.get("rowspan")) or _number(values.get("mergedown")) + 1
        grid.place, grid.text = (grid.column, across, down), []
        grid.column += across

    def _close_cell(self) -> None:
        if not self._grids or self._grids[-1].text is None:
            return
        grid = self._grids[-1]
        text = self.budget.clean(_tidy("".join(grid.text or ())))
        grid.text = None
        grid.cells.append((text, *grid.place))

    def _close_row(self) -> None:
        self._close_cell()
        if not self._grids:
            return
        grid = self._grids[-1]
        if not grid.in_row:
            return
        grid.in_row = False
        if not grid.cells and not grid.hanging:
            return
        number = len(grid.rows) + 1
        ends = [column + across for _, column, across, _ in grid.cells] + [column + 1 for column in grid.hanging]
        width = min(max(ends), MAX_COLUMNS)
        if not self.budget.take(width):
            grid.cells, grid.hanging, grid.column = [], {}, 0
            return
        cells = [""] * width
        for column, (left, text) in list(grid.hanging.items()):
            if column < width:
                cells[column] = text
            if left > 1:
                grid.hanging[column] = (left - 1, text)
            else:
                del grid.hanging[column]
        for text, first, across, down in grid.cells:
            for column in range(first, min(first + across, width)):
                cells[column] = text
                if down > 1:
                    grid.hanging[column] = (down - 1, text)
            if down > 1:
                grid.spans[number] = max(grid.spans.get(number, 0), number + down - 1)
        own = sum(1 for text, *_ in grid.cells if text)
        grid.rows.append(GridRow(number, cells, max(1, own)))
        grid.cells, grid.column = [], 0

    def _close_table(self) -> None:
        if not self._grids:
            return
        self._close_row()
        grid = self._grids.pop()
        width = max((len(row.cells) for row in grid.rows), default=0)
        lines = "\n".join(" ".join(dict.fromkeys(filter(None, row.cells))) for row in grid.rows)
        if self._grids:
            self._put(f"\n{lines}\n")
            return
        filled = [row for row in grid.rows if row.filled]
        if grid.nested or len(filled) < 2 or width < 2:
            self._text.append(f"\n{lines}\n")  # a frame for the page's layout
            return
        for row in grid.rows:
            row.cells.extend([""] * (width - len(row.cells)))
        self.sections += self._named(tables(self.budget.clean(grid.name), grid.rows, header_spans=grid.spans))

    def _named(self, found: list[Table]) -> list[Table]:
        heading = self._headings[-1][1] if self._headings else ""
        if not heading or not found:
            return found
        first = found[0]
        notes = "\n".join(filter(None, (heading, first.notes)))
        return [Table(first.name, first.columns, first.rows, notes), *found[1:]]

    def _take_heading(self) -> None:
        level, self._heading_level = self._heading_level, 0
        heading = " ".join("".join(self._text).split())
        self._text = []
        if heading:
            self._headings = [(above, text) for above, text in self._headings if above < level]
            self._headings.append((level, self.budget.clean(heading)))
            self.title = self.title or heading

    def _end_prose(self) -> None:
        text = self.budget.clean(_tidy("".join(self._text)))
        self._text = []
        if text:
            self.sections.append(Prose(text, heading=" > ".join(heading for _, heading in self._headings)))

    def finish(self) -> None:
        """Close whatever the page left open."""
        while self._grids:
            self._close_table()
        self._end_prose()


def _is_sheet(grids: list[_Grid]) -> bool:
    return bool(grids) and bool(grids[-1].name)


def _number(text: str | None) -> int:
    return min(int(text), _MAX_SPAN) if text and text.isascii() and text.isdigit() else 0


def _tidy(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
