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
from silmari.graph.mentions import mentions
from silmari.graph.numbers import Numbers
from silmari.graph.rows import Rows, summed
from silmari.graph.walk import Edges, Ground, Walker, steps_for

Ints = NDArray[np.int64]
Nearest = Callable[[Sequence[int], int], Sequence[int]]

# A graph with more than this and as many gone as there are is better built anew.
_WORN = 10_000
_ROWS = ("related", "stated", "near", "named", "naming")


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
        self._held = int(np.count_nonzero(stated.lengths(np.arange(len(relations)))))

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
        # Rows of like lengths side by side are multiplied twice as fast.
        found = np.concatenate([np.fromiter(names, np.int64, len(names)), *sides])
        found, uses = np.unique(found, return_counts=True)
        nodes = Numbers(found[np.argsort(-uses, kind="stable")])
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` needs: to be kept on disk and mapped into memory."""
        with self._lock:
            ground = self._ground
            found: dict[str, NDArray[Any]] = {
                "relations": self._relations.ids,
                "entities": ground.entities.ids,
                "passages": ground.passages.ids,
                "ends": self._ends,
            }
            held = {"keys": self._keys.arrays()}
            held |= {name: rows.arrays() for name, rows in zip(_ROWS, self._rows, strict=True)}
            for name, part in held.items():
                found |= {f"{name}.{field}": array for field, array in part.items()}
            return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Facts:
        """The same graph again; the arrays are only read."""
        relations, entities, passages = (Numbers(arrays[name]) for name in ("relations", "entities", "passages"))
        related, stated, *rows = (
            Rows(arrays[f"{name}.ends"], arrays[f"{name}.columns"], arrays.get(f"{name}.counts"), numbers)
            for name, numbers in zip(_ROWS, (relations, passages, entities, passages, entities), strict=True)
        )
        keys = Keys(**{name[5:]: array for name, array in arrays.items() if name.startswith("keys.")})
        return cls(keys, relations, arrays["ends"], related, stated, Ground(entities, passages, *rows))

    @property
    def _rows(self) -> tuple[Rows, ...]:
        ground = self._ground
        return self._related, self._stated, ground.near, ground.named, ground.naming

    def __len__(self) -> int:
        """How many relations there are."""
        return self._held

    @property
    def worn(self) -> bool:
        """Whether so much has gone that building it anew pays."""
        return len(self._relations) > 2 * self._held + _WORN

    def update(self, change: FactsChange) -> None:
        """Take entities and relations out, and those of them that still are something in again."""
        with self._lock:
            ground = self._ground
            nodes = ground.entities.take(row.id for row in change.entities)
            gone = set(change.touched_entities) - {row.id for row in change.entities}
            for number in ground.entities.known(gone).tolist():
                self._keys.put(number, "")
            for number, row in zip(nodes.tolist(), change.entities, strict=True):
                self._keys.put(number, row.key)
            found = {row.id: row for row in change.relations if row.passages}
            before = self._relations.known(sorted({*change.touched_relations, *found})).tolist()
            old = [(number, *self._ends[:, number].tolist(), self._stated.row(number)[0].tolist()) for number in before]
            new = self._taken(list(found.values()))
            self._held += len(new) - sum(bool(passages) for *_, passages in old)
            for rows, triples in zip(
                self._rows,
                zip(_entries(old, -1), _entries(new, 1), strict=True),
                strict=True,
            ):
                rows.change(summed(chain(*triples)))
            self._walker = None

    def _taken(self, rows: Sequence[Stated]) -> list[tuple[int, int, int, list[int]]]:
        """Give relations their rows: number, ends and passages of each."""
        ground = self._ground
        numbers = self._relations.take(row.id for row in rows).tolist()
        sides = ground.entities.take(chain.from_iterable((row.subject, row.object) for row in rows)).reshape(-1, 2)
        ground.passages.take(chain.from_iterable(row.passages for row in rows))
        if (missing := len(self._relations) - self._ends.shape[1]) > 0:
            self._ends = np.pad(self._ends, ((0, 0), (0, missing)))
        elif rows and not self._ends.flags.writeable:
            self._ends = self._ends.copy()
        if rows:
            self._ends[:, numbers] = sides.T
        passages = [ground.passages.places(sorted(set(row.passages))).tolist() for row in rows]
        return [(number, *ends, held) for number, ends, held in zip(numbers, sides.tolist(), passages, strict=True)]

    def entity_of(self, key: str) -> int | None:
        """The entity with a key, or None."""
        with self._lock:
            number = self._keys.number(key)
            return None if number is None else int(self._ground.entities.ids[number])

    def mentions(self, text: str) -> list[tuple[int, int, int]]:
        """Entities that a text names, see `silmari.graph.mentions.mentions`: (entity, start, end) by start."""
        with self._lock:
            ids = self._ground.entities.ids
            return [(int(ids[number]), start, end) for number, start, end in mentions(text, self._keys)]

    def relations_of(self, entities: Iterable[int]) -> list[int]:
        """The relations of which one of these entities is an end, by id."""
        with self._lock:
            _, columns, _ = self._related.gather(self._ground.entities.known(list(entities)))
            return _listed(np.unique(self._relations.ids[columns]))

    def ends(self, relations: Sequence[int]) -> tuple[list[int], list[int]]:
        """Subjects and objects of relations, in their order; 0 for those of a relation that is gone."""
        with self._lock:
            at = self._relations.places(list(relations))
            held = (at >= 0) & (self._stated.lengths(np.maximum(at, 0)) > 0)
            ids = np.zeros((2, len(at)), np.int64)
            ids[:, held] = self._ground.entities.ids[self._ends[:, at[held]]]
            return ids[0].tolist(), ids[1].tolist()

    def passages_of(self, relations: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """The passages that state each relation, by id; relations that are gone are left out."""
        with self._lock:
            wanted = list(dict.fromkeys(relations))
            at = self._relations.places(wanted)
            lengths, columns, _ = self._stated.gather(at[at >= 0])
            parts = np.split(self._ground.passages.ids[columns], np.cumsum(lengths)[:-1])
            known = (item for item, place in zip(wanted, at.tolist(), strict=True) if place >= 0)
            return {item: tuple(part.tolist()) for item, part in zip(known, parts, strict=False) if len(part)}

    def entities_of(self, passages: Iterable[int]) -> dict[int, list[int]]:
        """The ends of the relations that each passage states, by id; passages that state none are left out."""
        with self._lock:
            wanted = list(dict.fromkeys(passages))
            return _parted(wanted, self._ground.passages.places(wanted), self._ground.naming, self._ground.entities)

    def stating(self, entities: Iterable[int]) -> dict[int, list[int]]:
        """The passages that state a relation of each entity, by id; entities without one are left out."""
        with self._lock:
            wanted = list(dict.fromkeys(entities))
            return _parted(wanted, self._ground.entities.places(wanted), self._ground.named, self._ground.passages)

    def keys(self, entities: Sequence[int]) -> list[str]:
        """The keys of entities, in their order; empty for those that are gone."""
        with self._lock:
            places = self._ground.entities.places(list(entities)).tolist()
            return [self._keys.key(place) if place >= 0 else "" for place in places]

    def passage_counts(self, entities: Sequence[int]) -> list[int]:
        """In how many passages each entity is an end of a relation."""
        with self._lock:
            at = self._ground.entities.places(list(entities))
            return _listed(np.where(at >= 0, self._ground.named.lengths(np.maximum(at, 0)), 0))

    def expand(
        self, relations: Iterable[int], entities: Iterable[int], degree: int, budget: int, nearest: Nearest
    ) -> list[int]:
        """Relations around some relations and entities.

        It begins with the relations and with those of the entities. Each step adds the relations that share an
        entity with one that was reached.

        Args:
            relations: Where it begins; unknown ones are passed over.
            entities: Likewise.
            degree: How many steps.
            budget: How many relations are kept at the beginning and after each step.
            nearest: Chooses as many of these relations as are to be kept, the most similar to the question.

        Returns:
            The relations by id.
        """
        with self._lock:
            ids = self._relations.ids
            begin = self._relations.known(list(relations))
            reached = np.zeros(len(ids), bool)
            reached[begin[self._stated.lengths(begin) > 0]] = True
            reached[self._related.gather(self._ground.entities.known(list(entities)))[1]] = True
            for step in range(degree + 1):
                if step:
                    nodes = np.unique(self._ends[:, np.flatnonzero(reached)])
                    reached[self._related.gather(nodes.astype(np.int64))[1]] = True
                held = np.flatnonzero(reached)
                if len(held) > budget:
                    kept = nearest(_listed(np.sort(ids[held])), budget)
                    reached = np.zeros(len(ids), bool)
                    reached[self._relations.known(list(kept))] = True
            return _listed(np.sort(ids[reached]))

    def walk(
        self,
        entities: Mapping[int, float],
        passages: Mapping[int, float],
        *,
        top: int = 100,
        damping: float = 0.5,
        entity_edges: float = 1.0,
        hubs: float = 0.0,
        steps: int | None = None,
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
            steps: After how many it is stopped: ``damping ** steps`` of the time is left out; None for at most 4 %.
            extra: More edges between entities, both ways, as (entity, entity, weight), such as between aliases.
                A tuple that is given again is not read again.

        Returns:
            (passage, share of the time spent there), best first; of equal ones the smallest id first.
        """
        with self._lock:
            asked = entity_edges, hubs, extra
            if self._walker is None or self._walker[0][:2] != asked[:2] or self._walker[0][2] is not extra:
                self._walker = asked, Walker(self._ground, entity_edges, hubs, extra)
            return self._walker[1].walk(entities, passages, top, damping, steps or steps_for(damping))


def _parted(wanted: Sequence[int], places: Ints, rows: Rows, columns: Numbers) -> dict[int, list[int]]:
    """The ids in the row of each of `wanted`, ascending; empty rows are left out."""
    known = [item for item, place in zip(wanted, places.tolist(), strict=True) if place >= 0]
    lengths, found, _ = rows.gather(places[places >= 0])
    parts = np.split(columns.ids[found], np.cumsum(lengths)[:-1])
    return {item: sorted(part.tolist()) for item, part in zip(known, parts, strict=False) if len(part)}


def _listed(ids: Ints) -> list[int]:
    found: list[int] = ids.tolist()
    return found


def _entries(relations: Iterable[tuple[int, int, int, list[int]]], by: int) -> tuple[list[tuple[int, int, int]], ...]:
    """What relations add to the rows `related`, `stated`, `near`, `named` and `naming`, `by` times."""
    related: list[tuple[int, int, int]] = []
    stated: list[tuple[int, int, int]] = []
    near: list[tuple[int, int, int]] = []
    named: list[tuple[int, int, int]] = []
    naming: list[tuple[int, int, int]] = []
    for number, subject, object_, passages in relations:
        if not passages:
            continue
        # An entity related with itself is one end, and leads nowhere.
        ends = [subject] if subject == object_ else [subject, object_]
        related += [(end, number, by) for end in ends]
        stated += [(number, passage, by) for passage in passages]
        if len(ends) == 2:
            near += [(subject, object_, by), (object_, subject, by)]
        named += [(end, passage, by) for end in ends for passage in passages]
        naming += [(passage, end, by) for end in ends for passage in passages]
    return related, stated, near, named, naming
