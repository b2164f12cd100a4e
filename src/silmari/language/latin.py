"""Tokens of everything that is not Hangul: words with their stems, numbers, codes, and bigrams of other scripts.

Input is text that went through `silmari.language.normalise.normalise`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

MAX_TOKEN_CHARS = 64

# Scripts that write words without blanks between them: Han, kana, Thai, Lao, Khmer, Burmese.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
# Marks are no letters for `\w`; without them an Indic, Arabic or decomposed word would fall apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0971-\u0dff"
)
_RUN = f"(?:(?![_{_HANGUL}{_UNSPACED}])\\w[{_MARKS}]*)+"
_JOINT = r"['.,\-/&:@+_]"
_PIECE = re.compile(
    f"(?P<unspaced>[{_UNSPACED}]+)|(?P<chunk>{_RUN}(?:{_JOINT}{_RUN})*)(?P<tail>\\+\\+|#(?!\\w)|%|‰|°c|°f|°)?"
)
_NUMBER = re.compile(r"(?P<value>\d+(?:\.\d+)?)(?P<unit>[^\W\d_]{1,5}\d?)?")
_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_SEPARATORS = re.compile(_JOINT)
_CLITIC = re.compile(r"'(?:s|re|ve|ll|d|m)$")
_SPLITS = re.compile(rf"{_JOINT}|\d")
_PARTS = re.compile(rf"\d+(?:[.\-/:]\d+)*|(?:(?!\d|{_JOINT}).)+")
_LOOSE = re.compile(r"[.,/:@_]")
# Separators that are not between two digits.
_JOINED = re.compile(rf"(?<!\d){_JOINT}|{_JOINT}(?!\d)")
_QUOTES = str.maketrans(dict.fromkeys("’ʼ‘`´", "'"))
_PLAIN = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})

STOP_WORDS = frozenset(
    # Articles, pronouns, prepositions, conjunctions, auxiliaries: too common to tell passages apart.
    "a an the this that these those i me my mine we our ours you your yours he him his she her hers it its they "
    "them their theirs myself yourself himself herself itself ourselves themselves and or but nor so if then than "
    "as of at by for with about against between into through during before after above below to from up down in out "
    "on off over under again once here there all any both each few more most other some such no not only own same "
    "too very can could will would shall should may might must do does did doing done am is are was were be been "
    "being have has had having also just s t ve ll re d m "
    "cannot isn't aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't hasn't haven't "
    "hadn't".replace("'", "").split()
)
QUESTION_WORDS = frozenset(
    "what which who whom whose when where why how does did tell show give find list name please explain describe "
    "know want ask question answer many much called known based following".split()
)


def pieces(text: str) -> Iterator[list[str]]:
    """Yield the tokens of `text` outside Hangul, one list for each word, number, code or run of Han."""
    for match in _PIECE.finditer(_THOUSANDS.sub(_without_commas, text.translate(_QUOTES))):
        run = match["unspaced"]
        if run:
            yield [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            yield _chunk(match["chunk"], match["tail"] or "")


def _without_commas(match: re.Match[str]) -> str:
    return match[0].replace(",", "")


def _chunk(chunk: str, tail: str) -> list[str]:
    """Tokens of one run of letters and digits: the whole first, then its parts."""
    chunk = _CLITIC.sub("", chunk)
    if not _SPLITS.search(chunk):
        return [word(chunk + (tail if tail in {"++", "#"} else ""))]
    number = _NUMBER.fullmatch(chunk)
    if number:
        whole = chunk + tail
        parts = [number["value"], number["unit"] or ""]
    else:
        pieces = _SEPARATORS.split(chunk)
        if len(pieces) > 1 and "'" in chunk:  # don't, O'Brien, l'école
            parts = [piece for piece in pieces if len(piece) > 2 and "".join(pieces) not in STOP_WORDS]
        else:
            parts = _PARTS.findall(chunk)
            parts += [digits for part in parts if not part.isalnum() for digits in _SEPARATORS.split(part)]
        whole = _whole(chunk, pieces)
    found = [word(whole)] if whole else []
    found.extend(token for token in map(word, parts) if token and token not in found[:1])
    return found


def _whole(chunk: str, pieces: list[str]) -> str:
    """The chunk as one token, or nothing where its parts say it all (and/or, e-mail addresses, a lost blank).

    ISO-9001 and ISO9001 meet as one; the dots of 2.1.3 stay.
    """
    coded = any(char.isdigit() for char in chunk)
    if coded or all(len(piece) == 1 for piece in pieces) or not _LOOSE.search(chunk):
        return _JOINED.sub("", chunk)
    return ""


@lru_cache(maxsize=65_536)
def word(spelled: str) -> str:
    """Return the token of one word: without accents, its English stem, at most 64 characters."""
    plain = spelled[:MAX_TOKEN_CHARS]
    if not plain.isascii():
        plain = unicodedata.normalize("NFC", unaccented(plain))[:MAX_TOKEN_CHARS]
    if len(plain) > 2 and plain.isascii() and plain.isalpha() and plain not in STOP_WORDS:
        with _lock:
            return str(_stemmer.stemWord(plain))
    return plain


def unaccented(spelled: str) -> str:
    """Drop the accents of Latin, Greek and Cyrillic letters; other scripts' marks carry meaning."""
    decomposed = unicodedata.normalize("NFD", spelled)
    return "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f").translate(_PLAIN)


_stemmer = EnglishStemmer()
_lock = threading.Lock()
