"""How relations come into a catalog: attached, asked for, read by a model; and what the user says of names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from silmari.catalog import claims, extractions, verdicts, wishes
from silmari.catalog.claims import SHARES, Claim
from silmari.catalog.rules import chunks
from silmari.catalog.store import Store
from silmari.catalog.writing import DOCUMENTS_A_TRANSACTION, written
from silmari.model import RelationMode, Triplet


class Relating:
    """The half of `silmari.catalog.catalog.Catalog` that relations come in by; it sets the store."""

    _store: Store

    def attach_triplets(self, uri: str, triplets: Sequence[Triplet]) -> bool:
        """Attach triplets to what stands at a uri, also to its later versions; False if nothing does.

        They are kept beside those that the document brings and those that were attached before. With them the
        document's relations are ``given``, unless somebody asked for something else.
        """
        return bool(self.attach_many({uri: triplets}))

    def attach_many(self, given: Mapping[str, Sequence[Triplet]]) -> list[str]:
        """Attach triplets to many uris, 500 a transaction; returns those uris at which something stands."""
        there: list[str] = []
        for batch in chunks(given.items(), DOCUMENTS_A_TRANSACTION):
            with written(self._store) as connection:
                there += wishes.attach(connection, dict(batch))
        return there

    def want_relations(self, mode: RelationMode | None, document_ids: Collection[int] | None = None) -> None:
        """Let relations of documents, of all if none are named, come from somewhere else.

        What was given or extracted before is kept and used again when the mode asks for it. Passages whose
        extraction failed are put back into the queue.

        Args:
            mode: None: as each document brings, from now on.
            document_ids: Of the documents.
        """
        with self._store.write() as connection:
            wishes.want(connection, mode, document_ids)

    def pending_extractions(self, limit: int) -> list[tuple[int, str, str]]:
        """The next passages to extract relations from as (id, context, text): tables first, then the newest."""
        with self._store.read() as connection:
            return extractions.pending(connection, limit)

    def claim_extractions(self, limit: int) -> Claim[tuple[int, str, str]]:
        """The next passages to extract relations from that no other process is reading."""
        return claims.claim(
            self._store,
            claims.EXTRACTIONS,
            lambda connection, allowed: extractions.pending(connection, limit, lambda number: allowed(number % SHARES)),
            lambda item: item[0] % SHARES,
        )

    def count_extractions(self) -> tuple[int, int]:
        """How many passages wait for the extraction of relations, and how many failed."""
        with self._store.read() as connection:
            return extractions.count(connection)

    def store_extractions(
        self, found: Mapping[int, Sequence[Triplet]], flawed: Mapping[int, str] | None = None
    ) -> None:
        """Keep what a model has read in passages, by id; those that are gone are passed over.

        Args:
            found: The triplets of each passage.
            flawed: Why some are only a part of what the passage says; these are listed among the failures.
        """
        with written(self._store) as connection:
            extractions.store(connection, found, flawed)

    def note_extraction_failures(self, reasons: Mapping[int, str]) -> None:
        """Take passages out of the queue and remember why; `want_relations` puts them back."""
        with written(self._store) as connection:
            extractions.note_failures(connection, reasons)

    def extraction_failures(self) -> list[tuple[int, str]]:
        """Passages whose extraction failed, and why, by id."""
        with self._store.read() as connection:
            return extractions.failures(connection)

    def alias_verdicts(self) -> list[tuple[str, str, bool]]:
        """What the user decided of two keys, the lesser first: whether they name the same."""
        with self._store.read() as connection:
            return verdicts.read(connection)

    def set_alias(self, key_a: str, key_b: str, same: bool) -> None:
        """Remember that two keys name the same, or that they do not; followers of the log are told."""
        with self._store.write() as connection:
            verdicts.decide(connection, key_a, key_b, same)

    def drop_alias(self, key_a: str, key_b: str) -> None:
        """Forget what was decided of two keys."""
        with self._store.write() as connection:
            verdicts.decide(connection, key_a, key_b, None)
