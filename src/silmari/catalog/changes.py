"""The change log that feeds the engines."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from sqlalchemy import Connection, Table, and_, delete, func, insert, literal, not_, select

from silmari.catalog.rules import Rules, chunks
from silmari.catalog.schema import (
    changes,
    documents,
    entities,
    get_meta,
    passages,
    relations,
    set_meta,
    take_numbers,
    vectors,
)
from silmari.engine.base import Change, Record, Standing
from silmari.model import Kind, day_number

Aspect = Literal["text", "vector"]
_TABLES: Mapping[Kind, Table] = {"passage": passages, "relation": relations, "entity": entities}
# Keys of the table `meta`, before the place of an engine.
_APPLIED = "applied."


def log_new(connection: Connection, kind: Kind, ids: Sequence[int], aspect: Aspect) -> None:
    """Log items that were never logged in this aspect, in their order."""
    numbers = take_numbers(connection, "change", len(ids))
    rows = (
        {"kind": kind, "item_id": item, "aspect": aspect, "seq": seq} for item, seq in zip(ids, numbers, strict=True)
    )
    for chunk in chunks(rows):
        connection.execute(insert(changes), chunk)


def log(connection: Connection, kind: Kind, ids: Iterable[int], aspect: Aspect) -> None:
    """Log items again: the new row takes the place of the older one."""
    for chunk in chunks(ids):
        connection.execute(
            delete(changes).where(changes.c.kind == kind, changes.c.aspect == aspect, changes.c.item_id.in_(chunk))
        )
        log_new(connection, kind, chunk, aspect)


def restart(connection: Connection) -> None:
    """Start the log anew, with what is there now, under a new epoch: every engine will be rebuilt."""
    connection.execute(delete(changes))
    for aspect in ("text", "vector"):
        for kind, table in _TABLES.items():
            there = literal(True) if aspect == "text" else table.c.waiting.is_(None)
            count = connection.execute(select(func.count()).select_from(table).where(there)).scalar_one()
            first = take_numbers(connection, "change", count).start
            place = func.row_number().over(order_by=table.c.id)
            connection.execute(
                insert(changes).from_select(
                    ["kind", "item_id", "aspect", "seq"],
                    select(literal(kind), table.c.id, literal(aspect), place + (first - 1)).where(there),
                )
            )
    set_meta(connection, "epoch", str(uuid.uuid4()))


def last_seq(connection: Connection) -> int:
    """The number of the newest change; 0 in an empty log."""
    return connection.execute(select(func.max(changes.c.seq))).scalar_one() or 0


def count(connection: Connection, after: int) -> int:
    """How many changes there are after a number."""
    return connection.execute(select(func.count()).select_from(changes).where(changes.c.seq > after)).scalar_one()


def standing(connection: Connection) -> Standing:
    """Where the log stands, and the engine that the base lives on."""
    meta = get_meta(connection)
    return Standing(meta["base"], meta["epoch"], last_seq(connection), meta.get("engine"), _applied(meta))


def applying(connection: Connection, place: str, before: int, after: int) -> None:
    """Note which numbers the watermark of the engine at `place` may have from now on."""
    # A place may be longer than a key.
    key = hashlib.blake2b(place.encode(), digest_size=12).hexdigest()
    set_meta(connection, f"{_APPLIED}{key}", f"{before} {after} {place}")


def _applied(meta: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    found = [value.split(" ", 2) for key, value in meta.items() if key.startswith(_APPLIED)]
    return {place: (int(before), int(after)) for before, after, place in found}


def touched_since(
    connection: Connection, epoch: str, seq: int, limit: int, kinds: Sequence[Kind]
) -> tuple[int, dict[Kind, tuple[int, ...]]] | None:
    """Which items' text changed after a change's number.

    Args:
        connection: To the database.
        epoch: Of the log that `seq` is of.
        seq: A change's number.
        limit: How many items are worth listing.
        kinds: Of the items.

    Returns:
        The number of the newest change and the items by kind, ascending; None when there are more, or when the log
        began anew.
    """
    if get_meta(connection)["epoch"] != epoch:
        return None
    newest = max(seq, last_seq(connection))
    if newest == seq:
        # Asked several times a search, and mostly nothing has changed.
        return seq, dict.fromkeys(kinds, ())
    rows = connection.execute(
        select(changes.c.kind, changes.c.item_id)
        .where(changes.c.seq > seq, changes.c.aspect == "text", changes.c.kind.in_(kinds))
        .order_by(changes.c.seq)
        .limit(limit + 1)
    ).all()
    if len(rows) > limit:
        return None
    touched = {kind: tuple(sorted(row.item_id for row in rows if row.kind == kind)) for kind in kinds}
    return newest, touched


def read(connection: Connection, after: int, limit: int, whole: tuple[int, int] | None = None) -> list[Change]:
    """The next changes after a number, oldest first, each with the record as it is now.

    Relations and entities are found by their vectors alone: they have no tokens, document or date.

    Args:
        connection: To the database.
        after: The number.
        limit: How many at most.
        whole: For an engine that writes whole records: the numbers where its run began, and of the newest change then.
            Vectors between them are left out whose item has a change of its text in the same run, since that brings
            the vector along. The newest change itself is never left out, so that the run's end is told.
    """
    wanted = [changes.c.seq > after]
    if whole is not None:
        text = changes.alias()
        brought = select(text.c.seq).where(
            text.c.kind == changes.c.kind,
            text.c.item_id == changes.c.item_id,
            text.c.aspect == "text",
            text.c.seq > whole[0],
        )
        wanted.append(not_(and_(changes.c.aspect == "vector", changes.c.seq < whole[1], brought.exists())))
    text_hash = func.coalesce(*(table.c.text_hash for table in _TABLES.values()))
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
            text_hash.is_not(None),
        )
        .select_from(changes)
        .outerjoin(passages, and_(changes.c.kind == "passage", passages.c.id == changes.c.item_id))
        .outerjoin(relations, and_(changes.c.kind == "relation", relations.c.id == changes.c.item_id))
        .outerjoin(entities, and_(changes.c.kind == "entity", entities.c.id == changes.c.item_id))
        .outerjoin(documents, documents.c.id == passages.c.document_id)
        .outerjoin(
            vectors,
            and_(
                vectors.c.text_hash == text_hash,
                vectors.c.embedder == (Rules.read(connection).embedder or ""),
            ),
        )
        .where(*wanted)
        .order_by(changes.c.seq)
        .limit(limit)
    )
    found = []
    for seq, kind, item, aspect, document, tokens, date, name_tokens, category, day, vector, there in rows:
        record = None
        if there:
            record = Record(
                id=item,
                tokens=f"{tokens or ''} {name_tokens or ''}".strip(),
                vector=None if vector is None else np.frombuffer(vector, np.float16),
                document_id=document or 0,
                category=category or "",
                day=day_number(date) or day,
            )
        found.append(Change(seq, kind, item, aspect, record))
    return found
