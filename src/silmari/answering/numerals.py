"""Numbers as Korean and English write them: ``3억 5천만``, ``삼백 명``, ``forty-two``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

_SMALL = {"십": 10, "백": 100, "천": 1000}
_BIG = {"만": 10**4, "억": 10**8, "조": 10**12}
_SINO = {name: value for value, name in enumerate("영일이삼사오육칠팔구")}
_COUNTED = (
    "(?:원|명|개|대|건|번|회|곳|채|권|장|통|표|점|퍼센트|%|달러|엔|유로|위안|년|개월|시간|일|주|킬로|미터|톤|그램|가구|세대"
    "|마리|종|배|평)"
)
_MONEY = "(?:원|달러|엔|유로|위안)"
# 3억 5천만, 12만 3,456; the last number only where it is none of its own, such as that of a year.
_MIXED = r"(?<!제)(?<!제 )(?:{num}[^\S\n]?(?:[십백천]{{0,2}}[만억]|[십백천]|조(?=[^\S\n]?(?:\d|{money})))[^\S\n]?)+"
_LAST = re.compile(r"\d[\d,]*(?![\d.]|\s?(?:년|월|일|시|분|초|%|퍼센트|개월|주))")
_TOKEN = re.compile(r"[\d,]*\.?\d+|[십백천만억조]")
_WORD = "[일이삼사오육칠팔구십백천만억조]"
_WORDED = re.compile(
    rf"(?<![가-힣\d]){_WORD}*(?:[십백천만억조](?:[^\S\n]?{_WORD}+)+(?=[^\S\n]?{_COUNTED})"
    rf"|[십백천만억](?=[^\S\n]?{_COUNTED})|조(?=[^\S\n]?{_MONEY}))"
)
_NATIVE = {
    "한": 1, "하나": 1, "두": 2, "둘": 2, "세": 3, "셋": 3, "네": 4, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9, "열": 10, "스무": 20, "스물": 20, "서른": 30, "마흔": 40,
    "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}  # fmt: skip
_NATIVE_RUN = re.compile(
    rf"(?<![가-힣])(열|스물|서른|마흔|쉰|예순|일흔|여든|아흔)?({'|'.join(sorted(_NATIVE, key=len, reverse=True))})?"
    r"(?=[^\S\n]?(?:명|사람|개|번|곳|채|권|장|통|마리|살|시|달|가지|차례|배|해|대|분|$|[\s,.)]))"
)
_ENGLISH = {
    name: value
    for value, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {name: 10 * value for value, name in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_ORDINAL = {
    name: value
    for value, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first".split(),
        1,
    )
}
_TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_ENGLISH_RUN = re.compile(
    rf"\b(?:{'|'.join([*_ENGLISH, *_TIMES])})(?:[\s-](?:and[\s-])?(?:{'|'.join([*_ENGLISH, *_TIMES])}))*\b"
    rf"|\b(?:{'|'.join(reversed(_ORDINAL))})\b",
    re.I,
)


def scale(unit: str) -> int:
    """1,000,000 for ``백만``."""
    return int(_valued(unit))


def written(text: str, number: re.Pattern[str]) -> Iterator[tuple[int, int, Fraction]]:
    """Where numbers stand in digits, with Korean scales, or in Korean words before what they count; and their values.

    Args:
        text: In NFKC.
        number: Finds a number in digits.
    """
    taken = 0
    spans = [
        (match.start(), _end(text, match), True)
        for match in re.finditer(_MIXED.format(num=number.pattern, money=_MONEY), text)
    ]
    spans += [(match.start(), match.end(), True) for match in _WORDED.finditer(text)]
    spans += [(match.start(), match.end(), False) for match in number.finditer(text)]
    for start, end, scaled in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= taken:
            piece = text[start:end].rstrip()
            yield start, start + len(piece), _valued(piece) if scaled else Fraction(piece.replace(",", ""))
            taken = end


def _end(text: str, match: re.Match[str]) -> int:
    """Where a number with scales ends, with the units that follow its last scale."""
    last = _LAST.match(text, match.end())
    if last is None or len(last[0].replace(",", "")) > 4 or last[0].endswith(","):
        return match.end()
    return last.end()


def _valued(text: str) -> Fraction:
    total, section, number = Fraction(0), Fraction(0), None
    for token in _TOKEN.findall("".join(str(_SINO.get(char, char)) for char in text)):
        if token in _SMALL:
            section += (Fraction(1) if number is None else number) * _SMALL[token]
            number = None
        elif token in _BIG:
            section += number or 0
            total += (section or 1) * _BIG[token]
            section, number = Fraction(0), None
        else:
            number = Fraction(token.replace(",", ""))
    return total + section + (number or 0)


def spelled(text: str) -> Iterator[int]:
    """The values of numbers in words, such as ``세 명`` or ``forty-two``: what may be meant, not what must be."""
    for match in _NATIVE_RUN.finditer(text):
        if match[1] or match[2]:
            yield _NATIVE.get(match[1], 0) + _NATIVE.get(match[2], 0)
    for match in _ENGLISH_RUN.finditer(text):
        if (ordinal := match[0].lower()) in _ORDINAL:
            yield _ORDINAL[ordinal]
            continue
        total, section = 0, 0
        for word in re.split(r"[\s-]+", match[0].lower()):
            if word in _TIMES and _TIMES[word] >= 1000:
                total, section = total + (section or 1) * _TIMES[word], 0
            elif word in _TIMES:
                section = (section or 1) * _TIMES[word]
            else:
                section += _ENGLISH.get(word, 0)
        yield total + section
