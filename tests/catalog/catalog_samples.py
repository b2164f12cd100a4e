"""Small documents for the catalog's tests, and a dump that two equal catalogs share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from silmari.catalog import schema
from silmari.catalog.catalog import Catalog
from silmari.catalog.words import AnalysedPassage, FileInfo, ReadDocument
from silmari.model import DateSource, Document, Passage, Triplet

FINGERPRINTS = {"embedder": "e5/1", "analyser": "kiwi/1", "splitter": "200/500"}
DIM = 4


def passage(text: str, **more: Any) -> AnalysedPassage:
    fields = {"content": text, "context": "", "locator": {"chars": [0, len(text)]}} | more
    return AnalysedPassage(Passage(text, **fields), " ".join(text.split()))


def read(
    uri: str,
    *texts: str | AnalysedPassage,
    category: str = "text",
    title: str = "",
    date: str | None = None,
    date_source: DateSource | None = None,
    sha256: str | None = None,
    notes: tuple[str, ...] = (),
    triplets: tuple[Triplet, ...] = (),
    name_title: str | None = None,
) -> ReadDocument:
    passages = [passage(text) if isinstance(text, str) else text for text in texts]
    digest = (
        sha256
        or hashlib.sha256(
            "\n".join(one.passage.content for one in passages).encode("utf-8", "surrogatepass")
        ).hexdigest()
    )
    name = Path(uri).stem if name_title is None else name_title
    source = date_source or ("name" if date else None)
    document = Document(uri, category, title, date, source, digest, (), triplets=triplets, notes=notes)
    return ReadDocument(document, passages, name, name.lower())


def put(catalog: Catalog, document: ReadDocument, mtime_ns: int = 1) -> str:
    """Put a file that holds one document."""
    file = FileInfo(document.document.uri, len(document.passages), mtime_ns, document.document.sha256)
    return catalog.put_file(file, [document])


def vector_of(key: bytes) -> np.ndarray:
    """A unit vector that depends on the text alone."""
    vector = np.random.default_rng(int.from_bytes(key, "big")).normal(size=DIM)
    return (vector / np.linalg.norm(vector)).astype(np.float16)


def embed(catalog: Catalog, limit: int = 10_000, embedder: str = FINGERPRINTS["embedder"]) -> int:
    """Embed what waits, at most `limit` texts; returns how many passages got a vector."""
    return catalog.store_vectors(embedder, {key: vector_of(key) for key, _ in catalog.pending_vectors(embedder, limit)})


def numbers(catalog: Catalog, uri: str) -> list[int]:
    """The ids of a document's passages, in order."""
    document = catalog.document(uri)
    return [] if document is None else [one.id for one in catalog.passages_of(document.id)]


def mirror(catalog: Catalog, engine: dict[tuple[str, int], Any], after: int, limit: int = 10_000) -> int:
    """Apply the changes to a stand-in engine, `limit` at a time; returns its new watermark."""
    while found := catalog.changes(after, limit):
        assert [change.seq for change in found] == sorted({change.seq for change in found})
        assert found[0].seq > after
        for change in found:
            item = change.kind, change.id
            text, vector = engine.get(item, (None, None))
            if change.record is None:
                engine.pop(item, None)
            elif change.aspect == "text":
                seen = change.record
                engine[item] = ((seen.tokens, seen.document_id, seen.category, seen.day), vector)
            else:
                blob = None if change.record.vector is None else change.record.vector.tobytes()
                engine[item] = (text, (blob, change.record.day))
        after = found[-1].seq
    return after


def dump(catalog: Catalog) -> dict[str, Any]:
    """All content, without the numbers of items, log and times."""
    with catalog._store.read() as connection:

        def rows(table: Any, *left_out: str) -> list[dict[str, Any]]:
            return [
                {name: value for name, value in row.items() if name not in left_out}
                for row in connection.execute(select(table)).mappings()
            ]

        keys = {row["id"]: row["content_key"] for row in rows(schema.documents)}
        places = {row["id"]: (keys[row["document_id"]], row["position"]) for row in rows(schema.passages)}
        names = {row["id"]: row["key"] for row in rows(schema.entities)}
        parts = {row["id"]: (row["subject"], row["predicate"], row["object"]) for row in rows(schema.relations)}

        def placed(table: Any) -> Sequence[dict[str, Any]]:
            return _sorted(row | {"passage_id": places[row["passage_id"]]} for row in rows(table))

        return {
            "files": _sorted(rows(schema.files, "added_at")),
            "documents": _sorted(rows(schema.documents, "id")),
            "sources": _sorted(row | {"document_id": keys[row["document_id"]]} for row in rows(schema.sources)),
            "passages": _sorted(row | {"document_id": keys[row["document_id"]]} for row in rows(schema.passages, "id")),
            "vectors": _sorted(rows(schema.vectors)),
            "entities": _sorted(rows(schema.entities, "id")),
            "spellings": _sorted(row | {"entity_id": names[row["entity_id"]]} for row in rows(schema.spellings)),
            "relations": _sorted(
                row | {"subject_id": names[row["subject_id"]], "object_id": names[row["object_id"]]}
                for row in rows(schema.relations, "id")
            ),
            "statements": _sorted(
                row | {"relation_id": parts[row["relation_id"]]} for row in placed(schema.statements)
            ),
            "attached": _sorted(rows(schema.attached)),
            "extracted": placed(schema.extracted),
            "failures": placed(schema.extraction_failures),
            "aliases": _sorted(rows(schema.aliases)),
        }


def _sorted(rows: Any) -> Sequence[dict[str, Any]]:
    return sorted(rows, key=repr)
