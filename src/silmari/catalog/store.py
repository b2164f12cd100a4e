"""Where a catalog lies: what all databases have to offer, and how one is chosen by its URL."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection

from silmari.errors import KnowledgeBaseError, MissingExtraError, UsageError

SQLITE = "sqlite"
# In the folder of a base whose catalog lies elsewhere; it says where.
POINTER = "silmari.postgresql"


class Held(Protocol):
    """A right that one process has at a time."""

    def held(self) -> bool:
        """Whether it is still there: it may get lost with a connection."""

    def release(self) -> None:
        """Give it back; does nothing the second time."""


class Shares(Protocol):
    """Parts of the work that one process has for itself until it gives them back or ends."""

    def take(self, numbers: Collection[int]) -> set[int]:
        """Those of these parts that could be had: nobody else has them."""

    def release(self) -> None:
        """Give all of them back; does nothing the second time."""


class Store(Protocol):
    """The database of one base: many readers, one writer at a time, over threads and processes.

    Attributes:
        folder: Of the base.
        shown: Which database it is: ``sqlite``, or a URL without a password.
        place: Where the catalog is, as messages name it.
        elsewhere: How the user names another place.
        readonly: Whether it may not be written.
        shares_work: Whether processes share the work that waits; else one of them does all of it.
    """

    folder: Path
    shown: str
    place: str
    elsewhere: str
    readonly: bool
    shares_work: bool

    def read(self) -> AbstractContextManager[Connection]:
        """One consistent snapshot.

        Raises:
            KnowledgeBaseError: The database cannot be reached or read.
        """

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction: all of it is committed at the end, or none; others wait until then.

        Raises:
            BusyError: Another process has been writing for too long.
            KnowledgeBaseError: The database cannot be reached or written.
        """

    def assert_writable(self) -> None:
        """Do nothing.

        Raises:
            KnowledgeBaseError: It may only be read.
        """

    def prepare(self, connection: Connection) -> None:
        """Make what must be there before tables are made."""

    def missing(self) -> KnowledgeBaseError:
        """What to say where the tables are not there and shall not be made."""

    def check(self) -> str | None:
        """What is wrong with the database, or None if it is sound; reads all of it."""

    def shares(self, queue: str) -> Shares | None:
        """What work is divided by among processes; None where one process does all of it."""

    def try_lease(self, name: str, timeout: float) -> Held | None:
        """A right that one of all who use the database has at a time; None while another process has it."""

    def close(self) -> None:
        """Close all connections."""


def open_store(url: str, folder: Path, *, create: bool, readonly: bool) -> Store:
    """Open the database that a URL names.

    Args:
        url: ``sqlite``, or ``postgresql://…``; see docs/postgresql.md.
        folder: Of the base.
        create: Whether to make it where there is none.
        readonly: Never write.

    Raises:
        UsageError: The URL names no catalog.
        MissingExtraError: Its package is not installed.
        KnowledgeBaseError: It cannot be opened.
    """
    from silmari.catalog.sqlite import FILE_NAME, SqliteStore

    if url == SQLITE:
        _refuse_pointer(folder)
        return SqliteStore(folder, create=create, readonly=readonly)
    if not url.startswith(("postgresql:", "postgres:")):
        raise UsageError(
            "The setting catalog names no database that is known; it takes sqlite or "
            "postgresql://user@host:port/database (see docs/postgresql.md)."
        )
    if (folder / FILE_NAME).exists():
        raise KnowledgeBaseError(
            f"The folder {folder} holds a knowledge base with its own catalog in SQLite; name another folder with "
            "--kb for the one whose catalog is in PostgreSQL."
        )
    try:
        from silmari.catalog.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtraError(
            "A catalog in PostgreSQL needs the package psycopg: run pip install 'silmari[postgres]'."
        ) from error
    return PostgresStore(url, folder, readonly=readonly)


def point_to(folder: Path, place: str) -> None:
    """Make the folder of a base whose catalog is in PostgreSQL, and say there where that is.

    Raises:
        KnowledgeBaseError: The folder cannot be made or written.
    """
    says = f"The catalog of this knowledge base is {place}; what is here is derived from it and can be made anew.\n"
    pointer = folder / POINTER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not pointer.exists() or pointer.read_text("utf-8") != says:
            pointer.write_text(says, "utf-8")
    except OSError as error:
        raise folder_problem(folder, error) from error


def folder_problem(folder: Path, error: OSError) -> KnowledgeBaseError:
    """What to say where a base's folder cannot be made or entered."""
    return KnowledgeBaseError(
        f"The folder {folder} of the knowledge base cannot be used ({error.strerror or error}); "
        "check its rights, or name another with --kb."
    )


def _refuse_pointer(folder: Path) -> None:
    try:
        says = (folder / POINTER).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
    raise KnowledgeBaseError(f"{folder}: {says} Name that with SILMARI_CATALOG, or another folder with --kb.")
