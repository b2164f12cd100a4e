"""One form of writing for search, for embedding and for names."""

from __future__ import annotations

import re
import unicodedata

MAX_EMBEDDED_CHARS = 8_000

# A decomposed Hangul syllable is three code points, so this much always holds enough after composing.
_MAX_RAW_CHARS = 4 * MAX_EMBEDDED_CHARS
# Control, format (zero-width, soft hyphen, direction marks) and lone surrogates; tab and line breaks stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]+"
)
# The Korean middle dot as it is typed is a letter to NFKC (an old vowel): 연구ㆍ개발 would become one word.
_MIDDLE_DOT = str.maketrans({"ㆍ": "·"})
UNSAFE = re.compile("[\x00\ud800-\udfff]")
_COMPANY = re.compile(r"\(주\)|주식회사")
_BLANKS = re.compile(r"\s+")
# Titles that say nothing of whose name it is, before or after what surely is a person's full name.
_MISTER = re.compile(r"\s*(?:dr|mr|ms|prof|professor)\b\.?\s+(?=\S+\s+\S)", re.IGNORECASE)
_CAPITALS = re.compile(r"(?:[^\W\d_a-z]\S*(?:\s+|$))+")
_SSI = re.compile(
    r"\s*([김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구][가-힣]{2})\s+씨"
)
# Long particles end no name; short ones might (김정은, 고양이), so they need a longer stem. The final
# consonant of the stem decides which of a pair is a particle at all.
_AFTER_ANY = (
    "에서는",
    "에서도",
    "에서",
    "에게서",
    "에게",
    "에는",
    "에도",
    "께서",
    "까지",
    "부터",
    "처럼",
    "보다",
    "의",
    "에",
)
_AFTER_CONSONANT = ("으로부터", "으로서", "으로써", "으로는", "으로", "이라는", "이란", "은", "을", "이", "과")
_AFTER_VOWEL = ("로부터", "로서", "로써", "로는", "라는", "는", "를", "가", "와", "로")
_PARTICLES = _AFTER_ANY + _AFTER_CONSONANT + _AFTER_VOWEL
_NEEDS_LONG_STEM = frozenset("은이가와과의에로")


def normalise(text: str) -> str:
    """Return `text` in the form that is searched: NFKC, case-folded, without invisible characters.

    Blanks and line breaks stay where they are. Applying it twice changes nothing.
    """
    if text.isascii():
        return _INVISIBLE.sub("", text).casefold()
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text.translate(_MIDDLE_DOT))))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())


def visible(text: str) -> str:
    """Return `text` without control, direction-changing and invisible characters; tabs and line breaks stay."""
    return _INVISIBLE.sub("", text)


def clean(text: str) -> str:
    """Return `text` as it is safe to embed: NFKC, no NUL, no lone surrogate, at most 8,000 characters.

    Embedders crash on some compatibility ligatures (U+FDFA) and on what cannot be encoded; both are
    written out or blanked here.
    """
    safe = UNSAFE.sub(" ", text[:_MAX_RAW_CHARS]).translate(_MIDDLE_DOT)
    return unicodedata.normalize("NFKC", safe)[:MAX_EMBEDDED_CHARS]


def key(name: str) -> str:
    """Return what two spellings of the same name share: ``㈜한빛 전자``, ``한빛전자(주)는`` → ``한빛전자``.

    NFKC, case-folded, blanks, (주) and 주식회사 dropped, Korean particles stripped; so are 씨, Dr., Mr., Ms. and
    Prof. beside a person's full name. A name that would vanish keeps what it had. What is less than certain to be
    one name is left to the aliases (`silmari.graph.aliases`).
    """
    shown = normalise(_untitled(name))
    spelled = _BLANKS.sub("", shown)
    bare = _without_particle(_COMPANY.sub("", spelled))
    called = _SSI.match(shown)
    if called and bare == called[1] + "씨":
        return called[1]
    return _COMPANY.sub("", bare) or bare or spelled


def _untitled(name: str) -> str:
    """A name in Latin letters without the title before it, where two capitalised words or more follow."""
    title = _MISTER.match(name)
    return name[title.end() :] if title and _CAPITALS.fullmatch(name, title.end()) else name


def _without_particle(name: str) -> str:
    """Drop one trailing particle when what is left is still long enough to be a name."""
    if not name.endswith(_PARTICLES):
        return name
    for fitting, particles in ((_ends_in_consonant, _AFTER_CONSONANT), (_ends_in_vowel, _AFTER_VOWEL)):
        for particle in particles:
            if name.endswith(particle) and fitting(name[: -len(particle)]):
                return _shortened(name, particle)
    for particle in _AFTER_ANY:
        if name.endswith(particle):
            return _shortened(name, particle)
    return name


def _shortened(name: str, particle: str) -> str:
    stem = name[: -len(particle)]
    needed = 3 if particle in _NEEDS_LONG_STEM else 2
    return stem if len(stem) >= needed else name


def _ends_in_consonant(stem: str) -> bool:
    return bool(stem) and "가" <= stem[-1] <= "힣" and (ord(stem[-1]) - ord("가")) % 28 > 0


def _ends_in_vowel(stem: str) -> bool:
    return bool(stem) and "가" <= stem[-1] <= "힣" and (ord(stem[-1]) - ord("가")) % 28 == 0
