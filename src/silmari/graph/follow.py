"""Keeps the graph equal to the catalog: read once, then changed by what the change log names, and kept on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from silmari.catalog.words import EntityRow, FactsChange, Named, NamesChange, Stated
from silmari.graph.aliases import Alias, Aliases
from silmari.graph.facts import Facts
from silmari.graph.links import Link, Links
from silmari.graph.snapshot import Saved, Snapshots

T = TypeVar("T")
# More changes than this are slower to apply one by one than all names are to read.
_MOST = 20_000
# Seconds that a graph must have taken to build, or changes since it was kept, for it to be kept on disk.
_SLOW = 0.5
_MANY = 2_000

Writing = Callable[[], AbstractContextManager[bool]]


class GraphLog(Protocol):
    """What the graph needs of the catalog."""

    def last_seq(self) -> int:
        """Number of the newest change; 0 for an empty log."""

    def all_names(self, use: Callable[[str, int, Iterator[Named]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number and the names of all passages."""

    def names_since(self, epoch: str, seq: int, limit: int) -> NamesChange | None:
        """What changed after a change's number; None when all names must be read anew."""

    def all_facts(self, use: Callable[[str, int, Iterator[EntityRow], Iterator[Stated]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number, all entities and all relations."""

    def facts_since(self, epoch: str, seq: int, limit: int) -> FactsChange | None:
        """What changed after a change's number; None when all must be read anew."""

    def alias_verdicts(self) -> Sequence[tuple[str, str, bool]]:
        """What a person decided of two keys: whether they are the same."""


class _Graph(Protocol):
    def arrays(self) -> Mapping[str, NDArray[Any]]: ...


class _Change(Protocol):
    @property
    def seq(self) -> int: ...


G = TypeVar("G", bound=_Graph)
C = TypeVar("C", bound=_Change)


class _Part(Generic[G, C]):
    """One graph, and which change it shows.

    Args:
        name: Of its files.
        start: Builds it: epoch, number of the newest change, graph.
        since: The changes since.
        apply: Applies changes to it; False if it must be built anew all the same.
        restore: Makes it from its arrays.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], tuple[str, int, G]],
        since: Callable[[str, int, int], C | None],
        apply: Callable[[G, C], bool],
        restore: Callable[[Mapping[str, NDArray[Any]]], G],
    ) -> None:
        self._name, self._start, self._since, self._apply, self._restore = name, start, since, apply, restore
        self._graph: G | None = None
        self._epoch, self._seq, self._kept = "", 0, 0

    def current(self, snapshots: Snapshots | None, last: int, writing: Writing | None) -> G:
        """It as of now; `last` is the number of the newest change."""
        if self._graph is None and snapshots is not None and (saved := snapshots.load(self._name)) is not None:
            # A catalog that was restored may be behind.
            if saved.seq <= last:
                self._epoch, self._seq = saved.epoch, saved.seq
                self._kept = saved.seq
                self._graph = self._restore(saved.arrays)
        if self._graph is not None and self._seq == last:
            return self._graph  # a log that begins anew goes on counting
        if self._graph is not None:
            change = self._since(self._epoch, self._seq, _MOST)
            if change is not None and self._apply(self._graph, change):
                self._seq = change.seq
                return self._graph
        began = time.perf_counter()
        self._epoch, self._seq, self._graph = self._start()
        if time.perf_counter() - began > _SLOW:
            self._kept = -_MANY
            self.keep(snapshots, writing)
        else:
            self._kept = self._seq
        return self._graph

    def keep(self, snapshots: Snapshots | None, writing: Writing | None) -> None:
        """Keep it on disk, if much has changed since it was."""
        if self._graph is None or snapshots is None or writing is None or self._seq - self._kept < _MANY:
            return
        with writing() as mine:
            if mine and snapshots.save(self._name, Saved(self._epoch, self._seq, self._graph.arrays())):
                self._kept = self._seq


class Following:
    """The graphs of a catalog, as of its newest change. Thread-safe.

    A graph that took long to build, or changed much, is kept on disk for the next process.

    Args:
        log: The catalog.
        snapshots: Where graphs are kept; None for nowhere.
        writing: Takes the right to write there, for as long as the context lasts; whether it could be had.
    """

    def __init__(self, log: GraphLog, snapshots: Snapshots | None = None, writing: Writing | None = None) -> None:
        self._log, self._snapshots, self._writing = log, snapshots, writing
        self._lock = threading.RLock()
        self._decided = -1
        self._links: _Part[Links, NamesChange] = _Part(
            "links",
            lambda: log.all_names(lambda epoch, seq, rows: (epoch, seq, Links(rows))),
            log.names_since,
            _relink,
            Links.from_arrays,
        )
        self._facts: _Part[Facts, FactsChange] = _Part(
            "facts",
            lambda: log.all_facts(lambda epoch, seq, names, rows: (epoch, seq, Facts.build(names, rows))),
            log.facts_since,
            _restate,
            Facts.from_arrays,
        )
        self._aliases: _Part[Aliases, FactsChange] = _Part(
            "aliases",
            lambda: log.all_facts(lambda epoch, seq, names, _: (epoch, seq, Aliases(names))),
            log.facts_since,
            _rename,
            Aliases.from_arrays,
        )

    def spread(self, sources: Sequence[tuple[int, float]], last: int | None = None) -> dict[int, Link]:
        """`Links.spread` over all that is in the catalog.

        Args:
            sources: Passages with their weights.
            last: Number of the newest change, if it was just asked for; so in `facts` and `edges`.
        """
        with self._lock:
            return self._links.current(*self._around(last)).spread(sources)

    def facts(self, last: int | None = None) -> Facts:
        """The relations that are in the catalog now; later changes come into it with the next call."""
        with self._lock:
            return self._facts.current(*self._around(last))

    def edges(self, last: int | None = None) -> Callable[[Iterable[int]], list[tuple[int, int, float]]]:
        """`silmari.graph.aliases.Aliases.edges_of` as of now, to be asked several times without looking for changes."""
        with self._lock:
            aliases = self._judged(last)

        def edges_of(entities: Iterable[int]) -> list[tuple[int, int, float]]:
            with self._lock:
                return aliases.edges_of(entities)

        return edges_of

    def edges_of(self, entities: Iterable[int]) -> list[tuple[int, int, float]]:
        """The edges between entities that may be one, see `silmari.graph.aliases.Aliases.edges_of`."""
        return self.edges()(entities)

    def aliases_of(self, entities: Iterable[int]) -> dict[int, list[Alias]]:
        """The same of each of some entities, the surest first, with the reasons."""
        with self._lock:
            aliases = self._judged()
            return {entity: aliases.of(entity) for entity in entities}

    def near(self, name: str, limit: int) -> list[int]:
        """Entities that a name, which none need have, may mean, the surest first."""
        with self._lock:
            return self._judged().near(name)[:limit]

    def _judged(self, last: int | None = None) -> Aliases:
        """The edges as of now, with what a person decided."""
        around = self._around(last)
        aliases = self._aliases.current(*around)
        if self._decided == around[1]:
            return aliases  # a decision is a change of the log, too
        self._decided = around[1]
        verdicts = self._log.alias_verdicts()
        if verdicts:
            facts = self.facts()
            pairs = ((facts.entity_of(one), facts.entity_of(other), same) for one, other, same in verdicts)
            aliases.decide((one, other, same) for one, other, same in pairs if one and other)
        else:
            aliases.decide(())
        return aliases

    def close(self) -> None:
        """Keep on disk what has changed much."""
        with self._lock:
            for part in (self._links, self._facts, self._aliases):
                part.keep(self._snapshots, self._writing)

    def _around(self, last: int | None = None) -> tuple[Snapshots | None, int, Writing | None]:
        return self._snapshots, self._log.last_seq() if last is None else last, self._writing


def _relink(links: Links, change: NamesChange) -> bool:
    links.update(change.touched, change.found)
    return True


def _restate(facts: Facts, change: FactsChange) -> bool:
    facts.update(change)
    return not facts.worn


def _rename(aliases: Aliases, change: FactsChange) -> bool:
    aliases.update(change.touched_entities, change.entities)
    return True
