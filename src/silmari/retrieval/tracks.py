"""Which relations led to a hit: the evidence of the way ``expansion``, and of a model's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from silmari.model import Entity, Passage, Relation, Source
from silmari.retrieval.expansion import Expanded


class FactShelf(Protocol):
    """What telling a path needs of the catalog."""

    def relations(self, ids: Sequence[int]) -> Mapping[int, Relation]:
        """Relations; missing ones are left out."""

    def entities(self, ids: Sequence[int]) -> Mapping[int, Entity]:
        """Entities; missing ones are left out."""


def tell(
    expanded: Expanded, leads: Mapping[int, int], found: Mapping[int, tuple[Passage, Source]], shelf: FactShelf
) -> dict[int, list[dict[str, Any]]]:
    """The path to each passage.

    Args:
        expanded: All relations that were reached.
        leads: Of each passage, the relation that led to it.
        found: The passages.
        shelf: Has the relations' and entities' spellings.

    Returns:
        For each passage, ``{"entity", "id"}`` and ``{"relation", "id", "text", "passage_id"}`` in the order in which
        they lead to it, then ``{"passage_id", "uri", "title", "locator"}``.
    """
    roads = {item: expanded.path(relation) for item, relation in leads.items()}
    relations = shelf.relations(list({one for road in roads.values() for one in road}))
    entities = shelf.entities(list({end for one in relations for end in expanded.ends[one]} | set(expanded.entities)))
    told: dict[int, list[dict[str, Any]]] = {}
    for item, road in roads.items():
        if item not in found or any(one not in relations for one in road):
            continue  # gone since
        passage, source = found[item]
        steps: list[dict[str, Any]] = []
        for place, end in enumerate(_joints(expanded, road)):
            if end is not None and end in entities:
                steps.append({"entity": entities[end].name, "id": end})
            if place < len(road):
                one = road[place]
                # What states the last relation is the hit itself; of several that state another, the first is named.
                stated = item if place == len(road) - 1 else expanded.passages[one][0]
                text = relations[one].text
                steps.append({"relation": relations[one].predicate, "id": one, "text": text, "passage_id": stated})
        steps.append(
            {"passage_id": passage.id, "uri": source.uri, "title": source.title, "locator": dict(source.locator)}
        )
        told[item] = steps
    return told


def _joints(expanded: Expanded, road: Sequence[int]) -> list[int | None]:
    """The entity before each relation of a path: where it began, then what joins each relation with the next."""
    first = expanded.ends[road[0]]
    begun = max(
        (end for end in first if end in expanded.entities), key=lambda end: expanded.entities[end], default=None
    )
    joints: list[int | None] = [begun]
    for one, other in pairwise(road):
        shared = [end for end in expanded.ends[one] if end in expanded.ends[other]]
        fresh = [end for end in shared if end != joints[-1]]
        joints.append((fresh or shared)[0])
    return joints
