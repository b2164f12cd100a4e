"""How the graph led to a hit: its path, as evidence for a person and for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from silmari.graph.links import Link
from silmari.model import Entity, Passage, Relation, Source
from silmari.retrieval.chains import Chain
from silmari.retrieval.seeds import Meeting
from silmari.retrieval.tracks import FactShelf


class RelationShelf(FactShelf, Protocol):
    """What telling a meeting needs of the catalog."""

    def relations_of(self, passage_ids: Collection[int]) -> Mapping[int, Sequence[Relation]]:
        """The relations that passages state; passages without any are left out."""


Found = Mapping[int, tuple[Passage, Source]]
Step = dict[str, Any]


def tell_links(
    links: Mapping[int, Link | Meeting],
    found: Found,
    shelf: RelationShelf,
    close: Callable[[Sequence[int]], Mapping[int, float]],
) -> dict[int, list[Step]]:
    """From the passage that the question leads to, over what both have in common, to this passage.

    Where relations of both meet in an entity, those closest to the question are told on either side of it.

    Args:
        links: Through what each passage was reached.
        found: The passages, and those that they were reached from; others are passed over.
        shelf: Has the spellings of entities and relations.
        close: Cosines of question and relations; those without a vector are left out.
    """
    met = [link for link in links.values() if isinstance(link, Meeting)]
    stated = shelf.relations_of(sorted({link.source for link in met} | {*links})) if met else {}
    cosines = close(sorted({one.id for relations in stated.values() for one in relations})) if stated else {}
    entities = shelf.entities(sorted({end for link in met for end in (link.entity, link.other)})) if met else {}
    told: dict[int, list[Step]] = {}
    for item, link in links.items():
        if item not in found or link.source not in found:
            continue
        first, source = found[link.source]
        if isinstance(link, Meeting):
            before = _closest(stated.get(link.source, ()), link.entity, cosines, link.source)
            after = _closest(stated.get(item, ()), link.other, cosines, item)
            middle = [*before, *_names(link, entities), *after]
        else:
            middle = [_spelled(link, found[item][0], first, source)]
        start = {"passage_id": first.id, "uri": source.uri, "title": source.title, "locator": dict(source.locator)}
        told[item] = [start, *middle, {"passage_id": item}]
    return told


def tell_chains(chains: Mapping[int, Chain], found: Found, shelf: FactShelf) -> dict[int, list[Step]]:
    """From an entity over relations and the entities that join them to this passage, which states the last one.

    Args:
        chains: The relations that lead to each passage.
        found: The passages; others are passed over.
        shelf: Has the spellings of relations and entities.

    Returns:
        As `silmari.retrieval.tracks.tell`. Where two relations are joined by two names of one entity, both are
        told, the second with ``"link": "alias"``.
    """
    wanted = {item: chain for item, chain in chains.items() if item in found}
    relations = shelf.relations(list(dict.fromkeys(one for chain in wanted.values() for one in chain.relations)))
    entities = shelf.entities(sorted({end for one in relations.values() for end in (one.subject_id, one.object_id)}))
    told: dict[int, list[Step]] = {}
    for item, chain in wanted.items():
        if any(one not in relations for one in chain.relations):
            continue  # gone since
        passage, source = found[item]
        steps = _chained(chain, relations, entities, item)
        end = {"passage_id": passage.id, "uri": source.uri, "title": source.title, "locator": dict(source.locator)}
        told[item] = [*steps, end]
    return told


def _chained(chain: Chain, relations: Mapping[int, Relation], entities: Mapping[int, Entity], item: int) -> list[Step]:
    road = [relations[one] for one in chain.relations]
    first = road[0].subject_id, road[0].object_id
    # It begins with the end that the next relation is not joined by.
    start = next((end for end in first if not chain.joints or end != chain.joints[0][0]), first[0])
    steps: list[Step] = []
    for relation, ends in zip(road, [(start,), *chain.joints], strict=True):
        for place, end in enumerate(dict.fromkeys(ends)):
            if end in entities:
                steps.append({"entity": entities[end].name, "id": end} | ({"link": "alias"} if place else {}))
        stated = item if item in relation.passages else relation.passages[0]
        steps.append({"relation": relation.predicate, "id": relation.id, "text": relation.text, "passage_id": stated})
    return steps


def _closest(relations: Sequence[Relation], entity: int, cosines: Mapping[int, float], passage: int) -> list[Step]:
    """Of the relations of a passage that tie an entity, the one closest to the question."""
    tying = [one for one in relations if entity in (one.subject_id, one.object_id)]
    if not tying:
        return []
    best = max(tying, key=lambda one: cosines.get(one.id, -1.0))
    return [{"relation": best.predicate, "id": best.id, "text": best.text, "passage_id": passage}]


def _names(link: Meeting, entities: Mapping[int, Entity]) -> list[Step]:
    names = [end for end in dict.fromkeys((link.entity, link.other)) if end in entities]
    return [
        {"entity": entities[end].name, "id": end, "link": "given" if end == link.entity else "alias"}
        | {"gain": round(link.gain, 4)}
        for end in names
    ]


def _spelled(link: Link, passage: Passage, first: Passage, source: Source) -> Step:
    texts = [first.text, first.context, passage.context, passage.text, source.title]
    return {"entity": spelled(link.entity, texts), "link": link.kind, "gain": round(link.gain, 4)}


def spelled(entity: str, texts: Sequence[str]) -> str:
    """An entity as the first of `texts` that names it spells it; its key if none does."""
    pattern = re.compile(r"\s*".join(map(re.escape, entity)), re.IGNORECASE)
    for text in texts:
        if match := pattern.search(text):
            return match[0]
    return entity
