"""The queue of passages whose relations a model shall read, and what it has read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from silmari.catalog.effective import LAST_TURN
from silmari.catalog.facts import lists
from silmari.catalog.rules import Rules, chunks, to_json
from silmari.catalog.schema import documents, extracted, extraction_failures, passages
from silmari.catalog.stating import state
from silmari.model import Triplet


def pending(
    connection: Connection, limit: int, allowed: Callable[[int], bool] = lambda number: True
) -> list[tuple[int, str, str]]:
    """The next passages that are allowed, as (id, context, text): tables first, then the newest documents."""
    found: list[tuple[int, str, str]] = []
    last = (-1, -1)
    while len(found) < limit:
        rows = connection.execute(
            select(passages.c.unextracted, passages.c.id, passages.c.context, passages.c.text)
            .where(
                passages.c.unextracted.is_not(None),
                passages.c.unextracted >= last[0],
                (passages.c.unextracted > last[0]) | (passages.c.id > last[1]),
            )
            .order_by(passages.c.unextracted, passages.c.id)
            .limit(limit)
        ).all()
        if not rows:
            break
        found += [(number, context, text) for _, number, context, text in rows if allowed(number)]
        last = (rows[-1].unextracted, rows[-1].id)
    return found[:limit]


def count(connection: Connection) -> tuple[int, int]:
    """How many passages wait, and how many failed."""
    waiting = connection.execute(
        select(func.count()).select_from(passages).where(passages.c.unextracted.is_not(None))
    ).scalar_one()
    return waiting, connection.execute(select(func.count()).select_from(extraction_failures)).scalar_one()


def store(
    connection: Connection, found: Mapping[int, Sequence[Triplet]], flawed: Mapping[int, str] | None = None
) -> None:
    """Keep what a model has read in passages, in place of what it read before; those that are gone are passed over.

    Args:
        connection: In a write transaction.
        found: The triplets of each passage.
        flawed: Why some of them are only a part of what the passage says; these count as failed too.
    """
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
        if half := [number for number in chunk if number in (flawed or {})]:
            _note(connection, half, flawed or {})
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
            _note(connection, waiting, reasons)


def put_back(connection: Connection, numbers: Iterable[int]) -> None:
    """Let passages of documents that still want a model wait for it again, whatever it has read in them before."""
    modelled = select(documents.c.id).where(documents.c.relations == "triplets")
    for chunk in chunks(numbers):
        connection.execute(
            update(passages)
            .where(passages.c.id.in_(chunk), passages.c.document_id.in_(modelled))
            .values(unextracted=LAST_TURN)
        )


def failures(connection: Connection) -> list[tuple[int, str]]:
    """Passages that failed, and why, by id."""
    rows = connection.execute(select(extraction_failures).order_by(extraction_failures.c.passage_id))
    return [(row.passage_id, row.reason) for row in rows]


def _note(connection: Connection, numbers: Iterable[int], reasons: Mapping[int, str]) -> None:
    rows = [{"passage_id": number, "reason": reasons[number]} for number in numbers]
    connection.execute(insert(extraction_failures), rows)


def _settled(connection: Connection, numbers: Iterable[int]) -> None:
    for chunk in chunks(numbers):
        connection.execute(update(passages).where(passages.c.id.in_(chunk)).values(unextracted=None))
        connection.execute(delete(extraction_failures).where(extraction_failures.c.passage_id.in_(chunk)))
