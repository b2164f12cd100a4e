"""Everything that is SQLite's own: the file, its settings, transactions, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError

from silmari.catalog.lease import Lease
from silmari.catalog.store import SQLITE, folder_problem
from silmari.errors import BusyError, KnowledgeBaseError, MissingBaseError

FILE_NAME = "silmari.sqlite"
BUSY_SECONDS = 30.0
_WRITE = "silmari_write"


class SqliteStore:
    """The database file of one base: many readers, one writer at a time, over threads and processes.

    Readers see the last committed state and never wait for the writer (WAL). What is committed is
    on the disk (synchronous FULL).
    """

    elsewhere = "name another folder with --kb"
    shares_work = False
    shown = SQLITE

    def __init__(self, folder: Path, *, create: bool, readonly: bool, busy_seconds: float = BUSY_SECONDS) -> None:
        """Open the file in `folder`, or make both.

        Raises:
            KnowledgeBaseError: There is no base and `create` is False, or it cannot be opened.
        """
        self.folder = folder
        self.path = folder / FILE_NAME
        self.place = str(self.path)
        self.readonly = readonly
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._make_folder(create and not readonly)
        # A folder that cannot be written has no room for WAL's index; without a log left behind, the
        # file alone is the whole truth.
        self._immutable = (
            readonly and not os.access(folder, os.W_OK) and not self.path.with_name(FILE_NAME + "-wal").exists()
        )
        # Not by URL: a path may hold '?' and '#'.
        self._engine: Engine = create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, pool_size=8, max_overflow=64
        )
        event.listen(self._engine, "begin", _begin)
        if not readonly:
            self._use_wal()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot."""
        with self._explained(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is committed at the end, or none.

        Raises:
            BusyError: Another process has been writing for too long.
            KnowledgeBaseError: The disk is full or failing, or the file is damaged.
        """
        self.assert_writable()
        with self._lock, self._explained(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection

    def check(self) -> str | None:
        """What is wrong with the file as a database, or None if it is sound; reads all of it."""
        try:
            with self.read() as connection:
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        except KnowledgeBaseError as error:
            return str(error)
        return None if found == "ok" else str(self._damaged(found))

    def assert_writable(self) -> None:
        """Do nothing.

        Raises:
            KnowledgeBaseError: The file was opened for reading only.
        """
        if self.readonly:
            raise KnowledgeBaseError(
                f"The knowledge base {self.folder} was opened for reading only; nothing was changed. "
                "To write, give yourself the right to write to the folder and its files."
            )

    def prepare(self, connection: Connection) -> None:
        """Do nothing: the file is there."""

    def missing(self) -> KnowledgeBaseError:
        """What to say of a file without tables."""
        return KnowledgeBaseError(
            f"The file {self.path} is empty: making the knowledge base was interrupted, or the file was damaged; "
            "add your documents again, or restore it from a copy."
        )

    def shares(self, queue: str) -> None:
        """None: one process at a time, the one with the lease, does all that waits."""

    def try_lease(self, name: str, timeout: float) -> Lease | None:
        """A lease in the base's folder, which all its processes share."""
        return Lease.try_take(self.folder, timeout=timeout, name=name)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _make_folder(self, create: bool) -> None:
        try:
            if create:
                self.folder.mkdir(parents=True, exist_ok=True)
            else:
                self.path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingBaseError(
                f"There is no knowledge base in {self.folder}; make one with: silmari add PATH --kb {self.folder}"
            ) from error
        except OSError as error:
            raise folder_problem(self.folder, error) from error

    def _connect(self) -> sqlite3.Connection:
        target = str(self.path)
        if self.readonly:
            target = self.path.absolute().as_uri() + ("?immutable=1" if self._immutable else "?mode=ro")
        connection = sqlite3.connect(
            target, uri=self.readonly, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -16384")  # KiB
        return connection

    def _use_wal(self) -> None:
        # Processes that switch a new file at the same moment get "locked" at once, without waiting.
        deadline = time.monotonic() + self._busy_seconds
        with self._explained():
            connection = self._engine.raw_connection()
            try:
                while True:
                    try:
                        connection.cursor().execute("PRAGMA journal_mode = WAL")
                        return
                    except sqlite3.OperationalError as error:
                        if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                            raise
                        time.sleep(0.05)
            finally:
                connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            explained = self._explain(cause) if isinstance(cause, sqlite3.Error) else None
            if explained is None:
                raise
            raise explained from error

    def _explain(self, error: sqlite3.Error) -> KnowledgeBaseError | None:
        """The error in plain words, or None for one that is our own fault."""
        kept = "everything that was reported done is kept"
        match _code(error):
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return BusyError(
                    f"Another process has been writing to the knowledge base {self.folder} for more than "
                    f"{self._busy_seconds:g} seconds; wait until it is done and run this again."
                )
            case sqlite3.SQLITE_FULL:
                return KnowledgeBaseError(
                    f"The disk with the knowledge base {self.folder} is full; {kept}. "
                    "Free some space and run this again."
                )
            case sqlite3.SQLITE_NOTADB:
                return KnowledgeBaseError(
                    f"The file {self.path} is not a knowledge base (it is no SQLite database, or its start is "
                    "damaged); name another folder with --kb, or restore the file from a copy."
                )
            case sqlite3.SQLITE_CORRUPT:
                return self._damaged(error)
            case sqlite3.SQLITE_ERROR if str(error).startswith("no such"):  # a table or column is gone
                return self._damaged(error)
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                return KnowledgeBaseError(
                    f"The knowledge base {self.folder} cannot be opened or written ({error}); check the rights of the "
                    "folder and of its files."
                )
            case sqlite3.SQLITE_IOERR:
                return KnowledgeBaseError(
                    f"The disk with the knowledge base {self.folder} cannot be read or written ({error}); {kept}. "
                    "Check the disk and its free space, and run this again."
                )
        return None

    def _damaged(self, finding: object) -> KnowledgeBaseError:
        return KnowledgeBaseError(
            f"The file {self.path} is damaged ({finding}); restore it from a copy, or delete the folder and add the "
            "documents again."
        )


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the write lock before the first read, so that what was read still holds when
    # it is written.
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
