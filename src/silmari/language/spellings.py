"""The forms under which a name may be met elsewhere, each with what was done to it.

``Dr. Leonhard Euler`` may be written ``leonhardeuler`` (its title left out), ``euler`` (its last word), ``L. Euler``
(an initial). Two names are then candidates for one another exactly where they have a form in common; how much
that says depends on what was done to both, see `silmari.graph.aliases`.
"""

from __future__ import annotations

import re

from silmari.language.folding import fold, folded, is_common, is_value
from silmari.language.korean_forms import HANGUL_WORD, add_korean, honoured
from silmari.language.latin_forms import ACRONYM, add_latin
from silmari.language.made import Found, Made
from silmari.language.normalise import clean, normalise
from silmari.language.sounds import initials_of
from silmari.language.titles import KOREAN_LEGAL_FORMS, KOREAN_TITLES

# Edges made from forms are kept on disk: whoever changes forms raises the layout in `silmari.graph.snapshot`.
MAX_WORDS = 8
# Of a longer name only its whole counts.
MAX_CHARS = 100

_QUOTES = " \t\n\"'“”‘’「」『』《》〈〉«»`"
_BRACKET = re.compile(r"(.+?)\s*[(（\[]([^()（）\[\]]+)[)）\]]$")
_WORD = re.compile(r"[^\s,]+")
_LETTERS = re.compile(r"[^\W\d_]")
_ROMAN = re.compile(r"\s([IVX]+)$")
_CODED = re.compile(r"([가-힣]{2,4})[-–\s]?(\d{1,4})")
# Names of countries whose short and long forms are no initials of each other, or differ between languages.
_COUNTRIES = {
    spelled: names.split()[0]
    for names in (
        "unitedstates unitedstatesofamerica usa us 미국 미합중국",
        "unitedkingdom uk 영국 unitedkingdomofgreatbritainandnorthernireland",
        "southkorea republicofkorea rok 대한민국 한국 남한",
        "northkorea dprk 북한 조선민주주의인민공화국",
        "sovietunion ussr 소련 소비에트연방",
        "europeanunion eu 유럽연합",
        "unitednations un 유엔 국제연합",
        "china prc peoplesrepublicofchina 중국 중화인민공화국",
    )
    for spelled in names.split()
}


def forms(name: str) -> tuple[str, list[tuple[str, int]]]:
    """The core of a name and its forms; none of a number, a quantity or a date, which only ever mean themselves.

    Returns:
        The name without article, legal form and title (`Found.core`), and each form with a `Made`, or for titles
        `Made.TITLED` + the number of the title's field.
    """
    shown = clean(name).strip(_QUOTES)
    whole = "" if is_value(shown) else _whole(shown)
    if not whole:
        return "", []
    found = Found(whole, Made.COMMON if is_common(shown) else Made.WHOLE)
    if len(shown) <= MAX_CHARS:
        _add_parts(found, shown)
    # What was left out left nothing out: the whole name says it already.
    return found.core, [form for form in found.forms if form[1] <= Made.COMMON or form[0] != whole]


def _whole(shown: str) -> str:
    """The fold of a name; a Roman number at its end stays apart, since Albert I is not Alberti."""
    number = _ROMAN.search(shown)
    return f"{fold(shown[: number.start()])}|{number[1].lower()}" if number else fold(shown)


def _add_parts(found: Found, shown: str) -> None:
    bare = shown
    if not shown.isascii() or "(" in shown:
        bare = KOREAN_LEGAL_FORMS.sub("", shown).strip() or shown
    bracket = _BRACKET.match(bare)
    if bracket:
        _add_bracketed(found, bracket[1], bracket[2])
        return
    if bare != shown:
        found.add_bare(fold(bare))
    words = _WORD.findall(bare)
    if not 0 < len(words) <= MAX_WORDS:
        return
    country = _COUNTRIES.get(found.core)
    if country:
        found.add("k:" + country, Made.BESIDE)
    if HANGUL_WORD.search(bare):
        coded = _CODED.fullmatch(bare)
        if coded:
            for letters in initials_of(coded[1]):
                found.add(f"c:{letters}{coded[2]}", Made.CODED)
        add_korean(found, bare, words)
    else:
        add_latin(found, bare, words)


def _add_bracketed(found: Found, front: str, inside: str) -> None:
    """``X (Y)``: Y is another spelling, a title, years, or it tells this X from others."""
    field = KOREAN_TITLES.get(honoured(normalise(inside)))
    if field is not None:
        found.add_titled(fold(front), field)
        return
    if is_value(inside):
        found.add_bare(fold(front))
        return
    others = [part for part in map(str.strip, re.split("[,;·/]", inside)) if _another_spelling(front, part)]
    if not others:
        found.add(fold(front), Made.QUALIFIED)
        return
    found.core = fold(front)
    for part in (front, *others):
        found.add(fold(part), Made.BESIDE)


def _another_spelling(front: str, part: str) -> bool:
    """Whether what stands in brackets is the name again: in another script, or its acronym."""
    if not _LETTERS.search(part):
        return False
    if bool(HANGUL_WORD.search(front)) != bool(HANGUL_WORD.search(part)):
        return not is_common(part)
    short, long = (part, front) if ACRONYM.fullmatch(part) else (front, part)
    if ACRONYM.fullmatch(short):
        first = next((word for word in _WORD.findall(long) if word[0].isalpha()), "")
        return folded(short)[:1] == folded(first)[:1]
    return _has_han(part) != _has_han(front)


def _has_han(text: str) -> bool:
    return any("一" <= char <= "鿿" for char in text)
