"""The catalog: the only writer of truth, and the log that engines follow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, insert, select

from silmari.catalog import (
    changes,
    claims,
    filing,
    opening,
    queries,
    rebuilding,
    spending,
    vectors,
    writing,
)
from silmari.catalog.claims import SHARES, Claim
from silmari.catalog.reader import Reader
from silmari.catalog.relating import Relating
from silmari.catalog.rules import chunks, to_json
from silmari.catalog.schema import get_meta, replies, set_meta
from silmari.catalog.store import SQLITE, Held, open_store, point_to
from silmari.catalog.words import (
    FileInfo,
    FileState,
    Outcome,
    ReadDocument,
    storable,
)
from silmari.engine.base import Change, Standing
from silmari.model import Kind, Passage

T = TypeVar("T")


class Catalog(Reader, Relating):
    """The system of record of one base, in ``silmari.sqlite`` in its folder or in PostgreSQL.

    Every method is one transaction unless it says otherwise, and may be called from any thread.
    Other processes may read at any time; a second writer waits.
    """

    @classmethod
    def open(
        cls,
        folder: Path,
        fingerprints: Mapping[str, str | None],
        *,
        url: str = SQLITE,
        create: bool = True,
        check: bool = True,
        readonly: bool = False,
        file_time_dates: bool = False,
    ) -> Catalog:
        """Open a base's catalog, or make it.

        Args:
            folder: The folder of the base.
            fingerprints: Of ``embedder``, ``analyser`` and ``splitter``. One that is None or left
                out is not compared; a new base stores the others.
            url: Where the catalog is: ``sqlite``, in the folder, or ``postgresql://…``.
            create: Whether to make a base where there is none.
            check: Whether to compare the fingerprints.
            readonly: Never write; works in a folder without the right to write.
            file_time_dates: Whether the time of a file counts as its date for filters.

        Raises:
            UsageError: The URL names no catalog.
            MissingExtraError: Its package is not installed.
            KnowledgeBaseError: There is no base, it cannot be read, was written by a newer Silmari,
                or was built with another embedder, analyser or splitter.
            BusyError: Another process is writing, and it had to be waited for.
        """
        store = open_store(url, folder, create=create, readonly=readonly)
        try:
            opening.prepare(store, fingerprints, file_time_dates, make=create, check=check)
            if url != SQLITE:
                point_to(folder, store.place)
        except BaseException:
            store.close()
            raise
        return cls(store)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def assert_writable(self) -> None:
        """Do nothing.

        Raises:
            KnowledgeBaseError: The base was opened for reading only.
        """
        self._store.assert_writable()

    @property
    def shown(self) -> str:
        """Which database it is in: ``sqlite``, or a URL without a password."""
        return self._store.shown

    @property
    def readonly(self) -> bool:
        """Whether it may not be written."""
        return self._store.readonly

    def try_lease(self, name: str, timeout: float = 0.0) -> Held | None:
        """A right that one of all who use the catalog has at a time, on whatever machine; None while another has it.

        Args:
            name: ``engine``, to write to an engine that all share, or ``moving``.
            timeout: Seconds to wait for it.
        """
        return self._store.try_lease(name, timeout)

    @property
    def shares_work(self) -> bool:
        """Whether several processes embed and extract at once, each what it claimed."""
        return self._store.shares_work

    def check(self) -> str | None:
        """What is wrong with the database, or None if it is sound; reads all of it."""
        return self._store.check()

    # Identity

    def identity(self) -> tuple[str, str]:
        """The base's id and its log's epoch."""
        with self._store.read() as connection:
            meta = get_meta(connection)
        return meta["base"], meta["epoch"]

    def fingerprints(self) -> dict[str, str]:
        """What the base was built with, by name."""
        with self._store.read() as connection:
            return opening.fingerprints_of(connection)

    def set_fingerprint(self, name: str, value: str) -> None:
        """Store a fingerprint that was not known when the base was made.

        Raises:
            KnowledgeBaseError: The base has another one.
        """
        with self._store.write() as connection:
            if name not in opening.fingerprints_of(connection):
                set_meta(connection, f"fingerprint.{name}", value)
            opening.compare(self._store.folder, opening.fingerprints_of(connection), {name: value})

    # Files and documents in

    def begin_file(self, path: str, size: int, mtime_ns: int) -> FileState | None:
        """What is remembered of a file that did not change since, so that it need not be read; else None.

        Its status may be ``failed``: whether it is worth another try is the caller's to say.
        """
        state = self.file(path)
        return state if state is not None and (state.size, state.mtime_ns) == (size, mtime_ns) else None

    def file(self, path: str) -> FileState | None:
        """What is remembered of a file, readable or not."""
        with self._store.read() as connection:
            return queries.file_state(connection, path)

    def put_file(self, file: FileInfo, documents: Iterable[ReadDocument]) -> Outcome:
        """Store a file's documents in place of those of its former version.

        A document's version is stored in one transaction. A file of many records takes one for
        every 500; if that is interrupted, the file counts as unread, and what is stored stays.

        Raises:
            UnreadableError: A text holds half a surrogate pair, which no database takes.
        """
        path = storable(file.path)
        batches = chunks(documents, writing.DOCUMENTS_A_TRANSACTION)
        batch, following = next(batches, []), next(batches, [])
        before: bool | None = None
        changed, kept = False, set[str]()
        while True:
            with writing.written(self._store) as connection:
                if before is None:
                    before = bool(filing.uris_of(connection, path))
                filing.begin(connection, path)
                outcomes = writing.put(connection, path, batch)
                kept.update(outcomes)
                changed |= any(outcome != "unchanged" for outcome in outcomes.values())
                if not following:
                    changed |= filing.retain(connection, path, kept)
                    filing.finish(connection, file)
                    break
            batch, following = following, next(batches, [])
        if not before:
            return "added"
        return "updated" if changed else "unchanged"

    def put_records(self, documents: Iterable[ReadDocument]) -> dict[str, Outcome]:
        """Store records that come from no file, by uri (``record:ID``); 500 a transaction."""
        outcomes: dict[str, Outcome] = {}
        for batch in chunks(documents, writing.DOCUMENTS_A_TRANSACTION):
            with writing.written(self._store) as connection:
                outcomes |= writing.put(connection, None, batch)
        return outcomes

    def note_problem(
        self, path: str, size: int, mtime_ns: int, status: Literal["skipped", "failed"], reason: str
    ) -> None:
        """Remember that a file could not be read and why, so that it is listed and not tried again unchanged.

        If an earlier version of the file is stored, it stays searchable: a broken copy or a file
        caught half-written must not take away what was known. Remove the file to forget it.
        """
        with self._store.write() as connection:
            filing.note_problem(connection, path, size, mtime_ns, status, reason)

    def remove(self, uris: Iterable[str]) -> list[str]:
        """Remove files, records of files (``PATH#ID``) and other records; returns those that were there."""
        with self._store.write() as connection:
            return filing.remove(connection, uris)

    def uris_under(self, folder: str) -> list[str]:
        """The paths of all files under a folder, also of those that could not be read, sorted."""
        with self._store.read() as connection:
            return queries.files_under(connection, folder)

    def file_paths(self) -> list[str]:
        """The paths of all files, also of those that could not be read, sorted."""
        with self._store.read() as connection:
            return queries.file_paths(connection)

    # Vectors

    def pending_vectors(self, embedder: str, limit: int) -> list[tuple[bytes, str]]:
        """The next texts to embed as (hash, text), distinct.

        Passages first (tables, then the newest documents), then relations, then entities.
        """
        with self._store.read() as connection:
            return vectors.pending(connection, embedder, limit)

    def claim_vectors(self, embedder: str, limit: int) -> Claim[tuple[bytes, str]]:
        """The next texts to embed, as `pending_vectors` has them, that no other process is embedding."""
        return claims.claim(
            self._store,
            claims.VECTORS,
            lambda connection, allowed: vectors.pending(
                connection, embedder, limit, lambda text_hash: allowed(_share(text_hash))
            ),
            lambda item: _share(item[0]),
        )

    def count_pending(self, *kinds: Kind) -> int:
        """How many passages, relations and entities have no vector; of all kinds if none is named."""
        with self._store.read() as connection:
            return sum(vectors.count_pending(connection, kind) for kind in kinds or vectors.EMBEDDED)

    def store_vectors(self, embedder: str, found: Mapping[bytes, NDArray[Any]]) -> int:
        """Store vectors by hash, each of shape (dim,) and unit length; returns how many items got one.

        Raises:
            ProviderError: One is not finite, not of unit length or of another dimension; none is stored.
            KnowledgeBaseError: The base was built with another embedder.
        """
        with self._store.write() as connection:
            return vectors.store(connection, embedder, found)

    def vectors(self, ids: Collection[int], kind: Kind = "passage") -> dict[int, NDArray[np.float16]]:
        """The vectors of items of a kind, each of shape (dim,); those that have none are left out."""
        with self._store.read() as connection:
            return vectors.read(connection, ids, kind)

    # The log

    def changes(self, after: int, limit: int, *, whole: tuple[int, int] | None = None) -> list[Change]:
        """The next changes after number `after`, oldest first, with the records as they are now.

        For `whole` see `silmari.catalog.changes.read`.
        """
        with self._store.read() as connection:
            return changes.read(connection, after, limit, whole)

    def last_seq(self) -> int:
        """The number of the newest change, 0 if there is none."""
        with self._store.read() as connection:
            return changes.last_seq(connection)

    def count_changes(self, after: int) -> int:
        """How many changes there are after a number."""
        with self._store.read() as connection:
            return changes.count(connection, after)

    def standing(self) -> Standing:
        """Where the log stands, and the engine that the base lives on."""
        with self._store.read() as connection:
            return changes.standing(connection)

    def set_engine(self, url: str) -> None:
        """Say which engine the base lives on from now on, by a URL without secrets; other processes follow it there."""
        with self._store.write() as connection:
            set_meta(connection, "engine", url)

    def applying(self, place: str, before: int, after: int) -> None:
        """Note, before changes are sent to an engine, which numbers its watermark may have: see `Standing.applied`."""
        with self._store.write() as connection:
            changes.applying(connection, place, before, after)

    def new_epoch(self) -> None:
        """Start the log anew with what is there now; every engine will be rebuilt from it."""
        with self._store.write() as connection:
            changes.restart(connection)

    # Model replies

    def reply(self, model: str, key: str) -> Any | None:
        """The validated reply of a model that was kept under a key, or None."""
        with self._store.read() as connection:
            found = connection.execute(
                select(replies.c.reply).where(replies.c.model == model, replies.c.key == key)
            ).scalar_one_or_none()
        return None if found is None else json.loads(found)

    def put_reply(self, model: str, key: str, reply: Any) -> None:
        """Keep a reply (anything that JSON can hold) that was validated."""
        with self._store.write() as connection:
            connection.execute(delete(replies).where(replies.c.model == model, replies.c.key == key))
            connection.execute(
                insert(replies).values(model=model, key=key, reply=to_json(reply), created_at=int(time.time()))
            )

    def usage(self) -> dict[str, dict[str, float]]:
        """What was counted of the calls of each model, by its name, since the base was made."""
        with self._store.read() as connection:
            return spending.read(connection)

    def add_usage(self, model: str, counts: Mapping[str, float]) -> None:
        """Add to the counts of a model."""
        with self._store.write() as connection:
            spending.add(connection, model, counts)

    # Rebuilding; open the base without the fingerprints that change

    def change_embedder(self, fingerprint: str) -> None:
        """Use another embedder from now on: passages wait for its vectors, and a new epoch begins.

        The vectors of the former embedder are kept until `forget_vectors`, so that going back is free.
        """
        with self._store.write() as connection:
            rebuilding.change_embedder(connection, fingerprint)

    def forget_vectors(self, embedder: str) -> None:
        """Delete the vectors of an embedder; passages wait again if it is the base's own."""
        with self._store.write() as connection:
            rebuilding.forget_vectors(connection, embedder)

    def change_splitter(self, fingerprint: str) -> None:
        """Use another splitter from now on: the next add reads and splits every file again.

        Until then, and for files that are gone, the former passages stay searchable.
        """
        with self._store.write() as connection:
            rebuilding.change_splitter(connection, fingerprint)

    def retokenise(
        self,
        fingerprint: str,
        analyse: Callable[[Passage], tuple[str, str]],
        analyse_name: Callable[[str], str],
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Use another analyser: every passage and name gets its tokens, all at once at the end.

        Resumable: a call that was interrupted goes on where it was; until the end the base works as before.
        Then a new epoch begins.

        Args:
            fingerprint: Of the other analyser.
            analyse: Tokens and names of a passage, each joined by single blanks.
            analyse_name: Tokens of a title that comes from a file's name.
            on_progress: Called with the passages that are done and their total.
        """
        rebuilding.retokenise(self._store, fingerprint, analyse, analyse_name, on_progress)


def _share(text_hash: bytes) -> int:
    return int.from_bytes(text_hash[:2], "big") % SHARES
