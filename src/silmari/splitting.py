"""Document → passages: prose at sentence and paragraph borders, tables in groups of rows.

A passage of prose is an exact slice of its section, so that its locator can be checked. Lengths are counted in
*limits*: 200 words of Latin text, 500 characters of Korean or other CJK text, or any mixture that adds up to
the same, are one limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from silmari.model import Document, Passage, Prose, Row, Table

SPLITTER = "v1"

# A text this much longer than the limit stays whole, and so does a last passage.
_SLACK = 1.25
_OVERLAP = 0.15
_SHORT_LINE = 0.12
_SHORT_CELL = 200
_WIDE = 30
_WIDE_NUMBERS = 10
_MAX_CONTEXT_PART = 200

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u30ff\u3130-\u318f\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_TOKEN = re.compile(r"\S+")
_INK = re.compile(r"\S")
_CLAUSE = re.compile(r"[,;:，、；：·]\s*|\n|(?<=[고며서만])\s")
_STOPPED = re.compile(r"[.!?…。！？|\t][\"'”’»」』)\]]*$")
_NUMBER = re.compile(r"[-+(]?[\d,.\s]*\d[\d,.\s]*[)%]?")


def fingerprint(words: int = 200, chars: int = 500) -> str:
    """What identifies the way texts were cut; a base cut in another way must be rebuilt."""
    return f"{SPLITTER}:{words}w:{chars}c"


def split(document: Document, *, words: int = 200, chars: int = 500) -> list[Passage]:
    """Cut a document into passages, in reading order.

    Args:
        document: As it was read.
        words: Limit of a passage in words, for text written with blanks between words.
        chars: Limit of a passage in characters, for Korean, Chinese and Japanese.

    Returns:
        Passages that cover all text of the sections. No passage is longer than 1.25 limits, unless it is one
        table row; a sentence is cut only where it alone is longer than the limit. Sections without a letter
        or digit give none.
    """
    measure = _Measure(words, chars)
    passages: list[Passage] = []
    for section in document.sections:
        if isinstance(section, Table):
            passages.extend(_split_table(section, document.title, measure))
        else:
            passages.extend(_split_prose(section, document.title, measure))
    return passages


@dataclass(frozen=True, slots=True)
class _Measure:
    """Weighs text in limits."""

    words: int
    chars: int

    def __call__(self, text: str) -> float:
        tokens = text.split()
        # A long token without blanks (a URL, Thai) is worth several words.
        if text.isascii():
            return sum([1 + len(token) // 16 for token in tokens]) / self.words
        latin = cjk = 0
        for token in tokens:
            if _CJK.search(token):
                cjk += len(token) + 1
            else:
                latin += 1 + len(token) // 16
        return latin / self.words + cjk / self.chars


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or a piece of one that is too long.

    `border` tells what follows it: 0 the rest of the sentence, 1 a sentence, 2 a line, 3 a paragraph. `leads` tells
    that it is a short line without a full stop, such as a heading, which belongs to what follows.
    """

    start: int
    end: int
    weight: float
    border: int
    leads: bool = False


def _split_prose(section: Prose, title: str, measure: _Measure) -> Iterator[Passage]:
    text = section.text
    if not any(char.isalnum() for char in text):
        return
    context = _context(title, *section.heading.split(" > "))
    locator = dict(section.locator)
    # A section that is itself a slice of the file gives places in the file.
    base = locator.pop("chars", (0, 0))[0]
    for start, end in _slices(_units(text, measure)):
        place: dict[str, Any] = {**locator, "chars": [base + start, base + end]}
        yield Passage(text=text[start:end], content=text[start:end], context=context, locator=place)


def _units(text: str, measure: _Measure) -> list[_Unit]:
    """The sentences of `text`, the longest of them cut, which together cover all that is not blank."""
    from silmari.language.sentences import sentences

    spans = _covering(text, sentences(text))
    units: list[_Unit] = []
    for number, (start, end) in enumerate(spans):
        following = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        border = _border(text, end, following)
        weight = measure(text[start:end])
        if weight <= 1:
            leads = border > 1 and weight < _SHORT_LINE and not _STOPPED.search(text, start, end)
            units.append(_Unit(start, end, weight, border, leads))
            continue
        pieces = [piece for block in _blocks(text, start, end, measure) for piece in _pieces(text, *block, measure)]
        units.extend(_Unit(a, b, measure(text[a:b]), 0) for a, b in pieces[:-1])
        last = pieces[-1]
        units.append(_Unit(*last, measure(text[slice(*last)]), border))
    return units


def _covering(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans` in which whatever a sentence finder left out belongs to the sentence before it."""
    covering: list[tuple[int, int]] = []
    for start, end in [*spans, (len(text), len(text))]:
        gap = covering[-1][1] if covering else 0
        between = text[gap:start]
        if between.strip():
            left = gap + len(between) - len(between.lstrip())
            right = start - (len(between) - len(between.rstrip()))
            if covering:
                covering[-1] = (covering[-1][0], right)
            else:
                covering.append((left, right))
        if start < end:
            covering.append((start, end))
    return covering


def _border(text: str, end: int, following: int) -> int:
    breaks = text.count("\n", end, following)
    return 1 if not breaks else 2 if breaks == 1 else 3


def _blocks(text: str, start: int, end: int, measure: _Measure) -> Iterator[tuple[int, int]]:
    """Cut what goes on without end into blocks first, since `_pieces` weighs the rest after each piece."""
    size = 10 * max(measure.chars, 6 * measure.words)
    while end - start > size:
        cut = _cut(text, start + size // 2, start + size)
        yield start, start + len(text[start:cut].rstrip())
        start = _ink(text, cut, end)
    if start < end:
        yield start, end


def _ink(text: str, start: int, end: int) -> int:
    """Where the first character that is not blank stands, or `end`."""
    found = _INK.search(text, start, end)
    return found.start() if found else end


def _pieces(text: str, start: int, end: int, measure: _Measure) -> Iterator[tuple[int, int]]:
    """Cut one long sentence into pieces of equal weight, at a clause or a blank where there is one."""
    weight = measure(text[start:end])
    count = int(weight / 0.9) + 1 if weight > 1 else 1
    while count > 1:
        goal = start + (end - start) // count
        slack = max(1, (end - start) // count // 4)
        cut = _cut(text, max(start + 1, goal - slack), min(end - 1, goal))
        stop = start + len(text[start:cut].rstrip()) if text[cut - 1].isspace() else cut
        # Where the weight is uneven, halve what is still too heavy.
        if measure(text[start:stop]) > 1 and stop - start > 1:
            count += 1
            continue
        yield start, stop
        start = _ink(text, cut, end)
        weight = measure(text[start:end])
        count = int(weight / 0.9) + 1 if weight > 1 else 1
    yield start, end


def _cut(text: str, low: int, high: int) -> int:
    """The best place to cut in ``text[low:high]``: after the last clause, else the last blank, else `high`."""
    clauses = [match.end() for match in _CLAUSE.finditer(text, low, high)]
    if clauses:
        return clauses[-1]
    blank = max(text.rfind(" ", low, high), text.rfind("\t", low, high))
    return blank + 1 if blank >= low else high


def _slices(units: list[_Unit]) -> Iterator[tuple[int, int]]:
    """Fill passages with units: evenly, rather at a paragraph's end than elsewhere, with a little overlap."""
    rest = sum(unit.weight for unit in units)
    first = lowest = 0
    while first < len(units):
        begin = _overlap(units, first, lowest)
        carried = sum(unit.weight for unit in units[begin:first])
        if carried + rest <= _SLACK:
            yield units[begin].start, units[-1].end
            return
        stop = _stop(units, first, carried, rest)
        yield units[begin].start, units[stop - 1].end
        rest -= sum(unit.weight for unit in units[first:stop])
        # A passage never holds all of the one before it.
        first, lowest = stop, begin + 1


def _overlap(units: list[_Unit], first: int, lowest: int) -> int:
    """Where a passage whose new text begins with `first` starts: up to two short sentences earlier."""
    begin, weight = first, 0.0
    while first - begin < 2 and begin > lowest:
        before = units[begin - 1]
        weight += before.weight
        # A new paragraph stands for itself.
        if before.border == 3 or weight > _OVERLAP:
            break
        begin -= 1
    return begin


def _stop(units: list[_Unit], first: int, carried: float, rest: float) -> int:
    """The unit at which the next passage begins."""
    goal = rest / 2 if rest <= 2 * 0.95 else 0.95 - carried
    best, least = first + 1, float("inf")
    filled = 0.0
    for stop in range(first + 1, len(units)):
        unit = units[stop - 1]
        filled += unit.weight
        if carried + filled > 1 and stop > first + 1:
            break
        cost = abs(goal - filled) + (0.5, 0.35, 0.15, 0.0)[unit.border] + 0.2 * unit.leads
        if cost <= least:
            best, least = stop, cost
    return best


def _context(*parts: str) -> str:
    """Title and headings, outermost first, each once."""
    kept: dict[str, str] = {}
    for part in parts:
        short = " ".join(part.split())[:_MAX_CONTEXT_PART]
        if short:
            kept.setdefault(short.casefold(), short)
    return " > ".join(kept.values())


@dataclass(slots=True)
class _Group:
    """Rows on their way into one passage."""

    rows: list[Row]
    lines: list[str]
    shorts: list[str]
    weight: float

    def fits(self, row: Row, weight: float) -> bool:
        return row.date == self.rows[-1].date and self.weight + weight <= 1

    def add(self, other: _Group) -> None:
        self.rows += other.rows
        self.lines += other.lines
        self.shorts += other.shorts
        self.weight += other.weight


def _split_table(table: Table, title: str, measure: _Measure) -> Iterator[Passage]:
    context = _context(title, table.name, table.notes)
    header = ": ".join(part for part in (table.name, " ".join(table.notes.split())) if part)
    for group in _groups(table, measure):
        lines = [line for line in group.lines if line]
        if not lines:
            continue
        locator: dict[str, Any] = {"sheet": table.name} if table.name else {}
        locator["rows"] = [group.rows[0].number, group.rows[-1].number]
        yield Passage(
            text="\n".join(line for line in group.shorts if line),
            content="\n".join([header, *lines] if header else lines),
            context=context,
            locator=locator,
            date=group.rows[0].date,
        )


def _groups(table: Table, measure: _Measure) -> Iterator[_Group]:
    """Consecutive rows of one date, up to one limit; a small last group joins the one before it."""
    waiting: _Group | None = None
    group: _Group | None = None
    for row in table.rows:
        line, short = _lines(table.columns, row)
        weight = measure(line)
        if group and group.fits(row, weight):
            group.rows.append(row)
            group.lines.append(line)
            group.shorts.append(short)
            group.weight += weight
            continue
        if waiting:
            yield waiting
        waiting, group = group, _Group([row], [line], [short], weight)
    if waiting and group and waiting.rows[-1].date == group.rows[0].date and waiting.weight + group.weight <= _SLACK:
        waiting.add(group)
        group = None
    yield from (each for each in (waiting, group) if each)


def _lines(columns: Sequence[str], row: Row) -> tuple[str, str]:
    """A row as ``column: value | …``, whole and in its short form."""
    cells = [
        (column, value if value.isalnum() else " ".join(value.split()))
        for column, value in zip(columns, row.cells, strict=False)
        if value and not value.isspace()
    ]
    values = {value for _, value in cells}
    if len(cells) == len(columns) > 2 and len(values) == 1 and not _NUMBER.fullmatch(cells[0][1]):
        # One cell merged over the whole row: a remark, said once.
        return cells[0][1], cells[0][1]
    whole = " | ".join([f"{column}: {value}" for column, value in cells])
    if len(columns) >= _WIDE:
        cells = _without_numbers(cells)
    elif len(whole) <= _SHORT_CELL:
        return whole, whole
    return whole, " | ".join([f"{column}: {value[:_SHORT_CELL]}" for column, value in cells])


def _without_numbers(cells: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """In a very wide row the long tail of bare numbers says nothing to a search: keep the first of them."""
    tail = len(cells)
    while tail and _NUMBER.fullmatch(cells[tail - 1][1]):
        tail -= 1
    return cells[: tail + _WIDE_NUMBERS]
