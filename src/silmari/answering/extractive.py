"""Answers without a model: the best sentences of the best passages, quoted exactly."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from silmari.answering.answer import Answer, Cited
from silmari.answering.asked import Asked, missing, understand
from silmari.answering.units import Unit, is_table, narrow, parts, split
from silmari.answering.wording import NOT_FOUND, language_of
from silmari.model import Hit

MAX_QUESTION_CHARS = 4_000
_MAX_HITS = 20
_MAX_COMPARED = 12
_MAX_ROW_CHARS = 320
_MAX_QUOTE_CHARS = 900
_SHORT = 16
# A further sentence must be at least this good beside the best one; less if it brings new words.
_NEAR_BEST = 0.72
_NEAR_BEST_IF_NEW = 0.5
_NEW_WEIGHT = 0.2

_LEANS_BACK = re.compile(
    r"(그|그녀|그들|이들|저들|이|이것|그것|이곳|그곳|여기|거기|이때|그때|당시|이날|동사|당사자|전자|후자|둘|양측)"
    r"(은|는|이|가|을|를|의|에|에서|에게|도|만|로|으로|와|과)?(?=[\s,])"
    r"|(이|그|해당|위|상기|이러한|그러한|이런|그런|이와 같은)\s+[가-힣]"
    r"|(또한|또|그러나|그런데|하지만|그리고|따라서|그래서|그러므로|반면|한편|다만|즉|이어|이후|이에|이로써|이를|아울러|게다가|결국|더욱이|왜냐하면|때문에)(?=[\s,])"
    r"|(he|she|it|they|this|that|these|those|his|her|its|their|there|such|both|the (former|latter|same)|however|but|"
    r"therefore|thus|hence|moreover|furthermore|also|then|instead|so|and|or|meanwhile|nevertheless|additionally|"
    r"in addition|as a result|for this reason|afterwards?|later|similarly|likewise|consequently)\b",
    re.I,
)
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]」』》]*$|(다|요|음|임|함|됨)[\"'”’)\]]*$")
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(slots=True, eq=False)
class _Candidate:
    """A unit with all that speaks for it."""

    unit: Unit
    place: int
    hit: Hit
    order: int
    table: bool
    words: frozenset[str]
    covers: frozenset[str]
    score: float = 0.0


@dataclass(slots=True)
class _Passage:
    """The units of one hit."""

    hit: Hit
    order: int
    table: bool
    units: list[Unit]
    around: frozenset[str]
    chosen: set[int] = field(default_factory=set)


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    weigh: Callable[[str], Mapping[str, float]],
    tokens: Callable[[str], Sequence[str]],
    min_relevance: float,
    max_sentences: int = 4,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
) -> Answer:
    """Answer with sentences and table rows, quoted exactly, each followed by its ``[n]``.

    Args:
        question: As it was asked.
        hits: Best first.
        weigh: The question's tokens with idf-like weights.
        tokens: The tokens of any text, by the same analysis.
        min_relevance: Hits below this prove nothing; if none reaches it, nothing is found.
        max_sentences: Sentences that are chosen; neighbours that make one of them clear come on top.
        similarity: Cosines of the question with some texts; asked once, for a dozen texts at most.

    Returns:
        An answer whose every piece is an exact substring of a passage's content, or one that says in
        the question's language (Korean or English) that nothing was found.
    """
    asked_text = unicodedata.normalize("NFC", question[:MAX_QUESTION_CHARS]).strip()
    relevant = [hit for hit in hits if hit.relevance >= min_relevance][:_MAX_HITS]
    trace: dict[str, Any] = {"how": "extractive", "hits": len(hits), "relevant": len(relevant)}
    if not any(char.isalnum() for char in asked_text):
        return _nothing(question, trace, "the question has no words")
    if not relevant:
        best = max((hit.relevance for hit in hits), default=None)
        trace["best_relevance"] = best
        return _nothing(question, trace, f"no hit reaches the least relevance {min_relevance:g}")
    asked = understand(asked_text, weigh, tokens)
    lacking = missing(asked, (_everything(hit) for hit in relevant))
    if lacking is not None:
        return _nothing(question, trace, f"the question names {lacking}, which no passage found mentions")
    passages = [
        _Passage(
            hit,
            order,
            is_table(hit.passage),
            split(hit.passage),
            frozenset(tokens(f"{hit.passage.context} {hit.source.title}")),
        )
        for order, hit in enumerate(relevant)
    ]
    candidates = _candidates(passages, asked, tokens)
    if not candidates:
        return _nothing(question, trace, "the passages found hold nothing that can be quoted")
    _score(candidates, passages, asked)
    compared = _compare(candidates, asked_text, similarity)
    chosen = _choose(candidates, asked, max_sentences)
    trace |= {"candidates": len(candidates), "compared": compared, "sought": list(asked.sought)}
    trace["chosen"] = [
        {"passage_id": each.hit.passage.id, "score": round(each.score, 3), "covers": sorted(each.covers)}
        for each in chosen
    ]
    return _compose(question, chosen, passages, asked, trace, tokens)


def _nothing(question: str, trace: dict[str, Any], reason: str) -> Answer:
    return Answer(question, NOT_FOUND[language_of(question)], False, (), trace | {"not_found": reason})


def _everything(hit: Hit) -> str:
    """All that is known of a hit, for what must be named somewhere."""
    source, passage = hit.source, hit.passage
    known = (passage.content, passage.context, source.title, source.uri, passage.date, source.date)
    return "\n".join(text for text in known if text)


def _candidates(passages: list[_Passage], asked: Asked, tokens: Callable[[str], Sequence[str]]) -> list[_Candidate]:
    found: list[_Candidate] = []
    for passage in passages:
        for place, unit in enumerate(passage.units):
            words = frozenset(tokens(unit.text))
            covers = frozenset(word for word in words if word in asked.weights)
            found.append(_Candidate(unit, place, passage.hit, passage.order, passage.table, words, covers))
    return found


def _score(candidates: list[_Candidate], passages: list[_Passage], asked: Asked) -> None:
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
        near = (before.covers if before and not each.table else frozenset()) | passage.around
        lexical = sum(
            weight * (1.0 if word in each.covers else 0.45 if word in near else 0.0) for word, weight in telling.items()
        )
        score = 0.6 * lexical / total + 0.25 * each.hit.relevance + 0.1 / (1 + each.order)
        if each.place == 0 and not each.table:
            score += 0.02
        if each.covers and asked.shows(each.unit.text):
            score += 0.12
        if not _says_something(each):
            score *= 0.6
        if asked.years and not any(year in _everything_near(each) for year in asked.years):
            score *= 0.7
        each.score = score


def _everything_near(each: _Candidate) -> str:
    return f"{each.unit.text} {each.hit.passage.context} {each.hit.passage.date or each.hit.source.date or ''}"


def _says_something(each: _Candidate) -> bool:
    """Whether a unit states anything: headings, bare names and questions do not."""
    text = each.unit.text
    if each.table:
        return ": " in text
    return len(text) >= _SHORT and bool(_ENDS.search(text)) and not text.endswith(("?", "？"))


def _compare(
    candidates: list[_Candidate],
    question: str,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None,
) -> int:
    """Blend in the cosine of the best few; the others keep less than those that were compared."""
    if similarity is None:
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


def _choose(candidates: list[_Candidate], asked: Asked, limit: int) -> list[_Candidate]:
    """The best, then what is nearly as good or brings words of the question that were missing."""
    ranked = sorted(candidates, key=lambda each: (-each.score, each.order, each.place))
    chosen = ranked[:1]
    covered = set(ranked[0].covers)
    for each in ranked[1:]:
        if len(chosen) >= limit or each.score < _NEAR_BEST_IF_NEW * ranked[0].score:
            break
        new = sum(asked.weights[word] for word in each.covers - covered)
        enough = each.score >= _NEAR_BEST * ranked[0].score or new >= _NEW_WEIGHT
        if enough and _says_something(each) and not any(_repeats(each, other) for other in chosen):
            chosen.append(each)
            covered |= each.covers
    return chosen


def _repeats(one: _Candidate, other: _Candidate) -> bool:
    """Whether one adds nothing to the other: the same words, and no number of its own."""
    if _plain(one.unit.text) == _plain(other.unit.text):
        return True
    if not one.words or not set(_NUMBERS.findall(one.unit.text)) <= set(_NUMBERS.findall(other.unit.text)):
        return False
    return len(one.words & other.words) >= 0.8 * len(one.words)


def _plain(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def _compose(
    question: str,
    chosen: list[_Candidate],
    passages: list[_Passage],
    asked: Asked,
    trace: dict[str, Any],
    tokens: Callable[[str], Sequence[str]],
) -> Answer:
    """Best first; what comes from one passage stays together, in its order."""
    for each in chosen:
        passages[each.order].chosen |= _with_neighbours(each, passages[each.order], asked, tokens)
    lines: list[str] = []
    sources: list[Cited] = []
    for number, order in enumerate(dict.fromkeys(each.order for each in chosen), start=1):
        passage = passages[order]
        shown = [_narrowed(passage.units[place], passage, asked, tokens) for place in sorted(passage.chosen)]
        lines.append((" " if not passage.table else "\n").join(f"{unit.text} [{number}]" for unit in shown))
        best = next(each for each in chosen if each.order == order).unit
        quote = _quote(passage.hit.passage.content, shown, best)
        sources.append(Cited(number, passage.hit.source, quote, passage.hit.passage.id))
    return Answer(question, "\n".join(lines), True, tuple(sources), trace)


def _with_neighbours(
    each: _Candidate, passage: _Passage, asked: Asked, tokens: Callable[[str], Sequence[str]]
) -> set[int]:
    """The unit's place, and those of the sentences without which it is unclear."""
    places = {each.place}
    if each.table:
        return places
    first = each.place
    while first > 0 and each.place - first < 2 and _LEANS_BACK.match(passage.units[first].text):
        first -= 1
        places.add(first)
    text = each.unit.text
    names_only = "meaning" in asked.sought and each.words <= set(asked.weights) | frozenset(tokens(text[:0]))
    if (len(text) < _SHORT or not _ENDS.search(text) or names_only or text.endswith(("?", "？"))) and (
        each.place + 1 < len(passage.units)
    ):
        places.add(each.place + 1)
    return places


def _narrowed(unit: Unit, passage: _Passage, asked: Asked, tokens: Callable[[str], Sequence[str]]) -> Unit:
    """A very long row, cut at cell borders around the cells that match; still an exact slice."""
    limit = _MAX_ROW_CHARS if passage.table else _MAX_QUOTE_CHARS
    if len(unit.text) <= limit:
        return unit
    weighed = [
        (first, last, sum(asked.weights.get(word, 0.0) for word in set(tokens(unit.text[first:last]))))
        for first, last in parts(unit.text, passage.table)[:400]
    ]
    return narrow(unit, weighed, limit, passage.table)


def _quote(content: str, shown: list[Unit], best: Unit) -> str:
    """One exact slice that holds all that is shown, or, where that is long, the best piece alone."""
    start, end = shown[0].start, max(unit.end for unit in shown)
    if end - start <= _MAX_QUOTE_CHARS:
        return content[start:end]
    inside = next((unit for unit in shown if best.start <= unit.start and unit.end <= best.end), shown[0])
    return content[inside.start : inside.end]
