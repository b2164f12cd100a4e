"""Keeps alias edges equal to the catalog: read once, then changed by what the change log names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

from silmari.catalog.words import EntityRow, FactsChange, Stated
from silmari.graph.aliases import Alias, Aliases

T = TypeVar("T")
# More changes than this are slower to apply one by one than all names are to read.
_MOST = 20_000


class FactsLog(Protocol):
    """What alias edges need of the catalog."""

    def all_facts(self, use: Callable[[str, int, Iterator[EntityRow], Iterator[Stated]], T]) -> T:
        """What `use` makes of the log's epoch, the newest change's number, all entities and all relations."""

    def facts_since(self, epoch: str, seq: int, limit: int) -> FactsChange | None:
        """What changed after a change's number; None when all must be read anew."""

    def alias_verdicts(self) -> list[tuple[str, str, bool]]:
        """What the user decided of two keys."""

    def entity_ids(self, keys: Iterable[str]) -> dict[str, int]:
        """The entities that have these keys."""


class Snapshot(NamedTuple):
    """Alias edges as of a change's number; `Aliases.arrays` is what to keep of them."""

    epoch: str
    seq: int
    aliases: Aliases


class FollowingAliases:
    """Alias edges that follow a catalog. Thread-safe.

    Args:
        log: The catalog.
        start: Where to begin, if something was kept.
    """

    def __init__(self, log: FactsLog, start: Snapshot | None = None) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._held = start
        self._judged = False

    def edges_of(self, items: Iterable[int]) -> list[tuple[int, int, float]]:
        """`Aliases.edges_of` over all that is in the catalog now."""
        with self._lock:
            return self._current().edges_of(items)

    def of(self, items: Iterable[int]) -> dict[int, list[Alias]]:
        """The edges of each of some entities, the surest first."""
        with self._lock:
            current = self._current()
            return {item: current.of(item) for item in items}

    def near(self, name: str, limit: int) -> list[int]:
        """Entities whose name may be meant by a name that none has, the surest first."""
        with self._lock:
            return self._current().near(name)[:limit]

    def snapshot(self) -> Snapshot:
        """What may be kept; it must not be used while this goes on following."""
        with self._lock:
            self._current()
            assert self._held is not None
            return self._held

    def _current(self) -> Aliases:
        if self._held is not None:
            epoch, seq, aliases = self._held
            change = self._log.facts_since(epoch, seq, _MOST)
            if change is not None:
                aliases.update(change.touched_entities, change.entities)
                self._held = Snapshot(epoch, change.seq, aliases)
                # Whoever decides logs the entities that it concerns.
                if change.touched_entities or not self._judged:
                    self._judge(aliases)
                return aliases
        return self._log.all_facts(self._start)

    def _start(self, epoch: str, seq: int, entities: Iterator[EntityRow], _: Iterator[Stated]) -> Aliases:
        aliases = Aliases(entities)
        self._held = Snapshot(epoch, seq, aliases)
        self._judge(aliases)
        return aliases

    def _judge(self, aliases: Aliases) -> None:
        verdicts = self._log.alias_verdicts()
        ids = self._log.entity_ids(dict.fromkeys(chain.from_iterable((a, b) for a, b, _ in verdicts)))
        aliases.decide((ids[a], ids[b], same) for a, b, same in verdicts if a in ids and b in ids)
        self._judged = True
