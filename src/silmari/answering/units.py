"""The pieces of a passage that may be quoted: sentences of prose, rows of tables.

Every piece is an exact, contiguous slice of the passage's content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from silmari.model import Passage

# Not even a quote may carry these to a terminal or a web page: control characters, the marks that
# reverse the direction of text, and the invisible tag characters that hide instructions.
UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE_RUN = re.compile(f"[{UNSAFE}]+")
_LINE = re.compile(r"[^\n]+")
# A passage is a few hundred words; a table's row group may be longer, but not without bound.
MAX_CONTENT_CHARS = 60_000
MAX_SENTENCE_CHARS = 700


@dataclass(frozen=True, slots=True)
class Unit:
    """One quotable slice ``content[start:end]``.

    `line` is the number of the line or sentence that it was cut from, counted in its passage.
    """

    start: int
    end: int
    text: str
    line: int


def is_safe(text: str) -> bool:
    """Whether a text is free of the characters in `UNSAFE`."""
    return not _UNSAFE_RUN.search(text)


def is_table(passage: Passage) -> bool:
    """Whether the content has one row a line rather than sentences."""
    return "rows" in passage.locator


def split(passage: Passage) -> list[Unit]:
    """Cut the content into sentences (prose) or lines (table rows), in order.

    Content past `MAX_CONTENT_CHARS` is not looked at.
    """
    content = passage.content[:MAX_CONTENT_CHARS]
    if is_table(passage):
        spans = [match.span() for match in _LINE.finditer(content)]
    else:
        # Here, not above: the Korean splitter is only loaded when an answer is wanted.
        from silmari.language.sentences import sentences

        spans = sentences(content)
    units: list[Unit] = []
    for line, (start, end) in enumerate(spans):
        for begin, stop in _safe(content, start, end):
            text = content[begin:stop]
            if any(char.isalnum() for char in text):
                units.append(Unit(begin, stop, text, line))
    return units


def _safe(content: str, start: int, end: int) -> list[tuple[int, int]]:
    """The slice without surrounding blanks, cut wherever an unsafe character stands."""
    spans: list[tuple[int, int]] = []
    begin = start
    for match in _UNSAFE_RUN.finditer(content, start, end):
        spans.append((begin, match.start()))
        begin = match.end()
    spans.append((begin, end))
    trimmed: list[tuple[int, int]] = []
    for first, last in spans:
        text = content[first:last]
        lead = len(text) - len(text.lstrip())
        body = len(text.strip())
        if body:
            trimmed.append((first + lead, first + lead + body))
    return trimmed


def narrow(unit: Unit, weights: Sequence[tuple[int, int, float]], limit: int, table: bool) -> Unit:
    """Cut an over-long unit to the contiguous part that holds most weight.

    Args:
        unit: The unit; returned as it is when it is no longer than `limit` characters.
        weights: ``(start, end, weight)`` of the parts of ``unit.text`` that are candidates to keep
            (cells of a row, clauses of a sentence), in order, offsets within the unit.
        limit: Characters that may stay. A single part that is longer stays whole in a table.
        table: Whether the parts are cells, which are never cut, or clauses.
    """
    if len(unit.text) <= limit or not weights:
        return unit
    best = (-1.0, 0, 0)
    first, last = weights[0][0], weights[0][1]
    for left, (begin, _, _) in enumerate(weights):
        total = 0.0
        for right in range(left, len(weights)):
            stop = weights[right][1]
            if stop - begin > limit and right > left:
                break
            total += weights[right][2]
            # Among equal weights the longer slice, which says more, then the earlier one.
            if (total, stop - begin, -begin) > best:
                best = (total, stop - begin, -begin)
                first, last = begin, stop
    if not table and last - first > limit:
        last = first + limit
    return Unit(unit.start + first, unit.start + last, unit.text[first:last], unit.line)


def parts(text: str, table: bool) -> list[tuple[int, int]]:
    """The spans of a row's cells (``a: b | c: d``) or of a sentence's clauses, in order."""
    border = re.compile(r"\s+\|\s+" if table else r"(?<=[,;:·])\s+|\n+")
    spans: list[tuple[int, int]] = []
    begin = 0
    for match in border.finditer(text):
        spans.append((begin, match.start()))
        begin = match.end()
    spans.append((begin, len(text)))
    return [(first, last) for first, last in spans if last > first]
