"""The half of a knowledge base that tells what is in it, and takes the user's word on names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from silmari.background import twin
from silmari.desk import Desk
from silmari.errors import UsageError
from silmari.model import Passage, Relation, Source
from silmari.searching import Filters

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.catalog.words import StoredDocument
    from silmari.entities import EntityBook, EntityList


class Contents:
    """What is in a `silmari.knowledge_base.KnowledgeBase`, which sets the attributes."""

    catalog: Catalog
    _desk: Desk

    def documents(self, *, filters: Filters | None = None) -> list[StoredDocument]:
        """The documents, by uri."""
        return self.catalog.documents(self._desk.filter(filters))

    adocuments = twin(documents)

    def show(self, target: str | Path | int) -> list[tuple[Passage, Source]]:
        """The passages of a document, in reading order, or one passage by its number.

        Raises:
            UsageError: The base has no such document or passage.
        """
        from silmari.reading import uri_of

        named = str(target)
        # SQLite's numbers have 19 digits at most.
        if named.isdecimal() and len(named) < 19 and (found := self.catalog.passages([int(named)])):
            return list(found.values())
        document = self.catalog.document(named) or self.catalog.document(uri_of(Path(named).expanduser()))
        if document is None:
            inside = self.catalog.document_ids([named]) if named.strip() else frozenset()
            if len(inside) != 1:
                several = f"; it names {len(inside):,} documents, of which you can show one" if inside else ""
                raise UsageError(f"{named}: is not in the base as a document{several}; silmari list shows what is.")
        document_id = min(inside) if document is None else document.id
        ids = [passage.id for passage in self.catalog.passages_of(document_id)]
        return list(self.catalog.passages(ids).values())

    ashow = twin(show)

    def relations(self, passage_ids: Iterable[int]) -> dict[int, tuple[Relation, ...]]:
        """The relations that passages state, by the passage's number; those that state none are left out."""
        return self.catalog.relations_of(list(passage_ids))

    arelations = twin(relations)

    def entities(self, pattern: str = "", *, limit: int = 50, offset: int = 0) -> EntityList:
        """The names that relations tie, with their spellings and with other names that may mean the same.

        Args:
            pattern: A part of a name, or a glob of all of it; empty for all.
            limit: How many at most, 1 to 1,000.
            offset: How many are passed over.

        Returns:
            First the one with exactly this name, then those that relations tie most often.

        Raises:
            UsageError: An argument is wrong.
        """
        return self._entities.listed(pattern, limit, offset)

    aentities = twin(entities)

    def merge_entities(self, a: str, b: str) -> None:
        """Say that two names mean the same, whatever Silmari makes of them. Nothing is rewritten.

        Raises:
            UsageError: One of them is no name in the base, or both are one already.
        """
        self._entities.decide(a, b, True)

    amerge_entities = twin(merge_entities)

    def split_entities(self, a: str, b: str) -> None:
        """Say that two names do not mean the same; see `merge_entities`."""
        self._entities.decide(a, b, False)

    asplit_entities = twin(split_entities)

    def forget_alias(self, a: str, b: str) -> None:
        """Take back what `merge_entities` or `split_entities` said of two names.

        Raises:
            UsageError: Nothing was said of them.
        """
        self._entities.forget(a, b)

    aforget_alias = twin(forget_alias)

    @cached_property
    def _entities(self) -> EntityBook:
        from silmari.entities import EntityBook

        return EntityBook(self.catalog, self._desk.graph)
