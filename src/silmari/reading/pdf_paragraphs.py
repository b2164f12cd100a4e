"""Lines of all pages of a PDF → the text of each page: running headers dropped, broken words and lines joined."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from silmari.reading.cleaning import clean
from silmari.reading.pdf_glyphs import CJK
from silmari.reading.pdf_layout import FOLD, Line

# Headers and footers are looked for among this many lines at either end of a page, in this part of its height.
_EDGE_LINES = 3
_EDGE = 0.13
_MIN_PAGES = 4
_MIN_LEFT = 4

_NUMBER = re.compile(r"\d{1,5}")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
_LEADER = re.compile(r" *(?:[.·․‥…] ?){5,} *")
_CORE = re.compile(r"^\W+|\W+$")
_ITEM = re.compile(
    r"[-*+•◦▪■□●○◆◇▶►※ㆍ·‣–—➜➢❖✓☞○◯▷▸\uf0a7\uf0b7]\s?\S|\(?\d{1,3}[.)]\s|\(?[가나다라마바사아자차카타파하][.)]\s|\([a-z0-9ivx]{1,4}\)\s"
    r"|[①-⑳㉠-㉻㈀-㈜]|\[별[표지]|【|<별"
)
# Articles begin lines, and are also named within sentences.
_ARTICLE = re.compile(r"제\s?\d+\s?(?:조|장|절|항|편|관)(?:의\s?\d+)?(?=[\s(（\[]|$)")
_STOPPED = re.compile(r"[.!?:;。！？다】\])〉>]\s*$")
# Particles and endings that never begin a Korean word: a line that begins with one was broken within a word.
_TAIL = re.compile(
    r"(?:은|는|을|를|의|에|에서|에게|으로|로|와|께|께서|까지|부터|에는|에도|으로는|으로서|라고|라는|이라는|이라고"
    r"|다|니다|습니다|합니다|됩니다|입니다|였다|었다|했다|한다|된다|하였다|되었다|하며|하고|되고|되며|하여|되어)(?=[\s.,)]|$)"
)
# What begins a sentence of its own, also where the line before it happened to be full.
_CONNECTIVE = re.compile(r"(?:또한|다만|단|그러나|그리고|따라서|그러므로|한편|즉|특히|이에|이때|이 경우)[ ,]")


def compose(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Write each page's lines as text, paragraphs apart by a blank line, rows and items on lines of their own.

    Args:
        pages: The lines of each page in reading order.
    """
    kept = without_running(pages)
    joiner = _Joiner(kept)
    return [joiner.page(lines) for lines in kept]


def without_running(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Drop the headers, footers and page numbers that come back on most pages in the same place.

    A page keeps them where little else would be left of it, and a document of less than four pages keeps all. Words
    are kept where they come first: they may be the document's title.
    """
    kept = [list(lines) for lines in pages]
    if len(pages) < _MIN_PAGES:
        return kept
    seen: dict[tuple[str, int | None, int], set[int]] = defaultdict(set)
    edges = [_edge_keys(lines, number) for number, lines in enumerate(pages)]
    for number, keys in enumerate(edges):
        for each in keys.values():
            for key in each:
                seen[key].add(number)
    # Left and right pages of a book have headers of their own.
    least = max(_MIN_PAGES, 0.6 * len(pages))
    half = max(2 * _MIN_PAGES, 0.4 * len(pages))

    def running(key: tuple[str, int | None, int]) -> bool:
        found = seen[key]
        if len(found) >= least:
            return True
        sides = Counter(number % 2 for number in found)
        return len(found) >= half and max(sides.values()) >= 0.9 * len(found)

    shown: set[str] = set()
    for number, (lines, keys) in enumerate(zip(pages, edges, strict=True)):
        drop = {index for index, each in keys.items() if any(running(key) for key in each)}
        if drop and len(lines) - len(drop) >= _MIN_LEFT:
            words = {index: "".join(filter(str.isalpha, lines[index].text)) for index in drop}
            kept[number] = [
                line
                for index, line in enumerate(lines)
                if index not in drop or (words[index] and words[index] not in shown)
            ]
            shown.update(words.values())
    return kept


def _edge_keys(lines: Sequence[Line], page: int) -> dict[int, list[tuple[str, int | None, int]]]:
    """For each line near an edge of the page, what it would be recognised by on another page.

    Besides its words and height that is how far a number in it is from the page's own: a number that does
    not count pages is content.
    """
    placed = [index for index, line in enumerate(lines) if line.place is not None]
    placed.sort(key=lambda index: lines[index].place or 0)
    keys: dict[int, list[tuple[str, int | None, int]]] = {}
    for index in placed[:_EDGE_LINES] + placed[-_EDGE_LINES:]:
        line = lines[index]
        if line.place is None or _EDGE < line.place < 1 - _EDGE:
            continue
        text, height = " ".join(line.text.split()), round(line.place * 50)
        found: list[tuple[str, int | None, int]] = []
        for near in (height - 1, height, height + 1):
            found.append((text, None, near))
            for match in list(_NUMBER.finditer(text))[:3]:
                rest = text[: match.start()] + "#" + text[match.end() :]
                offset = int(match[0]) - page
                bare = not any(char.isalpha() for char in rest) and len(rest) < 12
                if bare or abs(offset) <= 50:
                    found.append((rest, offset, near))
        keys[index] = found
    return keys


class _Joiner:
    """Joins lines, with what the whole document tells about its words and line ends."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self._words: set[str] = set()
        ends: Counter[bool] = Counter()
        for lines in pages:
            for line in lines:
                self._words.update(_CORE.sub("", token) for token in line.text.split()[1:-1])
            for before, line in pairwise(lines):
                if _HANGUL.match(before.text[-1:]) and _HANGUL.match(line.text[:1]) and _full(before, line):
                    ends[before.spaced] += 1
        # Where lines end with a blank at the end of a word, those without one end within a word.
        self._marked = sum(ends.values()) >= 4 and ends[True] >= 0.15 * sum(ends.values())

    def page(self, lines: Sequence[Line]) -> str:
        if not lines:
            return ""
        pitches = _pitches(lines)
        text = self._unfolded(lines[0].text)
        for number, (before, line) in enumerate(pairwise(lines)):
            near = lines[max(0, number - 2) : number + 4]
            glue = self._glue(before, line, near, pitches.get(line.block, 0.0))
            if glue is None:
                text = text[:-1] + self._unfolded(line.text)
            else:
                text += glue + self._unfolded(line.text)
        return clean(_LEADER.sub(" … ", text)).strip()

    def _glue(self, before: Line, line: Line, near: Sequence[Line], pitch: float) -> str | None:
        """What stands between two lines; None to take the hyphen away, too."""
        word = before.text.rsplit(None, 1)[-1] if before.text.strip() else ""
        following = line.text.split(None, 1)[0] if line.text.strip() else ""
        hyphened = before.text.endswith(("-", "‐")) and word[-2:-1].isalpha()
        if hyphened and following[:1].islower() and (before.block == line.block or before.broken):
            return self._unhyphened(word[:-1], following)
        if before.block != line.block:
            return "\n\n"
        if before.cells > 1 and line.cells > 1:
            return "\n"
        step = line.bottom - before.bottom
        if pitch and step > 1.45 * pitch and step > 1.6 * max(line.size, before.size):
            return "\n\n"
        if self._parted(before, line, near):
            return "\n"
        return self._inside(before.text, before.spaced, line.text)

    def _unfolded(self, text: str) -> str:
        """Join the lines within the cells of a table's row."""
        first, *others = text.split(FOLD)
        for part in others:
            word = first.rsplit(None, 1)[-1] if first.strip() else ""
            following = part.split(None, 1)[0] if part.strip() else ""
            glue: str | None = " " if _ITEM.match(part) else self._inside(first.rstrip(), first.endswith(" "), part)
            if word[-1:] in ("-", "‐") and word[-2:-1].isalpha() and following[:1].islower():
                glue = self._unhyphened(word[:-1], following)
            first = first.rstrip()[:-1] + part if glue is None else first.rstrip() + glue + part
        return first

    def _parted(self, before: Line, line: Line, near: Sequence[Line]) -> bool:
        """Whether two neighbouring lines are no running text."""
        if before.cells > 1 or line.cells > 1 or _ITEM.match(line.text):
            return True
        if _ARTICLE.match(line.text) and (_STOPPED.search(before.text) or not _full(before, line)):
            return True
        if max(before.size, line.size) > 1.2 * min(before.size, line.size):
            return True
        if line.start - before.start > 0.8 * line.size and before.start - before.left < 0.8 * line.size:
            # Indented: a new paragraph, unless the line before hangs out as the first of an item.
            if not _ITEM.match(before.text):
                return True
        short = len(before.text) < (12 if CJK.search(before.text) else 24)
        if _full(before, line) and (not short or line.text[:1].islower()):
            return False
        # Beside a picture the lines are short; a small letter says that they go on all the same.
        edge = max(each.end for each in near if each.block == line.block)
        going = line.text[:1].islower() and len(before.text) >= 20
        return not (going and edge - before.end < _first_width(line) + 0.5 * line.size)

    def _unhyphened(self, head: str, following: str) -> str | None:
        core = _CORE.sub("", following)
        stem = _CORE.sub("", head)
        kept = f"{stem}-{core}" in self._words and stem + core not in self._words
        return "" if kept or ("-" in stem and stem + core not in self._words) else None

    def _inside(self, before: str, spaced: bool, line: str) -> str:
        """What stands between two lines of one paragraph: a blank, or nothing."""
        last, first = before[-1:], line[:1]
        word = before.rsplit(None, 1)[-1] if before.strip() else ""
        if (last in "-‐" and word[-2:-1].isalnum()) or (last in "–—" and first.isdigit()):
            return ""
        if last in "/_@" and len(word) > 1:
            return ""
        korean = _HANGUL.match(last) or _HANGUL.match(first)
        if not korean:
            # Japanese and Chinese set no blank, not even beside Latin letters.
            cjk = (CJK.match(last) or CJK.match(first)) and not _HANGUL.search(before + line)
            return "" if cjk else " "
        if self._marked and not _CONNECTIVE.match(line):
            return " " if spaced else ""
        return "" if not spaced and self._broken(word, line) else " "

    def _broken(self, word: str, line: str) -> bool:
        """Whether a Korean word goes over the end of the line."""
        following = line.split(None, 1)[0] if line.strip() else ""
        if not (_HANGUL.match(word[-1:]) and _HANGUL.match(following[:1])):
            return False
        head, tail = _CORE.sub("", word), _CORE.sub("", following)
        if head + tail in self._words:
            return True
        if head in self._words and tail in self._words:
            return False
        return bool(_TAIL.match(following))


def _pitches(lines: Sequence[Line]) -> dict[int, float]:
    """The usual distance of lines in each block."""
    steps: dict[int, list[float]] = defaultdict(list)
    for before, line in pairwise(lines):
        if before.block == line.block and 0 < line.bottom - before.bottom < 3 * line.size:
            steps[line.block].append(line.bottom - before.bottom)
    return {block: median(each) for block, each in steps.items()}


def _full(before: Line, line: Line) -> bool:
    """Whether the first word of `line` would not have fitted into what `before` leaves of its block's width."""
    return before.block == line.block and before.right - before.end < _first_width(line) + 0.4 * before.size


def _first_width(line: Line) -> float:
    """About how wide the first word is, in points; of text without blanks, two characters."""
    first = line.text.split(None, 1)[0] if line.text.strip() else ""
    if CJK.match(first) and not _HANGUL.search(first):
        return 2 * line.size
    return (line.end - line.start) * len(first) / max(len(line.text), 1)
