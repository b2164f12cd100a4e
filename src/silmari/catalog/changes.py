"""The change log that feeds the engines."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection, and_, delete, func, insert, literal, select

from silmari.catalog.rules import Rules, chunks
from silmari.catalog.schema import changes, documents, passages, set_meta, take_numbers, vectors
from silmari.engine.base import Change, Record
from silmari.model import day_number

PASSAGE = "passage"


def log_new(connection: Connection, ids: Sequence[int], aspect: str) -> None:
    """Log items that were never logged in this aspect, in their order."""
    numbers = take_numbers(connection, "change", len(ids))
    rows = (
        {"kind": PASSAGE, "item_id": item, "aspect": aspect, "seq": seq} for item, seq in zip(ids, numbers, strict=True)
    )
    for chunk in chunks(rows):
        connection.execute(insert(changes), chunk)


def log(connection: Connection, ids: Iterable[int], aspect: str) -> None:
    """Log items again: the new row takes the place of the older one."""
    for chunk in chunks(ids):
        connection.execute(
            delete(changes).where(changes.c.kind == PASSAGE, changes.c.aspect == aspect, changes.c.item_id.in_(chunk))
        )
        log_new(connection, chunk, aspect)


def restart(connection: Connection) -> None:
    """Start the log anew, with what is there now, under a new epoch: every engine will be rebuilt."""
    connection.execute(delete(changes))
    for aspect, there in (("text", literal(True)), ("vector", passages.c.waiting.is_(None))):
        count = connection.execute(select(func.count()).select_from(passages).where(there)).scalar_one()
        first = take_numbers(connection, "change", count).start
        place = func.row_number().over(order_by=passages.c.id)
        connection.execute(
            insert(changes).from_select(
                ["kind", "item_id", "aspect", "seq"],
                select(literal(PASSAGE), passages.c.id, literal(aspect), place + (first - 1)).where(there),
            )
        )
    set_meta(connection, "epoch", str(uuid.uuid4()))


def last_seq(connection: Connection) -> int:
    """The number of the newest change; 0 in an empty log."""
    return connection.execute(select(func.max(changes.c.seq))).scalar_one() or 0


def read(connection: Connection, after: int, limit: int) -> list[Change]:
    """The next changes after a number, oldest first, each with the record as it is now."""
    rows = connection.execute(
        select(
            changes.c.seq,
            changes.c.kind,
            changes.c.item_id,
            changes.c.aspect,
            passages.c.document_id,
            passages.c.tokens,
            passages.c.date,
            documents.c.name_tokens,
            documents.c.category,
            documents.c.day,
            vectors.c.vector,
        )
        .select_from(changes)
        .outerjoin(passages, and_(changes.c.kind == PASSAGE, passages.c.id == changes.c.item_id))
        .outerjoin(documents, documents.c.id == passages.c.document_id)
        .outerjoin(
            vectors,
            and_(
                vectors.c.text_hash == passages.c.text_hash,
                vectors.c.embedder == (Rules.read(connection).embedder or ""),
            ),
        )
        .where(changes.c.seq > after)
        .order_by(changes.c.seq)
        .limit(limit)
    )
    found = []
    for seq, kind, item, aspect, document, tokens, date, name_tokens, category, day, vector in rows:
        record = None
        if document is not None:
            record = Record(
                id=item,
                tokens=f"{tokens} {name_tokens}".strip(),
                vector=None if vector is None else np.frombuffer(vector, np.float16),
                document_id=document,
                category=category,
                day=day_number(date) or day,
            )
        found.append(Change(seq, kind, item, aspect, record))
    return found
