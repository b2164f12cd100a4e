"""Names without accents and punctuation, and which names are none: numbers, quantities, dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from silmari.language.latin import unaccented
from silmari.language.normalise import key, normalise

_LETTERS = re.compile(r"[^\W\d_]")
_FOLDED_AWAY = re.compile(r"(?<!\d)[\W_]+|[\W_]+(?!\d)")
_ACCENTED = re.compile("[\u00c0-\u058f\u1e00-\u1fff]")
_NUMBERED = re.compile(r"[IVXLCDM]+|[A-Z]\.?|[JS]r\.?|.*\d.*")
_MONTHS = "january february march april may june july august september october november december"
_UNITS = (
    "년 월 일 시 분 초 원 만 천 백 억 조 명 인 개 대 권 회 차 세 살 점 위 평 채 마리 척 톤 리 도 배 건 곳 층 호 쪽 "
    "여 간 논 밭 "
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


def fold(name: str) -> str:
    """A name's key without accents, and without punctuation but between digits: ``José-María`` → ``josemaria``."""
    return fold_key(key(name))


def fold_key(spelled: str) -> str:
    """The same of a `silmari.language.normalise.key`."""
    if _ACCENTED.search(spelled):
        spelled = unicodedata.normalize("NFC", unaccented(spelled))
    return spelled if spelled.isalnum() else _FOLDED_AWAY.sub("", spelled)


@lru_cache(maxsize=262_144)
def folded(word: str) -> str:
    """One word in the form of `fold`, with its particle if it has one."""
    return fold_key(normalise(word))


def joined(words: Iterable[str]) -> str:
    """Words in the form of `fold`, with their particles."""
    return "".join(map(folded, words))


def is_value(name: str) -> bool:
    """Whether a name is a number, a quantity, a day or a time, or has no letter at all."""
    return _LETTERS.search(name) is None or _VALUE.fullmatch(normalise(name)) is not None


def is_common(name: str) -> bool:
    """Whether a name in Latin letters has no capital."""
    return name[:1].islower() and name == name.lower()


def is_capital(word: str) -> bool:
    """Whether a word begins with a capital letter."""
    return word[:1].isupper()


@lru_cache(maxsize=262_144)
def is_numbered(word: str) -> bool:
    """Whether a word holds a digit, or is a Roman number, an initial, Jr. or Sr."""
    return _NUMBERED.fullmatch(word) is not None
