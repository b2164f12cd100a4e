"""Figures in a text, in one form whatever they were written in; and whether other texts have them.

``1,000`` and ``천 원``, ``3억 5천만 원`` and ``350,000,000``, ``1.2 million`` and ``120만``, ``12 %`` and ``12퍼센트``
and (in a table) ``0.12``, ``2024년 3월 5일`` and ``March 5, 2024`` are the same; ``12 %`` and ``12명`` are not. Signs
are not compared, since a fall by 3 % is written with and without one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from silmari.answering import numerals

Kind = Literal["number", "date", "clock", "code"]

_NUM = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
# What a number counts in, by the name of its dimension, with the factor to that dimension's base.
_UNITS: tuple[tuple[str, str, Fraction], ...] = tuple(
    (pattern, name, Fraction(factor))
    for name, table in {
        "%": {r"%p?|퍼센트(?:\s?포인트)?|프로(?![가-힣]{2})|per\s?cent(?:age points?)?(?![a-z])": "1"},
        "KRW": {r"원(?![가-힣]{3})|won(?![a-z])|KRW(?![a-z])|₩": "1"},
        "USD": {r"달러|(?:US )?dollars?(?![a-z])|USD(?![a-z])|US\$|\$": "1"},
        "EUR": {r"유로|euros?(?![a-z])|EUR(?![a-z])|€": "1"},
        "JPY": {r"엔(?![가-힣]{3})|yen(?![a-z])|JPY(?![a-z])|¥": "1"},
        "person": {r"명(?![가-힣]{3})|people(?![a-z])|persons?(?![a-z])|employees(?![a-z])": "1"},
        "year": {r"년|(?:calendar )?years?(?![a-z])": "1"},
        "month": {r"개월|months?(?![a-z])": "1"},
        "day": {r"주일|주(?=[\s간,.)]|$)|weeks?(?![a-z])": "7", r"일(?![가-힣]{3})|days?(?![a-z])": "1"},
        "second": {
            r"시간|h(?:ou)?rs?(?![a-z])": "3600",
            r"분(?!의|기|[가-힣]{3})|min(?:ute)?s?(?![a-z])": "60",
            r"초|seconds?(?![a-z])": "1",
        },
        "metre": {
            r"킬로미터|㎞|km(?![a-z])|kilomet(?:re|er)s?(?![a-z])": "1000",
            r"센티미터|㎝|cm(?![a-z])": "1/100",
            r"밀리미터|㎜|mm(?![a-z])": "1/1000",
            r"미터|met(?:re|er)s?(?![a-z])|m(?![a-z])": "1",
        },
        "gram": {
            r"킬로그램|㎏|kg(?![a-z])|kilograms?(?![a-z])": "1000",
            r"그램|g(?![a-z])|grams?(?![a-z])": "1",
            r"톤|t(?![a-z])|tonn?es?(?![a-z])|tons?(?![a-z])": "1000000",
        },
    }.items()
    for pattern, factor in table.items()
)  # fmt: skip
_UNIT = re.compile("|".join(f"(?P<u{place}>{pattern})" for place, (pattern, _, _) in enumerate(_UNITS)), re.I)
_MONEY_BEFORE = re.compile(r"(?:(?P<KRW>₩|KRW)|(?P<USD>US\$|\$|USD)|(?P<EUR>€|EUR)|(?P<JPY>¥|JPY))[^\S\n]?$")
_ENGLISH_SCALES = {
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
    "k": 3,
    "mn": 6,
    "bn": 9,
    "tn": 12,
    "m": 6,
}
_ENGLISH_SCALE = re.compile(r"[^\S\n]?-?(thousand|million|billion|trillion|[mbt]n\b|k\b)s?", re.I)
_MONTHS = {name: place for place, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DATES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?<!\d)(?P<y>\d{4}|['’]\d{2})\s?년\s?(?P<m>\d{1,2})\s?월(?:\s?(?P<d>\d{1,2})\s?일)?",
        r"(?<![\d.])(?P<y>\d{4})[-./]\s?(?P<m>\d{1,2})[-./]\s?(?P<d>\d{1,2})(?![\d-])\.?",
        # Eight digits are a day only where nothing is counted: 20240305개 are pieces.
        r"(?<![\d$₩€¥])(?P<y>(?:1[5-9]|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d|\s?(?:[개명건원엔톤주]|달러|유로))",
        r"(?<![\d,])(?P<y>(?:1[5-9]|20)\d{2})[-.](?P<m>0[1-9]|1[0-2])(?![\d.-])",
        r"(?<!\d)(?P<m>\d{1,2})\s?월(?:\s?(?P<d>\d{1,2})\s?일)?",
        rf"\b(?P<n>{_MONTH})\s(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d),?(?:\s(?P<y>\d{{4}}))?",
        rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\sof)?\s(?P<n>{_MONTH})(?:,?\s(?P<y>\d{{4}}))?",
        rf"\b(?P<n>{_MONTH}),?\s(?P<y>\d{{4}})",
    )
)
_MONTH_ALONE = re.compile(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:[a-z]{0,6}\b)")
_CLOCK = re.compile(
    r"(?:(?P<half>오전|오후|낮|밤|저녁|새벽|아침)\s?)?(?P<h>\d{1,2})(?::(?P<m>\d{2})(?::\d{2})?|시(?!간)(?:\s?(?P<mk>\d{1,2})분)?)"
    r"(?:\s?(?P<end>[ap]\.?m\b\.?))?|\b(?P<h12>\d{1,2})\s?(?P<end12>[ap]\.?m\b\.?)",
    re.I,
)
# MX-300, A4, C-2025-014, 051-123-4567, 192.168.0.1
_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?!(?:FY|CY|Q[1-4]\b))[A-Za-z]+[-_/.]?\d[A-Za-z0-9]*(?:[-_/.][A-Za-z0-9]+)*|\d+[A-Za-z]+\d[A-Za-z0-9]*"
    r"|\d{1,6}(?:-\d{1,6}){2,}|0\d{1,3}-\d{3,6}|1\d{3}-\d{4}(?<!1[5-9]\d\d-1[5-9]\d\d)|\d{1,3}(?:\.\d{1,3}){2,})(?![A-Za-z0-9])"
)
_NUMBER = re.compile(rf"(?<![\d.])(?<!\d,){_NUM}")
_ABOUT = re.compile(
    r"(?:약|대략|거의|어림잡아"
    r"|about|around|approximately|roughly|nearly|almost|some|over|under|(?:more|less) than|(?<!\d)~)\s?"
    r"(?:US\$|[$₩€¥])?$",
    re.I,
)
_ABOUT_AFTER = re.compile(r"\s?(?:여|쯤|정도|가량|남짓|안팎|or so\b)|[가-힣]{1,3}\s?(?:쯤|정도|가량|남짓|안팎)")
_TABLE_UNIT = re.compile(r"단위\s?:?\s?([십백천]?[만억조]|[십백천])(?=\s?(?:원|달러|명|개|건|톤|엔|주)|\W|$)")
_IN_ENGLISH = re.compile(r"\b(?:in|unit:?|\()\s?(thousand|million|billion)s?\b", re.I)
_LISTED = re.compile(r"^\s*(?:[-*•]\s*)?\(?\d{1,2}[.)]\s")
_MARKS = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        said: As it was written.
        value: Of a number; of a date as 20240305 with zeros for what it leaves open; of a clock in minutes.
        unit: What is counted, such as ``KRW`` or ``%``; empty when it is not said or of no kind we know.
        base: The value in the base of its unit: 1.5 km are 1500.
        about: Whether it is said to be rounded.
    """

    said: str
    kind: Kind
    value: Fraction = Fraction(0)
    unit: str = ""
    base: Fraction = Fraction(0)
    about: bool = False


@dataclass(slots=True)
class Known:
    """What figures some texts have, ready to be compared with."""

    numbers: dict[Fraction, set[str]] = field(default_factory=dict)
    bases: set[tuple[str, Fraction]] = field(default_factory=set)
    dates: set[tuple[int, int, int]] = field(default_factory=set)
    clocks: set[int] = field(default_factory=set)
    squeezed: str = ""

    def has(self, figure: Figure) -> bool:
        """Whether the texts have a figure, in whatever form."""
        match figure.kind:
            case "date":
                return self._has_date(int(figure.value))
            case "clock":
                return int(figure.value) % 720 in {minute % 720 for minute in self.clocks}
            case "code":
                return _squeeze(figure.said) in self.squeezed
        return self._has_number(figure)

    def _has_number(self, figure: Figure) -> bool:
        value, unit = figure.value, figure.unit
        units = self.numbers.get(value, set())
        if units and (not unit or unit in units or "" in units):
            return True
        if (unit, figure.base) in self.bases:
            return True
        # What a table has as 0.12 it shows as 12 %.
        if unit == "%" and "" in self.numbers.get(value / 100, set()):
            return True
        if not unit and value < 1 and "%" in self.numbers.get(value * 100, set()):
            return True
        if unit in ("", "year") and any(year == value for year, _, _ in self.dates):
            return True
        if unit in ("", "day") and any(day == value for _, _, day in self.dates):
            return True
        if figure.about:
            step = _step(figure.value)
            return any(
                abs(known - value) < step and (not unit or unit in there or "" in there)
                for known, there in self.numbers.items()
            )
        return False

    def _has_date(self, stated: int) -> bool:
        year, month, day = stated // 10_000, stated // 100 % 100, stated % 100
        years = {value for value in self.numbers if value.denominator == 1} | {one for one, _, _ in self.dates}
        for known_year, known_month, known_day in self.dates:
            if (month and month != known_month) or (day and day != known_day):
                continue
            if not year or year == known_year or (not known_year and year in years):
                return True
        # A table may have them in columns of their own.
        plain = {value for value, units in self.numbers.items() if "" in units}
        return all(Fraction(part) in plain for part in (year, month, day) if part)


def known_in(texts: Iterable[str]) -> Known:
    """The figures of some texts, all that may be meant by what they write."""
    found = Known()
    for text in texts:
        normal = _normal(text)
        found.squeezed += "\n" + _squeeze(normal)
        scales = [Fraction(numerals.scale(unit)) for unit in _TABLE_UNIT.findall(normal)]
        scales += [Fraction(10 ** _ENGLISH_SCALES[unit.lower()]) for unit in _IN_ENGLISH.findall(normal)]
        for figure in _all(normal):
            if figure.kind == "date":
                value = int(figure.value)
                found.dates.add((value // 10_000, value // 100 % 100, value % 100))
                if figure.said.isdecimal():  # 20240305 may be an amount
                    found.numbers.setdefault(figure.value, set()).add("")
            elif figure.kind == "clock":
                found.clocks.add(int(figure.value))
            elif figure.kind == "code":
                for digits in re.findall(r"\d+", figure.said):
                    found.numbers.setdefault(Fraction(digits), set()).add("")
            else:
                found.numbers.setdefault(figure.value, set()).add(figure.unit)
                found.bases.add((figure.unit, figure.base))
                for scale in scales if figure.unit in ("", "KRW", "USD") else ():
                    found.numbers.setdefault(figure.value * scale, set()).add("")
        found.dates |= {(0, _MONTHS[name.lower()], 0) for name in _MONTH_ALONE.findall(normal)}
        for value in numerals.spelled(normal):
            found.numbers.setdefault(Fraction(value), set()).add("")
    return found


def strange(sentence: str, known: Known) -> list[str]:
    """The figures of a sentence that are not known, as they are written, each once.

    Numbers below ten that count no unit are passed over: they number steps and count what is listed.
    """
    said = _LISTED.sub("", _MARKS.sub("", _normal(sentence)))
    found = [figure.said for figure in _all(said) if not _trifling(figure) and not known.has(figure)]
    return list(dict.fromkeys(found))


def figures(text: str) -> list[Figure]:
    """All figures of a text, in order."""
    return _all(_normal(text))


def without_figures(text: str) -> str:
    """The text's NFKC form without its figures, which may be written in another form elsewhere."""
    normal = _normal(text)
    for figure in _all(normal):
        normal = normal.replace(figure.said, " ", 1)
    return normal


def _trifling(figure: Figure) -> bool:
    if figure.kind != "number" or figure.value.denominator != 1:
        return False
    # One of a unit is a rate: 1초에, per second.
    return figure.value < 10 and (not figure.unit or (figure.value == 1 and figure.unit != "%"))


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _squeeze(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _step(value: Fraction) -> Fraction:
    """One in the last place that a number states: 100 for 1,200."""
    step = Fraction(1)
    if value.denominator != 1:
        while (value / step).denominator != 1:
            step /= 10
        return step
    while value and (value / (step * 10)).denominator == 1:
        step *= 10
    return step


def _all(text: str) -> list[Figure]:
    found: list[tuple[int, Figure]] = []
    free = bytearray(b"\x01" * len(text))

    def take(start: int, end: int, figure: Figure) -> None:
        found.append((start, figure))
        free[start:end] = bytes(end - start)

    for pattern in _DATES:
        for match in pattern.finditer(text):
            if all(free[match.start() : match.end()]) and (day := _date(match)):
                take(*match.span(), Figure(match[0].strip(), "date", Fraction(day)))
    for match in _CLOCK.finditer(text):
        if all(free[match.start() : match.end()]) and (minutes := _minutes(match)) is not None:
            take(*match.span(), Figure(match[0].strip(), "clock", Fraction(minutes)))
    for match in _CODE.finditer(text):
        if all(free[match.start() : match.end()]):
            take(*match.span(), Figure(match[0], "code"))
    for start, end, value in numerals.written(text, _NUMBER):
        if all(free[start:end]):
            take(start, *_measured(text, start, end, value))
    return [figure for _, figure in sorted(found, key=lambda one: one[0])]


def _measured(text: str, start: int, end: int, value: Fraction) -> tuple[int, Figure]:
    """A number with what follows it: a scale, a unit."""
    money = _MONEY_BEFORE.search(text[max(start - 5, 0) : start])
    if scale := _ENGLISH_SCALE.match(text, end):
        value, end = value * 10 ** _ENGLISH_SCALES[scale[1].lower()], scale.end()
    elif money and re.compile(r"[mM]\b").match(text, end):
        value, end = value * 10**6, end + 1
    unit, base = money.lastgroup or "" if money else "", value
    after = end + 1 if text[end : end + 1] in ("-", " ") else end
    if not unit and (match := _UNIT.match(text, after)) and match.lastgroup:
        _, unit, factor = _UNITS[int(match.lastgroup[1:])]
        end, base = match.end(), value * factor
    about = bool(_ABOUT.search(text[max(start - 16, 0) : start]) or _ABOUT_AFTER.match(text, end))
    return end, Figure(text[start:end].strip(), "number", value, unit, base, about)


def _date(match: re.Match[str]) -> int:
    """20240305; 0 for what is no date."""
    part = match.groupdict()
    year = int(part["y"].lstrip("'’")) if part.get("y") else 0
    if part.get("y") and len(part["y"]) == 3:
        year += 2000
    month = _MONTHS[part["n"][:3].lower()] if part.get("n") else int(part["m"])
    day = int(part["d"]) if part.get("d") else 0
    return year * 10_000 + month * 100 + day if 1 <= month <= 12 and day <= 31 else 0


def _minutes(match: re.Match[str]) -> int | None:
    hour, minute = int(match["h"] or match["h12"]), int(match["m"] or match["mk"] or 0)
    if hour > 24 or minute > 59:
        return None
    late = match["half"] in ("오후", "저녁", "밤") or (match["end"] or match["end12"] or "").lower().startswith("p")
    return (hour + 12 if late and hour < 12 else hour) * 60 + minute
