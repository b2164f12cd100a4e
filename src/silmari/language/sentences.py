"""Where sentences begin and end, in Korean, English and other CJK text, by rule.

A break that is missed costs little (a longer quote); a wrong one cuts a quote in half. Rules are
therefore cautious: dates, abbreviations, list numbers, quoted speech and URLs hold together.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

_CLOSERS = "\"'”’»」』》〉）)]}】〕］｝"
# A run of terminators with the quotes and brackets that close after it. CJK full stops need no blank.
_END = re.compile(rf"(?P<stop>[.!?…。！？．؟۔।]+)(?P<close>[{re.escape(_CLOSERS)}]*)(?P<blank>\s*)")
_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]+")
# Quotes and brackets of bounded length: what they hold is one piece.
_QUOTED = re.compile(
    r"“[^“”]{0,300}”|「[^「」]{0,300}」|『[^『』]{0,300}』|《[^《》]{0,200}》|〈[^〈〉]{0,200}〉"
    r"|\([^()]{0,200}\)|（[^（）]{0,200}）|\[[^\[\]]{0,200}\]"
    r'|(?<![\w"])"(?=\S)[^"]{1,300}(?<=\S)"(?![a-zA-Z0-9"])'
    r"|(?<!\w)‘[^‘’]{0,200}’(?!\w)"
)
# 2024. 1. 31. and 2024. 1., the dots of which end nothing unless the line ends with them.
_DATE = re.compile(r"(?<!\d)(?:\d{4}|['’]\d{2})\.\s?\d{1,2}\.(?:\s?\d{1,2}\.)?")
_BULLET = re.compile(
    r"[-*+•◦▪■□●○◆◇▶►※ㆍ·‣–—]\s|[•◦▪■□●○◆◇▶►※ㆍ‣]|#{1,6}\s|>\s"
    r"|\(?(?:\d{1,3}|[가나다라마바사아자차카타파하]|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s"
    r"|[①-⑳㉠-㉻㈀-㈜]|제\s?\d+(?:조|장|절|항|편|관)(?:의\s?\d+)?(?=[\s(（]|$)|\|"
)
_TABLE = re.compile(r"\t|\s\|\s|\S {2,}\S.* {2,}\S")
_FIELD = re.compile(r"[^:：]{1,24}[:：]\s*\S")
_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[가나다라마바사아자차카타파하]|[a-zA-Z]|[ivxIVX]{1,5})")
_WORD = re.compile(r"[^\s\"'“‘(\[「『]+$")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]|[A-Z]")
# 말했다.” 라고, 갔다.그는: what follows a stop in running Korean text.
_QUOTATIVE = re.compile(r"(?:이?라[고는며면]|이?란\s|하[고며는였]|[고며]\s|는\s|[은을를이의도와과]\s|등)")
_KOREAN_END = "다요까죠"
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st mt rev hon gen col lt sgt capt gov sen rep supt messrs mme mlle vs cf e.g i.e "
    "eg ie al ca approx etc viz resp dept univ assn bros inc ltd co corp llc plc "
    "fig figs eq eqs sec ch vol vols no nos pp p ed eds art para ref refs tab ver ph.d m.d b.a m.a "
    "a.m p.m u.s u.k u.n e.u d.c".split()
)
# These end sentences as often as they do not: the next word decides.
_MAY_END = frozenset(
    "jan feb mar apr jun jul aug sep sept oct nov dec etc inc ltd co corp llc plc jr sr ph.d m.d a.m p.m "
    "u.s u.k u.n e.u d.c al".split()
)
_BEFORE_NUMBER = frozenset("no nos fig figs eq eqs sec ch vol vols pp p art para ref refs tab ver".split())
_OPENERS = frozenset(
    "the a an this that these those it he she they we i you in on at by for from with after before when while "
    "however but and although as if there its his her their our my one some many most both each such since until "
    "then thus therefore also under over during between according".split()
)


def sentences(text: str) -> list[Span]:
    """Split `text` into sentences.

    Returns:
        ``(start, end)`` in characters, in order, without overlap. Each begins and ends with a
        character that is not blank, and everything between two of them is blank.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        spans.extend(_split(text, start, end))
    return spans


def _blocks(text: str) -> Iterator[Span]:
    """Runs of lines that belong together: paragraphs, list items, table lines, headings."""
    paragraph: list[Span] = []
    last = 0
    for line in _LINE.finditer(text):
        start, end = _trimmed(text, line.start(), line.end())
        if start >= end:
            continue
        # One line break (or CR LF) keeps lines together, whatever blanks stand around it.
        if paragraph and text[last:start].replace("\r\n", "\n").count("\n") > 1:
            yield from _items(text, paragraph)
            paragraph = []
        paragraph.append((start, end))
        last = end
    yield from _items(text, paragraph)


def _items(text: str, lines: list[Span]) -> Iterator[Span]:
    """Join the lines of a paragraph except where a line is visibly a thing of its own."""
    if not lines:
        return
    longest = max(end - start for start, end in lines)
    begin = lines[0][0]
    for here, following in pairwise(lines):
        if _parts(text, here, following, longest):
            yield begin, here[1]
            begin = following[0]
    yield begin, lines[-1][1]


def _parts(text: str, here: Span, following: Span, longest: int) -> bool:
    """Whether the break between two lines ends something."""
    line, after = text[here[0] : here[1]], text[following[0] : following[1]]
    if line[-1] in ":：" or _BULLET.match(after) or _TABLE.search(line) or _TABLE.search(after):
        return True
    if line.startswith("#") and _BULLET.match(line):
        return True
    if _FIELD.match(line) and _FIELD.match(after) and "://" not in line[:32]:
        return True
    # Wrapped prose fills its lines; a line that stops early stopped on purpose (a heading, an address).
    return len(line) < 0.6 * longest and not after[0].islower()


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """Split one block at its terminators."""
    held = _held(text, start, end)
    starts = [span[0] for span in held]
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end("close")
        if stop >= end:
            break
        place = bisect_right(starts, match.start()) - 1
        if place >= 0 and stop < held[place][1]:
            continue
        ended = _ends(text, begin, match, end) if match["blank"] else _ends_unspaced(text, begin, match)
        if ended:
            yield begin, stop
            begin = match.end()
    if begin < end:
        yield begin, end


def _held(text: str, start: int, end: int) -> list[Span]:
    """Quotes, brackets and dates in order, without overlap; a break inside one of them is none."""
    held: list[Span] = []
    quoted = [match.span() for match in _QUOTED.finditer(text, start, end)]
    # The date's last dot is held too, unless its line ends there.
    dates = [
        (date.start(), date.end() + (text[date.end() : date.end() + 1] not in {"\n", "\r"}))
        for date in _DATE.finditer(text, start, end)
    ]
    for span in sorted(quoted + dates):
        if not held or span[0] >= held[-1][1]:
            held.append(span)
    return held


def _ends(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Whether terminators that are followed by a blank end the sentence."""
    stop = match["stop"]
    following = text[match.end() : min(match.end() + 24, end)]
    if following[0].islower() or (match["close"] and _QUOTATIVE.match(following)):
        return False
    if stop.strip(".") or len(stop) > 1:
        return not _hesitates(text, match, following)
    return not _abbreviated(text, begin, match.start(), following)


def _ends_unspaced(text: str, begin: int, match: re.Match[str]) -> bool:
    """Stops without a blank after them: 。！？ always, and 했다.그는 where a blank was forgotten."""
    stop = match["stop"]
    if match["close"]:  # 「…。」と言った and “했다.”라고 go on.
        return False
    if stop[-1] in "。！？":
        return True
    at, after = match.start(), match.end()
    return (
        len(stop) == 1
        and stop in ".!?"
        and at - begin > 1
        and text[at - 1] in _KOREAN_END
        and "가" <= text[after] <= "힣"
        and not _QUOTATIVE.match(text, after)
    )


def _hesitates(text: str, match: re.Match[str], following: str) -> bool:
    """An ellipsis in the middle: 글쎄… 잘 모르겠다."""
    stop = match["stop"]
    if stop.strip(".…"):
        return False
    before = text[match.start() - 1 : match.start()]
    return not (before in _KOREAN_END or following[0].isupper() or following[0] in '"“‘「『')


def _abbreviated(text: str, begin: int, at: int, following: str) -> bool:
    """Whether the full stop at `at` belongs to the word before it (Mr., No. 5, 1., 가., U.S.)."""
    if _ENUMERATOR.fullmatch(text, begin, at):
        return True
    found = _WORD.search(text, max(begin, at - 24), at)
    word = found[0] if found else ""
    lower = word.lower()
    first = re.match(r"[A-Za-z]+", following)
    opened = bool(first and first[0].lower() in _OPENERS)
    if lower in _MAY_END:
        return not opened and following[0] not in '"“‘「『' and not "가" <= following[0] <= "힣"
    if lower in _BEFORE_NUMBER:
        return following[0].isdigit() or following[0] in "#§"
    if lower in _ABBREVIATIONS:
        return True
    if word.isdigit() and len(word) <= 2 and following[:1].isdigit():
        return True
    return bool(_INITIALS.fullmatch(word)) and following[0].isupper() and not opened


def _trimmed(text: str, start: int, end: int) -> Span:
    """Cut the blanks at both ends of a line; a blank line gives ``start == end``."""
    line = text[start:end].rstrip()
    return start + len(line) - len(line.lstrip()), start + len(line)
