"""Which passages, relations and entities wait for a vector, how vectors come in, and when they go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, insert, select, update

from silmari.catalog.changes import log
from silmari.catalog.rules import Rules, chunks
from silmari.catalog.schema import entities, get_meta, passages, relations, set_meta, vectors
from silmari.catalog.words import embedding_input
from silmari.errors import KnowledgeBaseError, ProviderError
from silmari.model import Kind, Passage, relation_text

# In the order in which they are embedded.
EMBEDDED: Mapping[Kind, Table] = {"passage": passages, "relation": relations, "entity": entities}
# What is embedded, and of which columns it is made.
_PARTS: Mapping[Kind, tuple[ColumnElement[str], ...]] = {
    "passage": (passages.c.context, passages.c.text),
    "relation": (relations.c.subject, relations.c.predicate, relations.c.object),
    "entity": (entities.c.name,),
}
_TEXTS: Mapping[Kind, Callable[..., str]] = {
    "passage": lambda context, text: embedding_input(Passage(text, text, context, {})),
    "relation": relation_text,
    "entity": str,
}
_READ_AHEAD = 500
_LENGTH_TOLERANCE = 0.01  # rounding 4,096 numbers to float16 moves the length by far less


def pending(
    connection: Connection, embedder: str, limit: int, allowed: Callable[[bytes], bool] = lambda text_hash: True
) -> list[tuple[bytes, str]]:
    """The next texts to embed as (hash, text), distinct, of those hashes that are allowed.

    Those of passages come first (tables, then the newest documents), then those of relations and of entities.
    """
    _check(connection, embedder)
    found: dict[bytes, str] = {}
    for kind, table in EMBEDDED.items():
        last = (-1, -1)
        while len(found) < limit:
            # By key and not by offset, so that many passages of the same text cost one pass.
            rows = connection.execute(
                select(table.c.waiting, table.c.id, table.c.text_hash, *_PARTS[kind])
                .where(
                    table.c.waiting.is_not(None),
                    table.c.waiting >= last[0],
                    (table.c.waiting > last[0]) | (table.c.id > last[1]),
                )
                .order_by(table.c.waiting, table.c.id)
                .limit(max(limit - len(found), _READ_AHEAD))
            ).all()
            if not rows:
                break
            for waiting, number, text_hash, *parts in rows:
                if len(found) < limit and text_hash not in found and allowed(text_hash):
                    found[text_hash] = _TEXTS[kind](*parts)
                last = (waiting, number)
    return list(found.items())


def count_pending(connection: Connection, kind: Kind) -> int:
    """How many items of a kind have no vector."""
    table = EMBEDDED[kind]
    return connection.execute(select(func.count()).select_from(table).where(table.c.waiting.is_not(None))).scalar_one()


def store(connection: Connection, embedder: str, found: Mapping[bytes, NDArray[Any]]) -> int:
    """Store vectors and log what has their texts; returns how many items (of any kind) got one.

    A text that nothing has any more is passed over.
    """
    _check(connection, embedder)
    blobs = _checked(connection, found)
    ready: dict[Kind, list[int]] = {kind: [] for kind in EMBEDDED}
    for chunk in chunks(blobs):
        # What waits does so exactly as long as its text has no vector, so these are new.
        wanted: dict[bytes, None] = {}
        for kind, table in EMBEDDED.items():
            there = (table.c.text_hash.in_(chunk), table.c.waiting.is_not(None))
            rows = connection.execute(select(table.c.id, table.c.text_hash).where(*there).order_by(table.c.id)).all()
            if rows:
                connection.execute(update(table).where(*there).values(waiting=None))
                wanted.update(dict.fromkeys(row.text_hash for row in rows))
                ready[kind].extend(row.id for row in rows)
        if wanted:
            connection.execute(
                insert(vectors), [{"embedder": embedder, "text_hash": key, "vector": blobs[key]} for key in wanted]
            )
    for kind, ids in ready.items():
        log(connection, kind, ids, "vector")
    return sum(map(len, ready.values()))


def with_vector(connection: Connection, rules: Rules, hashes: Collection[bytes]) -> set[bytes]:
    """Those hashes that have a vector of the base's embedder."""
    if rules.embedder is None:
        return set()
    return {
        found
        for chunk in chunks(hashes)
        for (found,) in connection.execute(
            select(vectors.c.text_hash).where(vectors.c.embedder == rules.embedder, vectors.c.text_hash.in_(chunk))
        )
    }


def forget_unused(connection: Connection, hashes: Iterable[bytes] | None = None) -> None:
    """Delete those vectors, of all if no hashes are named, whose text nothing has any more."""
    used = [exists().where(table.c.text_hash == vectors.c.text_hash) for table in EMBEDDED.values()]
    unused = delete(vectors).where(*(~one for one in used))
    if hashes is None:
        connection.execute(unused)
        return
    for chunk in chunks(hashes):
        connection.execute(unused.where(vectors.c.text_hash.in_(chunk)))


def read(connection: Connection, ids: Collection[int], kind: Kind = "passage") -> dict[int, NDArray[np.float16]]:
    """The vectors of items of a kind; those that have none are left out."""
    embedder = Rules.read(connection).embedder or ""
    table = EMBEDDED[kind]
    return {
        row.id: np.frombuffer(row.vector, np.float16)
        for chunk in chunks(ids)
        for row in connection.execute(
            select(table.c.id, vectors.c.vector)
            .join(vectors, vectors.c.text_hash == table.c.text_hash)
            .where(table.c.id.in_(chunk), vectors.c.embedder == embedder)
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
