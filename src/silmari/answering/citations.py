"""Citations in a written answer: found in all their spellings, checked, renumbered, also while it streams."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# [1], [1, 2], [1-3], 【1】, ［1］, [^1], [출처 1], [Source 1; 2], [[1]], 【3†report.pdf】
_S = r"[^\S\n]*"
_WORD = rf"(?:(?:출처|자료|문서|근거|참고|sources?|docs?|documents?|refs?|references?|citations?|no)\.?{_S}[:#=]?{_S})"
_NUMBER = r"\d{1,4}"
_RANGE = rf"{_WORD}?[#^]?{_NUMBER}(?:{_S}[-–~]{_S}{_NUMBER})?"
_INSIDE = rf"{_S}{_RANGE}(?:{_S}(?:[,;·、&/]|and|및|와|과){_S}{_RANGE})*{_S}(?:[†:][^\[\]【】［］\n]{{0,24}})?"
_MARK = re.compile(rf"(?:\[\[(?P<double>{_INSIDE})\]\]|[\[【［](?P<single>{_INSIDE})[\]】］])", re.I)
# What may still become a mark when more text comes. Anything longer is plain text.
_MAX_MARK = 64
_OPEN = re.compile(rf"(?:\[\[|[\[【［])[^\[\]【】［］\n]{{0,{_MAX_MARK}}}\]?")
_BRACKET = re.compile(r"[\[【［]")
_NUMBERS = re.compile(rf"({_NUMBER})(?:\s*[-–~]\s*({_NUMBER}))?")
_MAX_RANGE = 20
_PLAIN_MARK = re.compile(r"\[(\d+)\]")
_LEADING_MARKS = re.compile(r"(?:\[\d+\]\s*)+[.。]?\s*")
_OPEN_TAIL = re.compile(r"[\[【［][^\[\]【】［］\n]*$")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A written answer whose marks all name a source.

    Attributes:
        text: With marks ``[1]``, ``[2]``, … in order of first use.
        order: For each mark, from 1, the number that the source had in the prompt.
        dropped: Numbers that were cited although no such source exists, each once.
        unsupported: Sentences without any valid mark, as they stand in `text`.
    """

    text: str
    order: tuple[int, ...]
    dropped: tuple[int, ...]
    unsupported: tuple[str, ...]


class CitationStream:
    """Lets an answer through as it arrives, but never half a citation nor a wrong one.

    Args:
        count: How many sources the prompt numbered, from 1.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pending = ""
        self._shown: list[str] = []
        self._tail = ""
        self._order: list[int] = []
        self._dropped: list[int] = []

    @property
    def cited(self) -> int:
        """How many different sources have been cited so far."""
        return len(self._order)

    def feed(self, piece: str) -> str:
        """Take what arrived; return what may be shown now."""
        self._pending += piece
        return self._advance(final=False)

    def close(self) -> str:
        """Return what was still held back."""
        return self._advance(final=True)

    def result(self) -> Cleaned:
        """The whole answer, after `close`."""
        text = "".join(self._shown)
        return Cleaned(text, tuple(self._order), tuple(self._dropped), unsupported(text))

    def _advance(self, *, final: bool) -> str:
        out: list[str] = []
        while self._pending:
            bracket = _BRACKET.search(self._pending)
            before = self._pending[: bracket.start()] if bracket else self._pending
            body = before.rstrip()
            out.append(body)
            blanks = before[len(body) :]
            if not bracket:
                # The blanks go with the mark that may follow them.
                self._pending = "" if final else blanks
                if final:
                    out.append(blanks)
                break
            rest = self._pending[bracket.start() :]
            mark = _MARK.match(rest)
            if mark and mark.end() <= _MAX_MARK:
                kept = self._rewritten(blanks, mark["double"] or mark["single"])
                if not kept and _OPEN_TAIL.search((self._tail + "".join(out))[-2 * _MAX_MARK :]):
                    # "[[9]1]" must not become "[1]" by losing its middle.
                    kept = "…"
                out.append(kept)
                self._pending = rest[mark.end() :]
            elif not final and _may_become_mark(rest):
                self._pending = blanks + rest
                break
            else:
                out.append(blanks + rest[0])
                self._pending = rest[1:]
        shown = "".join(out)
        self._shown.append(shown)
        self._tail = (self._tail + shown)[-2 * _MAX_MARK :]
        return shown

    def _rewritten(self, blanks: str, inside: str) -> str:
        """The marks for the sources that exist, with the blanks before them; else nothing."""
        if inside.strip().isdigit() and self._count < 1900 <= int(inside) <= 2100:
            return f"{blanks}({inside.strip()})"  # A year, not a source.
        marks: list[int] = []
        for number in _cited_numbers(inside):
            if 1 <= number <= self._count:
                if number not in self._order:
                    self._order.append(number)
                marks.append(self._order.index(number) + 1)
            elif number not in self._dropped:
                self._dropped.append(number)
        return blanks + "".join(f"[{mark}]" for mark in dict.fromkeys(marks)) if marks else ""


def clean(text: str, count: int) -> Cleaned:
    """Check and renumber the citations of a whole answer; equals what `CitationStream` shows.

    Args:
        text: The answer as the model wrote it.
        count: How many sources the prompt numbered, from 1.
    """
    stream = CitationStream(count)
    stream.feed(text)
    stream.close()
    return stream.result()


def cited_in(text: str) -> list[int]:
    """The numbers that a text cites, in any spelling, in order."""
    marks = (mark for mark in _MARK.finditer(text) if mark.end() - mark.start() <= _MAX_MARK)
    return [number for mark in marks for number in _cited_numbers(mark["double"] or mark["single"])]


def statements(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The sentences of an answer with the marks that stand in or directly after each."""
    from silmari.language.sentences import sentences

    found: list[tuple[str, tuple[int, ...]]] = []
    for start, end in sentences(text):
        piece = text[start:end]
        leading = _LEADING_MARKS.match(piece)
        if leading and found:
            # "It rains. [1] It pours.": the marks belong to what stands before them.
            sentence, marks = found[-1]
            found[-1] = (f"{sentence} {leading[0].strip()}", marks + _marks(leading[0]))
            piece = piece[leading.end() :]
        if any(char.isalnum() for char in _PLAIN_MARK.sub("", piece)):
            found.append((piece, _marks(piece)))
    return found


def unsupported(text: str) -> tuple[str, ...]:
    """The sentences that no mark supports; headings and lead-ins that end in a colon state nothing."""
    return tuple(
        sentence
        for sentence, marks in statements(text)
        if not marks and not sentence.endswith((":", "：")) and not sentence.startswith("#")
    )


def _marks(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _PLAIN_MARK.findall(text))


def _may_become_mark(rest: str) -> bool:
    """Whether text from a bracket on may still grow into a mark."""
    if rest == "[":
        return True
    open_part = _OPEN.fullmatch(rest)
    if not open_part or len(rest) > _MAX_MARK:
        return False
    return not rest.endswith("]") or rest.startswith("[[")


def _cited_numbers(inside: str) -> Iterable[int]:
    """1, 2, 3 for ``1-3``; a file name after † is no number."""
    for match in _NUMBERS.finditer(re.split("[†]", inside)[0]):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        yield from range(first, last + 1) if first <= last < first + _MAX_RANGE else (first, last)
