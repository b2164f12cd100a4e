"""The queue of passages whose relations a model shall read, and what it has read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from silmari.catalog.facts import lists
from silmari.catalog.rules import Rules, chunks, to_json
from silmari.catalog.schema import documents, extracted, extraction_failures, passages
from silmari.catalog.stating import state
from silmari.model import Triplet


def pending(connection: Connection, limit: int) -> list[tuple[int, str, str]]:
    """The next passages as (id, context, text): tables first, then the newest documents."""
    rows = connection.execute(
        select(passages.c.id, passages.c.context, passages.c.text)
        .where(passages.c.unextracted.is_not(None))
        .order_by(passages.c.unextracted, passages.c.id)
        .limit(limit)
    )
    return [(number, context, text) for number, context, text in rows]


def count(connection: Connection) -> tuple[int, int]:
    """How many passages wait, and how many failed."""
    waiting = connection.execute(
        select(func.count()).select_from(passages).where(passages.c.unextracted.is_not(None))
    ).scalar_one()
    return waiting, connection.execute(select(func.count()).select_from(extraction_failures)).scalar_one()


def store(connection: Connection, found: Mapping[int, Sequence[Triplet]]) -> None:
    """Keep what a model has read in passages, in place of what it read before; those that are gone are passed over."""
    modes = {
        row.id: row.relations
        for chunk in chunks(found)
        for row in connection.execute(
            select(passages.c.id, documents.c.relations)
            .join(documents, documents.c.id == passages.c.document_id)
            .where(passages.c.id.in_(chunk))
        )
    }
    for chunk in chunks(modes):
        _settled(connection, chunk)
        connection.execute(delete(extracted).where(extracted.c.passage_id.in_(chunk)))
        rows = [{"passage_id": number, "triplets": to_json(lists(found[number]))} for number in chunk]
        connection.execute(insert(extracted), rows)
    wanted = [number for number, mode in modes.items() if mode == "triplets"]
    stated = ((number, triplet) for number in wanted for triplet in found[number])
    state(connection, Rules.read(connection), "model", wanted, stated)


def note_failures(connection: Connection, reasons: Mapping[int, str]) -> None:
    """Take passages out of the queue because no model could read them, and remember why."""
    for chunk in chunks(reasons):
        waiting = (
            connection.execute(
                select(passages.c.id).where(passages.c.id.in_(chunk), passages.c.unextracted.is_not(None))
            )
            .scalars()
            .all()
        )
        _settled(connection, waiting)
        if waiting:
            rows = [{"passage_id": number, "reason": reasons[number]} for number in waiting]
            connection.execute(insert(extraction_failures), rows)


def failures(connection: Connection) -> list[tuple[int, str]]:
    """Passages that failed, and why, by id."""
    rows = connection.execute(select(extraction_failures).order_by(extraction_failures.c.passage_id))
    return [(row.passage_id, row.reason) for row in rows]


def _settled(connection: Connection, numbers: Iterable[int]) -> None:
    for chunk in chunks(numbers):
        connection.execute(update(passages).where(passages.c.id.in_(chunk)).values(unextracted=None))
        connection.execute(delete(extraction_failures).where(extraction_failures.c.passage_id.in_(chunk)))
