"""The characters of a PDF page, joined into the short runs that a printer would set without a jump.

A run lives in the frame of its own writing direction, so that turned pages, turned text and vertical Japanese
look like plain horizontal text to what follows.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3001-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff01-\uff60]"
)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
# Ligatures, Arabic shapes, and the radicals that some fonts name instead of the character.
_COMPATIBLE = re.compile(
    "[\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufdf9\ufe70-\ufefc\u2f00-\u2fd5\u2ea0-\u2ef3\uf900-\ufaff]"
)
# What pdfium gives for a hyphen at the end of a line, and for a glyph that has no meaning it knows of.
HYPHEN = "\x02"
_SKIPPED = frozenset(["", *"\x00\r\n\ufffe\uffff\u00ad\u200b\ufeff"])
_BLANKS = frozenset(" \t\u00a0\u2002\u2003\u2009\u202f\u3000")

# Whether a line runs along the page's height, not its width; its sense there; the sense in which lines follow.
Turn = tuple[bool, int, int]
# A vertical line at a place, from top to bottom.
Wall = tuple[float, float, float]
UPRIGHT: Turn = (False, 1, -1)
# Vertical Japanese: lines run down the page and follow each other leftwards.
VERTICAL: Turn = (True, -1, -1)

# In units of the character's height. A gap this wide is a blank; one this wide parts columns or cells.
_BLANK = 0.15
_JUMP = 1.1


@dataclass(slots=True)
class Run:
    """Characters on one base line without a jump between them.

    Attributes:
        turn: Direction of the line; `UPRIGHT` for ordinary text.
        start, end: Extent along the line, in points.
        top, bottom: Extent across it; grows downwards.
        base: The base line.
        size: Height of the characters.
        order: Place in the page's own order.
        text: What it reads; ends with a blank if the source has one there.
        broken: Whether it ends with a hyphen that pdfium takes for a broken word's.
        cells: How many cells of a ruled table it holds.
        glyphs: Its characters while it grows.
    """

    turn: Turn
    start: float
    end: float
    top: float
    bottom: float
    base: float
    size: float
    order: int
    text: str = ""
    broken: bool = False
    cells: int = 1
    glyphs: list[_Glyph] = field(default_factory=list)


@dataclass(slots=True)
class _Glyph:
    char: str
    turn: Turn
    start: float
    end: float
    top: float
    bottom: float
    origin: float
    base: float
    # What the source has before it: a blank, a blank at the end of the line before; pdfium would set a blank.
    spaced: bool
    trailed: bool
    guessed: bool


def runs(textpage: Any, walls: Callable[[Turn], Sequence[Wall]] = lambda _: ()) -> list[Run]:
    """All runs of a page, in the order of its content.

    Args:
        textpage: A `pypdfium2.PdfTextPage`.
        walls: The lines that no run goes through, in the frame of the direction that is asked for.
    """
    found: list[Run] = []
    known: dict[Turn, Sequence[Wall]] = {}
    for stretch in _stretches(_glyphs(textpage)):
        turn = stretch[0].turn
        if turn not in known:
            known[turn] = walls(turn)
        _place(found, stretch, known[turn])
    for run in found:
        _spell(run)
    return [run for run in found if run.text.strip()]


def _glyphs(textpage: Any) -> list[_Glyph]:
    """Every visible character with its box, in the frame of its direction."""
    import pypdfium2.raw as pdfium

    raw = textpage.raw
    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    box_at, x_at, y_at = ctypes.byref(box), ctypes.byref(x), ctypes.byref(y)
    unicode_at, loose_at, origin_at = (
        pdfium.FPDFText_GetUnicode,
        pdfium.FPDFText_GetLooseCharBox,
        pdfium.FPDFText_GetCharOrigin,
    )
    found: dict[int, list[_Glyph]] = {}
    glyphs: list[_Glyph] = []
    spaced = trailed = guessed = fresh = False
    last_x = last_y = last_low = last_high = math.inf
    quarter = 0
    for index in range(pdfium.FPDFText_CountChars(raw)):
        code = unicode_at(raw, index)
        char = chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else ""
        if char in _BLANKS:
            if pdfium.FPDFText_IsGenerated(raw, index):
                guessed = True
            else:
                # A blank before the end of a line closes it; one after it only indents the next.
                spaced = not fresh
            continue
        if char in _SKIPPED or (char == HYPHEN and not pdfium.FPDFText_IsHyphen(raw, index)):
            if char in "\r\n":
                trailed, spaced, guessed, fresh = trailed or spaced, False, True, True
            last_x = last_y = last_low = last_high = math.inf
            continue
        loose_at(raw, index, box_at)
        low, high, origin = box.bottom, box.top, math.nan
        # In upright text, characters of one height stand on one base line, so that it need not be asked for.
        if quarter or guessed or low != last_low or high != last_high:
            origin_at(raw, index, x_at, y_at)
            # Nor is asking for the angle worth it where the direction cannot have changed.
            if guessed or (abs(x.value - last_x) > 0.01 and abs(y.value - last_y) > 0.01):
                quarter = round(pdfium.FPDFText_GetCharAngle(raw, index) / (math.pi / 2)) % 4
            last_x, last_y, last_low, last_high = x.value, y.value, low, high
            origin = last_x
        glyph = _Glyph(char, UPRIGHT, box.left, box.right, low, high, origin, last_y, spaced, trailed, guessed)
        glyphs.append(glyph)
        found.setdefault(quarter, []).append(glyph)
        spaced = trailed = guessed = fresh = False
    for quarter, group in found.items():
        _turn(group, _direction(quarter, group))
    return glyphs


def _direction(quarter: int, glyphs: list[_Glyph]) -> Turn:
    """Which way lines run and follow, told by where origins stand in their boxes: text may even be mirrored."""
    glyphs = [glyph for glyph in glyphs if not math.isnan(glyph.origin)]
    half = len(glyphs) / 2
    if quarter % 2:
        downwards = sum(glyph.bottom - glyph.base < 0.25 * (glyph.bottom - glyph.top) for glyph in glyphs) > half
        rightwards = sum(glyph.end - glyph.origin < glyph.origin - glyph.start for glyph in glyphs) > half
        return True, -1 if downwards else 1, 1 if rightwards else -1
    leftwards = sum(glyph.end - glyph.origin < 0.25 * (glyph.end - glyph.start) for glyph in glyphs) > half
    upwards = sum(glyph.bottom - glyph.base < glyph.base - glyph.top for glyph in glyphs) > half
    return False, -1 if leftwards else 1, 1 if upwards else -1


def _turn(glyphs: list[_Glyph], turn: Turn) -> None:
    """Bring boxes from the page's frame, in which heights grow upwards, to that of their direction."""
    upward, along, across = turn
    for glyph in glyphs:
        first, second, base = (glyph.start, glyph.end), (glyph.top, glyph.bottom), glyph.base
        if upward:
            first, second, base = second, first, glyph.origin
        glyph.start, glyph.end = first if along > 0 else (-first[1], -first[0])
        glyph.top, glyph.bottom = second if across > 0 else (-second[1], -second[0])
        glyph.base, glyph.turn = across * base, turn


def _stretches(glyphs: list[_Glyph]) -> list[list[_Glyph]]:
    """Cut where the line ends, and turn what is set in vertical writing."""
    stretches: list[list[_Glyph]] = []
    stretch: list[_Glyph] = []
    for glyph in glyphs:
        if stretch and not (_follows(stretch[-1], glyph) or _below(stretch[-1], glyph)):
            stretches.append(stretch)
            stretch = []
        stretch.append(glyph)
    if stretch:
        stretches.append(stretch)
    stretches = [_upright(stretch) for stretch in stretches]
    if 2 * sum(len(stretch) for stretch in stretches if stretch[0].turn == VERTICAL) > len(glyphs):
        # Single characters of a vertical page are vertical, too.
        for stretch in stretches:
            if len(stretch) < 4 and stretch[0].turn == UPRIGHT and all(CJK.match(glyph.char) for glyph in stretch):
                _stand(stretch)
    return stretches


def _follows(before: _Glyph, glyph: _Glyph) -> bool:
    """Whether `glyph` stands on about the same line."""
    if before.base == glyph.base and before.turn == glyph.turn:
        return True
    height = max(before.bottom - before.top, glyph.bottom - glyph.top)
    return before.turn == glyph.turn and abs(before.base - glyph.base) < 0.5 * height


def _below(before: _Glyph, glyph: _Glyph) -> bool:
    """Whether `glyph` is the next one of a vertical line."""
    height = glyph.bottom - glyph.top
    return (
        before.turn == glyph.turn == UPRIGHT
        and abs((before.start + before.end) - (glyph.start + glyph.end)) < 0.6 * max(before.end - before.start, height)
        and abs(glyph.top - before.bottom) < 0.35 * height
        and bool(CJK.match(glyph.char) or CJK.match(before.char) or glyph.char in "︵︶…‥—")
    )


def _upright(stretch: list[_Glyph]) -> list[_Glyph]:
    """Turn a stretch that is a line of vertical writing into its own frame."""
    if stretch[0].base == stretch[-1].base:
        return stretch
    steps = list(pairwise(stretch))
    if len(steps) < 3 or sum(_below(*step) for step in steps) < 0.7 * len(steps):
        return stretch
    return _stand(stretch)


def _stand(stretch: list[_Glyph]) -> list[_Glyph]:
    """Bring boxes into the frame of vertical writing."""
    for glyph in stretch:
        middle = -(glyph.start + glyph.end) / 2
        glyph.start, glyph.end, glyph.top, glyph.bottom = glyph.top, glyph.bottom, -glyph.end, -glyph.start
        glyph.base, glyph.turn = middle, VERTICAL
    return stretch


def _place(found: list[Run], stretch: list[_Glyph], walls: Sequence[Wall]) -> None:
    """Turn a stretch of characters into runs."""
    run: Run | None = None
    for glyph in stretch:
        height = glyph.bottom - glyph.top
        if run is not None:
            gap = _gap(run.glyphs[-1], glyph)
            small, size = (height, run.size) if height < run.size else (run.size, height)
            # Blanks of the source bridge a little more, as in justified text.
            reach = (1.3 * _JUMP if glyph.spaced else _JUMP) * (small or size)
            joined = -0.7 * size < gap < reach and abs(run.base - glyph.base) < 0.4 * size
            if joined and not (walls and gap > 0.1 * size and _walled(run, glyph, walls)):
                run.glyphs.append(glyph)
                run.start, run.end = min(run.start, glyph.start), max(run.end, glyph.end)
                if (height > 0.8 * run.size and glyph.base != run.base) or height > run.size:
                    run.size, run.base = size, glyph.base
                    run.top, run.bottom = min(run.top, glyph.top), max(run.bottom, glyph.bottom)
                continue
        if found and (glyph.trailed or (glyph.spaced and run is not None)):
            # The blank belongs to the end of the line before.
            found[-1].text = " "
        run = Run(glyph.turn, glyph.start, glyph.end, glyph.top, glyph.bottom, glyph.base, height or 1.0, len(found))
        run.glyphs.append(glyph)
        found.append(run)


def _walled(run: Run, glyph: _Glyph, walls: Sequence[Wall]) -> bool:
    """Whether a table's line stands between a run and the character after it."""
    low, high = run.glyphs[-1].end, glyph.start
    return any(low - 1 <= place <= high + 1 and top < glyph.base < bottom for place, top, bottom in walls)


def _gap(before: _Glyph, glyph: _Glyph) -> float:
    """The white between two characters, also from right to left."""
    if glyph.end <= before.start + 1 and (_RTL.match(glyph.char) or _RTL.match(before.char)):
        return before.start - glyph.end
    return glyph.start - before.end


def _spell(run: Run) -> None:
    """Write a run's text, with blanks where they are seen."""
    glyphs = run.glyphs
    gaps = [_gap(a, b) for a, b in pairwise(glyphs)]
    # Letters that are spaced out all along a line are no words of their own.
    plain = sorted(gap for gap, glyph in zip(gaps, glyphs[1:], strict=False) if not glyph.spaced)
    usual = max(0.0, plain[len(plain) // 4]) if len(plain) >= 6 else 0.0
    wide = _BLANK * run.size + usual
    parts = [glyphs[0].char]
    for before, gap, glyph in zip(glyphs, gaps, glyphs[1:], strict=False):
        both = CJK.match(before.char) and CJK.match(glyph.char)
        if glyph.spaced or gap > wide or (glyph.guessed and gap > 0.6 * wide and not both):
            parts.append(" ")
        parts.append(glyph.char)
    trailing = run.text
    text = "".join(parts)
    if text.endswith(HYPHEN):
        run.broken = True
        text = text[:-1] + "-"
    text = text.replace(HYPHEN, "-")
    if _COMPATIBLE.search(text):
        text = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    run.text = text + trailing
    run.glyphs = []
