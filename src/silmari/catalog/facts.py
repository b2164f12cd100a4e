"""What passages state follows from what their documents bring, what was attached, and what a model has read.

Those three are what is stored; statements are made from them, and are made anew when one of them, the names of the
passages or the document's mode changes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, select, update

from silmari.catalog.effective import turn
from silmari.catalog.rules import Rules, chunks
from silmari.catalog.schema import attached, documents, extracted, extraction_failures, passages, sources
from silmari.catalog.stating import forget_all, has_other_keys, state
from silmari.catalog.vectors import forget_unused
from silmari.extraction.given import placed, tidied
from silmari.model import Triplet

NO_TRIPLETS = "[]"
_DOCUMENTS = 500


def parse(text: str) -> list[Triplet]:
    """Triplets from a JSON list of [subject, predicate, object]."""
    return [Triplet(*parts) for parts in json.loads(text)]


def lists(triplets: Iterable[Triplet]) -> list[list[str]]:
    """Triplets as JSON holds them, tidied."""
    return [[one.subject, one.predicate, one.object] for one in map(tidied, triplets)]


def attached_to(connection: Connection, uris: Iterable[str]) -> dict[str, list[Triplet]]:
    """The triplets that were attached to those uris that have some."""
    return {
        row.uri: parse(row.triplets)
        for chunk in chunks(uris)
        for row in connection.execute(select(attached).where(attached.c.uri.in_(chunk)))
    }


def restate(connection: Connection, rules: Rules, numbers: Iterable[int], *, fresh: bool = False) -> None:
    """Bring the statements and the queue of documents in line with what they bring and with their modes.

    Args:
        connection: In a write transaction.
        rules: Of the base.
        numbers: Of the documents.
        fresh: Whether they are new in this transaction.
    """
    for chunk in chunks(sorted(numbers), _DOCUMENTS):
        rows = connection.execute(
            select(
                documents.c.id, documents.c.relations, documents.c.triplets, documents.c.category, documents.c.day
            ).where(documents.c.id.in_(chunk))
        ).all()
        if not fresh or any(row.relations == "triplets" for row in rows):
            _queue(connection, rows)
        scope = [] if fresh else _passages_of(connection, chunk)
        state(connection, rules, "given", scope, _given(connection, rows), fresh=fresh)
        if not fresh:
            modelled = [row.id for row in rows if row.relations == "triplets"]
            state(connection, rules, "model", scope, _by_model(connection, modelled))


def restate_all(connection: Connection, rules: Rules) -> None:
    """Make all statements anew: names of passages, or the keys of entities, have changed."""
    anew = has_other_keys(connection)
    if anew:
        forget_all(connection)
    stating = select(documents.c.id).where(documents.c.relations != "sentences")
    restate(connection, rules, connection.execute(stating).scalars().all())
    if anew:
        forget_unused(connection)


def withdraw(connection: Connection, rules: Rules, numbers: Sequence[int]) -> None:
    """Forget what the passages of documents state and what a model has read in them: they will be removed."""
    for chunk in chunks(numbers, _DOCUMENTS):
        stating = select(documents.c.id).where(documents.c.id.in_(chunk), documents.c.relations != "sentences")
        scope = _passages_of(connection, connection.execute(stating).scalars().all())
        state(connection, rules, "given", scope, ())
        state(connection, rules, "model", scope, ())
        here = select(passages.c.id).where(passages.c.document_id.in_(chunk))
        for table in (extracted, extraction_failures):
            connection.execute(delete(table).where(table.c.passage_id.in_(here)))


def _passages_of(connection: Connection, numbers: Sequence[int]) -> list[int]:
    return list(
        connection.execute(
            select(passages.c.id).where(passages.c.document_id.in_(numbers)).order_by(passages.c.id)
        ).scalars()
    )


def _given(connection: Connection, rows: Sequence[Any]) -> Iterator[tuple[int, Triplet]]:
    """The triplets that documents bring, each with the passage that it belongs to."""
    brought = _brought(connection, [row for row in rows if row.relations != "sentences"])
    named = connection.execute(
        select(passages.c.document_id, passages.c.id, passages.c.names)
        .where(passages.c.document_id.in_(list(brought)))
        .order_by(passages.c.document_id, passages.c.position)
    )
    for number, group in groupby(named, key=lambda row: row.document_id):
        there = list(group)
        for row, triplets in zip(there, placed([row.names for row in there], brought[number]), strict=True):
            yield from ((row.id, triplet) for triplet in triplets)


def _brought(connection: Connection, rows: Sequence[Any]) -> Mapping[int, list[Triplet]]:
    """All triplets of documents: their own, then those attached to their uris; documents without any are left out."""
    found: defaultdict[int, list[Triplet]] = defaultdict(list)
    for row in rows:
        if row.triplets != NO_TRIPLETS:
            found[row.id] += parse(row.triplets)
    for number, triplets in connection.execute(
        select(sources.c.document_id, attached.c.triplets)
        .join(attached, attached.c.uri == sources.c.uri)
        .where(sources.c.document_id.in_([row.id for row in rows]))
        .order_by(sources.c.document_id, sources.c.uri)
    ):
        found[number] += parse(triplets)
    return found


def _by_model(connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, Triplet]]:
    """What a model has read in the passages of documents."""
    for passage, triplets in connection.execute(
        select(extracted.c.passage_id, extracted.c.triplets)
        .join(passages, passages.c.id == extracted.c.passage_id)
        .where(passages.c.document_id.in_(numbers))
    ):
        yield from ((passage, triplet) for triplet in parse(triplets))


def _queue(connection: Connection, rows: Sequence[Any]) -> None:
    """Let passages wait for a model as far as their documents want one and it has not read them yet."""
    unwanted = [row.id for row in rows if row.relations != "triplets"]
    connection.execute(
        update(passages)
        .where(passages.c.document_id.in_(unwanted), passages.c.unextracted.is_not(None))
        .values(unextracted=None)
    )
    here = select(passages.c.id).where(passages.c.document_id.in_(unwanted))
    connection.execute(delete(extraction_failures).where(extraction_failures.c.passage_id.in_(here)))
    turns = [{"number": row.id, "turn": turn(row.category, row.day)} for row in rows if row.relations == "triplets"]
    if turns:
        tried = [exists().where(table.c.passage_id == passages.c.id) for table in (extracted, extraction_failures)]
        connection.execute(
            update(passages)
            .where(passages.c.document_id == bindparam("number"), *(~one for one in tried))
            .values(unextracted=bindparam("turn")),
            turns,
        )
