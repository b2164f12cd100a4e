"""Forms of names without Hangul: without article, title, legal form; last names, initials, acronyms, sounds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from silmari.language import titles
from silmari.language.folding import fold, folded, is_capital, is_common, is_numbered, joined
from silmari.language.made import Found, Made
from silmari.language.sounds import LEAST_SOUND, alike, latin_sounds

ACRONYM = re.compile(r"(?:[A-Z]\.?){2,6}")
_LETTER = r"[^\W\d_가-힣぀-ヿ一-鿿]"
_WORD = re.compile(rf"{_LETTER}(?:{_LETTER}|['’.\-])*")
_INITIAL = re.compile(r"[A-Z]\.?|(?:[A-Z]\.){2,}|[A-Z][hH]\.")
_CODE = re.compile(r"([A-Z]{2,3})[-–\s]?(\d{1,4})")
_POSSESSIVE = re.compile(r"['’]s?$")
_COUNTRY_PREFIX = re.compile(r"^(U\.S\.A?\.?|US|USA|U\.K\.|UK)\s+(?=[A-Z])")
_THING = re.compile(r"(?:ism|tion|ity|ics|ese|ment|ness|ship|ology|graphy)$")
_SMALL = frozenset("of the and & for in on at to a an de la le du des y e et und".split())
_NOBLE = frozenset("de da do del della di du van von der den ter la le bin ibn al el ben mac st".split())
_ENGLISH_TRADES = frozenset(titles.TRANSLATED.values())
# Of a shorter name there are too many that are spelled alike.
_LEAST_ALIKE = 8
# A longer name is hardly a person's, nor spelled in two scripts.
_MOST_WORDS = 5


def add_latin(found: Found, bare: str, words: list[str]) -> None:
    """Add the forms of a name that holds no Hangul.

    Args:
        found: What they are added to.
        bare: The name without legal form and brackets.
        words: Its words.
    """
    if len(words) == 1 or not bare.isalpha():
        code = _CODE.fullmatch(bare)
        if code:
            found.add(f"c:{code[1].lower()}{code[2]}", Made.CODE)
        if ACRONYM.fullmatch(bare):
            found.add("a:" + folded(bare), Made.ACRONYM)
    if bare[0] == "U" and _COUNTRY_PREFIX.match(bare):
        short = "unitedkingdom" if "K" in bare[:4] else "unitedstates"
        found.add(short + fold(_COUNTRY_PREFIX.sub("", bare)), Made.BARE)
    if len(words) > 1 and words[0].lower() in {"the", "a", "an"}:
        words = words[1:]
        found.add_bare(joined(words))
    if len(words[-1]) > 3 and _POSSESSIVE.search(words[-1]):
        words = [*words[:-1], _POSSESSIVE.sub("", words[-1])]
        found.add(joined(words), Made.BARE)
    if "," in bare:
        _add_places(found, bare)
        if folded(words[-1]) not in titles.LEGAL_FORMS | titles.GENERATIONS:
            return
    if not is_common(bare):
        _add_words(found, words)


def _add_places(found: Found, bare: str) -> None:
    """``Newport, New Hampshire``, or ``Euler, Leonhard``."""
    head, *rest = [part.strip() for part in bare.split(",")]
    if not rest or not all(map(is_capital, (head, *rest))):
        return
    if not (titles.LEGAL_FORMS | titles.GENERATIONS).isdisjoint(folded(word) for part in rest for word in part.split()):
        return
    if len(rest) == 1 and len(head.split()) == 1 and len(rest[0].split()) <= 2:
        found.add(fold(rest[0] + head), Made.INVERTED)
    if len(head.split()) <= 3:
        found.add(fold(head), Made.PLACED)


def _add_words(found: Found, words: list[str]) -> None:
    kept = list(words)
    while len(kept) > 1 and _is_legal(kept[-1]):
        kept.pop()
    company = len(kept) < len(words)
    if company:
        found.add_bare(joined(kept))
    if len(kept) > 1 and folded(kept[-1]) in titles.GENERATIONS:
        generation = folded(kept.pop())
        if last_names(kept):
            found.core = f"{joined(kept)}|{generation[:2]}"
            found.add(joined(kept), Made.GENERATION)
        if generation.startswith("i"):
            return
    field = titles.LATIN_TITLES.get(folded(kept[0]))
    if field is not None and len(kept) > 1 and all(map(is_capital, kept[1:])):
        rest = kept[1:]
        if len(rest) == 1:
            if folded(kept[0]) in titles.SURE_LATIN_TITLES and len(rest[0]) > 2:
                found.add(folded(rest[0]), Made.ADDRESSED)
            return
        if not _is_thing(folded(rest[-1])):
            found.add_titled(joined(rest), field)
            kept = rest
    person = not company and _add_person(found, kept)
    _add_initials(found, kept, person)
    _add_heads(found, kept)
    if len(kept) > _MOST_WORDS:
        return
    plain = list(map(folded, words))
    _add_sounds(found, list(map(folded, kept)))
    if sum(map(len, plain)) >= _LEAST_ALIKE and not any(map(is_numbered, words)):
        found.add("s:" + "".join(map(alike, plain)), Made.ALIKE)


def _is_legal(word: str) -> bool:
    spelled = folded(word)
    return not spelled or (spelled in titles.LEGAL_FORMS and (is_capital(word) or word.endswith(".")))


def _is_thing(word: str) -> bool:
    things = titles.KINDS_OF_THINGS
    return word in things or word.removesuffix("s") in things or _THING.search(word) is not None


def last_names(words: Sequence[str]) -> list[str]:
    """The last names that a name may have if it is a person's, the longest last; empty if it hardly is one's."""
    if not 2 <= len(words) <= _MOST_WORDS or not is_capital(words[-1]) or not all(map(_WORD.fullmatch, words)):
        return []
    plain = list(map(folded, words))
    if any(not is_capital(words[at]) and plain[at] not in _NOBLE for at in range(1, len(words))):
        return []
    if _is_thing(plain[-1]) or _is_thing(plain[0]) or plain[0] in titles.NO_GIVEN_NAMES:
        return []
    if len(plain[-1]) < 3 or plain[-1] in titles.LATIN_TRADES or plain[-1] in titles.OFFICES:
        return []
    family = len(words) - 1
    while family > 1 and plain[family - 1] in _NOBLE:
        family -= 1
    return list(dict.fromkeys([plain[-1], "".join(plain[family:])]))


def _add_person(found: Found, words: Sequence[str]) -> bool:
    """Add the parts of what may be a person's name; whether it may."""
    names = last_names(words)
    if not names:
        return False
    first, last = folded(words[0]), names[-1]
    if not is_capital(words[0]) and first not in _NOBLE:
        # leonhard Euler, but not "solely Democratic".
        if len(words) == 2 and len(first) > 3 and not first.endswith(("ly", "s", "ed", "ing", "al", "ern", "ent")):
            found.add(last, Made.PART)
        return False
    for name in names:
        found.add(name, Made.LAST)
    found.add(f"i:{first[0]}|{last}", Made.ABBREVIATED if _INITIAL.fullmatch(words[0]) else Made.FULL)
    middle = folded(words[1])
    if not last.startswith(middle):
        found.add(first + last, Made.MIDDLE)
        short = _INITIAL.fullmatch(words[1]) is not None
        found.add(f"i:{first}{middle[:1]}|{last}", Made.ABBREVIATED if short else Made.FULL)
    return True


def _add_initials(found: Found, words: Sequence[str], person: bool) -> None:
    telling = [word for word in words if word.lower() not in _SMALL]
    if 2 <= len(telling) <= 6 and all(map(is_capital, telling)) and (person or not any(map(is_numbered, telling))):
        letters = folded("".join(word[0] for word in telling))
        found.add("a:" + letters, Made.EXPANDED if len(letters) > 2 and not person else Made.TWO_LETTERS)


def _add_heads(found: Found, words: Sequence[str]) -> None:
    """``Hanbit Heavy Industries`` as ``Hanbit``, ``Mexico City`` as ``Mexico``."""
    if len(words) < 2 or not all(map(is_capital, words)):
        return
    cut = len(words)
    while cut > 1 and folded(words[cut - 1]) in titles.LATIN_TRADES:
        cut -= 1
    if cut < len(words):
        if folded(words[0]) not in titles.NO_GIVEN_NAMES:
            found.add(joined(words[:cut]), Made.FIRST if len(words) - cut == 1 else Made.FIRSTS)
    elif folded(words[-1]) in titles.LATIN_PLACES:
        found.add(joined(words[:-1]), Made.CALLED_AFTER)


def _add_sounds(found: Found, plain: Sequence[str]) -> None:
    for size in range(1, min(4, len(plain))):
        english = " ".join(plain[-size:])
        if english in _ENGLISH_TRADES:
            for sound in latin_sounds(plain[:-size]):
                found.add(f"p:{sound}|{english}", Made.LATIN)
    for sound in latin_sounds(plain):
        if len(sound) >= LEAST_SOUND:
            found.add("p:" + sound, Made.LATIN)
