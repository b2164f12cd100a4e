"""The names of passages, and of the entities that their relations tie, for the graph that follows the log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby

from sqlalchemy import Connection, select

from silmari.catalog.changes import touched_since
from silmari.catalog.rules import chunks
from silmari.catalog.schema import documents, entities, passages, relations, statements
from silmari.catalog.words import Named, NamesChange

_NONE_TIED = (0, "")


def named(connection: Connection, ids: Collection[int] | None) -> Iterator[Named]:
    """Names of passages, of all if `ids` is None, by id; read a few thousand at a time."""
    statement = (
        select(
            passages.c.id,
            passages.c.names,
            documents.c.content_title,
            documents.c.title,
            passages.c.document_id,
        )
        .join(documents, documents.c.id == passages.c.document_id)
        .order_by(passages.c.id)
        .execution_options(yield_per=2_000)
    )
    parts = [None] if ids is None else list(chunks(sorted(ids)))
    for part in parts:
        tied = _tied(connection, part)
        number, keys = next(tied, _NONE_TIED)
        with connection.execute(statement if part is None else statement.where(passages.c.id.in_(part))) as rows:
            for row in rows:
                given = ""
                if number == row.id:
                    given = keys
                    number, keys = next(tied, _NONE_TIED)
                yield Named(row.id, row.names, "" if row.content_title else row.title, row.document_id, given)


def _tied(connection: Connection, ids: Collection[int] | None) -> Iterator[tuple[int, str]]:
    """Passages that state something, by id, each with the keys of the entities in it, sorted, joined by blanks."""
    subject, object_ = entities.alias(), entities.alias()
    statement = (
        select(statements.c.passage_id, subject.c.key, object_.c.key)
        .join(relations, relations.c.id == statements.c.relation_id)
        .join(subject, subject.c.id == relations.c.subject_id)
        .join(object_, object_.c.id == relations.c.object_id)
        .order_by(statements.c.passage_id)
        .execution_options(yield_per=2_000)
    )
    if ids is not None:
        statement = statement.where(statements.c.passage_id.in_(ids))
    # Closed also when it is not read to its end: a server keeps it open otherwise.
    with connection.execute(statement) as found:
        for number, rows in groupby(found, key=lambda row: row[0]):
            yield number, " ".join(sorted({key for row in rows for key in row[1:]}))


def names_since(connection: Connection, epoch: str, seq: int, limit: int) -> NamesChange | None:
    """The passages whose text or title changed after a change's number, or None if all must be read anew."""
    found = touched_since(connection, epoch, seq, limit, ("passage",))
    if found is None:
        return None
    now, touched = found
    return NamesChange(now, touched["passage"], tuple(named(connection, touched["passage"])))
