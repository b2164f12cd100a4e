"""Which sentences of a written answer the passages that they cite support: by words, vectors and figures.

The floors are chosen on data; docs/evaluation-answers.md has the measurement, and what it cannot see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from silmari.answering.answer import Cited
from silmari.answering.budget import Fitted
from silmari.answering.citations import Cleaned, statements, unsupported
from silmari.answering.figures import known_in, strange, without_figures
from silmari.answering.units import split
from silmari.answering.wording import language_of
from silmari.model import Hit, Passage

# What relevance by cosine counts beside the share of words.
NEAR = 0.5
# Of both together; of the words alone where there are no vectors; of the cosine alone between two languages.
FLOOR = 0.78
WORDS_FLOOR = 0.53
FOREIGN_FLOOR = 0.15
# A sentence of fewer letters, such as "Yes.", has too few words to compare; a Hangul syllable counts twice.
_SHORT = 20
_LANGUAGE_CHARS = 1_000
_MARKS = re.compile(r"\[\d+\]")

# How near a sentence is to the nearest of some passages, by their numbers: relevance from 0 to 1; None without vectors.
Nearness = Callable[[str, Sequence[int]], float | None]


@dataclass(frozen=True, slots=True)
class Support:
    """How well passages support a sentence: `enough` if `score` reaches `floor`."""

    score: float
    floor: float

    @property
    def enough(self) -> bool:
        """Whether the sentence may stand unmarked."""
        return self.score >= self.floor


@dataclass(frozen=True, slots=True)
class Backed:
    """The cited sources, each with the part of it that says most of what it is cited for; and the doubtful sentences.

    Attributes:
        doubtful: Pairs of a sentence and the reason.
        unjudged: How many sentences could not be compared with their sources: another language, and no vectors.
    """

    sources: tuple[Cited, ...]
    doubtful: tuple[tuple[str, str], ...]
    unjudged: int


def shared(sentence: str, sources: Collection[str], tokens: Callable[[str], Sequence[str]]) -> float:
    """The share of a sentence's words, its figures left aside, that its sources have."""
    words = set(tokens(without_figures(sentence)))
    return len(words.intersection(tokens("\n".join(sources)))) / len(words) if words else 1.0


def support(words: float | None, near: Callable[[], float | None]) -> Support | None:
    """What a sentence's words and vector say together.

    Args:
        words: The share of its words that its sources have; None if those are in another language.
        near: Its relevance by cosine; asked only if the words do not decide.

    Returns:
        None if there is nothing to judge by.
    """
    if words is not None and words >= FLOOR:
        return Support(words, FLOOR)
    cosine = near()
    if words is None:
        return None if cosine is None else Support(cosine, FOREIGN_FLOOR)
    return Support(words, WORDS_FLOOR) if cosine is None else Support(words + NEAR * cosine, FLOOR)


def backed(
    text: str,
    cleaned: Cleaned,
    fitted: Fitted,
    tokens: Callable[[str], Sequence[str]],
    nearness: Nearness | None = None,
) -> Backed:
    """Compare every sentence of an answer with what it cites.

    Args:
        text: The answer.
        cleaned: Its citations.
        fitted: The sources as they were numbered.
        tokens: The tokens of any text.
        nearness: Compares by vectors; None without an embedder.
    """
    hits = [fitted.pieces[original - 1].hit for original in cleaned.order]
    claims: list[set[str]] = [set() for _ in hits]
    doubtful: list[tuple[str, str]] = []
    unjudged = 0
    bare = set(unsupported(text))
    for sentence, marks in statements(text):
        cited = [hits[mark - 1] for mark in marks if 1 <= mark <= len(hits)]
        if not cited:
            if sentence in bare:
                doubtful.append((sentence, "it cites no source"))
            continue
        said = _MARKS.sub("", sentence)
        words = set(tokens(said))
        for mark in marks:
            claims[mark - 1] |= words
        if unknown := strange(sentence, known_in(_everything(cited))):
            doubtful.append((sentence, f"its sources do not have {', '.join(unknown)}"))
            continue
        judged = _judged(said, cited, tokens, nearness)
        if judged is None:
            unjudged += 1
        elif not judged.enough:
            doubtful.append(
                (sentence, f"its sources say little of it (support {judged.score:.2f}, needed {judged.floor:g})")
            )
    sources = tuple(
        Cited(number, hit.source, best_quote(hit.passage, claim, tokens), hit.passage.id)
        for number, (hit, claim) in enumerate(zip(hits, claims, strict=True), start=1)
    )
    return Backed(sources, tuple(doubtful), unjudged)


def _judged(
    sentence: str,
    cited: Sequence[Hit],
    tokens: Callable[[str], Sequence[str]],
    nearness: Nearness | None,
) -> Support | None:
    if _size(sentence) < _SHORT:
        return Support(1.0, FLOOR)
    language = language_of(sentence)
    # Words of two languages do not meet: there the cosine decides alone.
    foreign = all(language_of(hit.passage.content[:_LANGUAGE_CHARS]) != language for hit in cited)
    share = None if foreign else shared(sentence, _everything(cited), tokens)
    ids = [hit.passage.id for hit in cited]
    return support(share, lambda: None if nearness is None else nearness(sentence, ids))


def _size(text: str) -> int:
    return sum(1 + ("가" <= char <= "힣") for char in text if char.isalnum())


def _everything(hits: Sequence[Hit]) -> list[str]:
    """All that is known of hits, for what must stand somewhere."""
    parts = (
        (hit.passage.content, hit.passage.context, hit.source.title, hit.passage.date or hit.source.known_date or "")
        for hit in hits
    )
    return ["\n".join(one) for one in parts]


def best_quote(passage: Passage, claim: set[str], tokens: Callable[[str], Sequence[str]]) -> str:
    """The sentence or row of a passage that shares most with a statement, as an exact substring."""
    best, least = "", (-1.0, 0)
    for place, unit in enumerate(split(passage)):
        words = set(tokens(unit.text))
        worth = len(words & claim) / (1 + len(words)) ** 0.5
        if (worth, -place) > least:
            best, least = unit.text, (worth, -place)
    return best or passage.content[:300].strip()
