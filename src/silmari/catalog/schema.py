"""The tables of the catalog, version `VERSION`; portable SQL only.

Numbers of documents, passages, relations, entities and changes come from `counters`, taken inside the write
transaction: so they are never given twice, and the log's order is the order of commits.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    insert,
    select,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

metadata = MetaData()


class _Words(TypeDecorator[str]):
    """Text that every database orders by code points, as Python does; a NUL, which PostgreSQL refuses, is replaced."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """With its order."""
        return dialect.type_descriptor(Text(collation="C") if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Without what cannot be stored."""
        return value if value is None or "\0" not in value else value.replace("\0", "\ufffd")


# base, epoch, schema_version, fingerprint.NAME, dimension, file_time_dates, staged_analyser, usage
meta = Table("meta", metadata, Column("key", String(100), primary_key=True), Column("value", _Words, nullable=False))

counters = Table(
    "counters",
    metadata,
    Column("name", String(20), primary_key=True),
    Column("value", BigInteger, nullable=False),  # the last number given
)

COUNTERS = ("document", "passage", "relation", "entity", "change")

files = Table(
    "files",
    metadata,
    Column("path", _Words, primary_key=True),
    # As it was last seen, readable or not; -1 when it must be read again.
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("sha256", _Words),  # of the version that is stored; NULL if none or only a part of it is
    Column("status", String(10), nullable=False),
    Column("reason", _Words),
    Column("notes", _Words, nullable=False),  # JSON list of sentences
    Column("added_at", BigInteger, nullable=False),  # seconds since 1970
)

documents = Table(
    "documents",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("content_key", _Words, nullable=False, unique=True),
    Column("category", _Words, nullable=False),
    # What the content itself says.
    Column("content_title", _Words, nullable=False),
    Column("content_date", _Words),
    Column("content_date_source", _Words),
    Column("triplets", _Words, nullable=False),  # JSON list of [subject, predicate, object]
    Column("notes", _Words, nullable=False),  # JSON list of sentences
    # What holds, given its sources; see `silmari.catalog.effective`.
    Column("uri", _Words, nullable=False),
    Column("title", _Words, nullable=False),
    Column("name_tokens", _Words, nullable=False),
    Column("date", _Words),
    Column("date_source", _Words),
    Column("day", Integer),  # YYYYMMDD for filters; NULL also for a file's time where that is no date
    Column("relations", String(10), nullable=False, server_default="sentences"),  # a RelationMode
)

sources = Table(
    "sources",
    metadata,
    Column("uri", _Words, primary_key=True),
    Column("path", _Words, ForeignKey("files.path"), index=True),  # NULL for a record added by the API
    Column("document_id", BigInteger, ForeignKey("documents.id"), nullable=False, index=True),
    Column("name_title", _Words, nullable=False),
    Column("name_tokens", _Words, nullable=False),
    Column("date", _Words),  # only one that the name or the file's time suggests
    Column("date_source", _Words),
    Column("relations", String(10)),  # the RelationMode that was asked for; NULL: as the document brings
)

passages = Table(
    "passages",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("document_id", BigInteger, ForeignKey("documents.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", _Words, nullable=False),
    Column("content", _Words),  # NULL when equal to text
    Column("context", _Words, nullable=False),
    Column("locator", _Words, nullable=False),  # JSON object
    Column("date", _Words),
    Column("tokens", _Words, nullable=False),
    # As `silmari.language.names.passage_names` gives them, joined by blanks.
    Column("names", _Words, nullable=False, server_default=""),
    Column("text_hash", LargeBinary(16), nullable=False, index=True),
    Column("waiting", BigInteger),  # its turn to be embedded, lowest first; NULL once it has a vector
    Column("unextracted", BigInteger),  # its turn to be read by a model; NULL once done, failed or not wanted
    Index("ix_passages_document", "document_id", "position"),
)

# Names, and how they are spelled. What has one key is one entity; it lives as long as a relation names it.
entities = Table(
    "entities",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("key", _Words, nullable=False, unique=True),
    Column("name", _Words, nullable=False),  # the most used spelling, of equal ones the least string
    Column("text_hash", LargeBinary(16), nullable=False, index=True),
    Column("waiting", BigInteger),  # NULL once it has a vector
)

spellings = Table(
    "spellings",
    metadata,
    Column("entity_id", BigInteger, ForeignKey("entities.id"), primary_key=True, autoincrement=False),
    Column("name", _Words, primary_key=True),
    Column("uses", BigInteger, nullable=False),  # ends of relations that are spelled so
)

# One row for each three parts as they are spelled; it lives as long as a passage states it.
relations = Table(
    "relations",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("identity", LargeBinary(16), nullable=False, unique=True),  # a hash of the three parts
    Column("subject_id", BigInteger, ForeignKey("entities.id"), nullable=False, index=True),
    Column("object_id", BigInteger, ForeignKey("entities.id"), nullable=False, index=True),
    Column("subject", _Words, nullable=False),
    Column("predicate", _Words, nullable=False),
    Column("object", _Words, nullable=False),
    Column("text_hash", LargeBinary(16), nullable=False, index=True),
    Column("waiting", BigInteger),  # NULL once it has a vector
)

statements = Table(
    "statements",
    metadata,
    Column("relation_id", BigInteger, ForeignKey("relations.id"), primary_key=True, autoincrement=False),
    Column("passage_id", BigInteger, ForeignKey("passages.id"), primary_key=True, autoincrement=False, index=True),
    Column("origin", String(5), primary_key=True),  # given, model
)

# What statements are made from, beside `documents.triplets`; each is a JSON list of [subject, predicate, object].
attached = Table(
    "attached", metadata, Column("uri", _Words, primary_key=True), Column("triplets", _Words, nullable=False)
)

extracted = Table(
    "extracted",
    metadata,
    Column("passage_id", BigInteger, ForeignKey("passages.id"), primary_key=True, autoincrement=False),
    Column("triplets", _Words, nullable=False),
)

extraction_failures = Table(
    "extraction_failures",
    metadata,
    Column("passage_id", BigInteger, ForeignKey("passages.id"), primary_key=True, autoincrement=False),
    Column("reason", _Words, nullable=False),
)

# What the user decided of two keys, the lesser one first; it outlives the entities.
aliases = Table(
    "aliases",
    metadata,
    Column("key_a", _Words, primary_key=True),
    Column("key_b", _Words, primary_key=True),
    Column("same", Boolean, nullable=False),
)

for _name, _queue, _id in (
    ("ix_passages_waiting", passages.c.waiting, passages.c.id),
    ("ix_passages_unextracted", passages.c.unextracted, passages.c.id),
    ("ix_relations_waiting", relations.c.waiting, relations.c.id),
    ("ix_entities_waiting", entities.c.waiting, entities.c.id),
):
    Index(_name, _queue, _id, sqlite_where=_queue.is_not(None), postgresql_where=_queue.is_not(None))

vectors = Table(
    "vectors",
    metadata,
    Column("text_hash", LargeBinary(16), primary_key=True),
    Column("embedder", _Words, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float16, little-endian, unit length
)

# One row an item and aspect: a newer change takes the place of the older one.
changes = Table(
    "changes",
    metadata,
    Column("kind", String(10), primary_key=True),
    Column("item_id", BigInteger, primary_key=True, autoincrement=False),
    Column("aspect", String(6), primary_key=True),
    Column("seq", BigInteger, nullable=False, unique=True),
)

replies = Table(
    "replies",
    metadata,
    Column("model", _Words, primary_key=True),
    Column("key", _Words, primary_key=True),
    Column("reply", _Words, nullable=False),  # JSON
    Column("created_at", BigInteger, nullable=False),  # seconds since 1970
)

# Tokens and names by a new analyser, until all of them are there and take the place of the old ones at once.
staged_tokens = Table(
    "staged_tokens",
    metadata,
    Column("passage_id", BigInteger, ForeignKey("passages.id", ondelete="CASCADE"), primary_key=True),
    Column("tokens", _Words, nullable=False),
    Column("names", _Words, nullable=False, server_default=""),
)

# Parts of the work of embedding and of reading relations; who locks a row has that part for itself. Only where
# several processes share the work.
shares = Table(
    "shares",
    metadata,
    Column("queue", String(10), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    info={"only": "postgresql"},
)


def take_numbers(connection: Connection, name: str, count: int) -> range:
    """Take `count` fresh numbers of a counter, inside the write transaction."""
    if not count:
        return range(0)
    more = update(counters).where(counters.c.name == name).values(value=counters.c.value + count)
    if connection.dialect.update_returning:
        last: int = connection.execute(more.returning(counters.c.value)).scalar_one()
    else:
        connection.execute(more)
        last = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar_one()
    return range(last - count + 1, last + 1)


def get_meta(connection: Connection) -> dict[str, str]:
    """All of the table `meta`."""
    return {key: value for key, value in connection.execute(select(meta.c.key, meta.c.value))}


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Write one value of the table `meta`."""
    if not connection.execute(update(meta).where(meta.c.key == key).values(value=value)).rowcount:
        connection.execute(insert(meta).values(key=key, value=value))
