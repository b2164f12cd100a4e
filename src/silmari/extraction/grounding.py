"""Whether a passage can have stated what a model has read in it: the names must stand in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from silmari.extraction.given import sound
from silmari.language.normalise import key, normalise
from silmari.model import Triplet

MAX_PREDICATE_CHARS = 200
NOT_THERE = "names what the passage does not"
PRONOUN = "has a pronoun for a name"
NO_NAME = "names nothing"
SAME = "says the same of itself"
MALFORMED = "does not have three parts"

_PRONOUNS = frozenset(
    "i you he she it we they me him her us them his hers its their theirs our ours my mine your yours this that these "
    "those who whom whose which what here there one someone something "
    "그 그녀 그것 그들 이것 이들 저것 저들 이 저 나 우리 너 당신 여기 거기 저기 이곳 그곳 저곳 자신 본인".split()
)
_ARTICLE = re.compile(r"\A(?:the|an?)\s+", re.I)
_LATIN = re.compile(r"[a-z0-9]")


class Grounds:
    """A passage with its title, as names are looked up in it.

    Blanks, punctuation, case, width and composition do not count, and a Korean particle may be missing or
    another one. A name that begins with a Latin letter or a digit must begin a word.
    """

    def __init__(self, context: str, text: str) -> None:
        self._letters, self._begins = _letters(f"{context}\n{text}")

    def has(self, name: str) -> bool:
        """Whether a name stands in the passage or its title."""
        spelled = normalise(name).strip()
        return any(self._stands(form) for form in dict.fromkeys((spelled, _ARTICLE.sub("", spelled), key(name))))

    def _stands(self, form: str) -> bool:
        wanted, _ = _letters(form)
        if not wanted:
            return False
        at = self._letters.find(wanted)
        while at >= 0:
            if self._begins[at] or not _LATIN.match(wanted):
                return True
            at = self._letters.find(wanted, at + 1)
        return False


def grounded(triplets: Iterable[Triplet], grounds: Grounds) -> tuple[list[Triplet], Mapping[str, int]]:
    """Those triplets that the passage can have stated, none twice, and how many others fell to which reason."""
    kept: dict[Triplet, None] = {}
    dropped: Counter[str] = Counter()
    for given in triplets:
        triplet = sound(given)
        if triplet is None or not triplet.predicate or len(triplet.predicate) > MAX_PREDICATE_CHARS:
            dropped[NO_NAME] += 1
        elif _is_pronoun(triplet.subject) or _is_pronoun(triplet.object):
            dropped[PRONOUN] += 1
        elif key(triplet.subject) == key(triplet.object):
            dropped[SAME] += 1
        elif not (grounds.has(triplet.subject) and grounds.has(triplet.object)):
            dropped[NOT_THERE] += 1
        else:
            kept[triplet] = None
    return list(kept), dropped


def _is_pronoun(name: str) -> bool:
    # US, IT and WHO are names.
    return normalise(name) in _PRONOUNS and not (len(name) > 1 and name.isupper())


def _letters(text: str) -> tuple[str, list[bool]]:
    """Letters and digits of a text in the form that is compared, and whether each begins a Latin word or number."""
    letters: list[str] = []
    begins: list[bool] = []
    before = ""
    for char in normalise(text):
        if char.isalnum():
            letters.append(char)
            begins.append(not _LATIN.match(before))
        before = char
    return "".join(letters), begins
