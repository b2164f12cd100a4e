"""Which sentences and rows of the passages found say most about the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from silmari.answering.asked import Asked, squeeze, years
from silmari.answering.surroundings import has_name, heads, incomplete, leans_back
from silmari.answering.units import Unit, is_table, split
from silmari.answering.wording import language_of
from silmari.model import Hit

_MAX_COMPARED = 12
# A sentence with this much of the question's weight needs no cosine to be the right one.
DECIDED = 0.6
# What a word counts that stands in the headings above a sentence, or in the sentence before it.
_CREDIT_AROUND = 0.7
_CREDIT_NEAR = 0.3
# ... or in that sentence, where this one points back to it: "It employs 212 people."
_CREDIT_MEANT = 0.6
# For what looks like the kind of answer sought, and for one that cannot be mistaken.
_KIND = 0.12
_FORM = 0.25
_TOTAL_ROW = re.compile(r"(?:총\s*)?(?:합\s*계|총\s*계|계|총합|총액|(?:grand )?total|sum|overall|all)", re.I)
_TOTAL = 0.2
# For a row that meets no condition of the question, only having its columns.
_UNPICKED = 0.6
# The share of the question that says which row is meant, if no row found has it.
_CONDITIONS = 0.25
_COLUMN = re.compile(r"(?:^|(?<= \| ))[^|:\n]{1,80}: ")


@dataclass(slots=True, eq=False)
class Candidate:
    """A unit with all that speaks for it.

    Attributes:
        order: Which hit, from 0.
        words: Its tokens; of a row those of its values.
        covers: The question's tokens that it has.
        picked: Those of them that the values of a row have; of prose all.
        own: Their weight.
        tells: Their weight again, less for what every candidate has.
        unpicked: Whether it is a row like all others of its table as far as the question goes.
    """

    unit: Unit
    place: int
    hit: Hit
    order: int
    table: bool
    words: frozenset[str]
    covers: frozenset[str]
    picked: frozenset[str]
    own: float
    tells: float = 0.0
    score: float = 0.0
    unpicked: bool = False


@dataclass(slots=True)
class FoundPassage:
    """The units of one hit.

    Attributes:
        around: The words of its headings.
        name: Its title, squeezed.
        heads: For the place of each row drawn with bars in prose, that of the row that names the columns.
    """

    hit: Hit
    order: int
    table: bool
    units: list[Unit]
    around: frozenset[str]
    name: str
    heads: dict[int, int]
    chosen: set[int] = field(default_factory=set)


def open_passage(hit: Hit, order: int, question: str, tokens: Callable[[str], Sequence[str]]) -> FoundPassage:
    """Cut a hit into its units; `order` counts the hits from 0."""
    around = frozenset(tokens(f"{hit.passage.context} {hit.source.title}"))
    units = split(hit.passage)
    table = is_table(hit.passage)
    return FoundPassage(hit, order, table, units, around, _name(hit, question), {} if table else heads(units))


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
            picked = covers & words
            if place in passage.heads:
                columns = frozenset(tokens(passage.units[passage.heads[place]].text))
                covers |= columns & asked.weights.keys()
            own = sum(asked.weights[word] for word in covers)
            found.append(Candidate(unit, place, passage.hit, passage.order, passage.table, words, covers, picked, own))
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
        credit = _CREDIT_MEANT if near and leans_back(each.unit.text) else _CREDIT_NEAR
        each.tells = sum(telling[word] for word in each.covers)
        if credit == _CREDIT_MEANT:
            each.tells += credit * sum(telling[word] for word in near - each.covers)
        lexical = sum(
            weight * _credit(word, each.covers, passage.around, near, credit) for word, weight in telling.items()
        )
        score = 0.6 * lexical / total + 0.25 * each.hit.relevance + 0.1 / (1 + each.order)
        if each.place == 0 and not each.table:
            score += 0.02
        if each.covers and asked.shows(each.unit.text):
            score += _FORM if asked.unmistakable else _KIND
        if not says_something(each):
            score *= 0.6
        score *= fits_years(each, asked)
        each.score = score
    if asked.total:
        _prefer_totals(candidates)
    _mark_unpicked(candidates, asked)


def _prefer_totals(candidates: list[Candidate]) -> None:
    """Raise the rows that sum up their table, unless the question picks another row of it."""
    picked = {each.hit.source.uri for each in candidates if each.table and each.picked and not is_total(each)}
    for each in candidates:
        if each.table and is_total(each) and each.hit.source.uri not in picked:
            each.score += _TOTAL


def is_total(row: Candidate) -> bool:
    """Whether the first or second cell of a row says that it sums up the others."""
    cells = (cell.rpartition(": ")[2].strip() for cell in row.unit.text.split(" | ")[:2])
    return any(_TOTAL_ROW.fullmatch(cell) for cell in cells)


def _mark_unpicked(candidates: list[Candidate], asked: Asked) -> None:
    """Lower the rows that only have the columns asked for, where the question says which row it means."""
    if asked.many or asked.total:
        return
    alike = Counter((each.hit.source.uri, each.covers) for each in candidates if each.table and not each.picked)
    said = frozenset().union(*(each.covers for each in candidates if each.table))
    # Verbs do not say which row is meant.
    unmet = sum(weight for word, weight in asked.weights.items() if word not in said and not word.endswith("다"))
    for each in candidates:
        if each.covers and alike[each.hit.source.uri, each.covers] > 1 and not each.picked and unmet >= _CONDITIONS:
            each.unpicked = each.table and language_of(" ".join(each.words)) == asked.language
            each.score *= _UNPICKED if each.unpicked else 1


def unanswering(candidates: list[Candidate], asked: Asked) -> str | None:
    """Why not even the best candidate answers; None if it may."""
    best = max(candidates, key=lambda each: each.score)
    if best.unpicked:
        return "no row of the tables found is the one that the question describes"
    if not any(asked.may_show(each.unit.text) for each in candidates):
        return f"no passage found shows what is asked for: {', '.join(asked.unmistakable)}"
    return None


def _credit(word: str, own: frozenset[str], around: frozenset[str], near: frozenset[str], credit: float) -> float:
    """How far a word of the question counts: said here, by the headings above, or just before."""
    if word in own:
        return 1.0
    return _CREDIT_AROUND if word in around else credit if word in near else 0.0


def fits_years(each: Candidate, asked: Asked) -> float:
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


def says_something(each: Candidate) -> bool:
    """Whether a unit states anything: headings, bare names and questions do not."""
    text = each.unit.text
    if each.table:
        return ": " in text
    return not incomplete(text) or has_name(text)


def compare(
    candidates: list[Candidate],
    question: str,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None,
) -> int:
    """Blend in the cosines of the best few, where the words leave it open (they cost time)."""
    if similarity is None or max(each.own for each in candidates) >= DECIDED:
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
