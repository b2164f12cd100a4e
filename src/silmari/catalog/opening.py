"""What happens when a catalog is opened: tables are made or brought up to date, fingerprints are compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Connection

from silmari.catalog import migrations, rebuilding
from silmari.catalog.schema import get_meta
from silmari.catalog.store import Store
from silmari.errors import KnowledgeBaseError

_COMMANDS = {"embedder": "silmari reindex --embedder NAME"}


def prepare(
    store: Store, fingerprints: Mapping[str, str | None], file_time_dates: bool, *, make: bool, check: bool
) -> None:
    """Make or migrate the tables if need be, and compare what the base was built with."""
    try:
        # Reading first: an open must not wait for another process that is writing.
        with store.read() as connection:
            new = migrations.is_new(connection)
            old = not new and migrations.version(connection) < migrations.VERSION
        if new and not make:
            raise store.missing()
        if new or old:
            with store.write() as connection:
                if migrations.is_new(connection):
                    store.prepare(connection)
                    migrations.create(connection, fingerprints, file_time_dates)
                migrations.migrate(connection)
    except migrations.UnknownSchemaError as error:
        remedy = f"; {store.elsewhere}" if isinstance(error, migrations.ForeignDatabaseError) else ""
        raise KnowledgeBaseError(f"The knowledge base {store.place} {error}{remedy}.") from error
    with store.read() as connection:
        if check:
            compare(store.folder, fingerprints_of(connection), fingerprints)
        differs = get_meta(connection)["file_time_dates"] != str(int(file_time_dates))
    if differs and not store.readonly:
        with store.write() as connection:
            rebuilding.date_by_file_time(connection, file_time_dates)


def fingerprints_of(connection: Connection) -> dict[str, str]:
    """What the base was built with, by name."""
    prefix = "fingerprint."
    return {key.removeprefix(prefix): value for key, value in get_meta(connection).items() if key.startswith(prefix)}


def compare(folder: Path, stored: Mapping[str, str], given: Mapping[str, str | None]) -> None:
    """Do nothing if the base was built with what is given.

    Raises:
        KnowledgeBaseError: It was not.
    """
    for name, value in given.items():
        if value is not None and stored.get(name, value) != value:
            raise KnowledgeBaseError(
                f"The knowledge base {folder} was built with the {name} {stored[name]!r}, but is opened with "
                f"{value!r}; use the former, or rebuild it with: {_COMMANDS.get(name, 'silmari reindex')}"
            )
