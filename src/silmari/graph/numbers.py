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
        self._settle()

    def __len__(self) -> int:
        return len(self._ids) + len(self._later)

    @property
    def ids(self) -> Ids:
        """The id of each row."""
        if self._later:
            self._ids = np.concatenate([self._ids, np.array(self._later, np.int64)])
            self._later = []
            self._settle()
        return self._ids

    @property
    def ascending(self) -> bool:
        """Whether the order of rows is that of their ids."""
        _ = self.ids
        return self._order is None

    def places(self, ids: ArrayLike) -> Places:
        """The row of each id, -1 for unknown ones."""
        wanted = np.asarray(ids, np.int64)
        known = self.ids if self._order is None and not self._later else self._sorted_ids()
        if not len(known):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = at if self._order is None else self._order[at]
        return np.where(known[at] == wanted, found, -1)

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

    def _sorted_ids(self) -> Ids:
        ids = self.ids
        return ids if self._order is None else ids[self._order]

    def _settle(self) -> None:
        rising = bool(np.all(self._ids[1:] > self._ids[:-1]))
        self._order: Places | None = None if rising else np.argsort(self._ids, kind="stable")
