"""The forms under which a name may be met elsewhere, each with what was done to it.

``Dr. Leonhard Euler`` may be written ``leonhardeuler`` (its title left out), ``euler`` (its last word), ``L. Euler``
(an initial). Two names are then candidates for one another exactly where they have a form in common; how much
that says depends on what was done to both, see `silmari.graph.aliases`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from silmari.language import titles
from silmari.language.latin import unaccented
from silmari.language.normalise import clean, key, normalise
from silmari.language.sounds import alike, hangul_sound, initials_of, latin_sounds

MAX_WORDS = 8
# Of a shorter sound there are too many names.
_LEAST_SOUND = 4
_LEAST_ALIKE = 8


class Made(IntEnum):
    """How a form was made of a name."""

    # The whole name, without accents and punctuation; of a lower-case common word; without what is surely not of it
    # (article, legal form); one of two names that it spells side by side.
    WHOLE = 0
    COMMON = 1
    BARE = 2
    BESIDE = 3
    GENERATION = 10
    QUALIFIED = 11
    PLACED = 12
    LAST = 13
    FIRST = 14
    FIRSTS = 15
    KIND_OF_PLACE = 16
    EPITHET = 17
    PART = 18
    MIDDLE = 19
    INVERTED = 20
    CLIPPED = 21
    ADDRESSED = 22
    CALLED_AFTER = 23
    # Pairs of which one has the one, one the other.
    ACRONYM = 30
    EXPANDED = 31
    TWO_LETTERS = 32
    ABBREVIATED = 33
    FULL = 34
    HANGUL = 35
    LATIN = 36
    SURNAMED = 37
    GIVEN_NAMED = 38
    CODE = 39
    CODED = 40
    ALIKE = 41
    TITLED = 50  # + the number of the title's field; the first field is the neutral one


NEUTRAL_TITLE = Made.TITLED
TITLED_END = Made.TITLED + len(titles.TITLE_FIELDS)


class Form(NamedTuple):
    """A form, and how it was made: a `Made`, or for titles `Made.TITLED` + the number of the field."""

    text: str
    made: int


class Forms(NamedTuple):
    """All forms of a name.

    Attributes:
        core: The name without article, legal form and title, so that two names with one core are no rivals.
        forms: Each once.
    """

    core: str
    forms: tuple[Form, ...]


_NOTHING = Forms("", ())
_QUOTES = "\"'“”‘’「」『』《》〈〉«»`"
_BRACKET = re.compile(r"(.+?)\s*[(（\[]([^()（）\[\]]+)[)）\]]$")
_WORD = re.compile(r"[^\s,]+")
_LETTERS = re.compile(r"[^\W\d_]")
_FOLDED_AWAY = re.compile(r"(?<!\d)[\W_]+|[\W_]+(?!\d)")
_HANGUL_WORD = re.compile(r"[가-힣]+")
_LATIN_WORD = re.compile(r"[^\W\d_가-힣぀-ヿ一-鿿][^\W\d_가-힣぀-ヿ一-鿿'’.\-]*")
_ACRONYM = re.compile(r"(?:[A-Z]\.?){2,6}")
_INITIAL = re.compile(r"[A-Z]\.?|(?:[A-Z]\.){2,}|[A-Z][hH]\.")
_CODE = re.compile(r"([A-Z]{2,3})[-–\s]?(\d{1,4})")
_CODED = re.compile(r"([가-힣]{2,4})[-–\s]?(\d{1,4})")
_NUMBERED = re.compile(r"[IVXLCDM]+|[A-Z]\.?|[JS]r\.?")
_ROMAN = re.compile(r"\s([IVX]+)$")
_POSSESSIVE = re.compile(r"['’]s?$")
_MONTHS = "january february march april may june july august september october november december"
_UNITS = (
    "년 월 일 시 분 초 원 만 천 백 억 조 명 인 개 대 권 회 차 세 살 점 위 평 채 마리 척 톤 리 도 배 건 곳 층 호 쪽 여 간 논 밭 "
    "정보 마지기 음력 양력 정월 약 총 전 후 봄 여름 가을 겨울 말 중 "
    "km cm mm m kg g t mw kw mah gb mb kb hz khz mhz ghz st nd rd th s bc ad bce ce am pm percent million billion "
    "trillion thousand hundred dozen year years month months week weeks day days hour hours minute minutes second "
    "seconds people mile miles feet foot inch inches acre acres square sq meter meters metre metres kilometer "
    "kilometers kilometre kilometres ton tons tonnes dollar dollars euro euros pound pounds won usd krw century "
    "centuries early mid late about around over under nearly almost between approximately since until from to and or "
    f"of the in by jan feb mar apr jun jul aug sep sept oct nov dec {_MONTHS}"
).split()
_UNIT = "|".join(
    f"{unit}(?![a-z])" if unit.isascii() else unit for unit in sorted(_UNITS, key=lambda unit: (-len(unit), unit))
)
_VALUE = re.compile(rf"(?=.*\d)(?:{_UNIT}|[\d\W_])++|(?:{_MONTHS.replace(' ', '|')})", re.DOTALL)
_THING = re.compile(r"(?:ism|tion|ity|ics|ese|ment|ness|ship|ology|graphy)$")
_SURNAMES = frozenset(
    "김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구나민진지엄채원천방공현함변염여추도소석"
    "선설마길연위표명기반왕금옥육인맹제모탁국어은편용예경봉사부가복태목형피두감호음빈동온시범좌팽승간상갈단견당"
)
_TWO_SURNAMES = ("남궁", "황보", "제갈", "사공", "선우", "독고", "서문", "동방")
_SMALL = frozenset("of the and & for in on at to a an de la le du des y e et und".split())
_NOBLE = frozenset("de da do del della di du van von der den ter la le bin ibn al el ben mac st".split())
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
_COUNTRY_PREFIX = re.compile(r"^(U\.S\.A?\.?|US|USA|U\.K\.|UK)\s+(?=[A-Z])")


def forms(name: str) -> Forms:
    """The forms of a name; none of a number, a quantity or a date, which only ever mean themselves."""
    shown = clean(name).strip().strip(_QUOTES).strip()
    if is_value(shown):
        return _NOTHING
    whole = _whole(shown)
    if not whole:
        return _NOTHING
    found: dict[Form, None] = {Form(whole, Made.COMMON if _is_common(shown) else Made.WHOLE): None}
    core = whole
    if len(shown) <= 100:
        maker = _Maker(shown)
        found.update(dict.fromkeys(form for form in maker.forms() if form.text and form.text[-1] != ":"))
        core = maker.core or whole
    # What was left out left nothing out: the whole name says it already.
    return Forms(core, tuple(form for form in found if form.made <= Made.COMMON or form.text != whole))


def _whole(shown: str) -> str:
    """The fold of a name; a Roman number at its end stays apart, since Albert I is not Alberti."""
    number = _ROMAN.search(shown)
    return f"{fold(shown[: number.start()])}|{number[1].lower()}" if number else fold(shown)


def is_value(name: str) -> bool:
    """Whether a name is a number, a quantity, a day or a time, or has no letter at all."""
    return _LETTERS.search(name) is None or _VALUE.fullmatch(normalise(name)) is not None


def fold(name: str) -> str:
    """A name's key without accents, and without punctuation but between digits: ``José-María`` → ``josemaria``."""
    return _fold(key(name))


def _fold(spelled: str) -> str:
    plain = spelled if spelled.isascii() else unaccented(spelled)
    return _FOLDED_AWAY.sub("", unicodedata.normalize("NFC", plain))


def is_korean_person(word: str) -> bool:
    """Whether a word has the shape of a Korean person's full name: a family name and mostly two syllables."""
    if _HANGUL_WORD.fullmatch(word) is None:
        return False
    return (len(word) == 3 and word[0] in _SURNAMES) or (len(word) in (3, 4) and word.startswith(_TWO_SURNAMES))


def _is_common(name: str) -> bool:
    return name[:1].islower() and name == name.lower()


def _is_capital(word: str) -> bool:
    return word[:1].isupper()


class _Maker:
    """Makes the forms of one name."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.core = ""

    def forms(self) -> Iterator[Form]:
        bare = titles.KOREAN_LEGAL_FORMS.sub("", self.shown).strip() or self.shown
        bracket = _BRACKET.match(bare)
        if bracket:
            yield from self._bracketed(bracket[1], bracket[2])
            return
        yield from self._plain(bare)

    def _bracketed(self, front: str, inside: str) -> Iterator[Form]:
        """``X (Y)``: Y is another spelling, a title, years, or it tells this X from others."""
        field = titles.KOREAN_TITLES.get(_honoured(normalise(inside)))
        parts = [part.strip() for part in re.split("[,;·/]", inside) if part.strip()]
        others = [part for part in parts if _another_spelling(front, part)]
        if field is not None:
            yield from self._titled(fold(front), field)
        elif is_value(inside):
            self.core = fold(front)
            yield Form(self.core, Made.BARE)
        elif others:
            self.core = fold(front)
            for part in (front, *others):
                yield Form(fold(part), Made.BESIDE)
        else:
            yield Form(fold(front), Made.QUALIFIED)

    def _plain(self, bare: str) -> Iterator[Form]:
        whole = fold(bare)
        if bare != self.shown:
            self.core = whole
            yield Form(whole, Made.BARE)
        words = _WORD.findall(bare)
        if not words or len(words) > MAX_WORDS:
            return
        country = _COUNTRIES.get(whole)
        if country:
            yield Form("k:" + country, Made.BESIDE)
        coded = _CODED.fullmatch(bare)
        if coded:
            for letters in initials_of(coded[1]):
                yield Form(f"c:{letters}{coded[2]}", Made.CODED)
        if _HANGUL_WORD.search(bare):
            yield from self._korean(words)
        else:
            yield from self._latin(bare, words)

    # Korean

    def _titled(self, rest: str, field: str) -> Iterator[Form]:
        self.core = rest
        yield Form(rest, Made.TITLED + titles.TITLE_FIELDS.index(field))

    def _korean(self, words: Sequence[str]) -> Iterator[Form]:
        last = _folded_last(self.shown, words)
        title, field = _korean_title(last)
        if field is not None:
            rest = last[: -len(title)] if len(words) == 1 else ""
            before = [rest] if rest else list(words[:-1])
            yield from self._with_title(before, title, field)
            return
        if len(words) > 1 and is_korean_person(last) and all(_HANGUL_WORD.fullmatch(word) for word in words[:-1]):
            field = titles.KOREAN_TITLES.get(words[-2]) if len(words) == 2 else None
            if field is not None:
                yield from self._titled(last, field)
            elif not is_korean_person(words[0]):
                yield Form(last, Made.EPITHET)
        joined = _fold("".join(normalise(word) for word in words[:-1]) + last)
        yield from _korean_heads(joined)
        if len(words) > 1 and len(last) <= 3 and (len(last) == 1 or last[0].isdigit()):
            head = fold("".join(words[:-1]))
            if len(head) >= 4:
                yield Form(head, Made.PART)
        yield from _sounded(joined)

    def _with_title(self, before: Sequence[str], title: str, field: str) -> Iterator[Form]:
        name = fold("".join(before))
        last, title = title, _honoured(title)
        if len(before) == 1 and len(name) == 1 and name in _SURNAMES:
            if field != titles.NEUTRAL:
                yield Form(f"t:{name}|{title}", Made.SURNAMED)
            return
        person = before[-1] if len(before) > 1 and is_korean_person(before[-1]) else name
        if is_korean_person(person):
            yield from self._titled(person, field)
            if title != last:
                yield Form(name + title, Made.BARE)
            if field != titles.NEUTRAL:
                yield Form(f"t:{person[:1]}|{title}", Made.GIVEN_NAMED)
        elif not any(name.endswith(trade) for trade in titles.KOREAN_TRADES):
            yield Form(name, Made.ADDRESSED)

    # Latin

    def _latin(self, bare: str, words: list[str]) -> Iterator[Form]:
        code = _CODE.fullmatch(bare)
        if code:
            yield Form(f"c:{code[1].lower()}{code[2]}", Made.CODE)
        if _ACRONYM.fullmatch(bare):
            yield Form("a:" + _folded(bare), Made.ACRONYM)
        if _COUNTRY_PREFIX.match(bare):
            short = "unitedkingdom" if "K" in bare[:4] else "unitedstates"
            yield Form(short + fold(_COUNTRY_PREFIX.sub("", bare)), Made.BARE)
        if words[0].lower() in {"the", "a", "an"} and len(words) > 1:
            words = words[1:]
            self.core = _joined(words)
            yield Form(self.core, Made.BARE)
        if _POSSESSIVE.search(words[-1]) and len(words[-1]) > 3:
            words = [*words[:-1], _POSSESSIVE.sub("", words[-1])]
            yield Form(_joined(words), Made.BARE)
        if "," in bare:
            yield from self._with_comma(bare)
            if _folded(words[-1]) not in titles.LEGAL_FORMS | titles.GENERATIONS:
                return
        if _is_common(self.shown):
            return
        yield from self._latin_words(words)

    def _with_comma(self, bare: str) -> Iterator[Form]:
        head, *rest = [part.strip() for part in bare.split(",")]
        if not head or not rest or not all(part and _is_capital(part) for part in (head, *rest)):
            return
        ends = {_folded(word) for part in rest for word in part.split()}
        if ends & (titles.LEGAL_FORMS | titles.GENERATIONS):
            return
        if len(rest) == 1 and len(head.split()) == 1 and len(rest[0].split()) <= 2:
            yield Form(fold(rest[0] + head), Made.INVERTED)
        if len(head.split()) <= 3:
            yield Form(fold(head), Made.PLACED)

    def _latin_words(self, words: list[str]) -> Iterator[Form]:
        kept = list(words)
        while len(kept) > 1 and _is_legal(kept[-1]):
            kept.pop()
        company = len(kept) < len(words)
        if len(kept) < len(words):
            self.core = _joined(kept)
            yield Form(self.core, Made.BARE)
        if len(kept) > 1 and _folded(kept[-1]) in titles.GENERATIONS:
            generation = _folded(kept.pop())
            if any(_person(kept)):
                self.core = _joined(kept) + "|" + generation[:2]
                yield Form(_joined(kept), Made.GENERATION)
            if generation.startswith("i"):
                return
        field = titles.LATIN_TITLES.get(_folded(kept[0]))
        if field is not None and len(kept) > 1 and all(map(_is_capital, kept[1:])):
            rest = kept[1:]
            if len(rest) > 1 and _folded(rest[-1]) not in titles.KINDS_OF_THINGS:
                yield from self._titled(_joined(rest), field)
                kept = rest
            elif len(rest) == 1:
                if _folded(kept[0]) in titles.SURE_LATIN_TITLES and len(rest[0]) > 2:
                    yield Form(fold(rest[0]), Made.ADDRESSED)
                return
        person = [] if company else list(_person(kept))
        yield from person
        yield from _acronyms(kept, bool(person))
        yield from _latin_heads(kept)
        yield from _latin_sounded(kept)
        if sum(map(len, words)) >= _LEAST_ALIKE and not any(map(_is_numbered, words)):
            yield Form("s:" + "".join(map(alike, map(_folded, words))), Made.ALIKE)


@lru_cache(maxsize=65_536)
def _folded(word: str) -> str:
    """One word in the form of `fold`."""
    return _fold(normalise(word))


def _is_legal(word: str) -> bool:
    return _folded(word) in titles.LEGAL_FORMS and (_is_capital(word) or word.endswith(".")) or not _folded(word)


def _is_thing(word: str) -> bool:
    things = titles.KINDS_OF_THINGS
    return word in things or word.removesuffix("s") in things or _THING.search(word) is not None


def _is_numbered(word: str) -> bool:
    return _NUMBERED.fullmatch(word) is not None or any(char.isdigit() for char in word)


def _joined(words: Sequence[str]) -> str:
    """Latin words in the form of `fold`."""
    return "".join(map(_folded, words))


def _folded_last(shown: str, words: Sequence[str]) -> str:
    """The last word without the particle that the whole name's key is without."""
    whole, before = key(shown), "".join(normalise(word) for word in words[:-1])
    return whole[len(before) :] if whole.startswith(before) and len(whole) > len(before) else normalise(words[-1])


def _honoured(title: str) -> str:
    """A title without the honorific 님."""
    return title[:-1] if title.endswith("님") and title[:-1] in titles.KOREAN_TITLES else title


def _korean_title(last: str) -> tuple[str, str | None]:
    """The title that a word is, or that a person's name ends with, and its field."""
    if _honoured(last) in titles.KOREAN_TITLES:
        return last, titles.KOREAN_TITLES[_honoured(last)]
    for size in (3, 4):
        name, title = last[:size], last[size:]
        if len(title) > 1 and is_korean_person(name) and _honoured(title) in titles.KOREAN_TITLES:
            return title, titles.KOREAN_TITLES[_honoured(title)]
    return "", None


def _another_spelling(front: str, part: str) -> bool:
    """Whether what stands in brackets is the name again: in another script, or its acronym."""
    korean, other = bool(_HANGUL_WORD.search(front)), bool(_HANGUL_WORD.search(part))
    if not _LETTERS.search(part):
        return False
    if korean != other:
        return not _is_common(part)
    if _ACRONYM.fullmatch(part) or _ACRONYM.fullmatch(front):
        words = [word for word in _WORD.findall(front if _ACRONYM.fullmatch(part) else part) if word[0].isalpha()]
        short = part if _ACRONYM.fullmatch(part) else front
        return _folded(short)[:1] == _folded(words[0])[:1] if words else False
    return any("一" <= char <= "鿿" for char in part) != any("一" <= char <= "鿿" for char in front)


def _korean_heads(joined: str) -> Iterator[Form]:
    """What is left of a Korean organisation or place without its trade or kind."""
    if _HANGUL_WORD.fullmatch(joined) is None:
        return
    for kind, clipped in titles.CLIPPED:
        if joined.endswith(kind) and len(joined) > len(kind) + 1:
            yield Form(joined[: -len(kind)] + clipped, Made.CLIPPED)
            break
    for kind in titles.KOREAN_PLACES:
        if joined.endswith(kind) and len(joined) >= len(kind) + 2:
            yield Form(joined[: -len(kind)], Made.KIND_OF_PLACE)
            break
    for size in range(len(joined) - 2, 1, -1):
        if joined[-size:] in titles.KOREAN_TRADES:
            yield Form(joined[:-size], Made.FIRST if size <= 3 else Made.FIRSTS)
            break


def _sounded(joined: str) -> Iterator[Form]:
    if _HANGUL_WORD.fullmatch(joined) is None:
        return
    for trade, english in titles.TRANSLATED.items():
        if joined.endswith(trade) and len(joined) > len(trade) + 1:
            stem = joined[: -len(trade)]
            yield Form(f"p:{hangul_sound(stem)}|{english}", Made.HANGUL)
            for letters in initials_of(stem[0] + "아")[:2]:
                yield Form("a:" + letters + "".join(word[0] for word in english.split()), Made.TWO_LETTERS)
    sound = hangul_sound(joined)
    if len(sound) >= _LEAST_SOUND:
        yield Form("p:" + sound, Made.HANGUL)


def _latin_sounded(words: Sequence[str]) -> Iterator[Form]:
    plain = [_folded(word) for word in words]
    for size in (1, 2, 3):
        english = " ".join(plain[-size:])
        if len(plain) > size and english in _ENGLISH_TRADES:
            for sound in latin_sounds(plain[:-size]):
                yield Form(f"p:{sound}|{english}", Made.LATIN)
    for sound in latin_sounds(plain):
        if len(sound) >= _LEAST_SOUND:
            yield Form("p:" + sound, Made.LATIN)


_ENGLISH_TRADES = frozenset(titles.TRANSLATED.values())


def _acronyms(words: Sequence[str], person: bool) -> Iterator[Form]:
    telling = [word for word in words if word.lower() not in _SMALL]
    if not 2 <= len(telling) <= 6 or not all(map(_is_capital, telling)):
        return
    letters = "".join(word[0] for word in telling)
    if any(map(_is_numbered, telling)) and not person:
        return
    yield Form("a:" + _folded(letters), Made.EXPANDED if len(letters) > 2 and not person else Made.TWO_LETTERS)


def _latin_heads(words: Sequence[str]) -> Iterator[Form]:
    if not all(map(_is_capital, words)):
        return
    cut = len(words)
    while cut > 1 and _folded(words[cut - 1]) in titles.LATIN_TRADES:
        cut -= 1
    if cut < len(words) and _folded(words[0]) not in titles.NO_GIVEN_NAMES:
        yield Form(_joined(words[:cut]), Made.FIRST if len(words) - cut == 1 else Made.FIRSTS)
    elif len(words) > 1 and _folded(words[-1]) in titles.LATIN_PLACES:
        yield Form(_joined(words[:-1]), Made.CALLED_AFTER)


def _person(words: Sequence[str]) -> Iterator[Form]:
    """Parts of what may be a person's name in Latin letters."""
    if not 2 <= len(words) <= 5 or not all(_LATIN_WORD.fullmatch(word) for word in words):
        return
    plain = [_folded(word) for word in words]
    inner = [at for at, word in enumerate(words) if not _is_capital(word)]
    if any(at and plain[at] not in _NOBLE for at in inner) or not _is_capital(words[-1]):
        return
    if _is_thing(plain[-1]) or plain[0] in titles.NO_GIVEN_NAMES or _is_thing(plain[0]):
        return
    if len(plain[-1]) < 3 or plain[-1] in titles.LATIN_TRADES or plain[-1] in titles.LATIN_TITLES:
        return
    if inner[:1] == [0] and plain[0] not in _NOBLE:
        # leonhard Euler, but not "solely Democratic" nor "in Canada".
        if len(words) == 2 and len(plain[0]) > 3 and not plain[0].endswith(("ly", "s", "ed", "ing", "al")):
            yield Form(plain[-1], Made.PART)
        return
    yield Form(plain[-1], Made.LAST)
    family = len(words) - 1
    while family > 1 and plain[family - 1] in _NOBLE:
        family -= 1
    if family < len(words) - 1:
        yield Form("".join(plain[family:]), Made.LAST)
    last = "".join(plain[family:])
    yield Form(f"i:{plain[0][0]}|{last}", Made.ABBREVIATED if _INITIAL.fullmatch(words[0]) else Made.FULL)
    if family > 1:
        yield Form(plain[0] + last, Made.MIDDLE)
        short = _INITIAL.fullmatch(words[1]) is not None
        yield Form(f"i:{plain[0]}{plain[1][0]}|{last}", Made.ABBREVIATED if short else Made.FULL)
