"""What is remembered of files, so that an unchanged one is not read again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, or_, select, update

from silmari.catalog import writing
from silmari.catalog.rules import chunks, to_json
from silmari.catalog.schema import files, sources
from silmari.catalog.words import FileInfo, storable

_UNREAD = -1


def begin(connection: Connection, path: str) -> None:
    """Mark a file as being stored: until `finish`, it counts as one that must be read again."""
    _write(connection, path, size=_UNREAD, mtime_ns=_UNREAD, sha256=None, status="ok", reason=None, notes="[]")


def finish(connection: Connection, file: FileInfo) -> None:
    """Mark a file as stored completely."""
    _write(
        connection,
        storable(file.path),
        size=file.size,
        mtime_ns=file.mtime_ns,
        sha256=file.sha256,
        status="ok",
        reason=None,
        notes=to_json(file.notes),
    )


def note_problem(
    connection: Connection, path: str, size: int, mtime_ns: int, status: Literal["skipped", "failed"], reason: str
) -> None:
    """Remember why a file was not read; what an earlier version of it holds stays."""
    _write(connection, storable(path), size=size, mtime_ns=mtime_ns, status=status, reason=reason)


def uris_of(connection: Connection, path: str) -> set[str]:
    """The uris of all documents that come from a file."""
    return set(connection.execute(select(sources.c.uri).where(sources.c.path == path)).scalars())


def remove(connection: Connection, uris: Iterable[str]) -> list[str]:
    """Remove files, records of files (``PATH#ID``) and records of the API; returns those that were there.

    A file that loses one of its records is no longer complete, and is read again by the next add.
    """
    removed: list[str] = []
    for chunk in chunks(dict.fromkeys(map(storable, uris))):
        paths = set(connection.execute(select(files.c.path).where(files.c.path.in_(chunk))).scalars())
        rows = connection.execute(
            select(sources.c.uri, sources.c.path).where(or_(sources.c.uri.in_(chunk), sources.c.path.in_(paths)))
        ).all()
        writing.take_away(connection, [row.uri for row in rows])
        connection.execute(delete(files).where(files.c.path.in_(paths)))
        torn = {row.path for row in rows if row.path is not None} - paths
        forget_versions(connection, torn)
        there = paths | {row.uri for row in rows}
        removed.extend(uri for uri in chunk if uri in there)
    return removed


def forget_versions(connection: Connection, paths: Iterable[str] | None = None) -> None:
    """Let files be read again by the next add, all of them if none are named."""
    unread = update(files).values(size=_UNREAD, mtime_ns=_UNREAD, sha256=None)
    if paths is None:
        connection.execute(unread)
        return
    for chunk in chunks(paths):
        connection.execute(unread.where(files.c.path.in_(chunk)))


def _write(connection: Connection, path: str, **values: Any) -> None:
    if not connection.execute(update(files).where(files.c.path == path).values(values)).rowcount:
        values = {"sha256": None, "notes": "[]", **values}
        connection.execute(insert(files).values(path=path, added_at=int(time.time()), **values))


def retain(connection: Connection, path: str, kept: Sequence[str] | set[str]) -> bool:
    """Remove the documents of a file that it no longer holds; True if there were any."""
    gone = uris_of(connection, path) - set(kept)
    writing.take_away(connection, sorted(gone))
    return bool(gone)
