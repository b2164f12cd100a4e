"""Which of the ranked sentences and rows make the answer: one that says it, several where none says it all."""

from __future__ import annotations

import re
from collections import Counter

from silmari.answering.asked import Asked, squeeze
from silmari.answering.ranking import (
    DECIDED,
    Candidate,
    FoundPassage,
    fits_years,
    is_total,
    says_something,
)

# A further sentence must be at least this good beside the best one; less if it brings new words.
_NEAR_BEST = 0.75
_NEAR_BEST_IF_NEW = 0.55
_NEW_WEIGHT = 0.18
# ... and among several such that one is preferred which shows what is sought.
_SHOWN = 0.1
# ... and must have this much of its telling words itself.
_TELLING = 0.4
# Without new words, it must say as much of the question as the best.
_AS_TELLING = 0.9
# For a passage whose title a chosen sentence names: the second hop of a question.
_LED_TO = 0.25
# Of the words of the shorter of two sentences that are versions of one.
_SAME = 0.7
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")


def choose(candidates: list[Candidate], passages: list[FoundPassage], asked: Asked, limit: int) -> list[Candidate]:
    """The best, then what is nearly as good, brings words of the question that were missing, or leads on."""
    rest = sorted(candidates, key=lambda each: (-each.score, each.order, each.place))
    best = _newest(rest[0], rest) if asked.newest else rest[0]
    rest.remove(best)
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
        worth = {
            id(each): each.score + _leads_on(each, led, names, chosen) + (_SHOWN if asked.shows(each.unit.text) else 0)
            for each in rest
        }
        rest = [
            each
            for each in rest
            if says_something(each)
            and (each.order in led or each.tells > _TELLING * telling or _completes(each, chosen, asked))
            and not any(_repeats(each, other) for other in chosen)
            and (
                each.order in led
                or _completes(each, chosen, asked)
                or _belongs(each, best, passages, covered, names, asked)
            )
            and worth[id(each)] >= _enough(each, chosen, covered, asked) * best.score
        ]
        if not rest:
            break
        following = max(rest, key=lambda each: worth[id(each)])
        rest.remove(following)
        chosen.append(following)
        telling = max(telling, following.tells)
        covered |= following.covers | passages[following.order].around
    return chosen


def _newest(best: Candidate, candidates: list[Candidate]) -> Candidate:
    """The same sentence with other numbers from the newest document that has it."""
    when = _stated_date(best)
    for each in candidates:
        theirs = _stated_date(each)
        if when and theirs and theirs > when and each.score >= _NEAR_BEST * best.score and _versions(each, best):
            best, when = each, theirs
    return best


def _stated_date(each: Candidate) -> str | None:
    """The date that the document itself or its name states."""
    return each.hit.source.date if each.hit.source.date_source in ("content", "metadata", "name") else None


def _versions(one: Candidate, other: Candidate) -> bool:
    """Whether two documents say the same in prose, perhaps with other numbers."""
    if one.table or other.table or one.hit.source.uri == other.hit.source.uri:
        return False  # the date of a row is its own, not that of a version
    first, second = (frozenset(word for word in each.words if not word[0].isdigit()) for each in (one, other))
    return len(first & second) >= _SAME * min(len(first), len(second)) and one.covers == other.covers


def _belongs(
    each: Candidate,
    best: Candidate,
    passages: list[FoundPassage],
    covered: set[str],
    names: frozenset[str],
    asked: Asked,
) -> bool:
    """Whether a further sentence has its own reason to be there: it says what the best does not, or as much."""
    if fits_years(each, asked) < fits_years(best, asked):
        return False
    if each.table and each.hit.source.uri == best.hit.source.uri:
        if each.covers < best.covers or (asked.total and is_total(best) and not is_total(each)):
            return False  # of the same table a row that meets fewer of the question's conditions
    if asked.unmistakable and asked.shows(best.unit.text) and not asked.shows(each.unit.text):
        return False
    if _decided(best, passages[best.order], asked) < DECIDED:
        return True  # Where nothing says it all, several may each say a part.
    if _new(each, covered, asked) >= _NEW_WEIGHT:
        linked = each.hit.source.uri == best.hit.source.uri or each.covers & best.covers or names & each.words
        return bool(linked)
    if asked.shows(best.unit.text) and not asked.shows(each.unit.text):
        return False
    # What the headings say already, every sentence below them may repeat.
    return each.tells >= _AS_TELLING * best.tells and bool(each.covers - passages[each.order].around)


def _decided(best: Candidate, passage: FoundPassage, asked: Asked) -> float:
    """The share of the question's weight that a sentence has with its headings."""
    return sum(asked.weights[word] for word in asked.weights.keys() & (best.covers | passage.around))


def _new(each: Candidate, covered: set[str], asked: Asked) -> float:
    """The weight of the question's words that were missing until now."""
    return sum(asked.weights[word] for word in each.covers - covered)


def _completes(each: Candidate, chosen: list[Candidate], asked: Asked) -> bool:
    """Whether it stands beside a sentence that names the thing, and is the first to show what is sought of it."""
    if not each.covers or not asked.shows(each.unit.text) or any(asked.shows(other.unit.text) for other in chosen):
        return False
    return any(each.order == other.order and abs(each.place - other.place) == 1 for other in chosen)


def _enough(each: Candidate, chosen: list[Candidate], covered: set[str], asked: Asked) -> float:
    """The share of the best score that a further sentence needs."""
    new = _new(each, covered, asked) >= _NEW_WEIGHT or _completes(each, chosen, asked)
    return _NEAR_BEST_IF_NEW if new else _NEAR_BEST


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
