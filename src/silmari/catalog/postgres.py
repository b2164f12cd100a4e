"""Everything that is PostgreSQL's own: connections, transactions, locks, and a schema for our tables."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from silmari.catalog import postgres_address, postgres_errors
from silmari.catalog.schema import metadata, shares
from silmari.catalog.store import Held, Shares
from silmari.errors import BusyError, KnowledgeBaseError, MissingBaseError

BUSY_SECONDS = 30.0
_BEGIN = "silmari_begin"
_CONNECT_SECONDS = 10
# A machine that vanished gives back what it held after a minute, and not after two hours as systems have it.
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SERVER_KEEPALIVES = "; ".join(f"SET tcp_{name} = {value}" for name, value in _KEEPALIVES.items())


class PostgresStore:
    """The schema of one base in a database of PostgreSQL.

    Readers see the last committed state and never wait. Writers take turns, by a lock that ends with their
    transaction: so numbers are given in the order of commits, and what was read still holds when it is written.
    """

    elsewhere = "name another schema with ?schema=NAME in the catalog's URL"
    shares_work = True

    def __init__(self, url: str, folder: Path, *, readonly: bool, busy_seconds: float = BUSY_SECONDS) -> None:
        """Connect to the server.

        Raises:
            UsageError: The URL is wrong.
            KnowledgeBaseError: The server cannot be reached, does not let the user in, or has no such database.
        """
        self.address = postgres_address.parse(url)
        self.folder = folder
        self.place = self.shown = self.address.shown
        self.readonly = self._asked = readonly
        self._busy_seconds = busy_seconds
        path = f'SET LOCAL search_path TO "{self.address.schema}"'
        self._reading = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {path}"
        # The lock comes in a statement of its own, before the first that takes a snapshot.
        self._writing = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; {path}; SET LOCAL lock_timeout = {int(busy_seconds * 1000)}; "
            f"SELECT pg_advisory_xact_lock({self._lock_number('write')})"
        )
        self._sharing = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; {path}; SET LOCAL idle_in_transaction_session_timeout = 0"
        )
        self._engine: Engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=5,
            max_overflow=15,
            pool_timeout=busy_seconds,
            use_native_hstore=False,
        )
        event.listen(self._engine, "begin", _begin)
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot."""
        with self._explained(), self._begun(self._reading) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is committed at the end, or none.

        Raises:
            BusyError: Another process has been writing for too long.
            KnowledgeBaseError: The server cannot be reached, or its disk is full.
        """
        self.assert_writable()
        with self._explained(), self._begun(self._writing) as connection:
            yield connection

    def check(self) -> str | None:
        """What is wrong with the tables, or None if all of them can be read."""
        try:
            with self.read() as connection:
                for table in metadata.sorted_tables:
                    connection.execute(select(func.count()).select_from(table))
        except KnowledgeBaseError as error:
            return str(error)
        return None

    def assert_writable(self) -> None:
        """Do nothing.

        Raises:
            KnowledgeBaseError: The user may only read, or asked for it.
        """
        if self._asked:
            raise KnowledgeBaseError(
                f"The catalog {self.place} was opened for reading only; nothing was changed. Open it to write."
            )
        if self.readonly:
            raise KnowledgeBaseError(
                f"The catalog {self.place} can only be read by this user or from this server; nothing was changed. "
                f"To write, ask for the right to write to the schema {self.address.schema} of the primary server."
            )

    def prepare(self, connection: Connection) -> None:
        """Make the schema.

        Raises:
            KnowledgeBaseError: The user has no right to, or the database takes no Korean.
        """
        encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
        if encoding != "UTF8":
            raise KnowledgeBaseError(
                f"The database of the catalog {self.place} has the encoding {encoding}, which lacks most letters; make "
                "another with: createdb --encoding UTF8 --template template0 NAME"
            )
        # Not by IF NOT EXISTS: that needs the right to make one, also where it exists.
        if self._check_schema(connection, "CREATE"):
            return
        schema = self.address.schema
        try:
            connection.exec_driver_sql(f'CREATE SCHEMA "{schema}"')
        except DBAPIError as error:
            if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                user = _user(connection)
                raise KnowledgeBaseError(
                    f"The user {user} may not make a schema in the database of the catalog {self.place}; ask its owner "
                    f'for: CREATE SCHEMA "{schema}" AUTHORIZATION "{user}"'
                ) from error
            raise

    def missing(self) -> KnowledgeBaseError:
        """What to say where there are no tables."""
        return MissingBaseError(
            f"There is no knowledge base in {self.place}; make one with: silmari add PATH --kb {self.folder} (and "
            "SILMARI_CATALOG as it is)"
        )

    def shares(self, queue: str) -> Shares:
        """Parts of a queue that belong to one process until it is done with them, or gone."""
        return _RowLocks(queue, self._begin_sharing)

    def try_lease(self, name: str, timeout: float) -> Held | None:
        """A right that one process has at a time, over all machines; it ends with its connection.

        Args:
            name: Of the right.
            timeout: Seconds to wait for it.
        """
        number = self._lock_number(name)
        deadline = time.monotonic() + timeout
        with self._explained():
            connection = self._connect()
            try:
                while not connection.execute(f"SELECT pg_try_advisory_lock({number})").fetchone() == (True,):
                    if (left := deadline - time.monotonic()) <= 0:
                        connection.close()
                        return None
                    time.sleep(min(0.1, left))
            except BaseException:
                connection.close()
                raise
        return _ConnectionLease(connection)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _look(self) -> None:
        """Find out whether this user may write here."""
        with self.read() as connection:
            self._check_schema(connection, "USAGE")
            standby = connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one()
            may = connection.execute(text("SELECT has_table_privilege(to_regclass('counters'), 'UPDATE')")).scalar_one()
        # Where the table is not there, it may be made.
        self.readonly |= standby or may is False

    def _begin_sharing(self) -> Connection:
        with self._explained():
            return self._beginning(self._sharing)

    def _check_schema(self, connection: Connection, right: str) -> bool:
        """Whether the schema is there.

        Raises:
            KnowledgeBaseError: It is, but this user lacks a right to it.
        """
        name = {"name": self.address.schema}
        row = connection.execute(
            text(f"SELECT current_user, has_schema_privilege(oid, '{right}') FROM pg_namespace WHERE nspname = :name"),
            name,
        ).one_or_none()
        if row is not None and not row[1]:
            raise KnowledgeBaseError(
                f"The user {row[0]} has no right to the schema of the catalog {self.place}; ask its owner for: "
                f'GRANT {right} ON SCHEMA "{self.address.schema}" TO "{row[0]}", or {self.elsewhere}.'
            )
        return row is not None

    def _lock_number(self, purpose: str) -> int:
        digest = hashlib.sha256(f"silmari/{purpose}/{self.address.schema}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _connect(self) -> psycopg.Connection[Any]:
        parameters: dict[str, Any] = {
            "connect_timeout": _CONNECT_SECONDS,
            "fallback_application_name": "silmari",
            **_KEEPALIVES,
            **self.address.parameters,
            "client_encoding": "utf8",
        }
        # Transactions are begun by us, each in its own way.
        connection = psycopg.connect(**parameters, autocommit=True)
        connection.execute(_SERVER_KEEPALIVES)
        return connection

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Connection]:
        connection = self._beginning(begin)
        try:
            transaction = connection.get_transaction()
            assert transaction is not None
            with transaction:
                yield connection
        finally:
            connection.close()

    def _beginning(self, begin: str) -> Connection:
        """A connection with a transaction that has begun; one that broke off while it was idle is replaced."""
        for attempt in (1, 2):
            connection = self._engine.connect().execution_options(**{_BEGIN: begin})
            try:
                connection.begin()
            except BaseException as error:
                connection.close()
                # With the first that is found broken, the pool throws away all that are as old.
                if attempt == 1 and isinstance(error, DBAPIError) and error.connection_invalidated:
                    continue
                raise
            return connection
        raise AssertionError("a connection was made, or an error was raised")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, psycopg.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            explained = None if cause is None else postgres_errors.explain(cause, self.address, self._busy_seconds)
            if explained is None:
                raise
            raise explained from error
        except PoolTimeoutError as error:
            raise BusyError(
                f"This program asks the catalog {self.place} too much at once; wait a moment and run this again."
            ) from error


class _RowLocks:
    """Shares of a queue, locked as rows in a transaction of their own: they are free when it or its process ends."""

    def __init__(self, queue: str, begin: Callable[[], Connection]) -> None:
        self._queue = queue
        self._connection: Connection | None = begin()

    def take(self, numbers: Collection[int]) -> set[int]:
        """Those of these shares that nobody has."""
        if self._connection is None or not numbers:
            return set()
        return set(
            self._connection.execute(
                select(shares.c.number)
                .where(shares.c.queue == self._queue, shares.c.number.in_(numbers))
                .with_for_update(skip_locked=True)
            ).scalars()
        )

    def release(self) -> None:
        """End the transaction."""
        connection, self._connection = self._connection, None
        if connection is not None:
            # A connection that broke off has given them back already.
            with suppress(SQLAlchemyError):
                connection.rollback()
            with suppress(SQLAlchemyError):
                connection.close()


class _ConnectionLease:
    """A lock of a session, which ends when its connection does."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def held(self) -> bool:
        """Whether the connection still stands."""
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def release(self) -> None:
        """Give it back."""
        self._connection.close()


def _user(connection: Connection) -> str:
    """Who is connected; also in a transaction that has failed."""
    plain: Any = connection.connection.dbapi_connection
    return str(plain.info.user)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()[_BEGIN])
