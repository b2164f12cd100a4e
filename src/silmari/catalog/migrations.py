"""How a database becomes one of this version: made anew, or brought up step by step."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, insert, inspect, text

from silmari.catalog.claims import QUEUES, SHARES
from silmari.catalog.facts import restate_all
from silmari.catalog.rules import Rules
from silmari.catalog.schema import COUNTERS, counters, get_meta, metadata, set_meta, shares

Migration = Callable[[Connection], None]


def _names(connection: Connection) -> None:
    """Names of passages; they are filled by the reindex that the newer analyser asks for."""
    for table in ("passages", "staged_tokens"):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN names TEXT NOT NULL DEFAULT ''"))


def _facts(connection: Connection) -> None:
    """Relations and entities; those of documents that brought triplets are made from them at the end."""
    for statement in _FACTS.split(";"):
        connection.execute(text(statement))
    connection.execute(insert(counters), [{"name": name, "value": 0} for name in ("relation", "entity")])
    connection.execute(text("UPDATE documents SET relations = 'given' WHERE triplets <> '[]'"))


_FACTS = """
ALTER TABLE documents ADD COLUMN relations VARCHAR(10) DEFAULT 'sentences' NOT NULL;
ALTER TABLE sources ADD COLUMN relations VARCHAR(10);
ALTER TABLE passages ADD COLUMN unextracted BIGINT;
CREATE INDEX ix_passages_unextracted ON passages (unextracted, id) WHERE unextracted IS NOT NULL;
CREATE TABLE entities (
    id BIGINT NOT NULL PRIMARY KEY, "key" TEXT NOT NULL UNIQUE, name TEXT NOT NULL, text_hash BLOB NOT NULL,
    waiting BIGINT);
CREATE INDEX ix_entities_text_hash ON entities (text_hash);
CREATE INDEX ix_entities_waiting ON entities (waiting, id) WHERE waiting IS NOT NULL;
CREATE TABLE spellings (
    entity_id BIGINT NOT NULL REFERENCES entities (id), name TEXT NOT NULL, uses BIGINT NOT NULL,
    PRIMARY KEY (entity_id, name));
CREATE TABLE relations (
    id BIGINT NOT NULL PRIMARY KEY, identity BLOB NOT NULL UNIQUE,
    subject_id BIGINT NOT NULL REFERENCES entities (id), object_id BIGINT NOT NULL REFERENCES entities (id),
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, text_hash BLOB NOT NULL, waiting BIGINT);
CREATE INDEX ix_relations_subject_id ON relations (subject_id);
CREATE INDEX ix_relations_object_id ON relations (object_id);
CREATE INDEX ix_relations_text_hash ON relations (text_hash);
CREATE INDEX ix_relations_waiting ON relations (waiting, id) WHERE waiting IS NOT NULL;
CREATE TABLE statements (
    relation_id BIGINT NOT NULL REFERENCES relations (id), passage_id BIGINT NOT NULL REFERENCES passages (id),
    origin VARCHAR(5) NOT NULL, PRIMARY KEY (relation_id, passage_id, origin));
CREATE INDEX ix_statements_passage_id ON statements (passage_id);
CREATE TABLE attached (uri TEXT NOT NULL PRIMARY KEY, triplets TEXT NOT NULL);
CREATE TABLE extracted (
    passage_id BIGINT NOT NULL PRIMARY KEY REFERENCES passages (id), triplets TEXT NOT NULL);
CREATE TABLE extraction_failures (
    passage_id BIGINT NOT NULL PRIMARY KEY REFERENCES passages (id), reason TEXT NOT NULL);
CREATE TABLE aliases (
    key_a TEXT NOT NULL, key_b TEXT NOT NULL, same BOOLEAN NOT NULL, PRIMARY KEY (key_a, key_b))
"""

# MIGRATIONS[i] brings version i + 1 to version i + 2. A fresh database is made as `schema` has it. The first two
# are in SQLite's words: no catalog was older in PostgreSQL.
MIGRATIONS: tuple[Migration, ...] = (_names, _facts)
VERSION = 1 + len(MIGRATIONS)
_FIRST_WITH_FACTS = 3
_OURS = {"meta", "counters", "changes"}


class UnknownSchemaError(ValueError):
    """The tables are none that this version knows; the message lacks its subject, the file."""


class ForeignDatabaseError(UnknownSchemaError):
    """The tables are another program's."""


def is_new(connection: Connection) -> bool:
    """True for a database without any table.

    Raises:
        UnknownSchemaError: It has tables, but not those of a knowledge base.
    """
    tables = set(inspect(connection).get_table_names())
    if tables and not tables >= _OURS:
        raise ForeignDatabaseError("is the database of another program")
    return not tables


def create(connection: Connection, fingerprints: Mapping[str, str | None], file_time_dates: bool) -> None:
    """Make all tables and give the base its identity."""
    dialect = connection.dialect.name
    tables = [table for table in metadata.sorted_tables if table.info.get("only", dialect) == dialect]
    metadata.create_all(connection, tables)
    if shares in tables:
        rows = [{"queue": queue, "number": number} for queue in QUEUES for number in range(SHARES)]
        connection.execute(insert(shares), rows)
    connection.execute(insert(counters), [{"name": name, "value": 0} for name in COUNTERS])
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
    if found < _FIRST_WITH_FACTS <= 1 + len(migrations):
        # Only now, when the tables are those that today's code knows.
        restate_all(connection, Rules.read(connection))
    set_meta(connection, "schema_version", str(1 + len(migrations)))
