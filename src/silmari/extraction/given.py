"""Triplets that a user brings with documents: which ones are sound, and which passage each belongs to."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from silmari.language.names import MARKED, TITLE, entity_keys
from silmari.language.normalise import UNSAFE, key
from silmari.model import Triplet

MAX_NAME_CHARS = 200


def sound(triplet: Triplet, key_of: Callable[[str], str] = key) -> Triplet | None:
    """The triplet, tidied, or None for one whose subject or object names nothing.

    Args:
        triplet: As it was given.
        key_of: `silmari.language.normalise.key`, perhaps remembered.
    """
    tidy = tidied(triplet)
    return tidy if all(names_something(name, key_of) for name in (tidy.subject, tidy.object)) else None


def tidied(triplet: Triplet) -> Triplet:
    """The triplet as it is stored: spellings are kept, in NFC, with single blanks, without what no database takes."""
    return Triplet(_tidy(triplet.subject), _tidy(triplet.predicate), _tidy(triplet.object))


def names_something(name: str, key_of: Callable[[str], str] = key) -> bool:
    """Whether a name can be that of an entity: it has a letter or digit and at most `MAX_NAME_CHARS` characters."""
    if len(name) > MAX_NAME_CHARS:
        return False
    found = key_of(name)
    # A key may be longer than its name: some signs stand for many letters.
    return len(found) <= MAX_NAME_CHARS and any(char.isalnum() for char in found)


def placed(names_of_passages: Sequence[str], triplets: Iterable[Triplet]) -> list[list[Triplet]]:
    """Which triplets of a document belong to each of its passages.

    A triplet belongs to the first passage that names its subject and object, else either, else to the first.

    Args:
        names_of_passages: As `silmari.language.names.passage_names` gives them, joined by blanks, in reading order.
        triplets: Of the document.

    Returns:
        One list a passage, in the order of `triplets`; empty for a document without passages.
    """
    found: list[list[Triplet]] = [[] for _ in names_of_passages]
    if len(found) < 2:
        for one in found:
            one.extend(triplets)
        return found
    naming: dict[str, dict[int, None]] = {}
    for at, names in enumerate(names_of_passages):
        for name in names.split():
            naming.setdefault(name.lstrip(TITLE + MARKED), {})[at] = None
    places: dict[tuple[str, str], int] = {}
    for triplet in triplets:
        ends = triplet.subject, triplet.object
        if ends not in places:
            places[ends] = _place([naming.get(end, {}) for end in entity_keys(ends)])
        found[places[ends]].append(triplet)
    return found


def _place(naming: Sequence[dict[int, None]]) -> int:
    """The first passage that all ends are named in, else the first that any is, else the first."""
    if len(naming) == 2:
        rarer, other = sorted(naming, key=len)
        both = next((at for at in rarer if at in other), None)
        if both is not None:
            return both
    return min((next(iter(passages)) for passages in naming if passages), default=0)


def _tidy(part: str) -> str:
    return " ".join(UNSAFE.sub(" ", unicodedata.normalize("NFC", part)).split())
