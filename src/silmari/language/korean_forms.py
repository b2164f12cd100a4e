"""Forms of names in Hangul: without titles, trades, kinds of places; as they sound in Latin letters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from silmari.language import titles
from silmari.language.folding import fold, fold_key, joined
from silmari.language.made import Found, Made
from silmari.language.normalise import key, normalise
from silmari.language.sounds import LEAST_SOUND, hangul_sound, initials_of

HANGUL_WORD = re.compile(r"[가-힣]+")
_SURNAMES = frozenset(
    ""
    "김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구나민진지엄채원천방공현함변염여추도소석"
    "선설마길연위표명기반왕금옥육인맹제모탁국어은편용예경봉사부가복태목형피두감호음빈동온시범좌팽승간상갈단견당"
)
_TWO_SURNAMES = ("남궁", "황보", "제갈", "사공", "선우", "독고", "서문", "동방")


def is_korean_person(word: str) -> bool:
    """Whether a word has the shape of a Korean person's full name: a family name and mostly two syllables."""
    if HANGUL_WORD.fullmatch(word) is None:
        return False
    return (len(word) == 3 and word[0] in _SURNAMES) or (len(word) in (3, 4) and word.startswith(_TWO_SURNAMES))


def honoured(title: str) -> str:
    """A title without the honorific 님."""
    return title[:-1] if title.endswith("님") and title[:-1] in titles.KOREAN_TITLES else title


def add_korean(found: Found, bare: str, words: Sequence[str]) -> None:
    """Add the forms of a name that holds Hangul.

    Args:
        found: What they are added to.
        bare: The name without legal form and brackets.
        words: Its words.
    """
    last = _last(bare, words)
    title, field = _title(last)
    if field is not None:
        rest = last[: -len(title)] if len(words) == 1 else ""
        _add_titled(found, [rest] if rest else words[:-1], title, field)
        return
    if len(words) > 1 and is_korean_person(last) and all(map(HANGUL_WORD.fullmatch, words[:-1])):
        field = titles.KOREAN_TITLES.get(words[0]) if len(words) == 2 else None
        if field is not None:
            found.add_titled(last, field)
        elif not is_korean_person(words[0]):
            found.add(last, Made.EPITHET)
    whole = fold_key(joined(words[:-1]) + last)
    if len(words) > 1 and len(last) <= 3 and (len(last) == 1 or last[0].isdigit()):
        head = joined(words[:-1])
        if len(head) >= 4:
            found.add(head, Made.PART)
    if HANGUL_WORD.fullmatch(whole):
        _add_heads(found, whole)
        _add_sounds(found, whole)


def _last(bare: str, words: Sequence[str]) -> str:
    """The last word without the particle that the whole name's key is without."""
    if len(words) == 1:
        return key(bare)
    whole, before = key(bare), "".join(map(normalise, words[:-1]))
    return whole[len(before) :] if whole.startswith(before) and len(whole) > len(before) else normalise(words[-1])


def _title(last: str) -> tuple[str, str | None]:
    """The title that a word is, or that a person's name ends with, and its field."""
    if honoured(last) in titles.KOREAN_TITLES:
        return last, titles.KOREAN_TITLES[honoured(last)]
    for size in (3, 4):
        name, title = last[:size], last[size:]
        if len(title) > 1 and honoured(title) in titles.KOREAN_TITLES and is_korean_person(name):
            return title, titles.KOREAN_TITLES[honoured(title)]
    return "", None


def _add_titled(found: Found, before: Sequence[str], spelled: str, field: str) -> None:
    name, title = fold("".join(before)), honoured(spelled)
    if len(name) == 1:
        # 박 대리
        if name in _SURNAMES and field != titles.NEUTRAL:
            found.add(f"t:{name}|{title}", Made.SURNAMED)
        return
    person = before[-1] if len(before) > 1 and is_korean_person(before[-1]) else name
    if is_korean_person(person):
        found.add_titled(person, field)
        if title != spelled:
            found.add(name + title, Made.BARE)
        if field != titles.NEUTRAL:
            found.add(f"t:{person[0]}|{title}", Made.GIVEN_NAMED)
    elif name and not name.endswith(_TRADES):
        found.add(name, Made.ADDRESSED)


_TRADES = tuple(titles.KOREAN_TRADES)


def _add_heads(found: Found, whole: str) -> None:
    """What is left of an organisation or place without its trade or kind."""
    for kind, clipped in titles.CLIPPED:
        if whole.endswith(kind) and len(whole) > len(kind) + 1:
            found.add(whole[: -len(kind)] + clipped, Made.CLIPPED)
    for kind in titles.KOREAN_PLACES:
        if whole.endswith(kind) and len(whole) >= len(kind) + 2:
            found.add(whole[: -len(kind)], Made.KIND_OF_PLACE)
            break
    for size in range(len(whole) - 2, 1, -1):
        if whole[-size:] in titles.KOREAN_TRADES:
            found.add(whole[:-size], Made.FIRST if size <= 3 else Made.FIRSTS)
            break


def _add_sounds(found: Found, whole: str) -> None:
    if whole.endswith(_TRANSLATED):
        trade = next(trade for trade in _TRANSLATED if whole.endswith(trade))
        stem, english = whole[: -len(trade)], titles.TRANSLATED[trade]
        if len(stem) > 1:
            found.add(f"p:{hangul_sound(stem)}|{english}", Made.HANGUL)
            rest = "".join(word[0] for word in english.split())
            for letter in initials_of(stem[0] + "아"):
                found.add(f"a:{letter}{rest}", Made.TWO_LETTERS)
    sound = hangul_sound(whole)
    if len(sound) >= LEAST_SOUND:
        found.add("p:" + sound, Made.HANGUL)


_TRANSLATED = tuple(sorted(titles.TRANSLATED, key=len, reverse=True))
