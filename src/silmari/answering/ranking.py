"""Which sentences and rows of the passages found say most about the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from silmari.answering.asked import Asked, squeeze, years
from silmari.answering.units import Unit, is_table, split
from silmari.model import Hit

_MAX_COMPARED = 12
# A sentence with this much of the question's weight needs no cosine to be the right one.
_DECIDED = 0.6
# Of a sentence that says something; a Hangul syllable counts twice.
_SHORT = 16
# A further sentence must be at least this good beside the best one; less if it brings new words.
_NEAR_BEST = 0.75
_NEAR_BEST_IF_NEW = 0.55
_NEW_WEIGHT = 0.2
# ... and must have this much of its telling words itself.
_TELLING = 0.4
# What a word counts that stands in the headings above a sentence, or in the sentence before it.
_CREDIT_AROUND = 0.7
_CREDIT_NEAR = 0.3
# For a passage whose title a chosen sentence names: the second hop of a question.
_LED_TO = 0.25
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]」』》]*$|(다|요|음|임|함|됨)[\"'”’)\]]*$")
_COLUMN = re.compile(r"(?:^|(?<= \| ))[^|:\n]{1,80}: ")
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(slots=True, eq=False)
class Candidate:
    """A unit with all that speaks for it.

    Attributes:
        order: Which hit, from 0.
        words: Its tokens; of a row those of its values.
        covers: The question's tokens that it has.
        own: Their weight.
        tells: Their weight again, less for what every candidate has.
    """

    unit: Unit
    place: int
    hit: Hit
    order: int
    table: bool
    words: frozenset[str]
    covers: frozenset[str]
    own: float
    tells: float = 0.0
    score: float = 0.0


@dataclass(slots=True)
class FoundPassage:
    """The units of one hit; `around` are the words of its headings, `name` its title, squeezed."""

    hit: Hit
    order: int
    table: bool
    units: list[Unit]
    around: frozenset[str]
    name: str
    chosen: set[int] = field(default_factory=set)


def open_passage(hit: Hit, order: int, question: str, tokens: Callable[[str], Sequence[str]]) -> FoundPassage:
    """Cut a hit into its units; `order` counts the hits from 0."""
    around = frozenset(tokens(f"{hit.passage.context} {hit.source.title}"))
    return FoundPassage(hit, order, is_table(hit.passage), split(hit.passage), around, _name(hit, question))


def _name(hit: Hit, question: str) -> str:
    """The title, if another passage that names it leads here: not one that the question names itself."""
    name = squeeze(hit.source.title)
    return name if len(name) > 1 and name not in squeeze(question) else ""


def gather(passages: list[FoundPassage], asked: Asked, tokens: Callable[[str], Sequence[str]]) -> list[Candidate]:
    """Every unit of every passage, with its words."""
    found: list[Candidate] = []
    for passage in passages:
        for place, unit in enumerate(passage.units):
            said = frozenset(tokens(unit.text))
            covers = frozenset(word for word in said if word in asked.weights)
            # Two rows are not alike, nor do they lead to each other, since they have the same columns.
            words = frozenset(tokens(_COLUMN.sub(" ", unit.text))) if passage.table else said
            own = sum(asked.weights[word] for word in covers)
            found.append(Candidate(unit, place, passage.hit, passage.order, passage.table, words, covers, own))
    return found


def score(candidates: list[Candidate], passages: list[FoundPassage], asked: Asked) -> None:
    """Words in common, the hit's own standing, and whether the kind of answer sought is there."""
    count = len(candidates)
    spread = Counter(word for each in candidates for word in each.covers)
    # What every candidate says tells none of them apart: column names, the topic itself.
    telling = {
        word: weight * (1 - 0.7 * (spread[word] - 1) / max(count - 1, 1)) for word, weight in asked.weights.items()
    }
    total = sum(telling.values()) or 1.0
    by_place = {(each.order, each.place): each for each in candidates}
    for each in candidates:
        passage = passages[each.order]
        before = by_place.get((each.order, each.place - 1))
        near = before.covers if before and not each.table else frozenset()
        each.tells = sum(telling[word] for word in each.covers)
        lexical = sum(weight * _credit(word, each.covers, passage.around, near) for word, weight in telling.items())
        score = 0.6 * lexical / total + 0.25 * each.hit.relevance + 0.1 / (1 + each.order)
        if each.place == 0 and not each.table:
            score += 0.02
        if each.covers and asked.shows(each.unit.text):
            score += 0.12
        if not _says_something(each):
            score *= 0.6
        score *= _fits_years(each, asked)
        each.score = score


def _credit(word: str, own: frozenset[str], around: frozenset[str], near: frozenset[str]) -> float:
    """How far a word of the question counts: said here, by the headings above, or just before."""
    if word in own:
        return 1.0
    return _CREDIT_AROUND if word in around else _CREDIT_NEAR if word in near else 0.0


def _fits_years(each: Candidate, asked: Asked) -> float:
    """Less than 1 for what speaks of other years than the question, or of none."""
    if not asked.years:
        return 1.0
    stated = years(each.unit.text)
    if stated:
        return 1.0 if stated & set(asked.years) else 0.6
    near = f"{each.hit.passage.context} {each.hit.passage.date or each.hit.source.date or ''}"
    if not years(near):
        return 0.8
    return 1.0 if years(near) & set(asked.years) else 0.6


def _says_something(each: Candidate) -> bool:
    """Whether a unit states anything: headings, bare names and questions do not."""
    text = each.unit.text
    if each.table:
        return ": " in text
    return not incomplete(text)


def incomplete(text: str) -> bool:
    """Whether a piece of prose cannot stand alone: a heading, a name, a question, a word or two."""
    return _size(text) < _SHORT or not _ENDS.search(text) or text.endswith(("?", "？"))


def _size(text: str) -> int:
    return len(text) + sum("가" <= char <= "힣" for char in text)


def compare(
    candidates: list[Candidate],
    question: str,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None,
) -> int:
    """Blend in the cosines of the best few, where the words leave it open (they cost time)."""
    if similarity is None or max(each.own for each in candidates) >= _DECIDED:
        return 0
    best = sorted(candidates, key=lambda each: -each.score)[:_MAX_COMPARED]
    if len(best) < 2:
        return 0
    cosines = similarity(question, [each.unit.text for each in best])
    low, high = min(cosines), max(cosines)
    # Cosines of an embedder sit in a narrow band of its own: only their order and distances count.
    scale = max(high - low, 0.02)
    for each, cosine in zip(best, cosines, strict=True):
        each.score += 0.3 * (cosine - low) / scale
    return len(best)


def choose(candidates: list[Candidate], passages: list[FoundPassage], asked: Asked, limit: int) -> list[Candidate]:
    """The best, then what is nearly as good, brings words of the question that were missing, or leads on."""
    rest = sorted(candidates, key=lambda each: (-each.score, each.order, each.place))
    best = rest.pop(0)
    chosen = [best]
    telling = best.tells
    covered = set(best.covers | passages[best.order].around)
    spread = Counter(word for each in candidates for word in each.words)
    rare = frozenset(
        word
        for word, count in spread.items()
        if 1 < count <= max(2, len(candidates) // 10) and word not in asked.weights and _is_name(word)
    )
    while rest and len(chosen) < limit:
        said = squeeze(" ".join(each.unit.text for each in chosen))
        led = {order for order, passage in enumerate(passages) if passage.name and passage.name in said}
        names = rare & frozenset().union(*(each.words for each in chosen))
        worth = {id(each): each.score + _leads_on(each, led, names, chosen) for each in rest}
        rest = [
            each
            for each in rest
            if _says_something(each)
            and (each.order in led or each.tells > _TELLING * telling)
            and not any(_repeats(each, other) for other in chosen)
            and worth[id(each)] >= _enough(each, covered, asked) * best.score
        ]
        if not rest:
            break
        following = max(rest, key=lambda each: worth[id(each)])
        rest.remove(following)
        chosen.append(following)
        telling = max(telling, following.tells)
        covered |= following.covers | passages[following.order].around
    return chosen


def _enough(each: Candidate, covered: set[str], asked: Asked) -> float:
    """The share of the best score that a further sentence needs."""
    new = sum(asked.weights[word] for word in each.covers - covered)
    return _NEAR_BEST_IF_NEW if new >= _NEW_WEIGHT else _NEAR_BEST


def _leads_on(each: Candidate, led: set[int], names: frozenset[str], chosen: list[Candidate]) -> float:
    """A bonus for the next hop, and for another source that says the same of the same."""
    if each.order in led:
        return _LED_TO
    elsewhere = all(each.order != other.order for other in chosen)
    return _LED_TO if elsewhere and each.covers and names & each.words else 0.0


def _is_name(word: str) -> bool:
    return word[0].isalpha() and len(word) > (3 if word.isascii() else 1)


def _repeats(one: Candidate, other: Candidate) -> bool:
    """Whether one adds nothing to the other: the same words, and no number of its own."""
    if squeeze(one.unit.text) == squeeze(other.unit.text):
        return True
    if not one.words or not set(_NUMBERS.findall(one.unit.text)) <= set(_NUMBERS.findall(other.unit.text)):
        return False
    return len(one.words & other.words) >= 0.8 * len(one.words)
