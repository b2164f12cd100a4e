"""Korean words and their stems by Kiwi, which is loaded only when Hangul is met.

Input is text that went through `silmari.language.normalise.normalise`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import Any

from silmari.errors import UsageError
from silmari.language.normalise import normalise

HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb]+")
MAX_WORD_CHARS = 64
# A longer one is a sentence without blanks, not a compound that anybody asks for.
MAX_COMPOUND_CHARS = 20

_STEMS = frozenset({"NNG", "NNP", "NR", "NP", "XR", "UN", "VV", "VA", "MAG", "MM", "MAJ", "IC"})
_PREDICATES = frozenset({"VV", "VA"})
# What adjoins without a blank to form a compound: nouns, affixes, numbers with their counters, Latin letters.
_JOINED = frozenset({"NNG", "NNP", "NNB", "NR", "XR", "XPN", "XSN", "UN", "SL", "SN", "SH"})
# What names nothing alone: counters, affixes, numbers.
_IDLE = frozenset({"NNB", "NR", "XPN", "XSN", "SN"})
_TOPIC = ("은", "는")
_PARTICLES = re.compile(r"(?<=..)(?:에서는|에서|에게|으로|까지|부터|처럼|보다|은|는|이|가|을|를|에|의|와|과|도|로)$")
_LOADING = threading.Lock()
_TAGS = frozenset("NNG NNP NNB NR NP VV VA VX MM MAG MAJ IC XPN XSN XR SL SN".split())


@dataclass(slots=True)
class Word:
    """What one run of Hangul between blanks, punctuation or other letters is made of.

    Attributes:
        spelled: The run as it stands, with its particles.
        stems: Nouns, verbs and adjectives (dictionary form), adverbs; without particles and endings.
        compounds: Adjoining nouns written as one, where there are several, with adjoining numbers
            and Latin letters (``2분기``, ``ai반도체``).
        bigrams: Pairs of syllables within its nouns; a lone syllable stands for itself.
    """

    spelled: str
    stems: list[str] = field(default_factory=list)
    compounds: list[str] = field(default_factory=list)
    bigrams: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Noun:
    """Nouns written as one, with adjoining numbers and Latin letters: ``text[start:end]``.

    Attributes:
        topic: Whether the particle 은 or 는 follows, which marks what a sentence is about.
    """

    start: int
    end: int
    topic: bool


class Korean:
    """Kiwi, loaded at its first use, without its dictionaries of typos and of phrases (half the time).

    Args:
        user_dictionary: A text file (UTF-8) with one entry a line: the word, and optionally a tab
            and its part of speech in Kiwi's tags (``NNP`` unless given) and a tab and a score.

    Raises:
        UsageError: The dictionary is absent, not UTF-8, or has a faulty line.
    """

    def __init__(self, user_dictionary: Path | None = None) -> None:
        self._entries = tuple(_entries(user_dictionary)) if user_dictionary else ()
        self._kiwi: Any = None

    def words(self, text: str) -> list[Word]:
        """The Hangul words of one text, in order."""
        return _words(text, self._loaded().tokenize(text, match_options=0)) if HANGUL.search(text) else []

    def words_many(self, texts: Sequence[str]) -> Iterator[list[Word]]:
        """The same for each of many texts, analysed on all cores."""
        korean = [bool(HANGUL.search(text)) for text in texts]
        if not any(korean):
            return iter([[] for _ in texts])
        analysed = iter(self._loaded().tokenize(list(compress(texts, korean)), match_options=0))
        return (_words(text, next(analysed)) if has else [] for text, has in zip(texts, korean, strict=True))

    def analysed_many(self, texts: Sequence[str]) -> Iterator[tuple[list[Word], list[Noun]]]:
        """Words and runs of nouns of each of many texts, from one analysis."""
        korean = [bool(HANGUL.search(text)) for text in texts]
        if not any(korean):
            return iter([([], []) for _ in texts])
        analysed = iter(self._loaded().tokenize(list(compress(texts, korean)), match_options=0))
        return (_both(text, next(analysed)) if has else ([], []) for text, has in zip(texts, korean, strict=True))

    def _loaded(self) -> Any:
        if self._kiwi is None:
            with _LOADING:
                self._kiwi = _kiwi(self._entries)
        return self._kiwi


@lru_cache(maxsize=4)
def _kiwi(entries: tuple[tuple[str, str, float], ...]) -> Any:
    """Kiwi with these words added; kept, since it takes a second and half a gigabyte, for all bases of a process."""
    from kiwipiepy import Kiwi

    kiwi = Kiwi(load_typo_dict=False, load_multi_dict=False)
    for word, tag, score in entries:
        kiwi.add_user_word(word, tag, score)
    return kiwi


def _entries(path: Path) -> list[tuple[str, str, float]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"user_dictionary: {path} cannot be read as UTF-8 text; give the path of an existing text file."
        ) from error
    return [_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]


def _entry(path: Path, number: int, line: str) -> tuple[str, str, float]:
    word, tag, score = [*(part.strip() for part in line.split("\t")), "", ""][:3]
    tag = tag.upper() or "NNP"
    try:
        value = float(score or 0)
    except ValueError:
        value = float("nan")
    # Texts are analysed case-folded, so the entry must be too.
    spelled = normalise(word)
    if not spelled or tag not in _TAGS or not -100 <= value <= 100:
        raise UsageError(
            f"user_dictionary: line {number} of {path} is not WORD, TAB, TAG, TAB, SCORE; "
            f"tags are {', '.join(sorted(_TAGS))}, and tag and score may be left out."
        )
    return spelled, tag, value


def _words(text: str, morphemes: Iterable[Any]) -> list[Word]:
    """Group morphemes by the run of Hangul in which they begin."""
    runs = [match.span() for match in HANGUL.finditer(text)]
    if not runs:
        return []
    words = [Word(text[start:end][:MAX_WORD_CHARS]) for start, end in runs]
    place = 0
    nominal: list[tuple[int, int]] = []
    owner = 0
    for morpheme in morphemes:
        start, end = morpheme.start, morpheme.start + morpheme.len
        tag = morpheme.tag.partition("-")[0]
        while place + 1 < len(runs) and start >= runs[place][1]:
            place += 1
        if tag in _JOINED:
            if nominal and start != nominal[-1][1]:
                _close(text, nominal, words[owner])
                nominal = []
            # A compound belongs to the Hangul it contains or touches.
            nominal.append((start, end))
            owner = place
        elif nominal:
            _close(text, nominal, words[owner])
            nominal = []
        if tag[0] not in "SW" and (tag in _STEMS or morpheme.oov):
            final = end >= runs[place][1]
            words[place].stems.extend(_stems(morpheme, tag, final=final))
    if nominal:
        _close(text, nominal, words[owner])
    return words


def _both(text: str, morphemes: Sequence[Any]) -> tuple[list[Word], list[Noun]]:
    return _words(text, morphemes), _nouns(morphemes)


def _nouns(morphemes: Iterable[Any]) -> list[Noun]:
    """Adjoining nouns joined; runs of nothing but numbers, counters and affixes are left out."""
    found: list[Noun] = []
    start = end = 0
    telling = False
    for morpheme in morphemes:
        tag = morpheme.tag.partition("-")[0]
        if end > start and (tag not in _JOINED or morpheme.start != end):
            if telling:
                marked = morpheme.start == end and tag == "JX" and morpheme.form in _TOPIC
                found.append(Noun(start, end, marked))
            start, end, telling = 0, 0, False
        if tag in _JOINED:
            if end == start:
                start = morpheme.start
            end = morpheme.start + morpheme.len
            telling |= tag not in _IDLE
    if telling:
        found.append(Noun(start, end, topic=False))
    return found


def _stems(morpheme: Any, tag: str, *, final: bool) -> list[str]:
    """The token of one morpheme; a word unknown to Kiwi that ends like a particle also without it (환자은)."""
    stem = "".join((morpheme.lemma if tag in _PREDICATES else morpheme.form).split())[:MAX_WORD_CHARS]
    if final and morpheme.oov:
        bare = _PARTICLES.sub("", stem)
        if bare != stem:
            return [stem, bare]
    return [stem] if stem else []


def _close(text: str, parts: list[tuple[int, int]], word: Word) -> None:
    """Add the compound that `parts` form, and the syllable pairs of its Hangul, to `word`."""
    whole = "".join(text[parts[0][0] : parts[-1][1]].split())
    hangul = HANGUL.findall(whole)
    if not hangul:
        return
    if len(parts) > 1 and len(whole) <= MAX_COMPOUND_CHARS:
        word.compounds.append(whole)
    for run in hangul:
        word.bigrams.extend([run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)])
