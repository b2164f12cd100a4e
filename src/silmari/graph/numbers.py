"""Row numbers in the arrays of the graph for the catalog's numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.int64]
Places = NDArray[np.int64]


class Numbers:
    """Ids and the rows they have: 0, 1, … in the order in which they came. A row is never given to another id.

    Args:
        ids: The first ones, each once.
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._later: list[int] = []
        if np.all(ids[1:] > ids[:-1]):
            self._sorted: Ids = ids
            self._order: Places | None = None
        else:
            order = np.argsort(ids, kind="stable")
            self._sorted, self._order = ids[order], order

    def __len__(self) -> int:
        return len(self._ids) + len(self._later)

    @property
    def ids(self) -> Ids:
        """The id of each row."""
        self._settle()
        return self._ids

    @property
    def order(self) -> Places | None:
        """Rows in the order of their ids; None if that is how they stand."""
        self._settle()
        return self._order

    def places(self, ids: ArrayLike) -> Places:
        """The row of each id, -1 for unknown ones."""
        self._settle()
        wanted = np.asarray(ids, np.int64)
        if not len(self._sorted):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        found = at if self._order is None else self._order[at]
        return np.where(self._sorted[at] == wanted, found, -1)

    def take(self, ids: Iterable[int]) -> Places:
        """The row of each id; unknown ones get the next rows, the smallest id first."""
        wanted = list(ids)
        at = self.places(wanted)
        unknown = sorted({item for item, place in zip(wanted, at.tolist(), strict=True) if place < 0})
        if not unknown:
            return at
        self._later += unknown
        return self.places(wanted)

    def known(self, ids: Collection[int]) -> Places:
        """The rows of those ids that have one."""
        at = self.places(list(ids))
        return at[at >= 0]

    def _settle(self) -> None:
        """Put later ids into the arrays."""
        if not self._later:
            return
        later = np.array(self._later, np.int64)
        self._later = []
        fresh = len(self._ids) + np.arange(len(later))
        at = np.searchsorted(self._sorted, later)
        if self._order is not None or at[0] < len(self._sorted):
            order = np.arange(len(self._ids)) if self._order is None else self._order
            self._order = np.insert(order, at, fresh)
        self._ids = np.concatenate([self._ids, later])
        self._sorted = self._ids if self._order is None else np.insert(self._sorted, at, later)
