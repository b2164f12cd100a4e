"""What a catalog is asked: passages, documents, counts, relations and entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from silmari.catalog import changes, entity_queries, fact_queries, named, queries
from silmari.catalog.schema import get_meta
from silmari.catalog.store import Store
from silmari.catalog.words import (
    Counts,
    EntityEntry,
    EntityRow,
    FactsChange,
    Named,
    NamesChange,
    Stated,
    Statistics,
    StoredDocument,
)
from silmari.model import Entity, Filter, Passage, Relation, Source

T = TypeVar("T")


class Reader:
    """The questions of `silmari.catalog.catalog.Catalog`; each is one snapshot.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def passages(self, ids: Collection[int]) -> dict[int, tuple[Passage, Source]]:
        """Passages with where they stand, in the order of `ids`; ids that are gone are left out."""
        with self._store.read() as connection:
            return queries.passages_by_id(connection, ids)

    def tokens(self, ids: Collection[int]) -> dict[int, str]:
        """The tokens of passages, joined by blanks; ids that are gone are left out."""
        with self._store.read() as connection:
            return queries.tokens(connection, ids)

    def all_names(self, use: Callable[[str, int, Iterator[Named]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number and the names of all passages, by id."""
        with self._store.read() as connection:
            epoch, seq = get_meta(connection)["epoch"], changes.last_seq(connection)
            return use(epoch, seq, named.named(connection, None))

    def names_since(self, epoch: str, seq: int, limit: int) -> NamesChange | None:
        """Which passages came, went or got another name after a change's number.

        Args:
            epoch: Of the log that `seq` is of.
            seq: A change's number.
            limit: How many changes are worth listing.

        Returns:
            None when all names must be read anew: there are more changes, or the log began anew.
        """
        with self._store.read() as connection:
            return named.names_since(connection, epoch, seq, limit)

    def allowed(self, ids: Collection[int], where: Filter) -> set[int]:
        """Those passages that a filter lets through."""
        with self._store.read() as connection:
            return queries.allowed(connection, ids, where)

    def passages_of(self, document_id: int) -> list[Passage]:
        """All passages of a document, in reading order."""
        with self._store.read() as connection:
            return queries.passages_of(connection, document_id)

    def neighbours(self, passage_id: int) -> tuple[Passage | None, Passage | None]:
        """The passages before and after one in its document."""
        with self._store.read() as connection:
            return queries.neighbours(connection, passage_id)

    def documents(self, where: Filter | None = None) -> list[StoredDocument]:
        """The documents that a filter lets through, by uri; its dates are compared with the documents' own."""
        where = where or Filter()
        with self._store.read() as connection:
            found = queries.list_documents(connection, queries.filtered(where))
        return [one for one in found if where.documents is None or one.id in where.documents]

    def document(self, uri: str) -> StoredDocument | None:
        """The document that stands at exactly this uri, or None."""
        with self._store.read() as connection:
            return next(iter(queries.list_documents(connection, queries.of_uri(uri))), None)

    def document_ids(self, uris: Iterable[str]) -> frozenset[int]:
        """The documents at uris, in files or folders, or at uris that match a glob such as ``*.pdf``."""
        with self._store.read() as connection:
            return queries.document_ids(connection, uris)

    def places(self) -> list[tuple[str, str | None, int]]:
        """Where documents stand: uri, path (None for a record that came from no file) and the document's number."""
        with self._store.read() as connection:
            return queries.places(connection)

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """The uris of files and records that paths, folders, globs and uris name, sorted."""
        with self._store.read() as connection:
            return queries.uris(connection, patterns)

    def categories(self) -> frozenset[str]:
        """The categories of the documents."""
        with self._store.read() as connection:
            return queries.categories(connection)

    def undated_count(self) -> int:
        """How many passages have no date, so that a filter by date leaves them out."""
        with self._store.read() as connection:
            return queries.undated_count(connection)

    def counts(self) -> Counts:
        """How many items of each kind there are, and how many of them wait for a vector."""
        with self._store.read() as connection:
            return queries.counts(connection)

    def statistics(self) -> Statistics:
        """Counts, what is left to do, and the files that are not in."""
        with self._store.read() as connection:
            return queries.statistics(connection)

    def relations(self, ids: Collection[int]) -> dict[int, Relation]:
        """Relations in the order of `ids`; ids that are gone are left out."""
        with self._store.read() as connection:
            return fact_queries.relations_by_id(connection, ids)

    def entities(self, ids: Collection[int]) -> dict[int, Entity]:
        """Entities in the order of `ids`; ids that are gone are left out."""
        with self._store.read() as connection:
            return fact_queries.entities_by_id(connection, ids)

    def entity_ids(self, keys: Iterable[str]) -> dict[str, int]:
        """The entities that have these keys; keys of none are left out."""
        with self._store.read() as connection:
            return fact_queries.entity_ids(connection, keys)

    def relations_of(self, passage_ids: Collection[int]) -> dict[int, tuple[Relation, ...]]:
        """The relations that passages state, by passage; those that state none are left out."""
        with self._store.read() as connection:
            return fact_queries.relations_of(connection, passage_ids)

    def list_entities(self, pattern: str, limit: int, offset: int = 0) -> tuple[int, list[EntityEntry]]:
        """How many entities a pattern names, and some of them; see `silmari.catalog.entity_queries.listed`."""
        with self._store.read() as connection:
            return entity_queries.listed(connection, pattern, limit, offset)

    def all_facts(self, use: Callable[[str, int, Iterator[EntityRow], Iterator[Stated]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number, all entities and all relations, by id."""
        with self._store.read() as connection:
            return fact_queries.all_facts(connection, use)

    def facts_since(self, epoch: str, seq: int, limit: int) -> FactsChange | None:
        """Which entities and relations came, went or changed after a change's number; see `names_since`."""
        with self._store.read() as connection:
            return fact_queries.facts_since(connection, epoch, seq, limit)
