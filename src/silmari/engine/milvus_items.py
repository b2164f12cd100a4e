"""What one collection of Milvus holds: fields for the filters, and vectors of one kind."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Record
from silmari.engine.local_vectors import Query
from silmari.engine.milvus_link import WRITE, Consistency, Link
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind, day_number

# Milvus returns no more than this many rows at once.
MOST = 16_384
# A list of ids in a filter: longer ones are asked for in parts.
_LISTED = 10_000
_CATEGORY_BYTES = 256
_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 5_000


def category_text(name: str) -> str:
    """How a category stands in a collection: itself, or a digest where Milvus could not compare it.

    Lite counts characters where the server counts bytes, and a filter's text has no line breaks.
    """
    encoded = name.encode("utf-8", "surrogatepass")
    if name.isprintable() and len(encoded) <= _CATEGORY_BYTES and not name.startswith("#"):
        return name
    return f"#{blake2b(encoded, digest_size=16).hexdigest()}"


def expressions(where: Filter) -> list[str]:
    """A filter in Milvus's language: rows that fit any of the expressions fit, and none fits two."""
    parts: list[str] = []
    if where.categories is not None:
        parts.append(f"category in [{', '.join(_quoted(category_text(one)) for one in sorted(where.categories))}]")
    if where.undated:
        parts.append("day == 0")
    since, until = day_number(where.since), day_number(where.until)
    if since is not None or until is not None:
        # Undated rows have day 0.
        parts.append(f"day >= {max(since or 1, 1)}")
        if until is not None:
            parts.append(f"day <= {until}")
    nothing = (where.categories is not None and not where.categories) or (
        where.undated and (since is not None or until is not None)
    )
    if nothing:
        return []
    if where.documents is None:
        return [" and ".join(parts)]
    return [" and ".join([*parts, f"document_id in {chunk}"]) for chunk in chunks(sorted(where.documents), _LISTED)]


def chunks(items: Sequence[int], size: int) -> Iterator[list[int]]:
    """Consecutive parts of at most `size`."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def add_filter_fields(schema: Any) -> None:
    """The fields that every collection of records has."""
    from pymilvus import DataType

    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("document_id", DataType.INT64)
    schema.add_field("category", DataType.VARCHAR, max_length=_CATEGORY_BYTES)
    schema.add_field("day", DataType.INT64)


def filter_values(record: Record) -> dict[str, Any]:
    """The same fields of one record."""
    return {
        "id": record.id,
        "document_id": record.document_id,
        "category": category_text(record.category),
        "day": record.day or 0,
    }


def ranked(found: Mapping[int, float], k: int) -> list[tuple[int, float]]:
    """The best k, by score and then by id."""
    return heapq.nsmallest(k, found.items(), key=lambda item: (-item[1], item[0]))


class DamagedError(KnowledgeBaseError):
    """The files of a collection cannot be read; it must be made anew."""


class Collection:
    """One collection, made when its first row comes.

    Args:
        link: The connection.
        name: Of the collection.
    """

    def __init__(self, link: Link, name: str) -> None:
        self.link = link
        self.name = name
        # The highest id written since this process made the collection; None where that is not known for sure.
        self._top: int | None = None

    @property
    def consistency(self) -> Consistency:
        """What reads ask for."""
        return self.link.address.consistency

    def create(self, schema: Any, index: Any) -> None:
        """Make it, so that it can be searched at once."""
        self.link.call("create_collection", self.name, schema=schema, consistency_level=self.consistency, timeout=WRITE)
        # Lite has no index to wait for; pymilvus would sleep half a second all the same.
        self.link.call("create_index", self.name, index, sync=not self.link.address.lite, timeout=WRITE)
        self.load()
        self._top = 0

    def forget_top(self) -> None:
        """Another process may have written."""
        self._top = None

    def exists(self) -> bool:
        """Whether it was made."""
        return bool(self.link.call("has_collection", self.name))

    def load(self) -> None:
        """Have it in memory: it is not after Lite opens a file, or after someone released it.

        Raises:
            DamagedError: Lite cannot read its files.
            KnowledgeBaseError: A server cannot load it.
        """
        try:
            self.link.call("load_collection", self.name, timeout=WRITE)
        except KnowledgeBaseError as error:
            if self.link.address.lite:
                # It writes some files in place, so that one that was cut short lies there when its process was killed.
                raise DamagedError(str(error)) from error
            raise

    def drop(self) -> None:
        """Remove it with all it holds, if it is there."""
        if self.exists():
            self.link.call("drop_collection", self.name, timeout=WRITE)

    def write(self, rows: Sequence[Mapping[str, Any]], gone: Sequence[int], row_bytes: int) -> None:
        """Put rows in the place of those with the same id, and remove others; idempotent."""
        size = max(1, min(_BATCH_ROWS, _BATCH_BYTES // row_bytes))
        # Replacing costs a server half as much again as inserting. Only what cannot be there is inserted: ids above
        # all that were written since the collection was made, by calls that all came back.
        top, self._top = self._top, None
        new = [row for row in rows if top is not None and row["id"] > top]
        old = rows if top is None else [row for row in rows if row["id"] <= top]
        for method, some in (("upsert", old), ("insert", new)):
            for start in range(0, len(some), size):
                self.link.call(method, self.name, some[start : start + size], timeout=WRITE)
        if top is not None:
            self._top = max((row["id"] for row in new), default=top)
        for ids in chunks(gone, _LISTED):
            self.link.call("delete", self.name, ids=ids, timeout=WRITE)
        if self.link.address.lite and (rows or gone):
            # Rows that are not flushed are searched 30 times slower there. The server flushes by itself.
            self.link.call("flush", self.name, timeout=WRITE)

    def count(self, where: str = "", consistency: Consistency = "Strong") -> int:
        """How many rows there are, of those that fit."""
        found = self.link.call(
            "query", self.name, filter=where, output_fields=["count(*)"], consistency_level=consistency
        )
        return int(found[0]["count(*)"])


class Items(Collection):
    """The vectors of one kind.

    Attributes:
        dim: Numbers a vector has; 0 while there is no collection.
    """

    def __init__(self, link: Link, prefix: str, kind: Kind) -> None:
        super().__init__(link, f"{prefix}_{'entities' if kind == 'entity' else kind + 's'}")
        self.kind: Kind = kind
        self.dim = 0

    def look(self) -> None:
        """See whether the collection is there, and load it."""
        self.dim = 0
        if self.exists():
            described = self.link.call("describe_collection", self.name)
            params = next(field["params"] for field in described["fields"] if field["name"] == "vector")
            self.load()
            self.dim = int(params["dim"])

    def forget(self) -> None:
        """Drop the collection."""
        self.dim = 0
        self.drop()

    def check(self, records: Mapping[int, Record | None]) -> int:
        """The length of the vectors once these are written.

        Raises:
            KnowledgeBaseError: A vector is not finite or not as long as the others.
        """
        dim, free = self.dim, False
        for id, record in records.items():
            if record is None or record.vector is None:
                continue
            length = np.asarray(record.vector).size
            if dim and length != dim and not free and not (self.dim and self.count()):
                # With the last row gone, so is the length they shared: another embedder may start here.
                dim, free = length, True
            if not length or (dim and length != dim):
                raise KnowledgeBaseError(
                    f"The vector of {self.kind} {id} has {length} numbers where the index holds {dim or 'at least 1'}: "
                    "vectors of two embedders cannot be mixed, rebuild the knowledge base with one of them."
                )
            if not np.isfinite(record.vector).all():
                raise KnowledgeBaseError(
                    f"The vector of {self.kind} {id} is not finite: check the embedder and embed it again."
                )
            dim, free = length, True
        return dim

    def put(self, records: Mapping[int, Record | None], dim: int) -> None:
        """Write checked records; those without a vector are removed."""
        rows = [
            {**filter_values(record), "vector": np.asarray(record.vector, dtype=np.float32).ravel()}
            for record in records.values()
            if record is not None and record.vector is not None
        ]
        if rows and dim != self.dim:
            if self.dim:
                self.forget()
            self._make(dim)
        if self.dim:
            held = {row["id"] for row in rows}
            self.write(rows, [id for id in records if id not in held], 4 * self.dim + 200)

    def _make(self, dim: int) -> None:
        from pymilvus import DataType, MilvusClient

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        add_filter_fields(schema)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
        index = MilvusClient.prepare_index_params()
        if self.link.address.lite:
            # Lite goes through all rows whatever the index; this one costs nothing to build and is exact.
            index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        else:
            params = {"M": 16, "efConstruction": 200}
            index.add_index("vector", index_type="HNSW", metric_type="COSINE", params=params)
        self.create(schema, index)
        self.dim = dim

    def nearest(self, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest (at most `MOST`) as (id, cosine), best first."""
        if not self.dim:
            return []
        if not self._sound(vector) and not self.count():
            return []
        unit = Query(vector, self.dim, self.kind).unit
        if k < 1:
            return []
        found: dict[int, float] = {}
        for expression in expressions(where):
            found.update(self._search(unit, min(k, MOST), expression))
        return ranked(found, k)

    def similarity(self, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Cosines of exactly these ids; those without a vector are left out."""
        if not self.dim or not len(ids):
            return {}
        if not self._sound(vector) and not self.count():
            return {}
        unit = Query(vector, self.dim, self.kind).unit
        found: dict[int, float] = {}
        for part in chunks(sorted({int(id) for id in ids}), _LISTED):
            found.update(self._search(unit, len(part), f"id in {part}"))
            # A graph may miss some of the ids that it was asked for; most often they have no vector.
            found.update(self._compared(unit, [id for id in part if id not in found]))
        return found

    def _sound(self, vector: NDArray[np.float32]) -> bool:
        return np.size(vector) == self.dim and bool(np.isfinite(vector).all()) and bool(np.any(vector))

    def _search(self, unit: NDArray[np.float64], limit: int, expression: str) -> dict[int, float]:
        params: dict[str, Any] = {"metric_type": "COSINE"}
        if not self.link.address.lite:
            params["params"] = {"ef": min(max(128, 2 * limit), 2 * MOST)}
        (hits,) = self.link.call(
            "search",
            self.name,
            data=[unit.astype(np.float32)],
            anns_field="vector",
            filter=expression,
            limit=limit,
            search_params=params,
            consistency_level=self.consistency,
        )
        return {int(hit["id"]): min(max(float(hit["distance"]), -1.0), 1.0) for hit in hits}

    def _compared(self, unit: NDArray[np.float64], ids: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for part in chunks(ids, max(1, min(MOST, _BATCH_BYTES // (4 * self.dim)))):
            rows = self.link.call(
                "query",
                self.name,
                filter=f"id in {part}",
                output_fields=["id", "vector"],
                consistency_level=self.consistency,
            )
            for row in rows:
                own = np.asarray(row["vector"], dtype=np.float64)
                length = float(np.linalg.norm(own))
                found[int(row["id"])] = float(np.clip(own @ unit / length, -1, 1)) if length else 0.0
        return found
