"""Where a text cites: marks in all their spellings, told apart from the brackets of code, also while it streams."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# [1], [1, 2], [1-3], 【1】, ［1］, 〔1〕, [^1], [출처 1], [Source 1; 2], [[1]], 【3†report.pdf】, (출처 1), (source 2)
_S = r"[^\S\n]*"
_SAID = r"(?:출처|자료|sources?)"
_WORD = (
    rf"(?:(?:출처|자료|문서|근거|참고|sources?|docs?|documents?|refs?|references?|citations?|no)\.?{_S}[:：#=]?{_S})"
)
_NUMBER = r"\d{1,4}"
_SPAN = rf"{_NUMBER}(?:{_S}[-–~－～]{_S}{_NUMBER})?"
_AND = rf"{_S}(?:[,;，；·、&/]|and|및|와|과){_S}"
_INSIDE = rf"{_S}{_WORD}?[#^]?{_SPAN}(?:{_AND}{_WORD}?[#^]?{_SPAN})*{_S}(?:[†:][^\[\]【】［］〔〕\n]{{0,24}})?"
_MARK = re.compile(
    rf"\[\[(?P<double>{_INSIDE})\]\]|[\[【［〔](?P<single>{_INSIDE})[\]】］〕]"
    rf"|\({_S}(?P<round>{_SAID}{_S}[:：#]?{_S}{_SPAN}(?:{_AND}{_SAID}?{_S}{_SPAN})*){_S}\)",
    re.I,
)
# What may still become a mark when more text comes. Anything longer is plain text.
MAX_MARK = 64
_OPEN = re.compile(rf"(?:\[\[|[\[【［〔])[^\[\]【】［］〔〕\n]{{0,{MAX_MARK}}}\]?")
_ROUND_OPEN = re.compile(rf"\({_S}(?:출?|자?|s|so|sou|sour|sourc|{_SAID}[^()\n]{{0,{MAX_MARK}}})", re.I)
_NUMBERS = re.compile(rf"({_NUMBER})(?:\s*[-–~－～]\s*({_NUMBER}))?")
_MAX_RANGE = 20
_SPECIAL = re.compile(r"[\[【［〔(`]")

# A span of code may be this long; a longer one, or one that its line does not close, is no code.
_MAX_CODE = 400
_FENCE = re.compile(r"`{3,}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*$", re.A)
# An array's name, as nobody calls anything in prose: one small letter, or an abbreviation.
_ARRAY = re.compile(r"[b-z]|arr|args?|argv|buf|cols?|df|dict|elem|idx|lst|mat|nums?|ptr|tmp|vec|\w*_\w*|\w*\d", re.A)
# What assigns to, reads from or goes on from an element.
_GOES_ON = re.compile(r"\s?(?:[-+*/%|&^<>!=:]?=|->|<<|>>)|\.[a-z_]\w|\[[a-z_'\"]|\(")
_LOOK = 3
# `= [1, 2]`, `return [1]`, `sum([1, 2])`: a list, written as code.
_LIST_BEFORE = re.compile(r"(?:[=!<>]=?|\breturn|\w\()[^\S\n]?$", re.A)
_INDEXED = re.compile(r"([A-Za-z_]\w*)\[", re.A)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text.

    Attributes:
        text: As it stands there.
        inside: For a mark, what its brackets hold; None for anything else.
        code: Whether it is code, in which nothing is a mark.
    """

    text: str
    inside: str | None = None
    code: bool = False


class Scanner:
    """Cuts a text, as it arrives, into marks and what is none; the pieces joined are the text."""

    def __init__(self) -> None:
        self._pending = ""
        self._before = ""
        self._line = ""
        self._fence = ""
        self._indexed = False
        self._names: set[str] = set()

    def feed(self, text: str) -> list[Piece]:
        """Take what arrived; return what is sure by now. Blanks are kept for the mark that may follow them."""
        self._pending += text
        return self._advance(final=False)

    def close(self) -> list[Piece]:
        """Return the rest."""
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while self._pending:
            piece = self._fenced(final) if self._fence else self._next(final)
            if piece is None:
                break
            self._pending = self._pending[len(piece.text) :]
            pieces.append(piece)
            self._passed(piece)
        return pieces

    def _passed(self, piece: Piece) -> None:
        self._before = (self._before + piece.text)[-2 * MAX_MARK :]
        self._line = (self._line + piece.text).rpartition("\n")[2][-2 * MAX_MARK :]
        self._indexed = piece.code and piece.text.endswith("]")

    def _next(self, final: bool) -> Piece | None:
        special = _SPECIAL.search(self._pending)
        if special is None or special.start():
            body = self._pending[: special.start()] if special else self._pending
            kept = body.rstrip()
            # The blanks go with the mark that may follow them.
            if kept or (final and not special):
                return Piece(kept or body)
            if special is None:
                return None
        blanks = self._pending[: len(self._pending) - len(self._pending.lstrip())]
        rest = self._pending[len(blanks) :]
        if rest[0] == "`":
            return self._quoted(blanks, rest, final)
        mark = _MARK.match(rest)
        if mark is None or mark.end() > MAX_MARK:
            return Piece(blanks + rest[0]) if final or not _may_become_mark(rest) else None
        after = rest[mark.end() :]
        if not final and len(after) < _LOOK and "\n" not in after and self._may_be_code(blanks):
            return None
        text = blanks + mark[0]
        inside = mark["double"] or mark["single"] or mark["round"]
        return Piece(text, code=True) if self._is_code(blanks, mark, after) else Piece(text, inside)

    def _may_be_code(self, blanks: str) -> bool:
        return not blanks and bool(_IDENTIFIER.search(self._before))

    def _is_code(self, blanks: str, mark: re.Match[str], after: str) -> bool:
        """Whether a bracket is an index or a list rather than a mark."""
        if not mark[0].startswith("["):
            return False
        if _LIST_BEFORE.search(self._before + blanks):
            return True
        if blanks or not self._before:
            return False
        if self._indexed:
            return True
        # Nobody numbers sources from 0.
        first = mark[0] == "[0]"
        if not (named := _IDENTIFIER.search(self._before)):
            return first and self._before[-1] == ")"
        name = named[0]
        if not (first or name in self._names or _ARRAY.fullmatch(name) or _GOES_ON.match(after)):
            return False
        self._names.add(name)
        return True

    def _quoted(self, blanks: str, rest: str, final: bool) -> Piece | None:
        """A span of code, or its backticks alone if nothing closes them; None to wait."""
        run = re.match("`+", rest)
        assert run is not None
        ticks = run[0]
        if len(ticks) == len(rest) and not final:
            return None
        starts = not (self._line if "\n" not in blanks else "").strip()
        if _FENCE.fullmatch(ticks) and starts:
            self._fence = ticks
            return Piece(blanks + ticks, code=True)
        line = rest[: rest.find("\n")] if "\n" in rest else rest
        closing = re.search(rf"(?<!`){ticks}(?!`)", line[len(ticks) : len(ticks) + _MAX_CODE])
        if closing:
            end = len(ticks) + closing.end()
            if end == len(rest) and not final:
                return None
            span = rest[len(ticks) : len(ticks) + closing.start()]
            self._names |= {span.strip()} | set(_INDEXED.findall(span))
            return Piece(blanks + rest[:end], code=True)
        if final or len(line) < len(rest) or len(line) > _MAX_CODE + 2 * len(ticks):
            return Piece(blanks + ticks)
        return None

    def _fenced(self, final: bool) -> Piece | None:
        """The next line of a block of code, or a part of it."""
        line, end, _ = self._pending.partition("\n")
        begun = self._line.strip()
        whole = (begun + line).strip()
        if not begun and whole and set(whole) == {"`"}:
            if not end and not final:
                return None
            if len(whole) >= len(self._fence):
                self._fence = ""
                return Piece(line, code=True)
        elif not begun and not whole and not end and not final:
            return None
        self._names |= set(_INDEXED.findall(line))
        return Piece(line + end, code=True)


def pieces(text: str) -> list[Piece]:
    """All pieces of a whole text."""
    scanner = Scanner()
    return scanner.feed(text) + scanner.close()


def numbers(inside: str) -> Iterable[int]:
    """1, 2, 3 for ``1-3``; a file name after † is no number."""
    for match in _NUMBERS.finditer(re.split("[†]", inside)[0]):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        yield from range(first, last + 1) if first <= last < first + _MAX_RANGE else (first, last)


def without_code(text: str) -> str:
    """The text with the brackets of its code replaced, so that all that look like marks are; of equal length."""
    return "".join(
        piece.text.translate(_HIDDEN) if piece.code or piece.inside is None else piece.text for piece in pieces(text)
    )


_HIDDEN = str.maketrans({"[": "‹", "]": "›"})


def _may_become_mark(rest: str) -> bool:
    """Whether text from a bracket on may still grow into a mark."""
    if rest[0] == "(":
        return len(rest) <= MAX_MARK and bool(_ROUND_OPEN.fullmatch(rest))
    if rest == "[":
        return True
    open_part = _OPEN.fullmatch(rest)
    if not open_part or len(rest) > MAX_MARK:
        return False
    return not rest.endswith("]") or rest.startswith("[[")
