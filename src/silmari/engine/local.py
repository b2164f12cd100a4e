"""The default engine: tantivy and mapped vectors in the knowledge base's folder; no server.

One process, the lease holder, writes; any number of others read what it last published. An update goes
text first, then vectors, then the state file: a crash in between leaves what was published, and applying
the same changes again mends the rest.
"""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from silmari.engine import local_graph, local_rows
from silmari.engine.base import Change, Record, Watermark
from silmari.engine.local_rows import Batch
from silmari.engine.local_state import KINDS, State, VectorState, clean, next_generation, parse, publish, read_raw
from silmari.engine.local_text import TextIndex
from silmari.engine.local_vectors import Vectors
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind
from silmari.panics import is_panic

# Up to here an exact scan takes about a millisecond, and a graph is not worth its building.
EXACT_ROWS = 20_000
# The graph grows when at least this many rows, and this share of all, are not in it.
_GROW_ROWS = 4_096
_GROW_SHARE = 0.05
# With less, what tantivy says of a failed write is told more plainly.
_LEAST_SPACE = 1_000_000
# Files are written anew when at least this many of their entries, and this share, are dead.
_DEAD_ENTRIES = 1_000
_DEAD_SHARE = 0.2
# How often a reader opens what is published before it lets a very busy writer be ahead of it.
_OVERTAKEN = 5


@dataclass(frozen=True, slots=True)
class _Snapshot:
    raw: bytes
    state: State
    text: TextIndex
    vectors: Mapping[Kind, Vectors]


class LocalEngine:
    """An `Engine` in a folder of its own.

    Searches may run in several threads and while one thread applies changes; they see the last published state
    (texts, which are committed first, may be those of the next).
    A folder that is missing, damaged or of another layout gives no watermark and finds nothing until `reset`.

    Args:
        folder: The engine's folder; `reset` creates it.
        writable: Only the holder of the knowledge base's lease may pass True. With False nothing is written.
        on_progress: Told (done, total) while a graph of vectors is built, about 2,000 vectors a second.
    """

    def __init__(
        self, folder: Path, *, writable: bool = True, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._folder = Path(folder)
        self._writable = writable
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._now: _Snapshot | None = None
        self._load()
        if writable and self._now is not None:
            clean(self._folder, self._now.state)

    def lead(self, leading: bool) -> None:
        """Become the one that writes, or stop being it; searches go on meanwhile."""
        with self._lock:
            if leading:
                self._load()
                if self._now is not None:
                    clean(self._folder, self._now.state)
            elif self._now is not None:
                self._now.text.close()
            self._writable = leading

    def reset(self, base: str, epoch: str) -> None:
        """Empty the engine and give it a fresh watermark with seq 0."""
        with self._lock, self._writing():
            self._folder.mkdir(parents=True, exist_ok=True)
            generation = next_generation(self._folder, self._now.state if self._now else None)
            text = TextIndex.create(self._folder / f"text-{generation}")
            empty = {kind: VectorState(generation) for kind in KINDS}
            state = State(base, epoch, 0, text.path.name, text.opstamp, empty)
            self._show(state, text)

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes durably and publish them; see `Engine.apply`.

        Also keeps the files in shape: the graph grows, and files with many dead entries are written anew. That
        is done after the changes are published; breaking it off loses nothing.

        Raises:
            KnowledgeBaseError: The engine was never filled or cannot be written, or a vector does not fit.
            BusyError: Another process writes to it.
        """
        with self._lock, self._writing():
            now = self._filled()
            fresh = [change for change in changes if change.seq > now.state.seq]
            if not fresh:
                return
            batches = [Batch(now.vectors[kind], records) for kind, records in _by_kind(fresh).items()]
            texts = _texts(fresh)
            if texts:
                now.text.write(texts, [record for record in texts.values() if record is not None])
            written = {batch.kind: batch.write(self._folder) for batch in batches}
            state = replace(
                now.state,
                seq=max(change.seq for change in fresh),
                opstamp=now.text.opstamp if texts else now.state.opstamp,
                vectors={**now.state.vectors, **written},
            )
            self._show(state, now.text)
            self._tidy(least=_DEAD_ENTRIES, share=_DEAD_SHARE)
            for kind in written:
                self._grow(kind)

    def compact(self) -> None:
        """Write everything anew without what is dead: scores are then as if it had never been there."""
        with self._lock, self._writing():
            self._filled()
            self._tidy(least=1, share=0.0)
            for kind in KINDS:
                self._grow(kind)

    def watermark(self) -> Watermark | None:
        """The published watermark as of the last `refresh`, or None for an engine that was never filled."""
        now = self._now
        return Watermark(now.state.base, now.state.epoch, now.state.seq) if now else None

    def refresh(self) -> None:
        """See what another process has published since: about 20 µs when there is nothing new."""
        if self._writable:
            return  # nobody else publishes
        with self._lock:
            now = self._now
            if now is None or read_raw(self._folder) != now.raw:
                self._load()

    def sparse(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages by BM25 as (id, score), best first; see `Engine.sparse`."""
        now = self._now
        return now.text.search(tokens, k, where) if now else []

    @property
    def writes_whole(self) -> bool:
        """It does not: texts and vectors lie apart."""
        return False

    @property
    def place(self) -> str:
        """Nothing: it is in the base's folder."""
        return ""

    def frequencies(self, tokens: Sequence[str]) -> Mapping[str, int]:
        """In how many passages each token occurs; deleted ones count until segments merge."""
        now = self._now
        return {token: now.text.frequency(token) if now else 0 for token in tokens}

    def dense(self, kind: Kind, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest items by cosine as (id, similarity), best first; see `Engine.dense`.

        Exact up to 20,000 vectors, and with a filter that allows up to 200,000.

        Raises:
            KnowledgeBaseError: The vector's length is not the index's, or it is zero or not finite.
        """
        now = self._now
        return now.vectors[kind].nearest(vector, k, where) if now else []

    def similarity(self, kind: Kind, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Exact cosines of exactly these ids; ids without a vector are left out."""
        now = self._now
        return now.vectors[kind].similarity(vector, ids) if now else {}

    def vectors(self, kind: Kind, ids: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of items, each of shape (dim,) and unit length; ids without one are left out."""
        now = self._now
        return now.vectors[kind].vectors(ids) if now else {}

    def counts(self) -> Mapping[str, int]:
        """How many texts and vectors (of all kinds) are held."""
        now = self._now
        if now is None:
            return {"texts": 0, "vectors": 0}
        return {"texts": now.text.count, "vectors": sum(vectors.count for vectors in now.vectors.values())}

    @property
    def note(self) -> str:
        """Nothing: all is in one place."""
        return ""

    def close(self) -> None:
        """Release the files and the writer's lock; a closed engine finds nothing."""
        with self._lock:
            now, self._now = self._now, None
            if now is not None:
                now.text.close()

    def _filled(self) -> _Snapshot:
        if self._now is None:
            raise KnowledgeBaseError("The search index was never filled or is damaged: rebuild it with reindex.")
        return self._now

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn what goes wrong below into one sentence; what was published stays."""
        if not self._writable:
            raise KnowledgeBaseError("The search index was opened for reading only: only the lease holder writes.")
        try:
            yield
        except OSError as problem:
            full = shutil.disk_usage(self._folder.parent).free < _LEAST_SPACE
            raise KnowledgeBaseError(
                f"The search index in {self._folder} cannot be written ({'the disk is full' if full else problem}): "
                "check free disk space and rights and try again; nothing that was stored is lost."
            ) from problem

    def _load(self) -> None:
        """Open what is published; None if there is nothing, or nothing whole."""
        tried: bytes | None = None
        found: _Snapshot | None = None
        for turn in itertools.count():
            raw = read_raw(self._folder)
            # The same state again: if it is open, no writer has overtaken us, and if it cannot be opened, no
            # writer was just replacing its files.
            if raw == tried or (found is not None and turn >= _OVERTAKEN):
                break
            tried, found = raw, self._whole(raw)
            self._now = found or self._now
        self._now = found

    def _whole(self, raw: bytes | None) -> _Snapshot | None:
        state = parse(raw) if raw is not None else None
        if raw is None or state is None:
            return None
        try:
            return self._open(raw, state)
        except (OSError, ValueError, KeyError, RuntimeError):
            return None
        except BaseException as error:
            if not is_panic(error):
                raise
            return None

    def _open(self, raw: bytes, state: State, text: TextIndex | None = None) -> _Snapshot:
        old = self._now
        if text is None and old is not None and old.state.text == state.text:
            text = old.text
            text.reload()
        if text is None:
            text = TextIndex(self._folder / state.text)
        if text.opstamp < state.opstamp:
            raise ValueError("the text index is older than what was published")
        vectors: dict[Kind, Vectors] = {}
        for kind, wanted in state.vectors.items():
            known = old.vectors[kind] if old is not None else None
            if known is None or known.state != wanted:
                known = Vectors(self._folder, kind, wanted, known.graph if known else None)
            vectors[kind] = known
        return _Snapshot(raw, state, text, vectors)

    def _show(self, state: State, text: TextIndex) -> None:
        """Publish, and drop what the new state no longer needs."""
        old = self._now
        raw = publish(self._folder, state)
        self._now = self._open(raw, state, text)
        if old is None or _files(old.state) != _files(state):
            if old is not None and old.text is not text:
                old.text.close()
            clean(self._folder, state)

    def _tidy(self, *, least: int, share: float) -> None:
        now = self._filled()
        text, state, vectors = now.text, now.state, dict(now.state.vectors)
        dead = text.dead
        if dead >= least and dead >= share * (dead + text.count):
            text = text.copy(self._folder / f"text-{next_generation(self._folder, now.state)}")
            state = replace(state, text=text.path.name, opstamp=text.opstamp)
        for kind, current in now.vectors.items():
            if current.state.dead >= least and current.state.dead >= share * current.state.rows:
                generation = next_generation(self._folder, now.state)
                vectors[kind] = local_rows.compact(self._folder, current, generation)
        state = replace(state, vectors=vectors)
        if state != now.state:
            self._show(state, text)

    def _grow(self, kind: Kind) -> None:
        """Bring the graph up to the rows, if enough of them are missing from it."""
        now = self._filled()
        current, known = now.vectors[kind], now.state.vectors[kind]
        covered = known.covered if current.graph is not None else 0
        missing = known.rows - covered
        if known.rows <= EXACT_ROWS or missing < max(_GROW_ROWS, _GROW_SHARE * known.rows):
            return
        name = f"{kind}-{next_generation(self._folder, now.state)}.hnsw"
        rows = covered + np.flatnonzero(current.alive[covered:])
        old = self._folder / current.graph.name if current.graph is not None else None
        check = local_graph.extend(old, self._folder / name, current.matrix, rows, self._on_progress)
        grown = replace(known, graph=name, check=check, covered=known.rows)
        self._show(replace(now.state, vectors={**now.state.vectors, kind: grown}), now.text)


def _files(state: State) -> tuple[object, ...]:
    return (state.text, *((vectors.generation, vectors.graph) for vectors in state.vectors.values()))


def _by_kind(changes: Sequence[Change]) -> dict[Kind, dict[int, Record | None]]:
    """The last record of each item. Also a change of text may bring another date, which the vector's row holds."""
    found: dict[Kind, dict[int, Record | None]] = {}
    for change in changes:
        found.setdefault(change.kind, {})[change.id] = change.record
    return found


def _texts(changes: Sequence[Change]) -> dict[int, Record | None]:
    """The last record of each passage whose text may differ; only passages are found by BM25."""
    last = {change.id: change.record for change in changes if change.kind == "passage"}
    touched = {
        change.id for change in changes if change.kind == "passage" and (change.aspect == "text" or not change.record)
    }
    return {id: record for id, record in last.items() if id in touched}
