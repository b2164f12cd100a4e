"""What documents and models may not do to the reader: hidden characters, live links, leaked instructions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from silmari.answering.citations import cited_in
from silmari.answering.units import UNSAFE

_UNSAFE_RUN = re.compile(f"[{UNSAFE}]+")
_URL = r"(?:(?:https?|ftp)://|www\.|mailto:)[^\s<>\"'`\[\]{}|\\^가-힣]+"
_ADDRESS = re.compile(rf"<[A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^\s<>]*>|(?<![A-Za-z0-9/]){_URL}", re.I)
_LINK = re.compile(
    r"!?\[(?P<label>[^\[\]\n]*)\]\((?P<target>(?:[^()\s]|\([^()\s]*\))*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_HALF_LINK = re.compile(r"\]\((?P<target>[^()\s]*)")
_DEFINITION = re.compile(r"^(\s*\[[^\[\]\n]+\]):")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TRAILING = ".,;:!?)]}'\"’”。、"
# Where something active may begin: a bracket that is no citation, a tag, an address.
_SUSPECT = re.compile(
    r"!?\[(?!\d+\](?:[^\s(:\[]|\s[^\s(]|\[\d))|<(?=[A-Za-z/!?])|<$|(?:https?|ftp)://|www\.|mailto:", re.I
)
# A word that may still turn into an address.
_UNFINISHED = re.compile(r"[A-Za-z!.:/]{1,40}$")


def neutralise(text: str) -> str:
    """Text without control, direction-changing and invisible characters; tabs and line breaks stay."""
    return _UNSAFE_RUN.sub("", text)


class LinkGuard:
    """Makes links and images inactive unless the source that is cited in the same line has them.

    A link keeps its words and loses its target, an image becomes its description (loading it would
    tell its server who reads), tags are shown instead of obeyed. A line is held back from the first
    suspect character to its end, where its citations are known; all else passes as it comes.

    Args:
        cited: The content of the source with a given number; None if there is none.
        removed: What stands in the place of an address.
    """

    def __init__(self, cited: Callable[[int], str | None], removed: str) -> None:
        self._cited = cited
        self._removed = removed
        self._line = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take what arrived; return what may be shown now."""
        self._held += piece
        out: list[str] = []
        while "\n" in self._held:
            line, self._held = self._held.split("\n", 1)
            out.append(self._finished(line) + "\n")
            self._line = ""
        suspect = _SUSPECT.search(self._held) or _UNFINISHED.search(self._held)
        stop = suspect.start() if suspect else len(self._held)
        shown, self._held = self._held[:stop], self._held[stop:]
        self._line += shown
        out.append(shown)
        return "".join(out)

    def close(self) -> str:
        """Return what was still held back, made harmless."""
        held, self._held = self._held, ""
        return self._finished(held)

    def _finished(self, held: str) -> str:
        """The rest of a line, whose citations are now all known."""
        suspect = _SUSPECT.search(held)
        if not suspect:
            return held
        self._line += held[: suspect.start()]
        return held[: suspect.start()] + self._defused(held[suspect.start() :])

    def _defused(self, held: str) -> str:
        known: set[str] = set()
        for number in cited_in(self._line + held):
            content = self._cited(number) or ""
            known |= {_bare(match[0]) for match in _ADDRESS.finditer(content)}

        def link(match: re.Match[str]) -> str:
            label = match["label"]
            if label.isdigit() and not match[0].startswith("!"):
                return f"[{label}]"
            return match[0] if not match[0].startswith("!") and match["target"] in known else label

        def half(match: re.Match[str]) -> str:
            return match[0] if match["target"] in known else "] (" + match["target"]

        def address(match: re.Match[str]) -> str:
            bare = _bare(match[0])
            if bare in known:
                return match[0]
            return self._removed if match[0].startswith("<") else self._removed + match[0][len(bare) :]

        for _ in range(6):  # An image inside a link, and the like; what is left then is cut by `half`.
            held, before = _LINK.sub(link, held), held
            if held == before:
                break
        held = _ADDRESS.sub(address, _HALF_LINK.sub(half, held))
        if not self._line.strip():
            held = _DEFINITION.sub(r"\1 :", held)
        return _TAG.sub("‹", held)


def _bare(address: str) -> str:
    return address.strip("<>").rstrip(_TRAILING)


def harmless(text: str, cited: Callable[[int], str | None], removed: str) -> str:
    """A whole answer with its links made inactive; equals what `LinkGuard` shows."""
    guard = LinkGuard(cited, removed)
    return guard.feed(text) + guard.close()


def canary(*parts: str) -> str:
    """A word that stands in the instructions and nowhere else; equal for equal parts.

    Derived rather than random, so that the same question asks the model the same thing and its
    reply can be cached; nobody who writes one document knows the question and the other sources.
    """
    return "K" + hashlib.blake2b("\x00".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
