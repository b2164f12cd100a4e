"""Times that a question names, in Korean and English, as ranges of days relative to a given today.

Only what stands where a time must stand is one: ``2019년``, ``in 2019`` and ``since 2019`` are, the numbers of
``2002 월드컵``, ``the 1998 Nobel prize`` and ``Windows 95`` are not.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from silmari.language.periods import Period


@dataclass(frozen=True, slots=True)
class Atom:
    """A time in a text, before the words around it are read.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        period: Its days; None for what looks like a date and is none, such as 2024-02-30.
        firm: Whether it is told from today's date.
        yearless: Whether its year is a guess.
        bare: Whether it counts only with words such as "since" beside it.
    """

    start: int
    end: int
    period: Period | None
    firm: bool = False
    yearless: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Time:
    """One time that a question names.

    Attributes:
        phrase: As it is written there, in normal form.
        start: Where it begins in the question's NFKC form.
        end: Where it ends there.
        since: First day, ISO; None for everything before.
        until: Last day, ISO; None for everything after.
        firm: True for what likely bounds the documents asked for: what is told from today (``지난달``), and open
            ends (``2023년 이후``), since what is told of a time is dated then or later. False for what may as well
            be a matter of the content (``2019년``, ``the 1980s``, ``2025년까지``).
    """

    phrase: str
    start: int
    end: int
    since: str | None
    until: str | None
    firm: bool

    @property
    def closed(self) -> bool:
        """Whether it lies within one year."""
        return self.since is not None and self.until is not None and self.since[:4] == self.until[:4]

    def __str__(self) -> str:
        """``지난달 → 2026-10-01 … 2026-10-31``."""
        return f"{self.phrase} → {shown(self.since, self.until)}"


@dataclass(frozen=True, slots=True)
class Times:
    """What a question says of time.

    Attributes:
        found: The times, in the order of the question.
        problems: One sentence for each date that is none, or range that ends before it begins.
    """

    found: tuple[Time, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def firm(self) -> bool:
        """Whether all of them are firm."""
        return all(time.firm for time in self.found)

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """The first and the last day of all of them together."""
        since = None if any(time.since is None for time in self.found) else min(t.since or "" for t in self.found)
        until = None if any(time.until is None for time in self.found) else max(t.until or "" for t in self.found)
        return since, until


def shown(since: str | None, until: str | None) -> str:
    """``2026-10-01 … 2026-10-31``; one day alone for a day, an open end for none."""
    if since == until and since is not None:
        return since
    return " ".join(part for part in (since, "…", until) if part)


def times_in(question: str, today: dt.date) -> Times:
    """The times that a question names.

    Args:
        question: In Korean, English or both.
        today: What ``지난달`` and ``last quarter`` are told from.
    """
    text = unicodedata.normalize("NFKC", question)
    found = _chosen(text, today)
    times: list[Time] = []
    problems: list[str] = []
    index = 0
    while index < len(found):
        atom = found[index]
        if atom.period is None:
            phrase = text[atom.start : atom.end].strip()
            problems.append(f"{phrase} is no date of the calendar, so it was not used as a time.")
            index += 1
            continue
        following = found[index + 1] if index + 1 < len(found) else None
        joined = _joined(text, atom, following) if following is not None and following.period is not None else None
        if joined is not None:
            times.append(joined[0])
            problems += [joined[1]] if joined[1] else []
            index += 2
            continue
        alone = _alone(text, atom)
        times += [alone] if alone is not None else []
        index += 1
    return Times(tuple(times), tuple(dict.fromkeys(problems)))


def _chosen(text: str, today: dt.date) -> list[Atom]:
    """Atoms that do not overlap: the longer ones, the surer ones of equal length."""
    from silmari.language import time_english, time_korean

    candidates = [*time_korean.atoms(text, today), *time_english.atoms(text, today)]
    # sorted() is stable: of equal ones the earlier pattern wins.
    taken: list[Atom] = []
    for atom in sorted(candidates, key=lambda one: (one.bare, one.start - one.end)):
        if all(atom.end <= other.start or other.end <= atom.start for other in taken):
            taken.append(atom)
    return sorted(taken, key=lambda one: one.start)


_FROM_TO = re.compile(r"\s*(?:부터|에서)\s*|\s*[~∼〜–—-]\s*|\s*(?:to|through|until|till)\s+(?:the\s+)?", re.I)
_AND = re.compile(r"\s*(?:과|와|하고)\s*|\s*(?:and)\s+(?:the\s+)?", re.I)
_BETWEEN_KO = re.compile(r"\s*(?:년\s*)?(?:의\s*)?사이")
_BETWEEN_EN = re.compile(r"\bbetween\s+(?:the\s+)?(?:years\s+)?$", re.I)
_FROM_EN = re.compile(r"\bfrom\s+(?:the\s+)?$", re.I)
_UPTO_KO = re.compile(r"\s*(?:까지|사이)")

_SINCE_KO = re.compile(
    r"\s*(?:이후|이래|부터|들어(?:서|와)?(?=[\s,]))(?:로|에|의|는)?(?:\s*(?:지금|현재|오늘|최근)까지)?"
)
_UNTIL_KO = re.compile(r"\s*(?:이전|까지)")
_BEFORE_KO = re.compile(r"\s*전(?=에|의|\s|$|까지)")
_SINCE_EN = re.compile(r"\b(?:since|starting(?:\s+in)?|beginning(?:\s+in)?|as\s+of)\s+(?:the\s+)?(?:in\s+)?$", re.I)
_AFTER_EN = re.compile(r"\b(?:after|later\s+than|newer\s+than)\s+(?:the\s+)?$", re.I)
_ONWARD_EN = re.compile(r"\s*(?:onwards?|and\s+(?:later|after)|on(?=\s*$|[,.?]))(?!\w)", re.I)
_UNTIL_EN = re.compile(r"\b(?:until|till|up\s+to|through|by)\s+(?:the\s+)?(?:end\s+of\s+)?$", re.I)
_BEFORE_EN = re.compile(r"\b(?:before|prior\s+to|earlier\s+than|older\s+than)\s+(?:the\s+)?$", re.I)


def _joined(text: str, first: Atom, second: Atom) -> tuple[Time, str | None] | None:
    """Both atoms as the ends of one range, if the words around say so."""
    before, between, after = text[: first.start], text[first.end : second.start], text[second.end :]
    start, end = first.start, second.end
    if _FROM_TO.fullmatch(between):
        closing = _UPTO_KO.match(after)
        if between.strip() == "에서" and not closing:
            return None
        end += closing.end() if closing else 0
        start = opening.start() if (opening := _FROM_EN.search(before)) else start
    elif _AND.fullmatch(between) and (closing := _BETWEEN_KO.match(after)):
        end += closing.end()
    elif _AND.fullmatch(between) and (opening := _BETWEEN_EN.search(before)):
        start = opening.start()
    else:
        return None
    one, other = _same_year(first, second)
    problem = None
    if one.first > other.last:
        problem = f"{text[start:end].strip()} ends before it begins: it was read the other way round."
        one, other = other, one
    return _time(text, start, end, one.first, other.last, first.firm and second.firm), problem


def _same_year(first: Atom, second: Atom) -> tuple[Period, Period]:
    """The periods; where one of two names its year, the other is of that year, or of the next where it must be."""
    one, other = _period(first), _period(second)
    if second.yearless and not first.yearless:
        other = _in_year(other, one.first.year)
        if other.last < one.first:
            other = _in_year(other, one.first.year + 1)
    elif first.yearless and not second.yearless:
        one = _in_year(one, other.first.year)
        if one.first > other.last:
            one = _in_year(one, other.first.year - 1)
    elif first.yearless and one.first > other.last:
        one = _in_year(one, one.first.year - 1)
    return one, other


def _in_year(period: Period, year: int) -> Period:
    """The same day or month of another year."""
    from silmari.language import periods

    first, last = period
    if first == last:
        # The 29th of February becomes the 28th where there is none.
        return Period(
            *[one.replace(year=year, day=min(one.day, periods.months(year, one.month).last.day)) for one in period]
        )
    return periods.months(year, first.month)


def _alone(text: str, atom: Atom) -> Time | None:
    """One atom with what stands before and after it; None for a bare one without."""
    before, after = text[: atom.start], text[atom.end :]
    first, last = _period(atom)
    start, end = atom.start, atom.end
    for pattern, since, until in (
        (_SINCE_KO, first, None),
        (_UNTIL_KO, None, last),
        (_BEFORE_KO, None, first - dt.timedelta(days=1) if first > dt.date.min else first),
    ):
        if match := pattern.match(after):
            return _time(text, start, end + match.end(), since, until, atom.firm or until is None)
    onward = _ONWARD_EN.match(after)
    for pattern, since, until in (
        (_SINCE_EN, first, None),
        (_AFTER_EN, last + dt.timedelta(days=1) if last < dt.date.max else last, None),
        (_UNTIL_EN, None, last),
        (_BEFORE_EN, None, first - dt.timedelta(days=1) if first > dt.date.min else first),
    ):
        if match := pattern.search(before):
            return _time(text, match.start(), end, since, until, atom.firm or until is None)
    if onward:
        start = match.start() if (match := _FROM_EN.search(before)) else start
        return _time(text, start, end + onward.end(), first, None, True)
    return None if atom.bare else _time(text, start, end, first, last, atom.firm)


def _period(atom: Atom) -> Period:
    assert atom.period is not None
    return atom.period


def _time(text: str, start: int, end: int, since: dt.date | None, until: dt.date | None, firm: bool) -> Time:
    phrase = " ".join(text[start:end].split())
    iso = [None if one is None else one.isoformat() for one in (since, until)]
    return Time(phrase, start, end, iso[0], iso[1], firm)


def phrases(times: Iterable[Time]) -> str:
    """The times, as one sentence shows them."""
    return ", ".join(str(time) for time in times)


def without(text: str, times: Sequence[Time]) -> str:
    """The question's NFKC form without these times."""
    normal = unicodedata.normalize("NFKC", text)
    for time in sorted(times, key=lambda one: -one.start):
        normal = normal[: time.start] + " " + normal[time.end :]
    return normal
