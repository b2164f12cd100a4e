"""Which passages name what other passages are about, and one step of spreading along those links.

The graph is two-sided and sparse: passages on one side, entities (keys of names) on the other. It is held as
arrays, with what came or went since then beside them; a changed passage changes only its own row, and what
`Links.spread` gives is the same as after a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from silmari.catalog.words import Named
from silmari.graph.keys import Keys
from silmari.language.names import MARKED, TITLE, telling, title_keys

Kind = Literal["title", "topic", "mention", "given"]
Ints = NDArray[np.int32]

# A passage that many name, or a title of many passages, says less of each: strength is divided by their number
# to this power, and beyond MOST there is no link at all, so that a hub costs nothing.
DAMPING = 0.7
MOST = 200
# Beside a title's link: of a passage that names the title of a good one, and of a passage without any title to the
# name that its first sentence marks as its topic, if no other passage has that topic and few name it.
BACK = 0.4
TOPIC = 0.3
# Of two passages whose given triplets share a name.
SHARED = 0.8
FEW = 10

_NAMED, _TITLE, _TOPIC, _GIVEN = 1, 2, 4, 8
_ARRAYS = ("ids", "documents", "ends", "entities", "roles")
_INVERSES = ("named", "topics")
# What changed is kept beside the arrays up to this many passages, or this share of all.
_LOOSE = 2_000
_LOOSE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Link:
    """What a passage gets through the graph.

    Attributes:
        gain: The source's weight times the strength of the link.
        source: The passage it comes from.
        entity: Key of the name that joins the two.
        kind: The source names this passage's ``title`` or ``topic``, or this passage has a ``mention`` of the
            source's title, or triplets ``given`` with both share the name.
    """

    gain: float
    source: int
    entity: str
    kind: Kind


class Links:
    """The graph of a base.

    Args:
        rows: Every passage once.
    """

    def __init__(self, rows: Iterable[Named] = ()) -> None:
        self._keys = Keys.build([])
        # While all is read, since a dictionary is faster but takes much memory.
        self._numbers: dict[str, int] | None = {}
        held = [(row.id, row.document_id, *self._read(row)) for row in rows]
        self._keys, self._numbers = Keys.build(list(self._numbers)), None
        self._build(held)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` needs: to be kept on disk and mapped into memory."""
        if self._loose or self._dead:
            self._build(list(self._all()))
        found: dict[str, NDArray[Any]] = {name: getattr(self, f"_{name}") for name in _ARRAYS}
        for name in _INVERSES:
            found |= {f"{name}.{at}": array for at, array in enumerate(getattr(self, f"_{name}"))}
        found |= {f"counts.{role}": counts for role, counts in self._counts.items()}
        return found | {f"keys.{name}": array for name, array in self._keys.arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Links:
        """The same graph again; the arrays are only read."""
        links = cls()
        links._keys = Keys(**{name[5:]: array for name, array in arrays.items() if name.startswith("keys.")})
        for name in _ARRAYS:
            setattr(links, f"_{name}", arrays[name])
        for name in _INVERSES:
            setattr(links, f"_{name}", tuple(arrays[f"{name}.{at}"] for at in range(3)))
        # These change in place.
        links._counts = {role: arrays[f"counts.{role}"].copy() for role in links._counts}
        return links

    def __len__(self) -> int:
        return len(self._ids) - len(self._dead) + len(self._loose)

    def update(self, touched: Iterable[int], found: Iterable[Named]) -> None:
        """Take passages out, and those of them that still are something in again.

        Args:
            touched: Passages that came, went or changed.
            found: Those of them that are there now.
        """
        for item in touched:
            self._remove(item)
        for row in found:
            self._remove(row.id)
            self._add(row.id, row.document_id, *self._read(row))
        if len(self._loose) + len(self._dead) > max(_LOOSE, _LOOSE_SHARE * len(self._ids)):
            self._build(list(self._all()))

    def spread(self, sources: Sequence[tuple[int, float]]) -> dict[int, Link]:
        """One step from each source along its links.

        Args:
            sources: Passages with their weights, the best first; weights are not negative.

        Returns:
            The strongest link to each passage that is linked with a source of another document; of equal ones the
            first source's, and there that of the name that comes first.
        """
        best: dict[int, Link] = {}
        for source, weight in sources:
            document, numbers, roles = self._row(source)
            for number, kind, strength in self._ways(numbers, roles):
                gain = weight * strength
                for target in self._targets(number, kind, document):
                    if target != source and (target not in best or gain > best[target].gain):
                        best[target] = Link(gain, source, self._keys.key(number), kind)
        return best

    def _ways(self, numbers: Ints, roles: Ints) -> Iterator[tuple[int, Kind, float]]:
        """The names of a passage that lead somewhere, how, and how strongly."""
        titled, marked, named, given = (self._counts[role][numbers] for role in (_TITLE, _TOPIC, _NAMED, _GIVEN))
        own = (roles & _TITLE > 0) & (named > 1) & (named <= MOST)
        away = (titled > 0) & (titled <= MOST)
        topical = (marked == 1) & (named <= FEW)
        shared = (roles & _GIVEN > 0) & (given > 1) & (given <= MOST)
        for at in np.flatnonzero(own | away | topical | shared):
            number = int(numbers[at])
            if away[at]:
                yield number, "title", float(titled[at]) ** -DAMPING
            if topical[at]:
                yield number, "topic", TOPIC
            if own[at]:
                yield number, "mention", BACK * float(named[at]) ** -DAMPING
            if shared[at]:
                yield number, "given", SHARED * float(given[at] - 1) ** -DAMPING

    def _targets(self, number: int, kind: Kind, document: int) -> list[int]:
        """The passages of other documents that an entity leads to, by id."""
        # That two passages share their document's title says nothing of either; 0 is no document.
        wanted = {"title": _TITLE, "topic": _TOPIC, "mention": _NAMED, "given": _GIVEN}[kind]
        ends, rows, roles = self._topics if kind in ("title", "topic") else self._named
        found: list[int] = []
        if number + 1 < len(ends):
            part = slice(int(ends[number]), int(ends[number + 1]))
            fitting = rows[part][roles[part] & wanted > 0]
            if document:
                fitting = fitting[self._documents[fitting] != document]
            found = self._ids[fitting].tolist()
            if self._dead:
                found = [item for item in found if item not in self._dead]
        for item in self._loose_of.get(number, ()):
            owner, numbers, held = self._loose[item]
            if held[numbers == number][0] & wanted and (not document or owner != document):
                found.append(item)
        return sorted(found)

    def _read(self, row: Named) -> tuple[Ints, Ints]:
        """Entities of a passage in the order of its names, and their roles."""
        roles: dict[str, int] = dict.fromkeys(title_keys(row.file_title), _NAMED | _TITLE) if row.file_title else {}
        marked: list[str] = []
        titled = False
        for name in row.names.split():
            if name[0] == TITLE:
                titled = True
                roles[name[1:]] = _NAMED | _TITLE
            elif name[0] == MARKED:
                marked.append(name[1:])
            else:
                roles.setdefault(name, _NAMED)
        for name in row.given.split():
            if telling(name):
                roles[name] = roles.get(name, _NAMED) | _GIVEN
        if not titled:
            for name in marked:
                roles[name] = roles.get(name, _NAMED) | _TOPIC
        return np.array([self._number(name) for name in roles], np.int32), np.array(list(roles.values()), np.int32)

    def _number(self, name: str) -> int:
        if self._numbers is None:
            return self._keys.take([name])[0]
        return self._numbers.setdefault(name, len(self._numbers))

    def _build(self, rows: Iterable[tuple[int, int, Ints, Ints]]) -> None:
        """Put all rows into arrays; nothing is loose then."""
        ids, documents, lengths, numbers, roles = [], [], [0], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for item, document, held, as_ in rows:
            ids.append(item)
            documents.append(document)
            lengths.append(len(held))
            numbers.append(held)
            roles.append(as_)
        order = np.argsort(np.array(ids, np.int64), kind="stable")
        self._ids = np.array(ids, np.int64)[order]
        self._documents = np.array(documents, np.int64)[order]
        parts = [int(at) + 1 for at in order]
        self._ends = np.cumsum([0, *(lengths[at] for at in parts)])
        self._entities = np.concatenate([numbers[0], *(numbers[at] for at in parts)])
        self._roles = np.concatenate([roles[0], *(roles[at] for at in parts)]).astype(np.uint8)
        size = len(self._keys)
        owners = np.repeat(np.arange(len(ids), dtype=np.int32), np.diff(self._ends))
        self._counts = {
            role: np.bincount(self._entities[self._roles & role > 0], minlength=size).astype(np.int32)
            for role in (_NAMED, _TITLE, _TOPIC, _GIVEN)
        }
        self._named = self._inverse(owners, self._roles & _NAMED > 0, size)
        self._topics = self._inverse(owners, self._roles & (_TITLE | _TOPIC) > 0, size)
        self._dead: set[int] = set()
        self._loose: dict[int, tuple[int, Ints, Ints]] = {}
        self._loose_of: dict[int, set[int]] = {}

    def _inverse(
        self, owners: Ints, chosen: NDArray[np.bool_], size: int
    ) -> tuple[NDArray[np.int64], Ints, NDArray[np.uint8]]:
        """For each entity, where its part ends; rows and roles, entity by entity, rows ascending."""
        entities = self._entities[chosen]
        order = np.argsort(entities, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(entities, minlength=size))])
        return ends, owners[chosen][order], self._roles[chosen][order]

    def _place(self, item: int) -> int | None:
        """The row of a passage in the arrays, or None."""
        at = int(np.searchsorted(self._ids, item))
        return at if at < len(self._ids) and self._ids[at] == item and item not in self._dead else None

    def _row(self, item: int) -> tuple[int, Ints, Ints]:
        """The document of a passage, its entities and their roles; zero and nothing for one that is not there."""
        if item in self._loose:
            return self._loose[item]
        at = self._place(item)
        if at is None:
            return 0, np.empty(0, np.int32), np.empty(0, np.int32)
        part = slice(int(self._ends[at]), int(self._ends[at + 1]))
        return int(self._documents[at]), self._entities[part], self._roles[part].astype(np.int32)

    def _all(self) -> Iterator[tuple[int, int, Ints, Ints]]:
        for item in self._ids.tolist():
            if item not in self._dead:
                yield (item, *self._row(item))
        for item, row in self._loose.items():
            yield (item, *row)

    def _add(self, item: int, document: int, numbers: Ints, roles: Ints) -> None:
        self._loose[item] = document, numbers, roles
        for number in numbers.tolist():
            self._loose_of.setdefault(number, set()).add(item)
        self._count(numbers, roles, 1)

    def _remove(self, item: int) -> None:
        _, numbers, roles = self._row(item)
        self._count(numbers, roles, -1)
        if self._loose.pop(item, None) is not None:
            for number in numbers.tolist():
                self._loose_of[number].discard(item)
        elif self._place(item) is not None:
            self._dead.add(item)

    def _count(self, numbers: Ints, roles: Ints, by: int) -> None:
        for role, counts in self._counts.items():
            if len(counts) < len(self._keys):
                # Grown in large steps, since every added document brings new names.
                grown = np.zeros(len(self._keys) + len(self._keys) // 8 + 1_024, np.int32)
                grown[: len(counts)] = counts
                self._counts[role] = counts = grown
            # A passage has an entity once, so no index repeats.
            counts[numbers[roles & role > 0]] += by
