"""Citations in a written answer: checked and renumbered, also while it streams; which sentence has which."""

from __future__ import annotations

import re
from dataclasses import dataclass

from silmari.answering.marks import MAX_MARK, Piece, Scanner, numbers, pieces, without_code

_PLAIN_MARK = re.compile(r"\[(\d+)\]")
_LEADING_MARKS = re.compile(r"(?:\[\d+\]\s*)+[.。]?\s*")
_OPEN_TAIL = re.compile(r"[\[【［〔][^\[\]【】［］〔〕\n]*$")
_ENDS_LINE = re.compile(r"[^\S\n]*(?:\n|$)")


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
        self._scanner = Scanner()
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
        return self._take(self._scanner.feed(piece))

    def close(self) -> str:
        """Return what was still held back."""
        return self._take(self._scanner.close())

    def result(self) -> Cleaned:
        """The whole answer, after `close`."""
        text = "".join(self._shown)
        return Cleaned(text, tuple(self._order), tuple(self._dropped), unsupported(text))

    def _take(self, arrived: list[Piece]) -> str:
        return "".join(self._show(piece) for piece in arrived)

    def _show(self, piece: Piece) -> str:
        shown = piece.text
        if piece.inside is not None:
            shown = self._rewritten(shown[: len(shown) - len(shown.lstrip())], piece.inside)
            if not shown and _OPEN_TAIL.search(self._tail):
                # "[[9]1]" must not become "[1]" by losing its middle.
                shown = "…"
        self._shown.append(shown)
        self._tail = (self._tail + shown)[-2 * MAX_MARK :]
        return shown

    def _rewritten(self, blanks: str, inside: str) -> str:
        """The marks for the sources that exist, with the blanks before them; else nothing."""
        if inside.strip().isdigit() and self._count < 1900 <= int(inside) <= 2100:
            return f"{blanks}({inside.strip()})"  # A year, not a source.
        marks: list[int] = []
        for number in numbers(inside):
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
    return [number for piece in pieces(text) if piece.inside is not None for number in numbers(piece.inside)]


def statements(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The sentences of an answer with the marks that stand in or directly after each; code has no marks."""
    from silmari.language.sentences import sentences

    seen = without_code(text)
    found: list[tuple[str, tuple[int, ...]]] = []
    for start, end in sentences(text):
        piece, plain = text[start:end], seen[start:end]
        leading = _LEADING_MARKS.match(plain)
        if leading and found and not _heads_line(seen, start, start + leading.end()):
            # "It rains. [1] It pours.": the marks belong to what stands before them.
            sentence, marks = found[-1]
            found[-1] = (f"{sentence} {leading[0].strip()}", marks + _marks(leading[0]))
            piece, plain = piece[leading.end() :], plain[leading.end() :]
        if any(char.isalnum() for char in _PLAIN_MARK.sub("", plain)):
            found.append((piece, _marks(plain)))
    return found


def _heads_line(text: str, start: int, end: int) -> bool:
    """Whether marks begin a line that goes on, as in a list of sources: they belong to that line."""
    return not text[:start].rpartition("\n")[2].strip() and not _ENDS_LINE.match(text, end) and text[end - 1] != "\n"


def unsupported(text: str) -> tuple[str, ...]:
    """The sentences that no mark supports; headings and lead-ins that end in a colon state nothing."""
    return tuple(
        sentence
        for sentence, marks in statements(text)
        if not marks and not sentence.endswith((":", "：")) and not sentence.startswith("#")
    )


def _marks(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _PLAIN_MARK.findall(text))
