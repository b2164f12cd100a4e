"""Which passages wait for a vector, and how vectors come in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select, update

from silmari.catalog.changes import log
from silmari.catalog.rules import Rules, chunks
from silmari.catalog.schema import get_meta, passages, set_meta, vectors
from silmari.catalog.words import embedding_input
from silmari.errors import KnowledgeBaseError, ProviderError
from silmari.model import Passage

_READ_AHEAD = 500
_LENGTH_TOLERANCE = 0.01  # rounding 4,096 numbers to float16 moves the length by far less


def pending(connection: Connection, embedder: str, limit: int) -> list[tuple[bytes, str]]:
    """The next texts to embed as (hash, text), distinct: tables first, then the newest documents."""
    _check(connection, embedder)
    found: dict[bytes, str] = {}
    last = (-1, -1)
    while len(found) < limit:
        # By key and not by offset, so that many passages of the same text cost one pass.
        rows = connection.execute(
            select(passages.c.waiting, passages.c.id, passages.c.text_hash, passages.c.context, passages.c.text)
            .where(
                passages.c.waiting.is_not(None),
                passages.c.waiting >= last[0],
                (passages.c.waiting > last[0]) | (passages.c.id > last[1]),
            )
            .order_by(passages.c.waiting, passages.c.id)
            .limit(max(limit, _READ_AHEAD))
        ).all()
        if not rows:
            break
        for row in rows:
            if len(found) < limit and row.text_hash not in found:
                found[row.text_hash] = embedding_input(Passage(row.text, row.text, row.context, {}))
        last = (rows[-1].waiting, rows[-1].id)
    return list(found.items())


def count_pending(connection: Connection) -> int:
    """How many passages have no vector."""
    return connection.execute(
        select(func.count()).select_from(passages).where(passages.c.waiting.is_not(None))
    ).scalar_one()


def store(connection: Connection, embedder: str, found: Mapping[bytes, NDArray[Any]]) -> int:
    """Store vectors and log the passages that have their texts; returns how many passages got one.

    A text that no passage has any more is passed over.
    """
    _check(connection, embedder)
    blobs = _checked(connection, found)
    embedded: list[int] = []
    for chunk in chunks(blobs):
        rows = connection.execute(
            select(passages.c.id, passages.c.text_hash)
            .where(passages.c.text_hash.in_(chunk), passages.c.waiting.is_not(None))
            .order_by(passages.c.id)
        ).all()
        # A passage waits exactly as long as its text has no vector, so these are new.
        wanted = dict.fromkeys(row.text_hash for row in rows)
        if not wanted:
            continue
        connection.execute(
            insert(vectors), [{"embedder": embedder, "text_hash": key, "vector": blobs[key]} for key in wanted]
        )
        connection.execute(
            update(passages)
            .where(passages.c.text_hash.in_(list(wanted)), passages.c.waiting.is_not(None))
            .values(waiting=None)
        )
        embedded.extend(row.id for row in rows)
    log(connection, embedded, "vector")
    return len(embedded)


def read(connection: Connection, ids: Collection[int]) -> dict[int, NDArray[np.float16]]:
    """The vectors of passages; those that have none are left out."""
    embedder = Rules.read(connection).embedder or ""
    return {
        row.id: np.frombuffer(row.vector, np.float16)
        for chunk in chunks(ids)
        for row in connection.execute(
            select(passages.c.id, vectors.c.vector)
            .join(vectors, vectors.c.text_hash == passages.c.text_hash)
            .where(passages.c.id.in_(chunk), vectors.c.embedder == embedder)
        )
    }


def _check(connection: Connection, embedder: str) -> None:
    stored = Rules.read(connection).embedder
    if stored != embedder:
        raise KnowledgeBaseError(
            f"The knowledge base was built with the embedder {stored!r}, not {embedder!r}; "
            "rebuild it with: silmari reindex --embedder NAME"
        )


def _checked(connection: Connection, found: Mapping[bytes, NDArray[Any]]) -> dict[bytes, bytes]:
    """The vectors as bytes, if they are sound: finite, of unit length, of the base's dimension."""
    known = get_meta(connection).get("dimension")
    dimension = None if known is None else int(known)
    blobs = {}
    for key, vector in found.items():
        half = np.asarray(vector, np.float16)
        if half.ndim != 1 or not half.size:
            raise ProviderError(f"The embedder returned an array of shape {half.shape} instead of a vector.")
        if dimension is None:
            dimension = half.size
        if half.size != dimension:
            raise ProviderError(
                f"The embedder returned a vector of {half.size} numbers where this knowledge base has {dimension}; "
                "use the model that it was built with, or: silmari reindex --embedder NAME"
            )
        length = float(np.linalg.norm(half.astype(np.float32)))
        if not abs(length - 1) <= _LENGTH_TOLERANCE:  # also true for NaN
            raise ProviderError(f"The embedder returned a vector of length {length:g} instead of 1.")
        blobs[key] = half.tobytes()
    if known is None and dimension is not None:
        set_meta(connection, "dimension", str(dimension))
    return blobs
