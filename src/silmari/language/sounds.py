"""How names sound, roughly: so that a name in Hangul meets its Latin spelling, and Leonhard meets Leonard.

A sound is a string of consonant classes (K T P S L M N H); vowels are left out, since Hangul and Latin
spellings agree least on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_ONSETS = "KKNTTLMPPSS-SSSKTPH"
_CODAS = "-KKKNNNTLKMLLLPLMPPTTNTTKTPT"
_ROMAN_ONSETS = ("gk", "gk", "n", "dt", "dt", "rl", "m", "bp", "bp", "s", "s", "", "jc", "jc", "c", "k", "t", "p", "h")
_SPELLED = (
    *((spelled, "SN") for spelled in ("tion", "sion", "cean")),
    *((spelled, "S") for spelled in ("sch", "tch", "ch", "sh", "th")),
    ("ph", "P"),
)
_ENDS_IN_NG = re.compile(r"ng(?![aeiouy])")
_SOFT_C = re.compile(r"c(?=[eiy])")
_SILENT = re.compile(r"^k(?=n)|^w(?=r)|(?<=[aeiouy])r(?![aeiouyr])|(?<=[aeiouySKPTM])h")
_CLASSES = str.maketrans(
    {
        letter: sound
        for sound, letters in {
            "L": "rl",
            "H": "h",
            "K": "kgcq",
            "T": "td",
            "P": "pbfv",
            "S": "szj",
            "M": "m",
            "N": "n",
            "": "aeiouyw",
        }.items()
        for letter in letters
    }
    | {"x": "KS"}
)
# Of a shorter sound there are too many names.
LEAST_SOUND = 4
_CLASSES_ONLY = frozenset("KTPSLMNH").__contains__
_TWICE = re.compile(r"(.)(?=\1)")
_SOFT_G = re.compile(r"g(?=[eiy])")
_ALIKE = (
    ("ae", "a"),
    ("oe", "o"),
    ("ue", "u"),
    ("y", "i"),
    ("w", "v"),
    ("z", "s"),
)
_HARD_C = re.compile(r"c(?![eiy])")
_INNER_H = re.compile(r"(?<=.)h")


def hangul_sound(name: str) -> str:
    """The consonants of the Hangul syllables in a name: ``한빛`` → ``HNPT``."""
    found = []
    for char in name:
        if "가" <= char <= "힣":
            at = ord(char) - ord("가")
            found += [_ONSETS[at // 588], _CODAS[at % 28]]
    return _TWICE.sub("", "".join(found).replace("-", ""))


def latin_sounds(words: Sequence[str]) -> set[str]:
    """The same of a name's Latin words (folded), once with hard and once with soft g: ``hanbit`` → ``HNPT``."""
    return {_TWICE.sub("", "".join(sounds)) for sounds in zip(*map(_sounds, words), strict=True)}


@lru_cache(maxsize=262_144)
def _sounds(word: str) -> tuple[str, str]:
    hard = _sound(word)
    return hard, _sound(_SOFT_G.sub("j", word)) if "g" in word else hard


def _sound(word: str) -> str:
    for spelled, sound in _SPELLED:
        word = word.replace(spelled, sound)
    word = _SOFT_C.sub("s", _ENDS_IN_NG.sub("n", word))
    return "".join(filter(_CLASSES_ONLY, _SILENT.sub("", word).translate(_CLASSES)))


@lru_cache(maxsize=262_144)
def alike(word: str) -> str:
    """A Latin word (folded) without what spellings of one name differ in: Leonhard, Leonard; Müller, Mueller."""
    word = _HARD_C.sub("k", _INNER_H.sub("", word.replace("ph", "f")))
    for one, other in _ALIKE:
        word = word.replace(one, other)
    return _TWICE.sub("", word)


def initials_of(name: str) -> list[str]:
    """How the first syllables of a Hangul name may be Latin initials: ``따개비`` → dg, dk, tg, tk, and so on.

    At most the first three syllables count; a syllable that begins with a vowel has no initial.
    """
    found = [""]
    several: list[str] = []
    for count, char in enumerate(name[:3], 1):
        letters = _ROMAN_ONSETS[(ord(char) - ord("가")) // 588] if "가" <= char <= "힣" else ""
        found = [one + letter for one in found for letter in letters] or found
        if count > 1:
            several += found
    return several
