"""Calendar arithmetic: the days that a week, a month, a quarter or a decade has."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

Unit = str  # "day", "week", "month", "quarter", "half" or "year"
_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "half": 6, "year": 12}
_DAYS: dict[Unit, int] = {"day": 1, "week": 7}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


class Period(NamedTuple):
    """First and last day, both inclusive."""

    first: dt.date
    last: dt.date


def day(year: int, month: int, number: int) -> Period:
    """One day; ValueError if the calendar does not have it."""
    one = dt.date(year, month, number)
    return Period(one, one)


def months(year: int, month: int, count: int = 1) -> Period:
    """So many whole months from one on; `month` may be outside 1 to 12. ValueError outside the years 1 to 9999."""
    first = _month_start(year, month)
    return Period(first, _month_start(year, month + count) - dt.timedelta(days=1))


def quarter(year: int, number: int) -> Period:
    """A quarter, 1 to 4; ValueError for others."""
    if not 1 <= number <= 4:
        raise ValueError(number)
    return months(year, 3 * number - 2, 3)


def half(year: int, number: int) -> Period:
    """The first or second half of a year."""
    return months(year, 6 * number - 5, 6)


def year(number: int, count: int = 1) -> Period:
    """So many whole years from one on."""
    return months(number, 1, 12 * count)


def decade(first: int, part: str = "") -> Period:
    """Ten years from `first`, or their ``early``, ``mid`` or ``late`` part."""
    start, count = {"": (0, 10), "early": (0, 4), "mid": (4, 3), "late": (6, 4)}[part]
    return year(first + start, count)


def century(number: int) -> Period:
    """``20`` is 1901 to 2000."""
    return year(100 * number - 99, 100)


def season(number: int, name: str) -> Period:
    """Three months of a year; winter begins in its December."""
    return months(number, SEASONS[name], 3)


def around(today: dt.date, unit: Unit, offset: int) -> Period:
    """The unit that holds `today`, or the one so many before (negative) or after it. Weeks begin on Monday."""
    if unit in _DAYS:
        start = today if unit == "day" else today - dt.timedelta(days=today.weekday())
        first = start + dt.timedelta(days=offset * _DAYS[unit])
        return Period(first, first + dt.timedelta(days=_DAYS[unit] - 1))
    size = _MONTHS[unit]
    month = (today.month - 1) // size * size + 1
    return months(today.year, month + offset * size, size)


def last(today: dt.date, unit: Unit, count: int) -> Period:
    """The time up to today that is so long: the last 3 years begin at today's date 3 years ago."""
    if unit in _DAYS:
        return Period(today - dt.timedelta(days=count * _DAYS[unit]), today)
    start = _month_start(today.year, today.month - count * _MONTHS[unit])
    end = months(start.year, start.month).last
    return Period(start.replace(day=min(today.day, end.day)), today)


def latest(today: dt.date, period: Period) -> Period:
    """This period of a year, or the same of the year before if it has not begun yet."""
    if period.first <= today:
        return period
    return months(period.first.year - 1, period.first.month, _count(period)) if period.first.day == 1 else _back(period)


def _back(period: Period) -> Period:
    one = period.first
    return day(one.year - 1, one.month, one.day)


def _count(period: Period) -> int:
    first, last = period
    return (last.year - first.year) * 12 + last.month - first.month + 1


def _month_start(year: int, month: int) -> dt.date:
    years, index = divmod(month - 1, 12)
    return dt.date(year + years, index + 1, 1)
