"""Sparse rows of whole numbers as arrays, with the rows that changed since beside them.

What is computed from them does not depend on how they came to be: columns of a row stand in the order of their ids,
so that sums are added up in the same order after a change as after a rebuild, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from silmari.graph.numbers import Numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Columns = NDArray[np.int32]
Counts = NDArray[np.float32]
Floats = NDArray[np.float32]
Change = Mapping[int, Mapping[int, int]]

# Changed rows are put into the arrays when they are this many and hold this share of all entries.
_LOOSE = 2_000
_LOOSE_SHARE = 0.1


class Rows:
    """A sparse matrix of positive counts.

    Args:
        ends: Where each row begins and, last, where the last one ends: one more than there are rows.
        columns: Columns, row by row, in the order of their ids.
        counts: One a column; None when each is 1.
        numbers: The ids of columns.
    """

    def __init__(self, ends: Columns, columns: Columns, counts: Counts | None, numbers: Numbers) -> None:
        self._numbers = numbers
        self._height = 0
        self._entries = 0
        # Entries of changed rows.
        self._loose = 0
        self._set(ends, columns, counts)

    @classmethod
    def build(cls, rows: NDArray[Any], columns: NDArray[Any], height: int, numbers: Numbers) -> Rows:
        """Count pairs of row and column.

        Args:
            rows: Row of each pair.
            columns: Its column.
            height: How many rows there are.
            numbers: The ids of columns.
        """
        width = max(len(numbers), 1)
        order = numbers.order
        if order is not None:
            ranks = np.empty(width, np.int64)
            ranks[order] = np.arange(len(order))
            columns = ranks[columns]
        cells, counts = np.unique(rows.astype(np.int64) * width + columns, return_counts=True)
        owners, found = np.divmod(cells, width)
        if order is not None:
            found = order[found]
        ends = np.zeros(height + 1, np.int32)
        np.cumsum(np.bincount(owners, minlength=height), out=ends[1:])
        ones = bool(np.all(counts == 1))
        return cls(ends, found.astype(np.int32), None if ones else counts.astype(np.float32), numbers)

    def __len__(self) -> int:
        """How many rows there are; rows without entries at the end are not counted."""
        return self._height

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return self._entries

    def row(self, at: int) -> tuple[Columns, Counts]:
        """Columns and counts of a row."""
        changed = self._changed.get(at)
        if changed is not None:
            return changed
        if at + 1 >= len(self._ends):
            return np.empty(0, np.int32), np.empty(0, np.float32)
        part = slice(int(self._ends[at]), int(self._ends[at + 1]))
        return self._columns[part], self._counts[part]

    def lengths(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many entries each of these rows has."""
        base = len(self._ends) - 1
        inside = at < base
        safe = np.where(inside, at, 0)
        lengths = np.zeros(len(at), np.int64)
        if base:
            lengths[inside] = (self._ends[safe + 1] - self._ends[safe])[inside]
        if self._changed:
            for place in self._loose_among(at):
                lengths[place] = len(self._changed[int(at[place])][0])
        return lengths

    def gather(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], Columns, Counts]:
        """Many rows, one after the other: the length of each, all columns, all counts."""
        lengths = self.lengths(at)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        total = int(ends[-1]) if len(ends) else 0
        loose = self._loose_among(at) if self._changed else []
        if not loose:
            held = at < len(self._ends) - 1
            from_ = self._ends[at[held]].astype(np.int64) - starts[held]
            index = np.arange(total) + np.repeat(from_, lengths[held])
            return lengths, self._columns[index], self._counts[index]
        columns, counts = np.empty(total, np.int32), np.empty(total, np.float32)
        for place, start, length in zip(range(len(at)), starts.tolist(), lengths.tolist(), strict=True):
            columns[start : start + length], counts[start : start + length] = self.row(int(at[place]))
        return lengths, columns, counts

    def times(self, vector: Floats, power: float) -> Floats:
        """The product with a vector of one value a column, each count taken to a power (0: every entry is 1)."""
        result = np.zeros(self._height, np.float32)
        matrix = self._matrix(power)
        result[: matrix.shape[0]] = matrix @ vector[: matrix.shape[1]]
        if self._changed:
            rows, loose = self._loose_matrix(power)
            result[rows] = loose @ vector[: loose.shape[1]]
        return result

    def change(self, changes: Change) -> None:
        """Add to counts.

        Args:
            changes: For each row, by how much each column's count rises or falls; entries that reach 0 go.
        """
        ids = self._numbers.ids
        for at, by in changes.items():
            if any(by.values()):
                columns, counts = self.row(at)
                fresh = _changed(columns, counts, by, ids)
                self._entries += len(fresh[0]) - len(columns)
                self._loose += len(fresh[0]) - (len(columns) if at in self._changed else 0)
                self._changed[at] = fresh
                self._height = max(at + 1, self._height)
        self._loose_matrices.clear()
        if len(self._changed) > _LOOSE and self._loose > _LOOSE_SHARE * self._entries:
            self.pack()

    def pack(self) -> None:
        """Put changed rows into the arrays."""
        if not self._changed:
            return
        lengths = np.zeros(self._height, np.int64)
        base = len(self._ends) - 1
        lengths[:base] = np.diff(self._ends)
        kept = np.ones(base, bool)
        loose = sorted(self._changed)
        for at in loose:
            lengths[at] = len(self._changed[at][0])
            if at < base:
                kept[at] = False
        ends = np.zeros(self._height + 1, np.int32)
        np.cumsum(lengths, out=ends[1:])
        fresh = np.zeros(self._height, bool)
        fresh[loose] = True
        into = np.repeat(fresh, lengths)
        out_of = np.repeat(kept, np.diff(self._ends))
        columns, counts = np.empty(len(into), np.int32), np.empty(len(into), np.float32)
        columns[~into], counts[~into] = self._columns[out_of], self._counts[out_of]
        columns[into] = np.concatenate([self._changed[at][0] for at in loose])
        counts[into] = np.concatenate([self._changed[at][1] for at in loose])
        self._set(ends, columns, None if np.all(counts == 1) else counts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the constructor takes, all changes in it, for a snapshot."""
        self.pack()
        held: dict[str, NDArray[Any]] = {"ends": self._ends, "columns": self._columns}
        return held if self._counts.strides == (0,) else {**held, "counts": self._counts}

    def _set(self, ends: Columns, columns: Columns, counts: Counts | None) -> None:
        self._ends, self._columns = ends, columns
        # One value for all takes no memory.
        self._counts: Counts = np.broadcast_to(np.float32(1), columns.shape) if counts is None else counts
        self._height, self._entries, self._loose = len(ends) - 1, len(columns), 0
        self._changed: dict[int, tuple[Columns, Counts]] = {}
        self._matrices: dict[float, csr_array] = {}
        self._loose_matrices: dict[float, tuple[NDArray[np.int64], csr_array]] = {}

    def _loose_among(self, at: NDArray[np.int64]) -> list[int]:
        loose = np.fromiter(self._changed, np.int64, len(self._changed))
        return np.flatnonzero(np.isin(at, loose)).tolist()

    def _matrix(self, power: float) -> csr_array:
        """The arrays as a matrix."""
        if power not in self._matrices:
            self._matrices[power] = _matrix(self._ends, self._columns, self._counts, power, len(self._numbers))
        return self._matrices[power]

    def _loose_matrix(self, power: float) -> tuple[NDArray[np.int64], csr_array]:
        """The changed rows, as a matrix."""
        if power not in self._loose_matrices:
            rows = sorted(self._changed)
            parts = [self._changed[at] for at in rows]
            ends = np.cumsum([0, *(len(columns) for columns, _ in parts)]).astype(np.int32)
            columns, counts = (np.concatenate(held) for held in zip(*parts, strict=True))
            matrix = _matrix(ends, columns, counts, power, len(self._numbers))
            self._loose_matrices[power] = np.array(rows, np.int64), matrix
        return self._loose_matrices[power]


def _matrix(ends: Columns, columns: Columns, counts: Counts, power: float, width: int) -> csr_array:
    from scipy.sparse import csr_array

    weights = counts if power == 1 else counts**power
    return csr_array((np.ascontiguousarray(weights, np.float32), columns, ends), shape=(len(ends) - 1, width))


def _changed(columns: Columns, counts: Counts, by: Mapping[int, int], ids: NDArray[np.int64]) -> tuple[Columns, Counts]:
    """A row with other counts, its columns still in the order of their ids."""
    numbers = np.array(sorted(by, key=lambda column: int(ids[column])), np.int32)
    steps = np.array([by[int(column)] for column in numbers], np.float32)
    held = ids[columns]
    at = np.searchsorted(held, ids[numbers])
    there = (at < len(held)) & (held[np.minimum(at, max(len(held) - 1, 0))] == ids[numbers]) if len(held) else at < 0
    counts = counts.copy()
    counts[at[there]] += steps[there]
    columns = np.insert(columns, at[~there], numbers[~there])
    counts = np.insert(counts, at[~there], steps[~there])
    positive = counts > 0
    return columns[positive], counts[positive]


def summed(triples: Iterable[tuple[int, int, int]]) -> dict[int, dict[int, int]]:
    """Changes of `Rows.change` from (row, column, by)."""
    changes: dict[int, dict[int, int]] = {}
    for row, column, by in triples:
        of_row = changes.setdefault(row, {})
        of_row[column] = of_row.get(column, 0) + by
    return changes
