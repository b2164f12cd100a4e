"""Chains of relations that together say what a question asks.

"What is made in the birthplace of the founder of X?" is asked in one vector, but stated by three relations, of which
only the first shares a name with the question. So relations are followed from one to the next, and a chain is worth
as much of the question as all of its relations say together: the length of the question's vector in the space that
their vectors span. A relation that is added counts by what the former ones have not said, and by nothing that it
repeats, such as the name that joins them.

This is orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad, 1993) along the edges of a graph, with a beam
over paths as in PropRAG (Wang and Han, 2025), where a path is compared by the sum of its vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LENGTH = 3
# Chains that are followed further after each step; from 25 to 200 the quality is the same.
WIDTH = 50
# A relation of which less than this (squared) is new says nothing more than the former ones.
_NEW = 0.01

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
# For each entity those that may be the same, itself among them, each with how surely (0 to 1).
Alike = Mapping[int, Sequence[tuple[int, float]]]


@dataclass(frozen=True, slots=True)
class Chain:
    """Relations, each sharing an entity with the one before.

    Attributes:
        relations: Their ids.
        joints: Between each and the next, the entity that joins them: the end of the one and that of the other,
            which are the same or may be.
        says: How much of the question they say together, 0 to 1: of one relation alone, its cosine.
        close: The cosine of each.
    """

    relations: tuple[int, ...]
    joints: tuple[tuple[int, int], ...]
    says: float
    close: tuple[float, ...]

    def upto(self, stated: Collection[int]) -> Chain:
        """The part that leads to a passage that states these of its relations; what it says stays that of all.

        To one that states the first, the closest one that it states leads.
        """
        held = [place for place, one in enumerate(self.relations) if one in stated]
        last = held[0] or max(held, key=lambda place: self.close[place])
        part = slice(0 if held[0] else last, last + 1)
        return replace(
            self,
            relations=self.relations[part],
            joints=self.joints[part][: last if held[0] else 0],
            close=self.close[part],
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """The relations that chains are made of.

    Attributes:
        ids: Of the relations, each once.
        ends: Their subjects and objects, shape (relations, 2).
        vectors: Of unit length, shape (relations, dim).
    """

    ids: Ints
    ends: Ints
    vectors: Floats


@dataclass(frozen=True, slots=True)
class _Path:
    """A chain that is being followed: rows of the pool, what they say, and an orthonormal basis of their span."""

    rows: tuple[int, ...]
    says: float
    basis: Floats


def find_chains(question: Floats, pool: Pool, starts: Sequence[int], alike: Alike) -> dict[int, Chain]:
    """The chain that says most, for each relation that one was found for.

    Args:
        question: Unit vector, shape (dim,).
        pool: All relations that a chain may have.
        starts: Ids of those that a chain may begin with; others than the pool's are passed over.
        alike: Entities that may be the same; who is not in it is only itself. Through an alias of which one is
            less sure, a relation adds less.

    Returns:
        By the relation's id, the best of the chains that it is a part of.
    """
    close = pool.vectors @ question
    rows = {item: row for row, item in enumerate(pool.ids.tolist())}
    around = _around(pool.ends, alike)
    best: dict[int, _Path] = {}
    front = [
        _Path((row,), max(float(close[row]), 0.0), pool.vectors[row : row + 1])
        for row in dict.fromkeys(rows[item] for item in starts if item in rows)
    ]
    _keep(best, front)
    for _ in range(LENGTH - 1):
        if not front:
            break
        front = _further(front, question, pool, close, around, alike)
        _keep(best, front)
    told = {path.rows: _told(path, pool, close, alike) for path in best.values()}
    return {int(pool.ids[row]): told[path.rows] for row, path in best.items()}


def _keep(best: dict[int, _Path], paths: Sequence[_Path]) -> None:
    """Credit every relation of a path with it; of equal ones the first, and so the shortest, stays."""
    for path in paths:
        for row in path.rows:
            if row not in best or path.says > best[row].says:
                best[row] = path


def _told(path: _Path, pool: Pool, close: Floats, alike: Alike) -> Chain:
    rows = list(path.rows)
    joints: list[tuple[int, int]] = []
    for one, other in pairwise(pool.ends[rows].tolist()):
        # A chain goes on from the end that it did not come by, if it can.
        ends = sorted(one, key=lambda end: bool(joints) and end == joints[-1][1])
        pairs = [(end, twin, sure) for end in ends for twin, sure in alike.get(end, ((end, 1.0),)) if twin in other]
        end, twin, _ = max(pairs, key=lambda pair: pair[2] if pair[0] == ends[0] else pair[2] - 1)
        joints.append((end, twin))
    return Chain(tuple(pool.ids[rows].tolist()), tuple(joints), path.says, tuple(close[rows].tolist()))


def _around(ends: Ints, alike: Alike) -> dict[int, dict[int, float]]:
    """For each entity, the rows of the relations that it, or who may be the same, is an end of, and how surely."""
    found: dict[int, dict[int, float]] = {}
    for row, pair in enumerate(ends.tolist()):
        for end in dict.fromkeys(pair):
            for other, surely in alike.get(end, ((end, 1.0),)):
                held = found.setdefault(other, {})
                held[row] = max(surely, held.get(row, 0.0))
    return found


def _further(
    front: Sequence[_Path],
    question: Floats,
    pool: Pool,
    close: Floats,
    around: Mapping[int, Mapping[int, float]],
    alike: Alike,
) -> list[_Path]:
    """The paths that are one relation longer, the best `WIDTH` of them."""
    owners, nexts, surely = _steps(front, pool.ends, around, alike)
    if not len(nexts):
        return []
    # Of every relation the part along every basis, in one product; all bases have the same number of rows.
    bases = np.stack([path.basis for path in front])
    along = (pool.vectors @ bases.reshape(-1, bases.shape[-1]).T).reshape(len(pool.ids), *bases.shape[:2])
    parts = along[nexts, owners]
    said = (bases @ question)[owners]
    rest = 1.0 - (parts**2).sum(1)
    gain = np.maximum(close[nexts] - (parts * said).sum(1), 0.0) / np.sqrt(np.maximum(rest, _NEW))
    gain = np.where(rest > _NEW, gain, 0.0)
    before = np.array([path.says for path in front])
    says = np.sqrt(before[owners] ** 2 + gain**2 * surely)
    longer: list[_Path] = []
    for at in np.argsort(-says, kind="stable")[:WIDTH].tolist():
        path, row = front[owners[at]], int(nexts[at])
        new = pool.vectors[row] - parts[at] @ path.basis
        # What adds nothing new leaves the span as it is: its part of the basis is empty.
        new = new / np.sqrt(rest[at]) if rest[at] > _NEW else np.zeros_like(new)
        longer.append(_Path((*path.rows, row), float(says[at]), np.vstack([path.basis, new.astype(np.float32)])))
    return longer


def _steps(
    front: Sequence[_Path], ends: Ints, around: Mapping[int, Mapping[int, float]], alike: Alike
) -> tuple[Ints, Ints, Floats]:
    """Where each path can go: number of the path, row of the next relation, how surely they share an entity."""
    owners: list[int] = []
    nexts: list[int] = []
    surely: list[float] = []
    for number, path in enumerate(front):
        used: set[int] = set()
        if len(path.rows) > 1:
            # A path leaves a relation by the end that it did not come by.
            used = {other for end in ends[path.rows[-2]].tolist() for other, _ in alike.get(end, ((end, 1.0),))}
        here = ends[path.rows[-1]].tolist()
        reached: dict[int, float] = {}
        for end in [end for end in here if end not in used] or here:
            for row, sure in around[end].items():
                if row not in path.rows:
                    reached[row] = max(sure, reached.get(row, 0.0))
        owners += [number] * len(reached)
        nexts += reached
        surely += reached.values()
    return np.array(owners, np.int64), np.array(nexts, np.int64), np.array(surely, np.float32)
