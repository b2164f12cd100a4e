"""Soft edges between names that may be spellings of one name.

Every name has a few *forms* (`silmari.language.spellings`); names that share a form are candidates, and what was
done to both says how likely they mean the same (`silmari.graph.likeness`). Names are therefore never compared all
with all, and an edge depends on nothing but the names that share a form: what comes or goes changes its own edges
and those of its rivals.

Edges are never closed transitively: two persons who share a bare name are not joined by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.graph.likeness import NEEDED, SAID, Member, Pair, pairs, reason
from silmari.language.spellings import forms

# What changed is kept beside the arrays up to this many names, or this share of all.
_LOOSE = 2_000
_LOOSE_SHARE = 0.1
# In place of an entity's number, which is never negative.
_ASKED = -1

Array = NDArray[Any]
# A name's core and forms, each form with how it was made.
Read = tuple[int, Sequence[tuple[int, int]]]
Best = dict[tuple[int, int], tuple[float, int]]


class NamedEntity(Protocol):
    """What is read of an entity."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """Its spelling."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Two entities that may be one.

    Attributes:
        a: The lesser number.
        b: The greater number.
        score: How surely, above 0; 1 only if a person said so.
        reason: Why, in a few words.
    """

    a: int
    b: int
    score: float
    reason: str


def find_aliases(entities: Iterable[NamedEntity], *, verdicts: Iterable[tuple[int, int, bool]] = ()) -> list[Alias]:
    """All alias edges between entities, by their numbers.

    Args:
        entities: Each once.
        verdicts: What a person decided: two entities, and whether they are the same.
    """
    aliases = Aliases(entities)
    aliases.decide(verdicts)
    return aliases.all()


class Aliases:
    """The alias edges of a base, kept current. What it gives is the same as after a rebuild. Not thread-safe.

    Args:
        entities: Each once.
    """

    def __init__(self, entities: Iterable[NamedEntity] = ()) -> None:
        self._verdicts: dict[tuple[int, int], bool] = {}
        self._decided: dict[int, set[int]] = {}
        self._build((entity.id, _read(entity.name)) for entity in entities)

    def __len__(self) -> int:
        return len(self._ids) - len(self._dead) + len(self._loose)

    def __contains__(self, item: int) -> bool:
        return item in self._loose or self._row(item) is not None

    def update(self, touched: Iterable[int], found: Iterable[NamedEntity]) -> None:
        """Take entities out, and those of them that still are something in again.

        Args:
            touched: Entities that came, went or changed their name.
            found: Those of them that are there now.
        """
        for item in touched:
            self._remove(item)
        for entity in found:
            self._remove(entity.id)
            self._loose[entity.id] = _read(entity.name)
            for form, _ in self._loose[entity.id][1]:
                self._dirty.add(form)
                self._loose_of.setdefault(form, set()).add(entity.id)
        if len(self._loose) + len(self._dead) > max(_LOOSE, _LOOSE_SHARE * len(self._ids)):
            self._build(self._all())

    def decide(self, verdicts: Iterable[tuple[int, int, bool]]) -> None:
        """Replace what a person decided: two entities, and whether they are the same (score 1) or not (no edge)."""
        self._verdicts = {(min(a, b), max(a, b)): same for a, b, same in verdicts if a != b}
        self._decided = {}
        for a, b in self._verdicts:
            self._decided.setdefault(a, set()).add(b)
            self._decided.setdefault(b, set()).add(a)

    def all(self) -> list[Alias]:
        """All edges, by the numbers of their ends."""
        return self._edges([*self._ids.tolist(), *self._loose])

    def of(self, item: int) -> list[Alias]:
        """The edges of one entity, the surest first."""
        return sorted(self._edges([item]), key=lambda alias: (-alias.score, alias.a, alias.b))

    def edges_of(self, items: Iterable[int]) -> list[tuple[int, int, float]]:
        """The edges with at least one end among `items`, each once, by the numbers of their ends: (a, b, score)."""
        return [(*pair, score) for pair, (score, _) in self._best(items)]

    def near(self, name: str) -> list[int]:
        """Entities that a name, which need not be of one, would have edges with, the surest first."""
        core, held = _read(name)
        best: Best = {}
        for form, made in held:
            members = [*self._members(form), Member(_ASKED, made, core)]
            _keep_best(best, (pair for pair in pairs(members) if _ASKED in (pair.one, pair.other)))
        return [pair[1] for pair, _ in sorted(best.items(), key=lambda found: (-found[1][0], found[0]))]

    def arrays(self) -> dict[str, Array]:
        """What `from_arrays` needs: to be kept on disk and mapped into memory."""
        if self._loose or self._dead:
            self._build(self._all())
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Aliases:
        """The same edges again, without verdicts; the arrays are only read."""
        aliases = cls()
        aliases._set(arrays)
        return aliases

    def _edges(self, items: Iterable[int]) -> list[Alias]:
        return [Alias(*pair, score, reason(why)) for pair, (score, why) in self._best(items)]

    def _best(self, items: Iterable[int]) -> list[tuple[tuple[int, int], tuple[float, int]]]:
        """The edges with an end among `items`, by the numbers of their ends."""
        wanted = list(dict.fromkeys(items))
        live: set[int] = set()
        if self._dirty:
            live = {item for item in wanted if not self._dirty.isdisjoint(self._forms_of(item))}
        best = self._kept(item for item in wanted if item not in live and item not in self._dead)
        for form in {form for item in live for form in self._forms_of(item)}:
            members = self._members(form)
            if len(members) > 1:
                _keep_best(best, (pair for pair in pairs(members) if pair.one in live or pair.other in live))
        for item in wanted if self._decided else ():
            for other in self._decided.get(item, ()):
                pair = (min(item, other), max(item, other))
                if not self._verdicts[pair]:
                    best.pop(pair, None)
                elif item in self and other in self:
                    best[pair] = 1.0, SAID
        return sorted(best.items())

    def _kept(self, items: Iterable[int]) -> Best:
        """The edges of some entities as they stand in the arrays."""
        numbers = np.fromiter(items, np.int64)
        rows = np.searchsorted(self._ids, numbers)
        here = rows < len(self._ids)
        here[here] = self._ids[rows[here]] == numbers[here]
        rows, numbers = rows[here], numbers[here]
        counts = self._starts[rows + 1] - self._starts[rows]
        places = np.repeat(self._starts[rows] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        ends = np.sort([np.repeat(numbers, counts), self._ids[self._others[places]]], axis=0)
        scores = np.round(self._scores[places].astype(np.float64), 3)
        found = zip(scores.tolist(), self._whys[places].tolist(), strict=True)
        return dict(zip(map(tuple, ends.T.tolist()), found, strict=True))

    # Entities in rows, by number; row by row their forms, and their edges to other rows; and all forms in order,
    # each with the row that has it.

    def _set(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        self._ids, self._cores = arrays["ids"], arrays["cores"]
        self._ends, self._forms, self._made = arrays["ends"], arrays["forms"], arrays["made"]
        self._sorted, self._order = arrays["sorted"], arrays["order"]
        self._starts, self._others = arrays["starts"], arrays["others"]
        self._scores, self._whys = arrays["scores"], arrays["whys"]
        self._dead: set[int] = set()
        self._dirty: set[int] = set()
        self._loose: dict[int, Read] = {}
        self._loose_of: dict[int, set[int]] = {}

    def _build(self, rows: Iterable[tuple[int, Read]]) -> None:
        ids: list[int] = []
        cores: list[int] = []
        lengths: list[int] = []
        found: list[int] = []
        made: list[int] = []
        for item, (core, held) in rows:
            ids.append(item)
            cores.append(core)
            lengths.append(len(held))
            found += [form for form, _ in held]
            made += [how for _, how in held]
        numbers = np.array(ids, np.int64)
        by_number = np.argsort(numbers, kind="stable")
        sizes = np.array(lengths, np.int64)
        # Where the forms of each row stand as they were read, row by row in the order of the numbers.
        begins = np.cumsum(sizes) - sizes
        ends = np.concatenate([[0], np.cumsum(sizes[by_number])])
        places = np.repeat(begins[by_number] - ends[:-1], sizes[by_number]) + np.arange(len(found))
        forms_ = np.array(found, np.uint64)[places]
        order = np.argsort(forms_, kind="stable")
        arrays: dict[str, Array] = {
            "ids": numbers[by_number],
            "cores": np.array(cores, np.uint64)[by_number],
            "ends": ends.astype(np.int64),
            "forms": forms_,
            "made": np.array(made, np.uint8)[places],
            "sorted": forms_[order],
            "order": order.astype(np.int32),
        }
        self._set(arrays | _joined(arrays))

    def _all(self) -> Iterator[tuple[int, Read]]:
        for row, item in enumerate(self._ids.tolist()):
            if item not in self._dead:
                part = slice(int(self._ends[row]), int(self._ends[row + 1]))
                held = zip(self._forms[part].tolist(), self._made[part].tolist(), strict=True)
                yield item, (int(self._cores[row]), list(held))
        yield from self._loose.items()

    def _remove(self, item: int) -> None:
        self._dirty.update(self._forms_of(item))
        if item in self._loose:
            for form, _ in self._loose.pop(item)[1]:
                self._loose_of[form].discard(item)
        elif self._row(item) is not None:
            self._dead.add(item)

    def _row(self, item: int) -> int | None:
        row = int(np.searchsorted(self._ids, item))
        return row if row < len(self._ids) and self._ids[row] == item and item not in self._dead else None

    def _forms_of(self, item: int) -> list[int]:
        if item in self._loose:
            return [form for form, _ in self._loose[item][1]]
        row = self._row(item)
        found: list[int] = [] if row is None else self._forms[int(self._ends[row]) : int(self._ends[row + 1])].tolist()
        return found

    def _members(self, form: int) -> list[Member]:
        """Who has a form, by number."""
        low, high = (int(np.searchsorted(self._sorted, np.uint64(form), side)) for side in ("left", "right"))
        places = self._order[low:high]
        rows = np.searchsorted(self._ends, places, "right") - 1
        found = map(Member, self._ids[rows].tolist(), self._made[places].tolist(), self._cores[rows].tolist())
        members = [member for member in found if member.owner not in self._dead]
        for item in self._loose_of.get(form, ()):
            core, held = self._loose[item]
            members += [Member(item, made, core) for one, made in held if one == form]
        return sorted(members)


def _joined(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The edges between rows, each from both ends."""
    best: Best = {}
    for members in _groups(arrays):
        _keep_best(best, pairs(members))
    ends = np.array(list(best), np.int32).reshape(-1, 2)
    found = np.array(list(best.values()), np.float64).reshape(-1, 2)
    first, second = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.lexsort((second, first))
    starts = np.searchsorted(first[order], np.arange(len(arrays["ids"]) + 1))
    score, why = np.concatenate([found, found]).T
    return {
        "starts": starts.astype(np.int64),
        "others": second[order],
        "scores": score[order].astype(np.float32),
        "whys": why[order].astype(np.uint16),
    }


def _groups(arrays: Mapping[str, Array]) -> Iterator[list[Member]]:
    """For each form that may join two names, who has it; rows stand for their names."""
    ordered, made = arrays["sorted"], arrays["made"][arrays["order"]]
    if not len(ordered):
        return
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(begins, len(ordered)))
    needed = np.isin(made, np.array(sorted(NEEDED), np.uint8))
    chosen = (sizes > 1) & np.logical_or.reduceat(needed, begins)
    rows = np.searchsorted(arrays["ends"], arrays["order"], "right") - 1
    for begin, size in zip(begins[chosen].tolist(), sizes[chosen].tolist(), strict=True):
        part = rows[begin : begin + size]
        held = made[begin : begin + size]
        yield sorted(map(Member, part.tolist(), held.tolist(), arrays["cores"][part].tolist()))


def _keep_best(best: Best, found: Iterable[Pair]) -> None:
    for one, other, score, why in found:
        pair = (one, other) if one < other else (other, one)
        known = best.get(pair)
        if known is None or (score, why) > known:
            best[pair] = score, why


def _read(name: str) -> Read:
    """A name's core and forms, as numbers."""
    core, found = forms(name)
    return _hash(core), [(_hash(text), made) for text, made in found]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
