"""Entities, the relations that join them, and the passages that state those: what a base knows, in arrays.

A changed relation changes only its own entries, and everything that `Facts` gives is the same as after a rebuild.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.catalog.words import EntityRow, FactsChange, Stated
from silmari.graph.keys import Keys
from silmari.graph.numbers import Numbers
from silmari.graph.rows import Rows, summed
from silmari.graph.walk import STEPS, Edges, Ground, Walker

Nearest = Callable[[Sequence[int], int], Sequence[int]]


class Facts:
    """The graph of relations. Thread-safe; make one with `Facts.build`."""

    def __init__(
        self,
        keys: Keys,
        relations: Numbers,
        ends: NDArray[np.int32],
        related: Rows,
        stated: Rows,
        ground: Ground,
    ) -> None:
        """Take what is built.

        Args:
            keys: Of entities, by their rows.
            relations: Their ids.
            ends: Subject and object of each relation, as rows of entities: shape (2, relations).
            related: Entities × relations.
            stated: Relations × passages.
            ground: For the walk, and the ids of entities and passages.
        """
        self._keys, self._relations, self._ends = keys, relations, ends
        self._related, self._stated, self._ground = related, stated, ground
        self._lock = threading.RLock()
        self._walker: tuple[Any, Walker] | None = None

    @classmethod
    def build(cls, entities: Iterable[EntityRow] = (), relations: Iterable[Stated] = ()) -> Facts:
        """Put entities and relations into arrays.

        Args:
            entities: Each once.
            relations: Each once; one without a passage counts as gone.
        """
        names = {row.id: row.key for row in entities}
        held = sorted((row for row in relations if row.passages), key=lambda row: row.id)
        numbers = Numbers(np.array([row.id for row in held], np.int64))
        sides = np.array([[row.subject for row in held], [row.object for row in held]], np.int64)
        nodes = Numbers(np.unique(np.concatenate([np.fromiter(names, np.int64, len(names)), *sides])))
        lengths = [len(row.passages) for row in held]
        places = np.fromiter(chain.from_iterable(row.passages for row in held), np.int64, sum(lengths))
        passages = Numbers(np.unique(places))
        ends = nodes.places(sides.ravel()).reshape(2, -1).astype(np.int32)
        owners = np.repeat(np.arange(len(held)), lengths)
        where = passages.places(places)
        others = ends[0] != ends[1]
        # Of a relation of an entity with itself there is one end.
        from_ = np.concatenate([ends[0], ends[1][others]])
        back = np.concatenate([np.arange(len(held)), np.flatnonzero(others)])
        statements = np.concatenate([ends[0][owners], ends[1][owners[others[owners]]]])
        stating = np.concatenate([where, where[others[owners]]])
        near = np.concatenate([ends[0][others], ends[1][others]]), np.concatenate([ends[1][others], ends[0][others]])
        ground = Ground(
            nodes,
            passages,
            Rows.build(*near, len(nodes), nodes),
            Rows.build(statements, stating, len(nodes), passages),
            Rows.build(stating, statements, len(passages), nodes),
        )
        return cls(
            Keys.build([names.get(item, "") for item in nodes.ids.tolist()]),
            numbers,
            ends,
            Rows.build(from_, back, len(nodes), numbers),
            Rows.build(owners, where, len(held), passages),
            ground,
        )

    def walk(
        self,
        entities: Mapping[int, float],
        passages: Mapping[int, float],
        *,
        top: int = 100,
        damping: float = 0.5,
        entity_edges: float = 1.0,
        hubs: float = 0.0,
        steps: int = STEPS,
        extra: Edges = (),
    ) -> list[tuple[int, float]]:
        """A random walk with restart.

        Args:
            entities: Weights, not negative, of the entities where it starts anew; unknown ones are passed over.
            passages: Weights of such passages; one without relations keeps its share of the restarts.
            top: How many passages are wanted.
            damping: How often, from 0 to 1, it goes on rather than start anew.
            entity_edges: Weight of an edge between two entities for each relation that joins them; an edge
                between an entity and a passage weighs 1.
            hubs: The edges of an entity with n passages weigh ``n ** -hubs`` as much.
            steps: After how many steps it is stopped; what is left out is ``damping ** steps``.
            extra: More edges between entities, both ways, as (entity, entity, weight), such as between aliases.
                A tuple that is given again is not read again.

        Returns:
            (passage, share of the time spent there), best first; of equal ones the smallest id first.
        """
        with self._lock:
            asked = entity_edges, hubs, extra
            if self._walker is None or self._walker[0][:2] != asked[:2] or self._walker[0][2] is not extra:
                self._walker = asked, Walker(self._ground, entity_edges, hubs, extra)
            return self._walker[1].walk(entities, passages, top, damping, steps)
