"""Answers without a model: the best sentences of the best passages, quoted exactly."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from silmari.answering.answer import Answer, Cited
from silmari.answering.asked import Asked, missing, understand
from silmari.answering.chained import Place, along_chain
from silmari.answering.choosing import choose
from silmari.answering.orders import asks_for_instructions, is_order
from silmari.answering.ranking import (
    Candidate,
    FoundPassage,
    compare,
    gather,
    open_passage,
    score,
    unanswering,
)
from silmari.answering.surroundings import incomplete, is_piped, leans_back, stands_in_list
from silmari.answering.units import Unit, is_safe, narrow, parts
from silmari.answering.wording import NOT_FOUND, Language, language_of
from silmari.language.analysis import BIGRAM
from silmari.model import Hit

MAX_QUESTION_CHARS = 4_000
_MAX_HITS = 20
_MAX_ROW_CHARS = 320
_MAX_QUOTE_CHARS = 900


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    weigh: Callable[[str], Mapping[str, float]],
    tokens: Callable[[str], Sequence[str]],
    max_sentences: int = 4,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
    not_found: Mapping[Language, str] = NOT_FOUND,
) -> Answer:
    """Answer with sentences and table rows, quoted exactly, each followed by its ``[n]``.

    Args:
        question: As it was asked.
        hits: Those that may prove something, best first.
        weigh: The question's tokens with idf-like weights.
        tokens: The tokens of any text, by the same analysis.
        max_sentences: Sentences that are chosen; neighbours that make one of them clear come on top.
        similarity: Cosines of the question with some texts; asked once, for a dozen texts at most.
        not_found: What is said when there is no answer.

    Returns:
        An answer whose every piece is an exact substring of a passage's content, or one that says in
        the question's language (Korean or English) that nothing was found.
    """
    asked_text = unicodedata.normalize("NFC", question[:MAX_QUESTION_CHARS]).strip()
    used = hits[:_MAX_HITS]
    trace: dict[str, Any] = {"how": "extractive", "hits": len(hits)}
    if not any(char.isalnum() for char in asked_text):
        return nothing(question, trace, not_found, "the question has no words")
    if not used:
        return nothing(question, trace, not_found, "no passage was found")
    asked = understand(asked_text, weigh, tokens)
    lacking = missing(asked, (_everything(hit) for hit in used))
    if lacking is not None:
        return nothing(question, trace, not_found, f"the question names {lacking}, which no passage found mentions")
    passages = [open_passage(hit, order, asked_text, tokens) for order, hit in enumerate(used)]
    # What a document orders a model to do is no answer, unless orders are what the question is about.
    wary = not is_order(asked_text) and not asks_for_instructions(asked_text)
    candidates = [one for one in gather(passages, asked, tokens) if not (wary and is_order(one.unit.text))]
    if not candidates:
        return nothing(question, trace, not_found, "the passages found hold nothing that can be quoted")
    score(candidates, passages, asked)
    compared = compare(candidates, asked_text, similarity)
    unfit = unanswering(candidates, asked)
    if unfit is not None:
        return nothing(question, trace, not_found, unfit)
    chosen = choose(candidates, passages, asked, max_sentences)
    trace |= {"candidates": len(candidates), "compared": compared, "sought": list(asked.sought)}
    left_open = _left_open(asked, frozenset().union(*(each.covers for each in chosen)))
    chain = along_chain(passages, left_open, tokens)
    trace["chain"] = [passages[order].hit.passage.id for order, _ in chain]
    trace["chosen"] = [
        {"passage_id": each.hit.passage.id, "score": round(each.score, 3), "covers": sorted(each.covers)}
        for each in chosen
    ]
    return _compose(question, chosen, chain, passages, asked, trace, tokens)


def _left_open(asked: Asked, covered: frozenset[str]) -> float:
    """The share of the question's weight that is not covered, pairs of letters left aside: a name has many."""
    words = {word: weight for word, weight in asked.weights.items() if not word.startswith(BIGRAM)}
    total = sum(words.values())
    return sum(weight for word, weight in words.items() if word not in covered) / total if total else 0.0


def nothing(question: str, trace: dict[str, Any], not_found: Mapping[Language, str], reason: str) -> Answer:
    """The answer that says that there is none; `reason` goes into the trace."""
    return Answer(question, not_found[language_of(question)], False, (), trace | {"not_found": reason})


def _everything(hit: Hit) -> str:
    """All that is known of a hit, for what must be named somewhere."""
    source, passage = hit.source, hit.passage
    known = (passage.content, passage.context, source.title, source.uri, passage.date, source.known_date)
    return "\n".join(text for text in known if text)


def _compose(
    question: str,
    chosen: list[Candidate],
    chain: Sequence[Place],
    passages: list[FoundPassage],
    asked: Asked,
    trace: dict[str, Any],
    tokens: Callable[[str], Sequence[str]],
) -> Answer:
    """Along the chain, then best first; what comes from one passage stays together, in its order."""
    for order, place in chain:
        passages[order].chosen.add(place)
    for each in chosen:
        passages[each.order].chosen |= _with_neighbours(each, passages[each.order], asked, tokens)
    lines: list[str] = []
    sources: list[Cited] = []
    orders = dict.fromkeys([*(order for order, _ in chain), *(each.order for each in chosen)])
    for number, order in enumerate(orders, start=1):
        passage = passages[order]
        own = {each.place for each in chosen if each.order == order}
        places = [place for place in sorted(passage.chosen) if place in own or not is_order(passage.units[place].text)]
        shown = [_narrowed(passage.units[place], passage, asked, tokens) for place in places]
        border = "\n" if passage.table or any(is_piped(unit.text) for unit in shown) else " "
        lines.append(border.join(f"{unit.text} [{number}]" for unit in shown))
        best = next((each.unit for each in chosen if each.order == order), shown[0])
        quote = _quote(passage.hit.passage.content, shown, best)
        sources.append(Cited(number, passage.hit.source, quote, passage.hit.passage.id))
    return Answer(question, "\n".join(lines), True, tuple(sources), trace)


def _with_neighbours(
    each: Candidate, passage: FoundPassage, asked: Asked, tokens: Callable[[str], Sequence[str]]
) -> set[int]:
    """The unit's place, and those of the sentences without which it is unclear."""
    places = {each.place}
    if each.table:
        return places
    first = each.place
    while first > 0 and each.place - first < 2 and leans_back(passage.units[first].text):
        first -= 1
        if incomplete(passage.units[first].text):
            break  # a heading explains nothing
        places.add(first)
    if each.place in passage.heads:
        places.add(passage.heads[each.place])
    text = each.unit.text
    names_only = "meaning" in asked.sought and each.words <= set(asked.weights) | frozenset(tokens(text[:0]))
    following = passage.units[each.place + 1].text if each.place + 1 < len(passage.units) else ""
    if (incomplete(text) and not stands_in_list(text)) or names_only:
        if following and not incomplete(following):
            places.add(each.place + 1)
    return places


def _narrowed(unit: Unit, passage: FoundPassage, asked: Asked, tokens: Callable[[str], Sequence[str]]) -> Unit:
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
    if end - start <= _MAX_QUOTE_CHARS and is_safe(content[start:end]) and not is_order(content[start:end]):
        return content[start:end]
    inside = next((unit for unit in shown if best.start <= unit.start and unit.end <= best.end), shown[0])
    return content[inside.start : inside.end]
