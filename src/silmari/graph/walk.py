"""A random walk with restart over entities and passages.

From an entity it goes to an entity that a relation joins with it, or to a passage that states a relation of it; from
a passage to an entity of its relations. Relations are no places of their own: they are folded into those edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from silmari.graph.numbers import Numbers
from silmari.graph.rows import Floats, Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Edges = Sequence[tuple[int, int, float]]

# How much of its time a walk may be cut short by.
_LEFT_OUT = 0.04
# An edge's weight is the number of relations behind it to this power: between entities, and of entity and passage.
BETWEEN = 1.0
NAMING = 0.0
# While the places reached have fewer edges than this share of all, only those edges are followed.
_SPARSE = 0.05


def steps_for(damping: float) -> int:
    """After how many steps at most 4 % of a walk is left out."""
    return max(1, math.ceil(math.log(_LEFT_OUT) / math.log(damping))) if 0 < damping < 1 else 1


@dataclass(frozen=True, slots=True)
class Ground:
    """What is walked over.

    Attributes:
        entities: Their ids.
        passages: Their ids.
        near: Entities × entities: relations that join them.
        named: Entities × passages: relations of the entity that the passage states.
        naming: The same, passages × entities.
    """

    entities: Numbers
    passages: Numbers
    near: Rows
    named: Rows
    naming: Rows


class Walker:
    """The walk with certain weights of edges; good until the ground changes.

    Args:
        ground: What is walked over.
        entity_edges: Weight of an edge between entities beside one of an entity and a passage.
        hubs: Edges of an entity with n passages weigh ``n ** -hubs`` of their weight.
        extra: More edges between entities, by id, with their weights; those of unknown ids are passed over.
    """

    def __init__(self, ground: Ground, entity_edges: float, hubs: float, extra: Edges) -> None:
        self._ground = ground
        self._between = np.float32(entity_edges)
        self._extra = _matrix(ground, extra)
        self._sizes = len(ground.entities), len(ground.passages)
        ones = np.ones(self._sizes[1], np.float32)
        self._gain = np.ones(self._sizes[0], np.float32)
        if hubs:
            self._gain = np.maximum(self._padded(ground.named.times(ones, 0), 0), 1) ** np.float32(-hubs)
        # A place's own gain is in all of its edges, and cancels out.
        sums = self._spread(self._gain, ones)
        self._shares = _inverse(sums[0]), _inverse(sums[1])

    def walk(
        self, entities: Mapping[int, float], passages: Mapping[int, float], top: int, damping: float, steps: int
    ) -> list[tuple[int, float]]:
        """The passages where the walk is most often, with the share of its time; see `Facts.walk`."""
        total = sum(entities.values()) + sum(passages.values())
        if total <= 0:
            return []
        starts = _seeds(self._ground.entities, entities, total), _seeds(self._ground.passages, passages, total)
        # Whether a passage is known that has no relations any more does not matter.
        starts[1][self._shares[1] == 0] = 0
        at = self._steps(starts, damping, steps)[1]
        joined = set(self._ground.passages.ids[np.flatnonzero(starts[1])].tolist())
        apart = [(item, (1 - damping) * weight / total) for item, weight in passages.items() if item not in joined]
        return _best(self._ground.passages.ids, at, [pair for pair in apart if pair[1] > 0], top)

    def _steps(self, starts: tuple[Floats, Floats], damping: float, steps: int) -> tuple[Floats, Floats]:
        fresh = starts[0] * np.float32(1 - damping), starts[1] * np.float32(1 - damping)
        limit = _SPARSE * (self._ground.near.entries + 2 * self._ground.named.entries)
        here = starts
        sparse = True
        for left in reversed(range(steps)):
            out = here[0] * self._shares[0], here[1] * self._shares[1]
            step = self._follow(*out, limit) if sparse else None
            sparse = step is not None
            if step is not None:
                reached, naming = step
            else:
                # Of the last step only the passages are looked at.
                reached, naming = self._spread(*out) if left else (here[0], self._stating(out[0]))
            reached = reached * self._gain
            here = fresh[0] + np.float32(damping) * reached, fresh[1] + np.float32(damping) * naming
        return here

    def _spread(self, entities: Floats, passages: Floats) -> tuple[Floats, Floats]:
        """Along all edges."""
        ground = self._ground
        reached = self._between * self._padded(ground.near.times(entities, BETWEEN), 0)
        reached += self._padded(ground.named.times(passages, NAMING), 0)
        if self._extra is not None:
            reached += self._extra @ entities
        return reached, self._stating(entities)

    def _stating(self, entities: Floats) -> Floats:
        return self._padded(self._ground.naming.times(entities, NAMING), 1)

    def _follow(self, entities: Floats, passages: Floats, limit: float) -> tuple[Floats, Floats] | None:
        """Along the edges of those places that have something; None if they are more than `limit`."""
        ground, (height, width) = self._ground, self._sizes
        some, few = _standing(ground.entities, entities), _standing(ground.passages, passages)
        edges = sum(
            int(rows.lengths(at).sum())
            for rows, at in ((ground.near, some), (ground.named, some), (ground.naming, few))
        )
        if edges > limit:
            return None
        reached = self._between * _pushed(ground.near, some, entities, BETWEEN, height)
        reached += _pushed(ground.naming, few, passages, NAMING, height)
        if self._extra is not None:
            reached += self._extra @ entities
        return reached, _pushed(ground.named, some, entities, NAMING, width)

    def _padded(self, vector: Floats, side: int) -> Floats:
        missing = self._sizes[side] - len(vector)
        return np.pad(vector, (0, missing)) if missing else vector


def _inverse(sums: Floats) -> Floats:
    """What goes along an edge of weight 1; nothing where there is no edge."""
    return np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)


def _pushed(rows: Rows, at: NDArray[np.int64], masses: Floats, power: float, width: int) -> Floats:
    lengths, columns, counts = rows.gather(at)
    weights = np.repeat(masses[at], lengths)
    if power:
        weights = weights * counts**power
    return np.bincount(columns, weights, minlength=width).astype(np.float32)


def _standing(numbers: Numbers, masses: Floats) -> NDArray[np.int64]:
    """Where something is, in the order of ids, so that sums do not depend on how rows were numbered."""
    at = np.flatnonzero(masses)
    return at if numbers.order is None else at[np.argsort(numbers.ids[at], kind="stable")]


def _seeds(numbers: Numbers, weights: Mapping[int, float], total: float) -> Floats:
    seeds = np.zeros(len(numbers), np.float32)
    places = numbers.places(list(weights))
    known = places >= 0
    seeds[places[known]] = np.array(list(weights.values()), np.float64)[known] / total
    return seeds


def _matrix(ground: Ground, extra: Edges) -> csr_array | None:
    from scipy.sparse import csr_array

    if not len(extra):
        return None
    numbers = ground.entities
    first, second, weights = (np.array(column) for column in zip(*extra, strict=True))
    ends = numbers.places(first), numbers.places(second)
    # An entity without relations is as good as none.
    held = [(end >= 0) & (ground.named.lengths(np.maximum(end, 0)) > 0) for end in ends]
    fitting = held[0] & held[1] & (ends[0] != ends[1])
    rows = np.concatenate([ends[0][fitting], ends[1][fitting]])
    columns = np.concatenate([ends[1][fitting], ends[0][fitting]])
    order = np.lexsort((numbers.ids[columns], rows))
    lengths = np.bincount(rows, minlength=len(numbers))
    values = np.tile(weights[fitting], 2)[order].astype(np.float32)
    return csr_array(
        (values, columns[order].astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)),
        shape=(len(numbers), len(numbers)),
    )


def _best(ids: NDArray[np.int64], masses: Floats, apart: list[tuple[int, float]], top: int) -> list[tuple[int, float]]:
    """The `top` greatest, of equal ones the smallest id first."""
    chosen = np.flatnonzero(masses > 0)
    if len(chosen) > top:
        least = np.partition(masses[chosen], len(chosen) - top)[len(chosen) - top]
        chosen = chosen[masses[chosen] >= least]
    found = list(zip(ids[chosen].tolist(), masses[chosen].tolist(), strict=True)) + apart
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:top]
