"""Dates in cells, names and headers, Korean and English, as ISO days."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence

from silmari.model import Row

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sep sept", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?P<y>[12]\d{3})"
_TIME = (
    r"(?:[T\s]+(?:오전|오후|AM|PM)?\s*\d{1,2}(?::|시\s*)\d{1,2}(?:(?::|분\s*)\d{1,2}(?:\.\d+)?초?)?분?"
    r"\s*(?:AM|PM)?\s*(?:Z|[+-]\d\d:?\d\d)?)?"
)
_WEEKDAY = r"(?:\s*\(?(?:[월화수목금토일](?:요일)?|mon|tue|wed|thu|fri|sat|sun)\)?)?"

# Written so that a date with another digit before or after it is none: 20240131 is, 1202401315 is not.
_DAY = re.compile(
    rf"{_YEAR}(?:(?P<sep>\s?[-./]\s?)(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})\.?"
    rf"|(?P<m2>\d{{2}})(?P<d2>\d{{2}})"
    rf"|\s*년\s*(?P<m3>\d{{1,2}})\s*월\s*(?P<d3>\d{{1,2}})\s*일"
    rf"|-(?P<m4>{_MONTH})-(?P<d4>\d{{1,2}}))",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    rf"(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s\-./]*(?:of\s+)?(?P<m>{_MONTH})\.?,?[\s\-./]*{_YEAR}"
    rf"|(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>[12]\d{{3}}))",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"(?:['’‘](?P<y>\d{2})(?P<sep>[-./]\s?)(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})\.?"
    r"|['’‘]?(?P<y2>\d{2})\s*년\s*(?P<m2>\d{1,2})\s*월\s*(?P<d2>\d{1,2})\s*일)"
)
_SHORT_BARE = re.compile(r"(?P<y>\d{2})(?P<sep>[-./]\s?)(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})\.?")
_SHORT_MONTH = re.compile(r"['’‘]?(?P<y>\d{2})\s*년\s*(?P<m>\d{1,2})\s*월")
_QUARTER = re.compile(
    rf"{_YEAR}(?:\s?[.년]\s?(?P<q>[1-4])\s?/\s?4(?:\s?분기)?|\s*년?\s*[-./]?\s*(?P<q2>[1-4])\s?분기|\s?[-./]?\s?Q(?P<q3>[1-4]))"
    rf"|(?:Q(?P<q4>[1-4])|(?P<q5>[1-4])Q)[\s\-/]?(?P<y2>[12]\d{{3}})",
    re.IGNORECASE,
)
_YEAR_MONTH = re.compile(
    rf"{_YEAR}(?:\s*년\s*(?P<m>\d{{1,2}})\s*월|\s?[-/]\s?(?P<m2>\d{{1,2}})|\.\s?(?P<m3>0[1-9]|1[0-2])\.?)"
    rf"|(?P<m4>{_MONTH})\.?,?[\s\-]+(?P<y2>[12]\d{{3}})",
    re.IGNORECASE,
)
_YEAR_ONLY = re.compile(rf"{_YEAR}\s*(?:년|년도)?")
_YEAR_MONTH_TIGHT = re.compile(rf"{_YEAR}(?P<m>0[1-9]|1[0-2])")

_HEADER = re.compile(
    r"날짜|일자|일시|년월일|연월일|등록일|작성일|기준일|게시일|수정일|변경일|발생일|접수일|시행일|공고일|고시일|발표일|계약일|거래일|주문일|판매일"
    r"|납품일|지급일|입금일|출고일|입고일|개업일|설립일|개장일|준공일|허가일|지정일|시작일|종료일|만료일|마감일|측정일|조사일|방문일|처리일|생성일|결제일"
    r"|기준년월|기준연월|년월|연월|기간|시점|분기|연도|년도|^월일?$|^일$"
    r"|\bdate\b|_date\b|date$|^day$|timestamp|\btime$|created|updated|modified|published|issued|^year$|^month$|^quarter$|^period$",
    re.IGNORECASE,
)
# When several columns hold dates: what happened or was recorded comes before bounds of validity.
_FIRST_CHOICE = re.compile(
    r"^(?:날짜|일자|일시|date)$|기준|등록|작성|발생|거래|주문|판매|계약|게시|created|published|issued|transaction|order",
    re.IGNORECASE,
)
_LAST_CHOICE = re.compile(r"종료|만료|마감|까지|수정|변경|\bend|expir|due|updated|modified|생년|birth", re.IGNORECASE)


def parse_date(text: str, *, in_date_column: bool = False) -> str | None:
    """The day that a cell states.

    Args:
        text: The whole cell; text beside the date (other than a time or a weekday) makes it no date.
        in_date_column: True where the header says that the column holds dates: then a two-digit year
            (``24.1.31``), ``202401`` and a plain year count too.

    Returns:
        ISO ``YYYY-MM-DD``; a month, a quarter or a year gives its first day. None if it is no date,
        is not in the calendar, or lies outside the years 1000 to 2999.
    """
    text = text.strip()
    if not 4 <= len(text) <= 40:
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not any("0" <= char <= "9" for char in text):
        return None
    for pattern in (_DAY_CELL, _ENGLISH_CELL, _SHORT_CELL):
        match = pattern.fullmatch(text)
        if match:
            return _iso(match)
    for pattern in (_QUARTER, _YEAR_MONTH, _SHORT_MONTH):
        match = pattern.fullmatch(text)
        if match:
            return _iso(match)
    if in_date_column:
        for pattern in (_SHORT_BARE_CELL, _YEAR_MONTH_TIGHT, _YEAR_ONLY):
            match = pattern.fullmatch(text)
            if match:
                return _iso(match)
    return None


def date_in_name(name: str) -> str | None:
    """The day in a file's name, such as ``보고서_20240131.pdf`` or ``2024년 1월 회의록.txt``.

    A full day is preferred to a month or quarter, and the last of several to the earlier ones, since
    names end with their version. A plain year is no date.
    """
    stem = unicodedata.normalize("NFKC", name)
    stem = re.sub(r"\.[A-Za-z][A-Za-z0-9]{1,4}$", "", stem)
    stem = stem.replace("_", " ")
    for patterns in ((_DAY_NAME, _ENGLISH_NAME, _SHORT_NAME), (_QUARTER_NAME, _YEAR_MONTH_NAME)):
        found = [
            (match.start(), iso)
            for pattern in patterns
            for match in pattern.finditer(stem)
            if (iso := _iso(match)) and _likely(iso)
        ]
        if found:
            return max(found)[1]
    return None


def says_date(header: str) -> bool:
    """Whether a column's header says that it holds dates."""
    return bool(_HEADER.search(header.strip()))


def date_column(columns: Sequence[str], rows: Sequence[Row]) -> int | None:
    """The column that dates the rows, or None.

    A column whose header says so and whose values mostly are dates, else one whose values almost all
    are full dates. Of several, the best named, then the best filled, then the leftmost.
    """
    step = max(1, len(rows) // 200)
    sample = [rows[index].cells for index in range(0, len(rows), step)]
    best: tuple[int, float, int] | None = None
    for index, header in enumerate(columns):
        named = says_date(header)
        values = [cells[index] for cells in sample if cells[index].strip(" -")]
        if not values:
            continue
        days = [parse_date(value, in_date_column=named) for value in values]
        share = sum(day is not None and (named or _likely(day)) for day in days) / len(values)
        if share < (0.6 if named else 0.95) or (not named and len(values) < min(3, len(sample))):
            continue
        rank = (2 if named else 0) + bool(_FIRST_CHOICE.search(header)) - bool(_LAST_CHOICE.search(header))
        choice = (rank, share * len(values), -index)
        if best is None or choice > best:
            best = choice
    return None if best is None else -best[2]


def _likely(iso: str) -> bool:
    """Whether a day that nothing names as one is more than a number that happens to look like it."""
    return "1900" <= iso < "2200"


def _iso(match: re.Match[str]) -> str | None:
    groups = {key: value for key, value in match.groupdict().items() if value and key != "sep"}
    part = {key[0]: value for key, value in groups.items()}
    year = int(part["y"])
    if len(part["y"]) == 2:
        year += 1900 if year > 70 else 2000
    if "q" in part:
        month = int(part["q"]) * 3 - 2
    else:
        name = part.get("m", "1")
        month = _MONTHS.get(name.lower(), 0) or (int(name) if name.isdigit() else 0)
    try:
        return dt.date(year, month, int(part.get("d", "1"))).isoformat() if year < 3000 else None
    except ValueError:
        return None


def _cell(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern.pattern}){_WEEKDAY}{_TIME}", re.IGNORECASE)


def _name(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\d)(?:{pattern.pattern})(?!\d)", re.IGNORECASE)


_DAY_CELL, _ENGLISH_CELL, _SHORT_CELL, _SHORT_BARE_CELL = map(_cell, (_DAY, _ENGLISH, _SHORT, _SHORT_BARE))
_DAY_NAME, _ENGLISH_NAME, _SHORT_NAME = map(_name, (_DAY, _ENGLISH, _SHORT))
_QUARTER_NAME, _YEAR_MONTH_NAME = map(_name, (_QUARTER, _YEAR_MONTH))
