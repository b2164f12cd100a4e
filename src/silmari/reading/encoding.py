"""Bytes to text: which encoding was meant, decided the same way every time.

Strict decoders are tried and their results judged by how likely such letters are; a general detector
is asked only when none of them convinces, because it is slow and errs on short Korean texts.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_SAMPLE = 128 * 1024
_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONVINCING = 0.35  # mean score of a non-ASCII character from which no further opinion is needed
_HIGH = re.compile(rb"[\x80-\xff]")
_LEGACY = ("cp949", "cp932", "cp1252")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and how it was read.

    Attributes:
        text: Without byte order mark; what could not be decoded is U+FFFD.
        encoding: Python's name of the encoding.
        replaced: How many places could not be decoded.
    """

    text: str
    encoding: str
    replaced: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about what could not be decoded, if anything."""
        if not self.replaced:
            return ()
        return (f"{self.replaced} places are no valid {self.encoding} text and were replaced by \ufffd.",)


def decode(data: bytes) -> str:
    """The text of a whole file, without byte order mark; what cannot be decoded becomes U+FFFD."""
    return decoded(data).text


def decoded(data: bytes, declared: str | None = None) -> Decoded:
    """The text of a whole file, with the encoding that was found.

    Args:
        data: The file's bytes.
        declared: The encoding that the content itself names (an HTML charset), believed if it fits.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _finish(data[len(mark) :], name)
    wide = utf16_without_mark(data)
    if wide:
        return _finish(data, wide)
    if data.isascii():
        return Decoded(data.decode("ascii"), "utf-8")
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if declared and _fits(data, declared):
        return _finish(data, declared)
    return _finish(data, _guess(data))


def utf16_without_mark(data: bytes) -> str | None:
    """``utf-16-le`` or ``utf-16-be`` if the bytes are text of that kind without a mark, else None."""
    sample = data[: _SAMPLE & ~1]
    if len(sample) % 2:
        sample = sample[:-1]
    if len(sample) < 4 or 0 not in sample:
        return None
    best, best_score = None, 0.8
    for name in ("utf-16-le", "utf-16-be"):
        try:
            text = sample.decode(name)
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 2:
                continue
            text = sample[: error.start].decode(name)
        score = sum(map(_common_in_any_script, text)) / max(1, len(text))
        if score > best_score:
            best, best_score = name, score
    return best


def _common_in_any_script(char: str) -> bool:
    code = ord(char)
    return (
        0x20 <= code < 0x17F
        or char in "\t\r\n"
        or 0xAC00 <= code <= 0xD7A3
        or 0x3000 <= code <= 0x30FF
        or 0x4E00 <= code <= 0x9FFF
        or 0x2010 <= code <= 0x2027
        or 0xFF01 <= code <= 0xFF5E
    )


def _finish(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return Decoded(text, encoding, text.count("\ufffd"))


def _fits(data: bytes, name: str) -> bool:
    try:
        codecs.lookup(name)
        data.decode(name)
    except (LookupError, UnicodeDecodeError):
        return False
    return True


def _guess(data: bytes) -> str:
    sample = _sample(data)
    text = sample.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    foreign = sum(1 for char in text if char > "\x7f") - broken
    if foreign > 10 * broken:  # UTF-8 with a few damaged bytes: no other encoding looks like that
        return "utf-8"
    scores = {name: _score(sample, name) for name in _LEGACY}
    best = max(_LEGACY, key=lambda name: scores[name])
    if scores[best] >= _CONVINCING:
        return best
    from charset_normalizer import from_bytes

    opinion = from_bytes(sample[: 32 * 1024]).best()
    if opinion is not None:
        return opinion.encoding
    return best if scores[best] > 0 else "cp1252"


def _sample(data: bytes) -> bytes:
    """A part with non-ASCII bytes in it, cut at line ends so that no character is split."""
    if len(data) <= _SAMPLE:
        return data
    first = _HIGH.search(data)
    start = first.start() if first else 0
    start = data.rfind(b"\n", 0, start) + 1 if start else 0
    end = data.rfind(b"\n", start, start + _SAMPLE)
    return data[start : end if end > start else start + _SAMPLE]


def _score(sample: bytes, encoding: str) -> float:
    """How likely the text is in this encoding: the mean over its non-ASCII characters, about -1 to 1."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError as error:
        # One damaged character among many is no reason to give an encoding up.
        text = sample.decode(encoding, errors="replace")
        if text.count("\ufffd") > 1 + len(text) // 500 and error.start < len(sample) - 1:
            return -1.0
    judge = {"cp949": _korean, "cp932": _japanese, "cp1252": _western}[encoding]
    total = count = 0.0
    before = " "
    for char in text:
        if char > "\x7f":
            count += 1
            total += judge(char, before)
        before = char
    return total / count if count else 0.0


def _korean(char: str, _before: str) -> float:
    if "가" <= char <= "힣":
        # The 2,350 syllables of KS X 1001 make up nearly all Korean text; the rest of CP949 is what
        # Latin letters with accents and Japanese turn into when they are misread.
        try:
            raw = char.encode("cp949")
        except UnicodeEncodeError:
            return -1.0
        return 1.0 if raw[0] >= 0xB0 and raw[1] >= 0xA1 else -1.0
    if "\u4e00" <= char <= "\u9fff":
        return 0.0
    if char == "\ufffd":
        return -2.0
    return 0.2


def _japanese(char: str, _before: str) -> float:
    if "\u3041" <= char <= "\u30fe":
        return 1.0
    if "\u4e00" <= char <= "\u9fff":
        return 0.4
    if "\uff61" <= char <= "\uff9f":  # halfwidth katakana: what Korean bytes turn into
        return -0.5
    if char == "\ufffd":
        return -2.0
    return 0.2


def _western(char: str, before: str) -> float:
    if char == "\ufffd":
        return -2.0
    if char.isalpha():
        # A letter with an accent stands among plain ones; two in a row are rare.
        return 0.7 if before.isascii() else -0.7
    return 0.5 if before.isascii() else -0.3
