"""Milvus as the engine: Lite in a file, a server or a cluster, by one address.

Vectors lie in three collections (passages, relations, entities), and the watermark in a fourth. BM25 is Milvus's
own where it is sound, in a collection of texts; elsewhere (servers before 2.5; Lite, whose statistics are those of
each segment alone) it stays on tantivy in the knowledge base's folder. The watermark is written last: a crash
before leaves the old one, and applying the same changes again mends the rest.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Change, Record, Watermark
from silmari.engine.local import LocalEngine
from silmari.engine.local_state import KINDS
from silmari.engine.milvus_items import Collection, DamagedError, Items
from silmari.engine.milvus_link import Address, Consistency, Link
from silmari.engine.milvus_text import ServerText
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind

# A reader asks no more often than this whether another process has published.
_ASK_AGAIN = 0.25
_OWN_BM25 = (2, 5)


class MilvusEngine:
    """An `Engine` on Milvus. Nothing is connected before the first call that needs it.

    Reads are bounded: they may miss what was written within the last seconds, unless the address asks for
    ``strong``. No search returns more than 16,384 items.

    Args:
        address: Where Milvus is.
        folder: Of the knowledge base; texts lie in it where Milvus has no sound BM25.
        writable: Only the holder of the knowledge base's lease may pass True.
    """

    def __init__(self, address: Address, folder: Path, *, writable: bool = True) -> None:
        self._address = address
        self._folder = folder / "milvus-text"
        self._writable = writable
        self._lock = threading.RLock()
        self._link = Link(address)
        self._state = Collection(self._link, f"{address.name}_state")
        self._items: Mapping[Kind, Items] = {kind: Items(self._link, address.name, kind) for kind in KINDS}
        self._text: LocalEngine | ServerText | None = None
        self._mark: Watermark | None = None
        self._known = False
        self._asked = 0.0

    @property
    def texts(self) -> LocalEngine | ServerText:
        """Who answers `sparse` and `frequencies`.

        Raises:
            KnowledgeBaseError: That depends on the server's version, and the server cannot be reached.
        """
        with self._lock:
            if self._text is None:
                local = self._address.text == "local" or (
                    self._address.text is None and (self._folder.exists() or not self._own_bm25())
                )
                self._text = self._choose(local)
            return self._text

    @property
    def writes_whole(self) -> bool:
        """It does: fields that filters need stand beside both."""
        return True

    @property
    def place(self) -> str:
        """The server or file, the database and the name; nothing for a file in the base's folder."""
        where = self._address
        inside = where.lite and Path(where.target).is_relative_to(self._folder.parent)
        return "" if inside else f"{where.target}/{where.database}/{where.name}"

    @property
    def note(self) -> str:
        """Where texts are searched."""
        if isinstance(self.texts, ServerText):
            return "Texts are searched by Milvus."
        return "Texts are searched in the folder of the base, since this Milvus has no sound BM25 of its own."

    def lead(self, leading: bool) -> None:
        """Become the one that writes, or stop being it."""
        with self._lock:
            if isinstance(self._text, LocalEngine):
                self._text.lead(leading)
            # A leader begins with what is true now; it is read when it is needed, so that a server that does not
            # answer keeps nobody from adding to the catalog.
            self._known = self._known and not leading
            for collection in (self._state, *self._items.values(), *([self._text] if self._text else [])):
                if isinstance(collection, Collection):
                    collection.forget_top()
            self._writable = leading

    def reset(self, base: str, epoch: str) -> None:
        """Empty the engine and give it a fresh watermark with seq 0."""
        with self._lock:
            self._may_write()
            # First of all, so that half a reset is not taken for an engine.
            self._state.drop()
            self._mark, self._known = None, True
            self._begin_texts(base, epoch)
            for items in self._items.values():
                items.forget()
            self._make_state()
            self._publish(Watermark(base, epoch, 0))

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes durably and publish them; see `Engine.apply`.

        Raises:
            KnowledgeBaseError: The engine was never filled or cannot be written, or a vector does not fit.
        """
        with self._lock:
            self._may_write()
            mark = self.watermark()
            if mark is None:
                raise KnowledgeBaseError("The search index was never filled or is damaged: rebuild it with reindex.")
            fresh = [change for change in changes if change.seq > mark.seq]
            if not fresh:
                return
            records = _last(fresh)
            # All is checked before anything is written.
            dims = {kind: self._items[kind].check(of_kind) for kind, of_kind in records.items()}
            # Texts are written beside the vectors, which is mostly waiting; the watermark waits for both.
            with ThreadPoolExecutor(1) as beside:
                texts = beside.submit(self._put_texts, fresh, records.get("passage", {}))
                for kind, of_kind in records.items():
                    self._items[kind].put(of_kind, dims[kind])
                texts.result()
            self._publish(replace(mark, seq=max(change.seq for change in fresh)))

    def watermark(self) -> Watermark | None:
        """The published watermark as of the last `refresh`, or None for an engine that was never filled."""
        with self._lock:
            if not self._known:
                self._look()
            mark, texts = self._mark, self.texts
            if mark is None or isinstance(texts, ServerText):
                return mark
            own = texts.watermark()
            if own is None or (own.base, own.epoch) != (mark.base, mark.epoch):
                # To be filled anew, but only by the base that the collections belong to.
                return replace(mark, epoch="", seq=0)
            return replace(mark, seq=min(mark.seq, own.seq), ahead=0 if mark.seq == own.seq else max(mark.seq, own.seq))

    def refresh(self) -> None:
        """See what another process has published since; Milvus is asked no more than four times a second."""
        if self._writable:
            return  # nobody else publishes
        with self._lock:
            if isinstance(self._text, LocalEngine):
                self._text.refresh()
            if not self._known or time.monotonic() - self._asked >= _ASK_AGAIN:
                self._look()

    def sparse(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages by BM25 as (id, score), best first; see `Engine.sparse`."""
        texts = self.texts
        if isinstance(texts, LocalEngine):
            return texts.sparse(tokens, k, where)
        self._ready()
        return texts.search(tokens, k, where)

    def frequencies(self, tokens: Sequence[str]) -> Mapping[str, int]:
        """In how many passages each token occurs."""
        texts = self.texts
        if isinstance(texts, ServerText):
            self._ready()
        return texts.frequencies(tokens)

    def dense(self, kind: Kind, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest items by cosine as (id, similarity), best first; see `Engine.dense`.

        Raises:
            KnowledgeBaseError: The vector's length is not the index's, it is zero or not finite, or Milvus fails.
        """
        self._ready()
        return self._items[kind].nearest(vector, k, where)

    def similarity(self, kind: Kind, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Exact cosines of exactly these ids; ids without a vector are left out."""
        self._ready()
        return self._items[kind].similarity(vector, ids)

    def counts(self) -> Mapping[str, int]:
        """How many texts and vectors (of all kinds) are held."""
        self._ready()
        texts = self.texts
        if isinstance(texts, LocalEngine):
            held = texts.counts()["texts"]
        else:
            held = texts.count() if texts.made else 0
        return {"texts": held, "vectors": sum(items.count() for items in self._items.values() if items.dim)}

    def close(self) -> None:
        """Release the connection and the files."""
        with self._lock:
            if isinstance(self._text, LocalEngine):
                self._text.close()
            self._text = None
            self._known, self._mark = False, None
            self._link.close()

    def _own_bm25(self) -> bool:
        _ = self._link.client
        return not self._address.lite and self._link.version >= _OWN_BM25

    def _choose(self, local: bool) -> LocalEngine | ServerText:
        if local:
            return LocalEngine(self._folder, writable=self._writable)
        return ServerText(self._link, self._address.name)

    def _begin_texts(self, base: str, epoch: str) -> None:
        local = self._address.text == "local" or (self._address.text is None and not self._own_bm25())
        if isinstance(self._text, LocalEngine) != local or self._text is None:
            if isinstance(self._text, LocalEngine):
                self._text.close()
            self._text = self._choose(local)
        if isinstance(self._text, LocalEngine):
            self._text.reset(base, epoch)
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._text.make()

    def _put_texts(self, fresh: Sequence[Change], passages: Mapping[int, Record | None]) -> None:
        texts = self._text
        if isinstance(texts, LocalEngine):
            texts.apply([_text_only(change) for change in fresh])
        elif texts is not None and passages:
            texts.put(passages)

    def _may_write(self) -> None:
        if not self._writable:
            raise KnowledgeBaseError("The search index was opened for reading only: only the lease holder writes.")

    def _ready(self) -> None:
        if not self._known:
            with self._lock:
                if not self._known:
                    self._look()

    def _look(self) -> None:
        """Read the watermark, and open what it stands for when that is new."""
        consistency: Consistency = "Strong" if self._writable else self._address.consistency
        self._asked = time.monotonic()
        try:
            self._mark = self._found(consistency)
        except DamagedError:
            # As one that was never filled: whoever may write makes it anew from the catalog.
            self._mark = None
        self._known = True

    def _found(self, consistency: Consistency) -> Watermark | None:
        before, mark = self._mark, None
        if self._state.exists():
            if not self._known:
                self._state.load()
            rows = self._link.call(
                "query",
                self._state.name,
                filter="id == 1",
                output_fields=["base", "epoch", "seq"],
                consistency_level=consistency,
            )
            if rows:
                mark = Watermark(rows[0]["base"], rows[0]["epoch"], int(rows[0]["seq"]))
        anew = not self._known or before is None or mark is None or before.epoch != mark.epoch
        for items in self._items.values():
            if anew or (before != mark and not items.dim):
                items.look()
        texts = self.texts
        if isinstance(texts, ServerText) and anew:
            texts.look()
        return mark

    def _make_state(self) -> None:
        from pymilvus import DataType, MilvusClient

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        # No collection without a vector.
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        schema.add_field("base", DataType.VARCHAR, max_length=256)
        schema.add_field("epoch", DataType.VARCHAR, max_length=256)
        schema.add_field("seq", DataType.INT64)
        index = MilvusClient.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        self._state.create(schema, index)

    def _publish(self, mark: Watermark) -> None:
        row = {"id": 1, "vector": [1.0, 0.0], "base": mark.base, "epoch": mark.epoch, "seq": mark.seq}
        self._state.write([row], (), 1_000)
        self._mark = mark


def _last(changes: Iterable[Change]) -> dict[Kind, dict[int, Record | None]]:
    found: dict[Kind, dict[int, Record | None]] = {}
    for change in changes:
        found.setdefault(change.kind, {})[change.id] = change.record
    return found


def _text_only(change: Change) -> Change:
    """The same for an engine of texts; other kinds are passed on too, so that its watermark keeps step."""
    if change.kind != "passage" or change.record is None:
        return replace(change, record=None)
    return replace(change, record=replace(change.record, vector=None))
