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
_RULES = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"[^a-z]", ""),
        (r"tion|sion|cean", "SN"),
        (r"ng(?![aeiouy])", "N"),
        (r"^kn", "N"),
        (r"^wr", "L"),
        (r"sch|tch|ch|sh|th", "S"),
        (r"ph", "P"),
        (r"ck|q", "K"),
        (r"x", "KS"),
        (r"c(?=[eiy])", "S"),
        (r"(?<=[aeiouy])r(?![aeiouyr])", ""),
        (r"[rl]+", "L"),
        (r"(?<=[aeiouySKPTM])h", ""),
        (r"h", "H"),
        (r"[kgc]+", "K"),
        (r"[td]+", "T"),
        (r"[pbfv]+", "P"),
        (r"[szj]+", "S"),
        (r"m+", "M"),
        (r"n+", "N"),
        (r"[aeiouyw]+", ""),
    )
)
_TWICE = re.compile(r"(.)\1+")
_SOFT_G = re.compile(r"g(?=[eiy])")
_ALIKE = tuple(
    (re.compile(pattern), spelled)
    for pattern, spelled in (
        (r"ae", "a"),
        (r"oe", "o"),
        (r"ue", "u"),
        (r"ph", "f"),
        (r"(?<=[a-z])h", ""),
        (r"ck|c(?![eiy])", "k"),
        (r"y", "i"),
        (r"w", "v"),
        (r"z", "s"),
        (r"(.)\1+", r"\1"),
    )
)


def hangul_sound(name: str) -> str:
    """The consonants of the Hangul syllables in a name: ``한빛`` → ``HNPT``."""
    found = []
    for char in name:
        if "가" <= char <= "힣":
            at = ord(char) - ord("가")
            found += [_ONSETS[at // 588], _CODAS[at % 28]]
    return _TWICE.sub(r"\1", "".join(found).replace("-", ""))


def latin_sounds(words: Sequence[str]) -> set[str]:
    """The same of a name's Latin words (folded), once with hard and once with soft g: ``hanbit`` → ``HNPT``."""
    return {_TWICE.sub(r"\1", "".join(sounds)) for sounds in zip(*map(_sounds, words), strict=True)}


@lru_cache(maxsize=65_536)
def _sounds(word: str) -> tuple[str, str]:
    hard, soft = word, _SOFT_G.sub("j", word)
    for pattern, sound in _RULES:
        hard = pattern.sub(sound, hard)
        soft = pattern.sub(sound, soft)
    return hard, soft


@lru_cache(maxsize=65_536)
def alike(word: str) -> str:
    """A Latin word (folded) without what spellings of one name differ in: Leonhard, Leonard; Müller, Mueller."""
    for pattern, spelled in _ALIKE:
        word = pattern.sub(spelled, word)
    return word


def initials_of(name: str) -> list[str]:
    """How the first syllables of a Hangul name may be written as Latin initials: ``따개비`` → dg, dk, tg, tk, dgb …

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
