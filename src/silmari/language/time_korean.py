"""Korean words for a time: 지난달, 작년 3분기, 최근 3년, 1990년대, 2024년 5월 3일."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator

from silmari.language import periods
from silmari.language.periods import Period
from silmari.language.times import Atom

_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "한 일", "두 이", "세 석 삼", "네 넉 사", "다섯 오", "여섯 육", "일곱 칠", "여덟 팔", "아홉 구", "열 십",
        ),
        start=1,
    )
    for word in words.split()
}  # fmt: skip
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_DAYS = {"하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "열흘": 10, "보름": 15}
_UNITS = {"년": "year", "해": "year", "개년": "year", "개월": "month", "달": "month", "분기": "quarter"}
_UNITS |= {"주": "week", "주일": "week", "주간": "week", "일": "day"}
_UNIT = r"(?P<unit>개년|년|해|개월|달|주일|주간|주|분기|일)"
# What may follow a word for it to end there: 이번 주에, but not 이번 주제.
_END = (
    r"(?=$|[\s,.?!·~)\]\"'’”:;-]|[에의은는도만간말초중]|부터|까지|이후|이전|이래|들어|동안|이었|인데|과|와|분(?!기)|치)"
)

_YEARS = {"올해": 0, "금년": 0, "이번해": 0, "작년": -1, "지난해": -1, "재작년": -2, "지지난해": -2, "내년": 1}
_YEARS |= {"내후년": 2}
_SEASONS = {"봄": "spring", "여름": "summer", "가을": "autumn", "겨울": "winter"}
_PARTS = {"초": "early", "초반": "early", "중반": "mid", "중엽": "mid", "중": "mid", "후반": "late", "말": "late"}
_WEEKDAYS = "월화수목금토일"

# 2023년생, 2023년형, 2023년산 are of that year without asking for it; 2023년간 is a length.
_YEAR = re.compile(
    r"(?:(?<![\dA-Za-z.,-])(?P<y>[12]\d{3})\s*년(?:도(?!\s*[가-힣]*로))?(?!\s*대(?![가-힣]))(?![생형산식간])"
    r"|(?<![\d])['’‘](?P<yy>\d{2})\s*년(?![대생형산식간])"
    r"|(?<![가-힣])(?P<word>올해|금년|이번\s?해|재작년|작년|지지난\s?해|지난\s?해|내년|내후년)(?:도(?=[\s의에]))?)"
    r"(?:\s*의?\s*(?:(?P<m>\d{1,2})\s*월(?!세)(?:\s*(?P<d>\d{1,2})\s*일)?|(?:제\s*)?(?P<q>\d)\s*(?:/\s*4\s*)?분기"
    r"|(?P<h>[상하])반기|(?P<s>봄|여름|가을|겨울)(?![가-힣]{2})))?"
)
_SHORT_MONTH = re.compile(r"(?<!\d)(?P<y>\d{2})\s*년\s*(?P<m>\d{1,2})\s*월(?:\s*(?P<d>\d{1,2})\s*일)?")
_DECADE = re.compile(
    r"(?<![\d])['’‘]?(?P<y>[12]\d{2}0|\d0)\s*년대(?:\s*(?P<part>초반|초|중반|중엽|후반|말)(?=$|[\s에의부까,.?]))?"
)
_CENTURY = re.compile(r"(?<!\d)(?P<n>\d{1,2})\s*세기")
_MONTH = re.compile(
    r"(?<![\d.,-])(?:(?P<last>지난|올)\s*)?(?P<m>\d{1,2})\s*월(?![세간별])(?:\s*(?P<d>\d{1,2})\s*일(?![간째]))?"
)
_PART = re.compile(
    r"(?:(?P<which>이번|지난|다음)\s*)?(?:(?<![\d])(?P<q>[1-4])\s*(?:/\s*4\s*)?분기(?!\s*(?:연속|째|만에|동안|간))"
    r"|(?<![가-힣])(?P<h>[상하])반기)"
)
_LAST = re.compile(
    rf"(?P<how>최근|지난|과거|근래)\s*(?:(?:{_N}\s*{_UNIT}|(?P<half>반년)|(?P<word>{'|'.join(_DAYS)}))"
    r"\s*(?P<long>간|동안|사이)?)(?![가-힣](?<![에의은는이가을를도치부]))"
)
_AGO = re.compile(rf"(?<!\d)(?:{_N}\s*{_UNIT}|(?P<word>{'|'.join(_DAYS)}))\s*전(?=$|[\s,.?!]|[에의이과은])(?!\s*까지)")
_WEEKDAY = re.compile(
    rf"(?:(?P<two>지지난|저저번)|(?P<one>지난|저번)|(?P<this>이번)|(?P<next>다음))\s*"
    rf"(?P<week>주)?\s*(?P<day>[{_WEEKDAYS}])요일"
)
_SEASON = re.compile(r"지난\s*(?P<s>봄|여름|가을|겨울)(?![가-힣]{2})")

# What, then the unit and how many of it from today's.
_RELATIVE: tuple[tuple[re.Pattern[str], str, int], ...] = tuple(
    (re.compile(rf"(?<![가-힣])(?:{pattern})"), unit, offset)
    for pattern, unit, offset in (
        (r"오늘(?!날)", "day", 0),
        (r"어제(?!의\s?[가-힣]*\s?(?:용사|동지))", "day", -1),
        (r"(?:그저께|그제|엊그제)" + _END, "day", -2),
        (r"내일(?!\s?배움|채움)" + _END, "day", 1),
        (r"모레" + _END, "day", 2),
        (r"(?:지지난|저저번)\s*주" + _END, "week", -2),
        (r"(?:지난|저번)\s*(?:한\s*)?주" + _END, "week", -1),
        (r"(?:이번\s*주|금주)(?:말)?" + _END, "week", 0),
        (r"다음\s*주" + _END, "week", 1),
        (r"(?:지지난|저저번)\s*달" + _END, "month", -2),
        (r"(?:(?:지난|저번)\s*(?:한\s*)?달|전월(?!세|\s*대비))" + _END, "month", -1),
        (r"(?:이번\s*달|이달|금월|당월)" + _END, "month", 0),
        (r"(?:다음\s*달|내달)" + _END, "month", 1),
        (r"(?:지난|저번|직전|전)\s*분기", "quarter", -1),
        (r"(?:이번|금|당)\s*분기", "quarter", 0),
        (r"다음\s*분기", "quarter", 1),
        (r"(?:지난|직전)\s*반기", "half", -1),
        (r"이번\s*반기", "half", 0),
    )
)


def atoms(text: str, today: dt.date) -> Iterator[Atom]:
    """Every Korean expression of a time, the surer patterns first; they may overlap."""
    for pattern, make, firm in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                period = make(match, today)
            except (ValueError, OverflowError):
                yield Atom(match.start(), match.end(), None)
                continue
            if period is not None:
                sure = firm or _relative(match)
                yearless = pattern is _MONTH and match["last"] is None
                yield Atom(match.start(), match.end(), period, firm=sure, yearless=yearless)
    for pattern, unit, offset in _RELATIVE:
        for match in pattern.finditer(text):
            try:
                yield Atom(match.start(), match.end(), periods.around(today, unit, offset), firm=offset <= 0)
            except (ValueError, OverflowError):
                continue  # a today at the end of the calendar


def _relative(match: re.Match[str]) -> bool:
    """Whether a year or a month is told from today's, and is not to come."""
    groups = match.groupdict()
    if groups.get("word") and groups.get("unit") is None:
        return _YEARS.get(_tight(groups["word"]), 1) <= 0
    return bool(groups.get("last")) or groups.get("which") in ("이번", "지난")


def _year(match: re.Match[str], today: dt.date) -> Period:
    if match["y"]:
        number = int(match["y"])
    elif match["yy"]:
        number = _full(int(match["yy"]))
    else:
        number = today.year + _YEARS[_tight(match["word"])]
    return _part(match, number)


def _part(match: re.Match[str], number: int) -> Period:
    if match["m"]:
        month = int(match["m"])
        if not 1 <= month <= 12:
            raise ValueError(month)
        return periods.day(number, month, int(match["d"])) if match["d"] else periods.months(number, month)
    if match["q"]:
        return periods.quarter(number, int(match["q"]))
    if match["h"]:
        return periods.half(number, 1 if match["h"] == "상" else 2)
    if match["s"]:
        return periods.season(number, _SEASONS[match["s"]])
    return periods.year(number)


def _short_month(match: re.Match[str], _: dt.date) -> Period:
    number, month = _full(int(match["y"])), int(match["m"])
    if not 1 <= month <= 12:
        raise ValueError(month)
    return periods.day(number, month, int(match["d"])) if match["d"] else periods.months(number, month)


def _decade(match: re.Match[str], _: dt.date) -> Period:
    first = int(match["y"])
    if first < 100:
        first += 2000 if first < 30 else 1900
    return periods.decade(first, _PARTS.get(match["part"] or "", ""))


def _century(match: re.Match[str], _: dt.date) -> Period | None:
    number = int(match["n"])
    return periods.century(number) if 10 <= number <= 29 else None


def _month(match: re.Match[str], today: dt.date) -> Period | None:
    month = int(match["m"])
    if not 1 <= month <= 12:
        return None
    if match["d"]:
        return _latest_day(today, month, int(match["d"]))
    return periods.latest(today, periods.months(today.year, month))


def _latest_day(today: dt.date, month: int, number: int) -> Period:
    """The last such day that was, also where only leap years have it."""
    if number > 31:
        raise ValueError(number)
    for back in range(8):
        try:
            one = periods.day(today.year - back, month, number)
        except ValueError:
            continue
        if one.first <= today:
            return one
    raise ValueError(number)


def _quarter_or_half(match: re.Match[str], today: dt.date) -> Period:
    if match["q"]:
        period = periods.quarter(today.year, int(match["q"]))
    else:
        period = periods.half(today.year, 1 if match["h"] == "상" else 2)
    if match["which"] == "다음":
        return period if period.first > today else periods.months(today.year + 1, period.first.month, _size(period))
    if match["which"] == "지난" and period.last >= today:
        return periods.months(today.year - 1, period.first.month, _size(period))
    return periods.latest(today, period)


def _size(period: Period) -> int:
    return period.last.month - period.first.month + 1


def _last(match: re.Match[str], today: dt.date) -> Period | None:
    if match["half"]:
        return periods.last(today, "month", 6)
    if match["word"]:
        return periods.last(today, "day", _DAYS[match["word"]])
    unit, count = _UNITS[match["unit"]], _number(match["n"])
    # 지난 2일 is the second of a month, 지난 한 주 the last week, 지난 3분기 a quarter.
    if match["how"] == "지난" and not match["long"] and (unit in ("day", "quarter") or count == 1):
        return None
    return periods.last(today, unit, count)


def _ago(match: re.Match[str], today: dt.date) -> Period:
    if match["word"]:
        return periods.around(today, "day", -_DAYS[match["word"]])
    return periods.around(today, _UNITS[match["unit"]], -_number(match["n"]))


def _weekday(match: re.Match[str], today: dt.date) -> Period:
    weekday = _WEEKDAYS.index(match["day"])
    weeks = -2 if match["two"] else -1 if match["one"] else 1 if match["next"] else 0
    if match["week"] or weeks in (0, -2):
        monday = periods.around(today, "week", weeks).first
        one = monday + dt.timedelta(days=weekday)
    elif weeks < 0:
        one = today - dt.timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    else:
        one = today + dt.timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    return Period(one, one)


def _season(match: re.Match[str], today: dt.date) -> Period:
    name = _SEASONS[match["s"]]
    return next(one for back in range(3) if (one := periods.season(today.year - back, name)).last < today)


def _number(text: str) -> int:
    return _NUMBERS.get(text) or int(text)


def _full(short: int) -> int:
    return short + (1900 if short > 70 else 2000)


def _tight(text: str) -> str:
    return re.sub(r"\s", "", text)


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], dt.date], Period | None], bool], ...] = (
    (_LAST, _last, True),
    (_DECADE, _decade, False),
    (_YEAR, _year, False),
    (_SHORT_MONTH, _short_month, False),
    (_WEEKDAY, _weekday, True),
    (_SEASON, _season, True),
    (_CENTURY, _century, False),
    (_AGO, _ago, False),
    (_PART, _quarter_or_half, False),
    (_MONTH, _month, False),
)
