"""Triplets that a user brings with documents, as names of the passages that they belong to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from silmari.catalog.words import Named
from silmari.language.names import GIVEN, MARKED, TITLE, entity_keys


def with_given(rows: Iterable[Named]) -> Iterator[Named]:
    """Add the subjects and objects of a document's triplets to the names of its passages.

    A triplet belongs to the first passage that names its subject and object, else either, else to the document's
    first. A name that is empty, longer than names are or without a letter joins nothing and is left out.

    Args:
        rows: Passages by id, those of a document one after the other.
    """
    for _, group in groupby(rows, key=lambda row: row.document_id):
        passages = list(group)
        triplets = next((row.triplets for row in passages if row.triplets), "[]")
        yield from _placed(passages, json.loads(triplets)) if triplets != "[]" else passages


def _placed(passages: Sequence[Named], triplets: Iterable[Sequence[str]]) -> Iterator[Named]:
    named = [{name.lstrip(TITLE + MARKED) for name in row.names.split()} for row in passages]
    added: list[dict[str, None]] = [{} for _ in passages]
    for subject, _, object_ in triplets:
        ends = entity_keys([subject, object_])
        if ends:
            held = [sum(end in names for end in ends) for names in named]
            added[held.index(max(held))].update(dict.fromkeys(ends))
    for row, keys in zip(passages, added, strict=True):
        yield row._replace(names=" ".join([row.names, *(GIVEN + key for key in keys)]).strip())
