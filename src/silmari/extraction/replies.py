"""Reads a chat model's reply as triplets: whole JSON where it is, every complete item where it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from silmari.model import Triplet

_SUBJECT = ("subject", "subj", "s", "head", "source", "from", "주어", "주체")
_PREDICATE = ("predicate", "relation", "relationship", "verb", "p", "r", "type", "서술", "서술어", "관계")
_OBJECT = ("object", "obj", "o", "tail", "target", "to", "value", "목적어", "객체", "대상")
_PARTS = (_SUBJECT, _PREDICATE, _OBJECT)
_THINKING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.S)
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.S)
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)
# A model that has run away is not read to its end.
_MAX_REPLY = 60_000
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply holds.

    Attributes:
        triplets: The complete items, in order, spelled as they are.
        malformed: Items that are none: two or four parts, missing or empty ones, other types.
        fault: What is wrong with the reply as a whole, for the model to read; empty for a sound one.
    """

    triplets: tuple[Triplet, ...]
    malformed: int = 0
    fault: str = ""


def read(reply: str) -> Reply:
    """Read a reply; prose and code fences around the JSON, other key names and bare lists are taken as they are."""
    text = _THINKING.sub("", reply[:_MAX_REPLY]).strip()
    if not text:
        return Reply((), fault="it is empty")
    for candidate in (text, *_FENCE.findall(text)):
        value = _decoded(candidate)
        if value is not None:
            return _of(value)
    pieces, whole = _pieces(text)
    if whole and pieces:
        # With prose around it, or an object a line.
        return _of(pieces[0] if len(pieces) == 1 else [item for piece in pieces for item in _items(piece) or [piece]])
    return _salvaged(text, pieces)


def _of(value: Any) -> Reply:
    """A reply that is JSON as a whole."""
    items = _items(value)
    if items is None:
        return Reply((), fault='it is no JSON object with a list named "triplets"')
    triplets = [_triplet(item) for item in items]
    sound = tuple(one for one in triplets if one is not None)
    malformed = len(triplets) - len(sound)
    if malformed and not sound:
        return Reply((), malformed, "none of its items has exactly subject, predicate and object, each a text")
    return Reply(sound, malformed)


def _salvaged(text: str, pieces: Iterable[Any]) -> Reply:
    """The complete items of a reply that is cut off or no JSON as a whole."""
    items = [item for piece in pieces for item in _items(piece) or [piece]]
    triplets = [_triplet(item) for item in items]
    sound = tuple(one for one in triplets if one is not None)
    if not sound and _OPENING.search(text):
        sound = _mended(text)
    kept = f"; {len(sound)} complete items could be read" if sound else ""
    return Reply(sound, sum(one is None for one in triplets), f"it is no valid JSON, or is cut off{kept}")


def _mended(text: str) -> tuple[Triplet, ...]:
    """Items that are JSON but for quotes and commas; what follows the last closing bracket was cut off."""
    from json_repair import repair_json

    start = _OPENING.search(text)
    end = max(text.rfind("}"), text.rfind("]"))
    if start is None or end < start.start():
        return ()
    try:
        value = repair_json(text[start.start() : end + 1], return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return ()
    return tuple(one for item in _items(value) or () if (one := _triplet(item)) is not None)


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _pieces(text: str) -> tuple[list[Any], bool]:
    """What can be decoded, outermost first, and whether no opening bracket led nowhere."""
    found: list[Any] = []
    whole, at = True, 0
    while (opening := _OPENING.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except ValueError:
            whole, at = False, opening.end()
        except RecursionError:
            return found, False  # Brackets without end.
        else:
            found.append(value)
    return found, whole


def _items(value: Any, depth: int = 0) -> list[Any] | None:
    """The list of items in whatever they are wrapped in; None if there is none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        if value and all(isinstance(part, str | int | float) for part in value):
            return [value]  # One item as a bare list.
        return value
    if not isinstance(value, dict):
        return None
    if _looks_like_one(value):
        return [value]
    inner = list(value.values())
    if inner and all(_looks_like_one(one) for one in inner):
        return inner  # Numbered ones.
    found = (_items(one, depth + 1) for one in sorted(inner, key=lambda one: not isinstance(one, list)))
    return next((items for items in found if items is not None), None)


def _looks_like_one(value: Any) -> bool:
    return isinstance(value, dict) and any(_part(value, names) is not None for names in (_SUBJECT, _OBJECT))


def _triplet(item: Any) -> Triplet | None:
    if isinstance(item, dict):
        parts = [_part(item, names) for names in _PARTS] if len(item) <= 2 * len(_PARTS) else []
    elif isinstance(item, list):
        parts = item
    else:
        return None
    texts = [_text(part) for part in parts]
    if len(texts) != len(_PARTS) or not all(texts):
        return None
    return Triplet(*(text or "" for text in texts))


def _part(item: dict[Any, Any], names: tuple[str, ...]) -> Any:
    keys = {str(key).strip().casefold(): key for key in item}
    return next((item[keys[name]] for name in names if name in keys), None)


def _text(part: Any) -> str | None:
    """A part as text; numbers are taken as they are written, everything else is none."""
    if isinstance(part, bool) or not isinstance(part, str | int | float):
        return None
    return " ".join(str(part).split())
