"""Vectors of one kind in mapped files: exact cosines, filters, and the graph where it helps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from silmari.engine.local_graph import MOST, Graph
from silmari.engine.local_state import VectorState
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind, day_number

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]

# One row of the table beside the matrix. `category` is a hash, so that no list of names must be kept
# in step; `day` is 0 for undated; `scale` is 1 / length of the stored vector, 0 for a zero vector.
ROW = np.dtype([("id", "<i8"), ("document", "<i8"), ("category", "<u8"), ("day", "<i4"), ("scale", "<f4")])
DEAD = np.dtype("<i8")
HALF = np.dtype("<f2")

# More allowed rows than this are searched through the graph, filtered or not.
_EXACT_ALLOWED = 200_000
# The low half of a split query is scaled up so that float16 holds it.
_SPLIT = np.float32(2048)


def category_code(name: str) -> int:
    """The 64-bit code of a category's name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


class Query:
    """A question's vector, split into two float16 halves whose sum is exact to 22 bits.

    Rows are float16, and the fast kernels want both sides alike: rounding the question to float16 alone
    would move cosines by up to 1e-4, which `slack` bounds.

    Args:
        vector: Shape (dim,).
        dim: What the index holds.
        kind: For messages.

    Raises:
        KnowledgeBaseError: Wrong length, not finite or zero.
    """

    def __init__(self, vector: NDArray[np.float32], dim: int, kind: Kind) -> None:
        full = np.asarray(vector, dtype=np.float64).ravel()
        if len(full) != dim:
            raise KnowledgeBaseError(
                f"The question's vector has {len(full)} numbers but the {kind} index holds {dim}: "
                "use the embedder that built the knowledge base, or rebuild it with this one."
            )
        length = float(np.linalg.norm(full))
        if not np.isfinite(length) or length == 0:
            raise KnowledgeBaseError(
                "The question's vector is zero or not finite, so nothing can be compared with it: check the embedder."
            )
        self.unit = full / length
        unit = self.unit.astype(np.float32)
        self.high = unit.astype(np.float16)
        rest = unit - self.high.astype(np.float32)
        self._low = (rest * _SPLIT).astype(np.float16)
        # Cauchy and Schwarz: no cosine of a unit row is further off than the length of what was cut.
        self.slack = float(np.linalg.norm(rest)) + 2e-6

    def rough(self, matrix: NDArray[np.float16]) -> Scores:
        """Dot products with the rows, off by at most `slack` for unit rows."""
        return _dots(matrix, self.high)

    def exact(self, matrix: NDArray[np.float16]) -> Scores:
        """Dot products with the rows, off by less than 1e-6."""
        return _dots(matrix, self.high) + _dots(matrix, self._low) / _SPLIT


def _dots(matrix: NDArray[np.float16], vector: NDArray[np.float16]) -> Scores:
    if not len(matrix):
        return np.empty(0, np.float32)
    return np.asarray(numkong.cdist(matrix, vector[None], metric="dot")).ravel().astype(np.float32)


class Vectors:
    """The published rows of one kind, as they were when this was opened.

    Rows are only ever appended or marked dead, so a snapshot stays true while others write.

    Args:
        folder: The engine's folder.
        kind: Which vectors.
        state: What is published.
        graph: The open graph of an earlier snapshot, used again if it is still the current one.
    """

    def __init__(self, folder: Path, kind: Kind, state: VectorState, graph: Graph | None = None) -> None:
        self.kind = kind
        self.state = state
        stem = f"{kind}-{state.generation}"
        self.matrix: NDArray[np.float16] = _mapped(folder / f"{stem}.f16", HALF, (state.rows, state.dim))
        self.table = _mapped(folder / f"{stem}.rows", ROW, (state.rows,))
        self.dead = np.array(_mapped(folder / f"{stem}.dead", DEAD, (state.dead,)))
        self.alive = np.ones(state.rows, dtype=bool)
        self.alive[self.dead] = False
        self.graph: Graph | None = None
        if graph is not None and graph.name == state.graph:
            self.graph = graph
        elif state.graph is not None:
            try:
                self.graph = Graph(folder / state.graph, state.dim, state.check)
            except (OSError, RuntimeError):
                # Exact search finds the same, only slower, until the writer builds it anew.
                self.graph = None

    @property
    def count(self) -> int:
        """Living rows."""
        return self.state.rows - self.state.dead

    @cached_property
    def _scale(self) -> Scores:
        return np.array(self.table["scale"])

    @cached_property
    def _by_id(self) -> tuple[Rows, Rows]:
        living = np.flatnonzero(self.alive)
        ids = self.table["id"][living]
        order = np.argsort(ids, kind="stable")
        return ids[order], living[order]

    def rows_of(self, ids: Sequence[int] | Rows) -> Rows:
        """The living row of each id, -1 where there is none."""
        known, rows = self._by_id
        wanted = np.asarray(ids, dtype=np.int64)
        if not len(known):
            return np.full(len(wanted), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, rows[place], -1)

    def similarity(self, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Exact cosines of exactly these ids; those without a vector are left out."""
        if not self.count:
            return {}
        query = Query(vector, self.state.dim, self.kind)
        rows = self.rows_of(ids)
        rows = rows[rows >= 0]
        return dict(zip(self.table["id"][rows].tolist(), self._cosines(query, rows).tolist(), strict=True))

    def vectors(self, ids: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of these ids, of unit length; those without one are left out."""
        rows = self.rows_of(ids) if self.count else np.empty(0, np.int64)
        rows = rows[rows >= 0]
        found = self.matrix[rows].astype(np.float32) * self.table["scale"][rows, None]
        return dict(zip(self.table["id"][rows].tolist(), found, strict=True))

    def nearest(self, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest as (id, cosine), best first; exact when filtered, up to 200,000 allowed rows."""
        if not self.count:
            return []
        query = Query(vector, self.state.dim, self.kind)
        if k < 1:
            return []
        allowed = self.alive if where.empty else self.alive & self._allowed(where)
        share = self.count if where.empty else int(np.count_nonzero(allowed))
        if not share:
            return []
        rows: Rows | None = None
        if self.graph is not None and (where.empty or share > _EXACT_ALLOWED):
            rows = self._through_graph(self.graph, query, k, allowed, share)
        if rows is None and share * 4 < self.state.rows:
            chosen = np.flatnonzero(allowed)
            rows = chosen[self._top(query, self.matrix[chosen], self._scale[chosen], None, k)]
        if rows is None:
            rows = self._top(query, self.matrix, self._scale, allowed, k)
        ids, cosines = self.table["id"][rows], self._precise(query, rows)
        best = np.lexsort((ids, -cosines))[:k]
        return list(zip(ids[best].tolist(), cosines[best].tolist(), strict=True))

    def _allowed(self, where: Filter) -> NDArray[np.bool_]:
        allowed = np.ones(self.state.rows, dtype=bool)
        if where.categories is not None:
            allowed &= _is_one_of(self.table["category"], [category_code(name) for name in where.categories], np.uint64)
        if where.documents is not None:
            allowed &= _is_one_of(self.table["document"], sorted(where.documents), np.int64)
        if where.undated:
            allowed &= self.table["day"] == 0
        if where.since or where.until:
            day = self.table["day"]
            # Undated rows have day 0.
            allowed &= day >= (day_number(where.since) or 1)
            if where.until:
                allowed &= day <= np.int32(day_number(where.until) or 0)
        return allowed

    def _cosines(self, query: Query, rows: Rows) -> Scores:
        cosines: Scores = np.clip(query.exact(self.matrix[rows]) * self.table["scale"][rows], -1, 1)
        return cosines

    def _precise(self, query: Query, rows: Rows) -> NDArray[np.float64]:
        """Cosines in double precision, for the few that are ranked: near-ties fall as in a full comparison."""
        matrix = self.matrix[rows].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        cosines: NDArray[np.float64] = np.clip((matrix @ query.unit) / np.where(lengths > 0, lengths, 1), -1, 1)
        return cosines

    @staticmethod
    def _top(
        query: Query, matrix: NDArray[np.float16], scale: Scores, allowed: NDArray[np.bool_] | None, k: int
    ) -> Rows:
        """Places in `matrix` among which the k nearest surely are: the rough best, and all within its error."""
        rough = query.rough(matrix) * scale
        if allowed is not None:
            rough[~allowed] = -np.inf
        if k >= len(rough):
            return np.flatnonzero(rough > -np.inf)
        least = np.partition(rough, len(rough) - k)[len(rough) - k]
        return np.flatnonzero((rough >= least - 2 * query.slack) & (rough > -np.inf))

    def _through_graph(self, graph: Graph, query: Query, k: int, allowed: NDArray[np.bool_], share: int) -> Rows | None:
        """Candidate rows: from the graph for those it covers, exact for the rest; None if it found too few."""
        covered = self.state.covered
        # The graph knows no filter and no death: ask for more, and check.
        count = int((k + 4) * 1.25 * self.state.rows / share) + 8
        if count > MOST or k >= covered:
            return None
        found = graph.search(query.high, count)
        found = found[(found >= 0) & (found < covered)]
        found = found[allowed[found]]
        if len(found) < k:
            return None
        tail = slice(covered, None)
        return np.concatenate(
            [found, covered + self._top(query, self.matrix[tail], self._scale[tail], allowed[tail], k)]
        )


def _is_one_of(values: NDArray[Any], wanted: Sequence[int], kind: type) -> NDArray[np.bool_]:
    if len(wanted) > 16:
        return np.isin(values, np.array(wanted, dtype=kind))
    found = np.zeros(len(values), dtype=bool)
    for value in np.array(wanted, dtype=kind):
        found |= values == value
    return found


def _mapped(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The first rows of a file, mapped read-only; a file that is too short is a ValueError."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=shape))
