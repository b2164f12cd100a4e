"""English words for a time: last quarter, the 1980s, March 2024, the past three years."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator

from silmari.language import periods
from silmari.language.periods import Period
from silmari.language.times import Atom

_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = rf"(?P<m>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), start=1
    )
} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30, "hundred": 100, "couple of": 2}  # fmt: skip
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|quarter|year|decade)"
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_ORDINAL = rf"(?P<nth>{'|'.join(_ORDINALS)})"
_YEAR = r"(?P<y>(?<![\d.,/-])[12]\d{3})(?![\d/]|[.,]\d|s\b|['’]s\s+(?-i:[A-Z]))"
_MONTH_2, _YEAR_2, _YEAR_3 = (
    pattern.replace(f"<{pattern_name}>", f"<{pattern_name}{number}>")
    for pattern, pattern_name, number in ((_MONTH, "m", 2), (_YEAR, "y", 2), (_YEAR, "y", 3))
)
_SEASONS = {name: name for name in periods.SEASONS} | {"fall": "autumn"}

# Years that stand where only a time can; elsewhere a number of four digits may be anything: 2002 World Cup.
_WITH_YEAR = re.compile(
    rf"\b(?:in|during|throughout|(?:in\s+)?(?:the\s+)?(?:fiscal\s+|financial\s+)?year|FY\s?)\s*{_YEAR}"
    rf"(?!\s*[-–]\s*\d)(?!\s+(?:[A-Z]|\w+s\b))|\bFY\s?(?P<yy>\d{{2}})\b"
)
_BARE_YEAR = re.compile(rf"{_YEAR}(?!\s*년)")
_YEARS = re.compile(rf"{_YEAR}\s*[-–—~]\s*(?P<y2>[12]\d{{3}})(?![\d/.-])")
_ISO = re.compile(
    r"(?<![\d.,/-])(?P<y>[12]\d{3})(?P<sep>[-./])(?:(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d/-]|\.\d)"
    r"|(?P<m2>0[1-9]|1[0-2])(?![\d/.-]))"
)
_DAY = re.compile(
    rf"\b(?:{_MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*,?\s*{_YEAR})?(?!\s*[,\d])"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH_2}(?:\s*,?\s*{_YEAR_2})?)",
    re.I,
)
_MONTH_YEAR = re.compile(rf"\b(?:the\s+month\s+of\s+)?{_MONTH}\s*(?:,\s*|of\s+)?{_YEAR}", re.I)
_BARE_MONTH = re.compile(
    rf"\b(?P<lead>in|during|since|last|this|next|and|to|until|before|after|between|from)\s+{_MONTH}(?!\s+\d)", re.I
)
_QUARTER = re.compile(
    rf"\b(?:Q(?P<q>\d)(?:\s*(?:of\s+|/|,)?\s*{_YEAR})?|{_YEAR_2}\s?-?Q(?P<q2>\d)"
    rf"|(?:the\s+)?{_ORDINAL}\s+quarter(?:\s+of)?\s+"
    rf"(?:(?:the\s+)?(?:fiscal\s+)?(?:year\s+)?{_YEAR_3}|(?P<rel>this|last)\s+year))\b",
    re.I,
)
_HALF = re.compile(
    rf"\b(?:H(?P<q>[12])\s*(?:of\s+)?{_YEAR}"
    rf"|(?:the\s+)?(?P<nth>first|second)\s+half\s+of\s+(?:{_YEAR_2}|(?P<rel>this|last)\s+year))\b",
    re.I,
)
_DECADE = re.compile(
    r"\b(?:(?P<part>early|mid|late)[-\s]+)?(?:the\s+)?(?:(?P<y>[12]\d{2}0)['’]?s\b|['’‘](?P<yy>\d0)s\b)"
    r"|\bthe\s+(?:(?P<part2>early|mid|late)[-\s]+)?(?:(?P<y2>[12]\d{2}0)['’]?s\b|['’‘]?(?P<yy2>\d0)s\b)",
    re.I,
)
_CENTURIES = {"fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19}
_CENTURIES |= {"twentieth": 20, "twenty-first": 21}
_CENTURY = re.compile(rf"\b(?:(?P<n>1\d|2\d)(?:st|nd|rd|th)|(?P<word>{'|'.join(_CENTURIES)}))[-\s]+century\b", re.I)
_LAST = re.compile(rf"\b(?:last|past|previous|recent)\s+(?:{_N}\s+{_UNIT}s?|(?P<one>decade))\b(?!\s+of\b)", re.I)
_AGO = re.compile(rf"\b{_N}\s+{_UNIT}s?\s+ago\b", re.I)
_RELATIVE = re.compile(
    r"\b(?P<how>this|current|last|past|previous|next|coming)\s+(?P<unit>week|month|quarter|year)(?!\s+of\b)\b", re.I
)
_WEEKDAY = re.compile(rf"\b(?P<how>last|this|next)\s+(?P<day>{'|'.join(_WEEKDAYS)})\b", re.I)
_SEASON = re.compile(
    rf"\b(?:last\s+(?P<last>{'|'.join(_SEASONS)})|(?:in\s+)?(?:the\s+)?(?P<s>{'|'.join(_SEASONS)})\s+(?:of\s+){_YEAR})\b",
    re.I,
)
_TODAY = re.compile(r"\b(?P<word>today|yesterday|tomorrow)\b(?!['’]s\s+(?-i:[A-Z]))", re.I)


def atoms(text: str, today: dt.date) -> Iterator[Atom]:
    """Every English expression of a time, the surer patterns first; they may overlap."""
    for pattern, make, firm in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                period = make(match, today)
            except (ValueError, OverflowError):
                yield Atom(match.start(), match.end(), None)
                continue
            if period is not None:
                start = match.start("m") if pattern is _BARE_MONTH and _lead(match) else match.start()
                yearless = pattern in (_BARE_MONTH, _DAY) and not _named(match, "y")
                bare = pattern is _BARE_YEAR or (pattern is _QUARTER and bool(match["q"]) and not match["y"])
                yield Atom(start, match.end(), period, firm=firm and _past(match), yearless=yearless, bare=bare)


def _past(match: re.Match[str]) -> bool:
    return (match.groupdict().get("how") or "").lower() not in ("next", "coming") and match[0].lower() != "tomorrow"


def _lead(match: re.Match[str]) -> bool:
    """Whether the word before a month is no part of its name, as "last" is."""
    return match["lead"].lower() not in ("last", "this", "next")


def _named(match: re.Match[str], name: str) -> str | None:
    """The group of this name, or of its second or third spelling."""
    groups = match.groupdict()
    return next((groups[key] for key in (name, f"{name}2", f"{name}3") if groups.get(key)), None)


def _the_year(match: re.Match[str], today: dt.date) -> int:
    named = _named(match, "y")
    if named:
        return int(named)
    return today.year - (1 if (match.groupdict().get("rel") or "").lower() == "last" else 0)


def _year(match: re.Match[str], _: dt.date) -> Period:
    return periods.year(int(match["y"])) if match["y"] else periods.year(2000 + int(match["yy"]))


def _bare_year(match: re.Match[str], _: dt.date) -> Period:
    return periods.year(int(match["y"]))


def _years(match: re.Match[str], _: dt.date) -> Period | None:
    first, last = int(match["y"]), int(match["y2"])
    return periods.year(first, last - first + 1) if first <= last else None


def _iso(match: re.Match[str], _: dt.date) -> Period | None:
    if match["m2"]:
        return periods.months(int(match["y"]), int(match["m2"]))
    return periods.day(int(match["y"]), int(match["m"]), int(match["d"]))


def _day(match: re.Match[str], today: dt.date) -> Period | None:
    month, number = _MONTHS[str(_named(match, "m")).lower()], int(str(_named(match, "d")))
    named = _named(match, "y")
    if named:
        return periods.day(int(named), month, number)
    if number > 31 or _lower(match, "m"):
        return None
    return periods.latest(today, periods.day(today.year, month, number))


def _lower(match: re.Match[str], name: str) -> bool:
    """Whether a month's name is written small, as the verbs may and march are."""
    return str(_named(match, name)).lower() in ("may", "mar", "march") and str(_named(match, name)).islower()


def _month_year(match: re.Match[str], _: dt.date) -> Period:
    return periods.months(int(match["y"]), _MONTHS[match["m"].lower()])


def _bare_month(match: re.Match[str], today: dt.date) -> Period | None:
    if _lower(match, "m"):
        return None
    one = periods.months(today.year, _MONTHS[match["m"].lower()])
    how = match["lead"].lower()
    if how == "next":
        return one if one.first > today else periods.months(today.year + 1, one.first.month)
    if how == "last" and one.last >= today:
        return periods.months(today.year - 1, one.first.month)
    return one if how == "this" else periods.latest(today, one)


def _quarter(match: re.Match[str], today: dt.date) -> Period:
    number = int(str(_named(match, "q"))) if _named(match, "q") else _ORDINALS[match["nth"].lower()]
    one = periods.quarter(_the_year(match, today), number)
    return one if _named(match, "y") or match["rel"] else periods.latest(today, one)


def _half(match: re.Match[str], today: dt.date) -> Period:
    number = int(match["q"]) if match["q"] else _ORDINALS[match["nth"].lower()]
    return periods.half(_the_year(match, today), number)


def _decade(match: re.Match[str], _: dt.date) -> Period:
    part = str(_named(match, "part") or "").lower()
    if named := _named(match, "y"):
        return periods.decade(int(named), part)
    short = int(str(_named(match, "yy")))
    return periods.decade(short + (2000 if short < 30 else 1900), part)


def _century(match: re.Match[str], _: dt.date) -> Period:
    return periods.century(int(match["n"]) if match["n"] else _CENTURIES[match["word"].lower()])


def _last(match: re.Match[str], today: dt.date) -> Period:
    return _back(today, match["unit"] or "decade", _number(match["n"] or "one"))


def _back(today: dt.date, unit: str, count: int) -> Period:
    return periods.last(today, "year", 10 * count) if unit == "decade" else periods.last(today, unit, count)


def _ago(match: re.Match[str], today: dt.date) -> Period:
    count, unit = _number(match["n"]), match["unit"].lower()
    return (
        periods.decade((today.year - 10 * count) // 10 * 10)
        if unit == "decade"
        else periods.around(today, unit, -count)
    )


def _relative(match: re.Match[str], today: dt.date) -> Period:
    how, unit = match["how"].lower(), match["unit"].lower()
    if how == "past":
        return periods.last(today, unit, 1)
    return periods.around(today, unit, {"this": 0, "current": 0, "next": 1, "coming": 1}.get(how, -1))


def _weekday(match: re.Match[str], today: dt.date) -> Period:
    ahead = (_WEEKDAYS.index(match["day"].lower()) - today.weekday()) % 7
    how = match["how"].lower()
    days = ahead - 7 if how == "last" else (ahead or 7) if how == "next" else ahead
    one = today + dt.timedelta(days=days)
    return Period(one, one)


def _season(match: re.Match[str], today: dt.date) -> Period:
    if match["s"]:
        return periods.season(int(match["y"]), _SEASONS[match["s"].lower()])
    name = _SEASONS[match["last"].lower()]
    return next(one for back in range(3) if (one := periods.season(today.year - back, name)).last < today)


def _the_day(match: re.Match[str], today: dt.date) -> Period:
    return periods.around(today, "day", {"yesterday": -1, "tomorrow": 1}.get(match["word"].lower(), 0))


def _number(text: str) -> int:
    return _NUMBERS.get(text.lower()) or int(text)


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], dt.date], Period | None], bool], ...] = (
    (_ISO, _iso, False),
    (_LAST, _last, True),
    (_AGO, _ago, False),
    (_QUARTER, _quarter, False),
    (_HALF, _half, False),
    (_SEASON, _season, False),
    (_DAY, _day, False),
    (_MONTH_YEAR, _month_year, False),
    (_YEARS, _years, False),
    (_DECADE, _decade, False),
    (_CENTURY, _century, False),
    (_RELATIVE, _relative, True),
    (_WEEKDAY, _weekday, True),
    (_BARE_MONTH, _bare_month, False),
    (_TODAY, _the_day, True),
    (_WITH_YEAR, _year, False),
    (_BARE_YEAR, _bare_year, False),
)
