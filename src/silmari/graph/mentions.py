"""Known names in a question, found exactly: in the form of their keys, whatever particles follow, the longest first."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from silmari.graph.keys import Keys, parts, prefixes
from silmari.language.normalise import normalise

# What may follow a Korean name within a word, up to three of them: particles, the copula, forms of address.
_AFTER = re.compile(
    "(?:에게서|에서|에게|에|께서|께|한테|으로서|으로써|으로|로서|로써|로|까지|부터|처럼|보다|마다|조차|마저|밖에|만|도|의|와|과"
    "|이랑|랑|하고|은|는|이|가|을|를|이나|나|이라는|라는|이라고|라고|이라면|라면|이란|란|이며|며|이고|고|인|인가|이다|이었던|였던|이었다|였다"
    "|씨|님|들|측){1,3}(?![가-힣])"
)
_Script = Literal["", "letters", "hangul", "ideographs"]
# Of a run of these, a part is no word.
_WORDS = ("letters", "hangul")
_IDEOGRAPHS = re.compile("[぀-ヿ㐀-䶿一-鿿豈-﫿𠀀-𲎯]")
_MEDIAL = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")


def mentions(text: str, keys: Keys) -> list[tuple[int, int, int]]:
    """Where keys stand in a text.

    Blanks within a name do not matter. In Latin and other letters a name must be whole words, in Korean it must
    begin a word, and only particles and the like may follow it within the word. Names of one character, and those
    without a letter, are passed over. Of names that overlap the one that begins first counts, and there the longest.

    Returns:
        (number of the key, start, end) by start: ``text[start:end]`` spells it.
    """
    normal, origin = _normalised(text)
    places = [at for at, letter in enumerate(normal) if not letter.isspace()]
    dense = "".join([normal[at] for at in places])
    starts, whole = _bounds(normal, places)
    # By start, the longest first.
    sizes = np.array([size for size in keys.sizes if 1 < size <= len(dense)], np.int64)[::-1]
    ends = starts[:, None] + sizes
    row, column = np.nonzero((ends <= len(dense)) & whole[np.minimum(ends, len(dense))])
    from_, to = starts[row], ends[row, column]
    hashes = parts(prefixes(dense), from_, to)
    fitting = np.flatnonzero(keys.perhaps(hashes))
    found: list[tuple[int, int, int]] = []
    free = 0
    for start, end, hashed in zip(from_[fitting].tolist(), to[fitting].tolist(), hashes[fitting], strict=True):
        if start >= free:
            spelled = dense[start:end]
            number = keys.number(spelled, hashed) if any(map(str.isalpha, spelled)) else None
            if number is not None:
                found.append((number, origin[places[start]], origin[places[end - 1] + 1]))
                free = end
    return found


def _bounds(normal: str, places: list[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where, without blanks, a name may begin; and for each place whether one may end before it."""
    scripts = [_script(normal[at]) for at in places]
    starts = []
    whole = np.ones(len(places) + 1, bool)
    for at, (place, script) in enumerate(zip(places, scripts, strict=True)):
        joined = (
            at > 0 and places[at - 1] == place - 1 and scripts[at - 1] == script and script in ("letters", "hangul")
        )
        if not joined:
            starts.append(at)
        elif script == "letters" or not _AFTER.match(normal, place):
            whole[at] = False
    return np.array(starts, np.int64), whole


@lru_cache(maxsize=10_000)
def _script(letter: str) -> _Script:
    if "가" <= letter <= "힣":
        return "hangul"
    if not letter.isalnum():
        return ""
    return "ideographs" if _IDEOGRAPHS.match(letter) else "letters"


def _normalised(text: str) -> tuple[str, list[int]]:
    """The text in the form that is searched, and for each of its characters, and its end, where it comes from."""
    whole = normalise(text)
    if len(whole) == len(text) and unicodedata.is_normalized("NFKC", text):
        return whole, list(range(len(text) + 1))
    normal: list[str] = []
    origin: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not _joins(text[end]):
            # A letter with what is written onto it, or a decomposed syllable.
            shown = _shown(text[start:end])
            normal.append(shown)
            origin += [start] * len(shown)
            start = end
    return "".join(normal), [*origin, len(text)]


@lru_cache(maxsize=10_000)
def _joins(letter: str) -> bool:
    return unicodedata.combining(letter) > 0 or _MEDIAL.match(letter) is not None


@lru_cache(maxsize=10_000)
def _shown(letter: str) -> str:
    return normalise(letter)
