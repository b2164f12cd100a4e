"""Keeps the graph equal to the catalog: read once, then changed by what the change log names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from silmari.catalog.words import EntityRow, Named, NamesChange, Stated
from silmari.graph.facts import Facts
from silmari.graph.links import Link, Links

T = TypeVar("T")
# More changes than this are slower to apply one by one than all names are to read.
_MOST = 20_000


class NamesLog(Protocol):
    """What the graph needs of the catalog."""

    def all_names(self, use: Callable[[str, int, Iterator[Named]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number and the names of all passages."""

    def names_since(self, epoch: str, seq: int, limit: int) -> NamesChange | None:
        """What changed after a change's number; None when all names must be read anew."""

    def all_facts(self, use: Callable[[str, int, Iterator[EntityRow], Iterator[Stated]], T]) -> T:
        """All."""


class Following:
    """A graph that follows a catalog. Thread-safe.

    Args:
        log: The catalog.
    """

    def __init__(self, log: NamesLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._links: Links | None = None
        self._epoch, self._seq = "", 0

    def spread(self, sources: Sequence[tuple[int, float]]) -> dict[int, Link]:
        """`Links.spread` over all that is in the catalog now."""
        with self._lock:
            return self._current().spread(sources)

    def facts(self) -> Facts:
        """The relations that are in the catalog now."""
        with self._lock:
            return self._log.all_facts(lambda epoch, seq, entities, relations: Facts.build(entities, relations))

    def _current(self) -> Links:
        if self._links is not None:
            change = self._log.names_since(self._epoch, self._seq, _MOST)
            if change is not None:
                self._links.update(change.touched, change.found)
                self._seq = change.seq
                return self._links
        return self._log.all_names(self._start)

    def _start(self, epoch: str, seq: int, rows: Iterator[Named]) -> Links:
        self._links = Links(rows)
        self._epoch, self._seq = epoch, seq
        return self._links
