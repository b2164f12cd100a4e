"""How a database becomes one of this version: made anew, or brought up step by step."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, insert, inspect, text

from silmari.catalog.schema import counters, get_meta, metadata, set_meta

Migration = Callable[[Connection], None]


def _names(connection: Connection) -> None:
    """Names of passages; they are filled by the reindex that the newer analyser asks for."""
    for table in ("passages", "staged_tokens"):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN names TEXT NOT NULL DEFAULT ''"))


# MIGRATIONS[i] brings version i + 1 to version i + 2. A fresh database is made as `schema` has it.
MIGRATIONS: tuple[Migration, ...] = (_names,)
VERSION = 1 + len(MIGRATIONS)


class UnknownSchemaError(ValueError):
    """The tables are none that this version knows; the message lacks its subject, the file."""


def is_new(connection: Connection) -> bool:
    """True for a database without any table.

    Raises:
        UnknownSchemaError: It has tables, but not those of a knowledge base.
    """
    tables = inspect(connection).get_table_names()
    if tables and "meta" not in tables:
        raise UnknownSchemaError("is the database of another program; name another folder with --kb")
    return not tables


def create(connection: Connection, fingerprints: Mapping[str, str | None], file_time_dates: bool) -> None:
    """Make all tables and give the base its identity."""
    metadata.create_all(connection)
    connection.execute(insert(counters), [{"name": name, "value": 0} for name in ("document", "passage", "change")])
    values = {
        "schema_version": str(VERSION),
        "base": str(uuid.uuid4()),
        "epoch": str(uuid.uuid4()),
        "file_time_dates": str(int(file_time_dates)),
    }
    values |= {f"fingerprint.{name}": value for name, value in fingerprints.items() if value is not None}
    for key, value in values.items():
        set_meta(connection, key, value)


def version(connection: Connection, known: int = VERSION) -> int:
    """The schema version of the database.

    Raises:
        UnknownSchemaError: It is newer than `known`, or not to be found out.
    """
    try:
        found = int(get_meta(connection)["schema_version"])
    except (KeyError, ValueError):
        raise UnknownSchemaError("does not say its version, so it is damaged; restore it from a copy") from None
    if found > known:
        raise UnknownSchemaError(
            f"was written by a newer Silmari (schema {found}, this one knows {known}); "
            "upgrade with pip install -U silmari"
        )
    return found


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring an older database to the newest version, inside the caller's transaction."""
    found = version(connection, 1 + len(migrations))
    for step in migrations[found - 1 :]:
        step(connection)
    set_meta(connection, "schema_version", str(1 + len(migrations)))
