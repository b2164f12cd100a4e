"""A cache of vectors by content, shared by all knowledge bases of a user.

It only saves time: whatever is wrong with it, the work goes on without it.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FILE_NAME = "vectors.sqlite"
_BATCH = 500  # SQLite allows 999 parameters in its oldest builds
_TABLES = (
    "CREATE TABLE IF NOT EXISTS embedders (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS vectors (embedder INTEGER NOT NULL, text_hash BLOB NOT NULL, vector BLOB NOT NULL,"
    " PRIMARY KEY (embedder, text_hash))",
)


def text_hash(text: str) -> bytes:
    """The 16 bytes that stand for an embedder's exact input: BLAKE2b of its UTF-8."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """Vectors keyed by (embedder fingerprint, hash of the text), in one SQLite file.

    Safe with several threads and processes. A cache that is corrupt, locked or not writable is
    passed over: reads find nothing, writes do nothing, and `problem` says why.

    Attributes:
        problem: One sentence about what is wrong with the cache, or None.
    """

    def __init__(self, folder: Path, *, timeout: float = 10.0) -> None:
        """Open, or create, ``vectors.sqlite`` in `folder`; never raises for a bad file or folder.

        Args:
            folder: The cache folder (the setting ``cache``); made if it does not exist.
            timeout: Seconds to wait for another process that is writing.
        """
        self.path = folder / FILE_NAME
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with self._tolerated():
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            self._prepare(self._connection)

    def get_many(self, fingerprint: str, hashes: Iterable[bytes]) -> dict[bytes, NDArray[np.float16]]:
        """The vectors that are known, by hash; each of shape (dim,), float16."""
        wanted = list(dict.fromkeys(hashes))
        found: dict[bytes, NDArray[np.float16]] = {}
        with self._lock, self._tolerated():
            if self._connection is None:
                return found
            for start in range(0, len(wanted), _BATCH):
                batch = wanted[start : start + _BATCH]
                rows = self._connection.execute(
                    "SELECT text_hash, vector FROM vectors JOIN embedders ON embedders.id = vectors.embedder"
                    f" WHERE fingerprint = ? AND text_hash IN ({','.join('?' * len(batch))})",
                    (fingerprint, *batch),
                )
                found.update((key, np.frombuffer(blob, np.float16)) for key, blob in rows if len(blob) % 2 == 0)
        return found

    def put_many(self, fingerprint: str, vectors: Mapping[bytes, NDArray[Any]]) -> None:
        """Keep vectors, each of shape (dim,); those that are not finite as float16 are left out."""
        rows = []
        for key, vector in vectors.items():
            with np.errstate(over="ignore"):
                half = np.asarray(vector, np.float16)
            if half.size and np.isfinite(half).all():
                rows.append((key, half.tobytes()))
        with self._lock, self._tolerated():
            if self._connection is None or not rows:
                return
            with _transaction(self._connection):
                self._connection.execute("INSERT OR IGNORE INTO embedders (fingerprint) VALUES (?)", (fingerprint,))
                (embedder,) = self._connection.execute(
                    "SELECT id FROM embedders WHERE fingerprint = ?", (fingerprint,)
                ).fetchone()
                self._connection.executemany(
                    f"INSERT OR IGNORE INTO vectors (embedder, text_hash, vector) VALUES ({embedder:d}, ?, ?)", rows
                )

    def close(self) -> None:
        """Close the file; afterwards the cache is empty and takes nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _prepare(connection: sqlite3.Connection) -> None:
        # Two processes that switch a new file to WAL at once do not wait for each other: the loser
        # goes on, since the winner's switch holds for the file.
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        connection.execute("PRAGMA synchronous = NORMAL")
        known = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'vectors'").fetchone()[0]
        if not known:
            with _transaction(connection):
                for statement in _TABLES:
                    connection.execute(statement)

    @contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.problem = f"The cache of vectors {self.path} is not used: {error}."
            broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
            if broken and self._connection is not None:  # corrupt: never ask it again
                self._connection.close()
                self._connection = None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
