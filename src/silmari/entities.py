"""The names that relations tie: listed with their spellings and aliases, joined and kept apart by their user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from silmari.errors import UsageError
from silmari.language.normalise import key

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.catalog.words import EntityEntry
    from silmari.graph.aliases import Alias

MAX_LIMIT = 1_000
_SUGGESTED = 5
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class NameAlias:
    """Another name that may mean the same.

    Attributes:
        id: Of the other entity.
        score: How surely, above 0 to 1; 1 if the user said so.
        reason: Why, in a few words.
    """

    id: int
    name: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """A name, with all that is known of it.

    Attributes:
        name: Its most used spelling.
        spellings: All spellings that are surely the same name, with how often relations use each.
        relations: How many relations tie it.
        passages: How many passages state those.
        aliases: Other names that may mean the same, the surest first.
        apart: Names of which the user said that they mean something else.
    """

    id: int
    name: str
    spellings: Mapping[str, int]
    relations: int
    passages: int
    aliases: tuple[NameAlias, ...] = ()
    apart: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The shape that ``entities --json`` prints."""
        return {
            "id": self.id,
            "name": self.name,
            "spellings": dict(self.spellings),
            "relations": self.relations,
            "passages": self.passages,
            "aliases": [
                {"id": alias.id, "name": alias.name, "score": alias.score, "reason": alias.reason}
                for alias in self.aliases
            ],
            "apart": list(self.apart),
        }


@dataclass(frozen=True, slots=True)
class EntityList:
    """Some of the entities that a pattern names.

    Attributes:
        total: How many it names in all.
        offset: How many were passed over.
    """

    total: int
    offset: int
    entities: tuple[EntityInfo, ...]

    def as_json(self) -> dict[str, Any]:
        """The shape that ``entities --json`` prints."""
        return {
            "total": self.total,
            "offset": self.offset,
            "entities": [entity.as_json() for entity in self.entities],
        }


class AliasEdges(Protocol):
    """What a book needs of the graph."""

    def aliases_of(self, entities: Iterable[int]) -> dict[int, list[Alias]]:
        """The alias edges of each of some entities, the surest first."""

    def near(self, name: str, limit: int) -> list[int]:
        """Entities that a name, which none need have, may mean, the surest first."""


class EntityBook:
    """Lists entities, and keeps what their user decides.

    Args:
        catalog: The base's.
        edges: Of its entities, as of now.
    """

    def __init__(self, catalog: Catalog, edges: AliasEdges) -> None:
        self._catalog = catalog
        self._edges = edges

    def listed(self, pattern: str, limit: int, offset: int) -> EntityList:
        """See `silmari.knowledge_base.KnowledgeBase.entities`."""
        if not 1 <= limit <= MAX_LIMIT:
            raise UsageError(f"limit is {limit}; it must be from 1 to {MAX_LIMIT:,}.")
        if offset < 0:
            raise UsageError(f"offset is {offset}; it must be 0 or more.")
        total, entries = self._catalog.list_entities(pattern, limit, offset)
        edges = self._edges.aliases_of([entry.id for entry in entries])
        ends = {end for alias in chain.from_iterable(edges.values()) for end in (alias.a, alias.b)}
        names = {number: entity.name for number, entity in self._catalog.entities(sorted(ends)).items()}
        apart = self._apart(entries)
        return EntityList(
            total,
            offset,
            tuple(
                EntityInfo(
                    entry.id,
                    entry.name,
                    entry.spellings,
                    entry.relations,
                    entry.passages,
                    tuple(
                        NameAlias(other, names[other], alias.score, alias.reason)
                        for alias in edges[entry.id]
                        if (other := alias.a + alias.b - entry.id) in names
                    ),
                    tuple(apart.get(entry.key, ())),
                )
                for entry in entries
            ),
        )

    def decide(self, a: str, b: str, same: bool) -> None:
        """Remember that two names mean the same, or that they do not.

        Raises:
            UsageError: One of them is no name in the base, or both are one already.
        """
        self._catalog.set_alias(*self._keys(a, b), same)

    def forget(self, a: str, b: str) -> None:
        """Take back what was decided of two names, which need not be in the base any more.

        Raises:
            UsageError: Nothing was decided of them.
        """
        first, second = sorted((key(a), key(b)))
        if not any((one, other) == (first, second) for one, other, _ in self._catalog.alias_verdicts()):
            raise UsageError(f"entities: nothing was decided of {a!r} and {b!r}; silmari entities shows what was.")
        self._catalog.drop_alias(first, second)

    def _keys(self, a: str, b: str) -> tuple[str, str]:
        first, second = key(a), key(b)
        known = self._catalog.entity_ids([first, second])
        for name, wanted in ((a, first), (b, second)):
            if wanted not in known:
                raise UsageError(f"entities: the base has no name {name!r}{self._suggestions(name)}.")
        if first == second:
            raise UsageError(f"entities: {a!r} and {b!r} are spellings of one name already; name two entities.")
        return first, second

    def _suggestions(self, name: str) -> str:
        """Names in the base that may be meant, as the rest of a sentence."""
        near = [entity.name for entity in self._catalog.entities(self._edges.near(name, _SUGGESTED)).values()]
        total, holding = self._catalog.list_entities(name, _SUGGESTED) if key(name) else (0, [])
        # Names that begin alike: a slip of the pen is mostly further back.
        _, alike = self._catalog.list_entities(f"{key(name)[:2]}*", _LOOKED_AT) if key(name) else (0, [])
        close = get_close_matches(name, [entry.name for entry in alike], _SUGGESTED, 0.6)
        found = list(dict.fromkeys([*near, *(entry.name for entry in holding), *close]))[:_SUGGESTED]
        if total > 1:
            return f", but {total:,} that hold it; name one of them: {', '.join(map(repr, found))}"
        if found:
            return f"; it has {' and '.join(map(repr, found))}"
        return "; silmari entities lists those that it has"

    def _apart(self, entries: list[EntityEntry]) -> dict[str, list[str]]:
        wanted = {entry.key for entry in entries}
        found: dict[str, list[str]] = {}
        for one, other, same in self._catalog.alias_verdicts():
            if not same:
                for held, away in ((one, other), (other, one)):
                    if held in wanted:
                        found.setdefault(held, []).append(away)
        ids = self._catalog.entity_ids(chain.from_iterable(found.values()))
        names = self._catalog.entities(list(ids.values()))
        return {
            held: [names[ids[away]].name if away in ids else away for away in others] for held, others in found.items()
        }
