"""What a model's reply to `silmari.retrieval.rerank_prompt` chose, however badly it kept to the form."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_QUESTIONS = 3
_LONGEST_QUESTION = 300
_LONGEST_REPLY = 50_000
# Brackets in a reply at which JSON may begin.
_MOST_TRIES = 200
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
# "[3] text", "#3", "3. text", "(3)": a number that stands for a candidate, not one that a text begins with.
_NUMBERED = re.compile(r"\s*(?:[\[(#]+\s*(\d{1,6})\s*\]?\)?|(\d{1,6})\s*(?:[.):\]|]|\Z))")
_SEVERAL = re.compile(r"[\s\d,;/\[\]()#>→-]+")
_CHOICE = re.compile(
    r"useful|relation|statement|rank|select|order|chosen|choice|ids?\b|number|유용|관련|선택|순위|번호", re.I
)
_ASKING = re.compile(r"question|missing|query|queries|질문|빠진", re.I)
_NUMBER_KEYS = ("id", "n", "number", "index", "no", "번호", "statement", "text")


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen.

    Attributes:
        places: Candidates by their place in what was shown, from 0, the most useful first; each once.
        questions: What else should be searched for, three at most.
    """

    places: tuple[int, ...]
    questions: tuple[str, ...]


def parse(reply: str, shown: Sequence[str]) -> Choice:
    """Read a reply: JSON in any wrapping, whole or cut off, with numbers in any spelling.

    Numbers that were never shown and repeated ones are passed over.

    Args:
        reply: What the model said.
        shown: The candidates' texts, as they were numbered from 1.

    Raises:
        ValueError: The reply holds no choice; the message says what it holds instead.
    """
    text = unicodedata.normalize("NFKC", _THOUGHT.sub("", reply[:_LONGEST_REPLY])).strip()
    if not text:
        raise ValueError("the reply is empty")
    known = {_folded(one): place for place, one in reversed(list(enumerate(shown))) if _folded(one)}
    empty: Choice | None = None
    for value in _values(text):
        named = (tuple(_places(part, len(shown), known)) for part in _chosen(value))
        choice = Choice(next(filter(None, named), ()), tuple(_questions(value)))
        if choice.places or choice.questions:
            return choice
        if isinstance(value, dict) and any(_CHOICE.search(name) and value[name] == [] for name in value):
            empty = Choice((), ())
    if empty is None:
        raise ValueError("the reply names none of the numbers that were shown")
    return empty


def _values(text: str) -> Iterator[Any]:
    """All that may be the answer: whole objects from the last one on, then mended ones, then lists."""
    whole = list(_decoded(text, "{"))
    yield from reversed([one for one in whole if any(isinstance(part, list) for part in one.values())])
    before, brace, after = text.partition("{")
    if brace:
        yield _mended(brace + after)
    # A list inside an object that was cut off may be part of the thinking.
    yield from reversed(list(_decoded(before, "[")))
    if not brace and "[" in before:
        yield _mended(before[before.index("[") :])


def _decoded(text: str, opening: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    at = text.find(opening)
    for _ in range(_MOST_TRIES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find(opening, end)


def _mended(text: str) -> Any:
    """What is left of JSON that was cut off or written carelessly."""
    import json_repair

    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError):
        return None


def _chosen(value: Any) -> list[Any]:
    """The parts of a reply that may name candidates, the likeliest first."""
    if not isinstance(value, dict):
        return [value]
    parts = [(name, part) for name, part in value.items() if not _ASKING.search(name)]
    # A model that used another word for the key still gave one list of numbers.
    return [part for name, part in parts if _CHOICE.search(name)] + [
        part for _, part in parts if isinstance(part, list)
    ]


def _places(value: Any, size: int, known: Mapping[str, int]) -> Iterator[int]:
    seen: set[int] = set()
    for place in _numbers(value, known, 0):
        if 0 <= place < size and place not in seen:
            seen.add(place)
            yield place


def _numbers(value: Any, known: Mapping[str, int], depth: int) -> Iterator[int]:
    """The places that a value names: a number, a numbered text, a candidate's text, or several of them."""
    if isinstance(value, bool) or depth > 4:
        return
    if isinstance(value, int):
        yield value - 1
    elif isinstance(value, float) and value.is_integer():
        yield int(value) - 1
    elif isinstance(value, str):
        yield from _spelled(value, known)
    elif isinstance(value, list):
        for one in value:
            yield from _numbers(one, known, depth + 1)
    elif isinstance(value, dict):
        for name in _NUMBER_KEYS:
            if name in value:
                yield from _numbers(value[name], known, depth + 1)
                return
        for name in value:  # {"3": "why"}
            yield from _spelled(str(name), known)


def _spelled(text: str, known: Mapping[str, int]) -> Iterator[int]:
    if _SEVERAL.fullmatch(text):
        yield from (int(number) - 1 for number in re.findall(r"\d{1,6}", text))
    elif (place := known.get(_folded(text))) is not None:
        yield place
    elif match := _NUMBERED.match(text):
        yield int(match[1] or match[2]) - 1


def _questions(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for name, part in value.items():
        if _ASKING.search(name):
            found += [one for one in (part if isinstance(part, list) else [part]) if isinstance(one, str)]
    plain = (" ".join(one.split()) for one in found)
    fitting = (one for one in plain if 2 < len(one) <= _LONGEST_QUESTION and any(char.isalpha() for char in one))
    return list(dict.fromkeys(fitting))[:MOST_QUESTIONS]


def _folded(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
