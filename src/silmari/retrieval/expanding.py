"""The way ``expansion`` on a base: from a question to passages, and what is said of how they were found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Engine
from silmari.model import Filter, Hit, Kind, Relation
from silmari.retrieval.dense import dense
from silmari.retrieval.expansion import Expanded, Graph, Vector, expand, named, passages
from silmari.retrieval.question import Question
from silmari.retrieval.relevance import relevance
from silmari.retrieval.rerank import Candidate
from silmari.retrieval.sparse import Scored
from silmari.retrieval.steer import ASKED_BACK, MODEL, Steer
from silmari.retrieval.trace import Trace
from silmari.retrieval.tracks import FactShelf, tell
from silmari.settings import Expansion

NO_RELATIONS = (
    "This base has no relations, so the way expansion found passages by their similarity alone; give some with"
    " silmari add --triplets FILE, or let a model read them: silmari build --relations triplets."
)
NO_VECTORS = "The relations have no vectors yet; run silmari build to complete them."


class Shelf(FactShelf, Protocol):
    """What an expansion needs of the catalog."""

    def allowed(self, ids: Collection[int], where: Filter) -> Collection[int]:
        """Those passages that a filter lets through."""

    def vectors(self, ids: Collection[int], kind: Kind) -> Mapping[int, NDArray[Any]]:
        """The stored vectors of items of a kind; those that have none are left out."""

    def relations_of(self, passage_ids: Collection[int]) -> Mapping[int, Sequence[Relation]]:
        """The relations that passages state; passages without any are left out."""


@dataclass(frozen=True, slots=True)
class Expander:
    """Everything an expansion runs on.

    Attributes:
        facts: The graph as it is now.
        chosen: How far it goes.
        unrelated: The embedder's mean similarity of unrelated pairs; None without an embedder.
        tokens: The tokens of any text.
        entities: Names that the caller says the question holds; None to find them.
    """

    engine: Engine
    shelf: Shelf
    facts: Callable[[], Graph]
    chosen: Expansion
    unrelated: Callable[[], float] | None
    tokens: Callable[[str], Sequence[str]]
    entities: Sequence[str] | None = None

    def expanded(self, question: Question, where: Filter, trace: Trace | None = None) -> Expanded | None:
        """What lies around the question; None without a vector of it.

        Raises:
            ProviderError: The embedder failed for the names.
        """
        if question.vector is None or self.unrelated is None:
            return None
        facts, mean = self.facts(), self.unrelated()
        names = named(question, facts, self.entities) if len(facts) else []
        found = expand(
            question.vector,
            self._embedded(question, names),
            self.engine,
            facts,
            self.chosen,
            where,
            self.shelf.allowed,
            lambda cosine: relevance(cosine, mean),
        )
        if trace is not None:
            if not len(facts):
                trace.note(NO_RELATIONS)
            elif not found.relations and where.empty and not self.chosen.relation_threshold:
                trace.note(NO_VECTORS)
            with trace.stage("expand") as entry:
                entry.update(
                    names=[name for name, _ in names],
                    entities=len(found.entities),
                    relations=len(found.relations),
                    reached=len(found.similarity),
                )
        return found

    def _embedded(self, question: Question, names: Sequence[tuple[str, int | None]]) -> list[tuple[int | None, Vector]]:
        """Names with their vectors; that of a known entity is stored, and need not be made."""
        stored = self.shelf.vectors([entity for _, entity in names if entity is not None], "entity")
        fresh = [name for name, entity in names if entity not in stored]
        made = dict(zip(fresh, question.vectors(fresh), strict=True)) if fresh else {}
        known = {entity: vector.astype(np.float32) for entity, vector in stored.items()}
        return [
            (entity, made[name] if entity is None or entity not in known else known[entity]) for name, entity in names
        ]

    def candidates(self, expanded: Expanded) -> tuple[tuple[Candidate, ...], list[tuple[int, ...]]]:
        """All that was reached, the most similar first, for a model to choose from; by their ids, the relations."""
        relations = self.shelf.relations(expanded.order())
        offered = (Candidate(place, one.text, expanded.ends[one.id]) for place, one in enumerate(relations.values()))
        return tuple(offered), [(item,) for item in relations]

    def stated(self, ids: Sequence[int], question: Question, most: int) -> dict[int, list[Relation]]:
        """For each passage that states relations, those most similar to the question."""
        stated = self.shelf.relations_of(ids)
        everyone = list({one.id for found in stated.values() for one in found})
        cosines = {} if question.vector is None else self.engine.similarity("relation", question.vector, everyone)
        return {
            item: sorted(found, key=lambda one: (-cosines.get(one.id, -1.0), one.id))[:most]
            for item, found in stated.items()
        }

    def ranked(self, question: Question, steer: Steer, k: int, where: Filter) -> Scored:
        """The best k passages: those of relations in their order, then the nearest ones; score ``1 / rank``."""
        found = {} if steer.expanded is None else passages(steer.expanded, steer.first)
        order = list(found)[:k]
        if len(order) < k:
            order = list(dict.fromkeys([*order, *(item for item, _ in dense(question, self.engine, k, where))]))[:k]
        return [(item, 1 / place) for place, item in enumerate(order, 1)]

    def tracked(self, hits: Sequence[Hit], steer: Steer, trace: Trace) -> list[Hit]:
        """The hits with what led to them: which relation, chosen by what, along which path."""
        expanded = steer.expanded
        if expanded is None or self.unrelated is None:
            return list(hits)
        order = {item: place for place, item in enumerate(expanded.order(steer.first), 1)}
        leads = passages(expanded, steer.first)
        mine = {hit.passage.id: leads[hit.passage.id] for hit in hits if hit.passage.id in leads}
        paths = tell(expanded, mine, {hit.passage.id: (hit.passage, hit.source) for hit in hits}, self.shelf)
        told: list[Hit] = []
        counts: dict[str, int] = {}
        for hit in hits:
            lead = mine.get(hit.passage.id)
            by = "dense" if lead is None else self._by(order[lead], lead, steer)
            counts[by] = counts.get(by, 0) + 1
            said: dict[str, Any] = {"by": by}
            backing = hit.relevance
            if lead is not None:
                cosine = expanded.similarity[lead]
                said |= {"relation": lead, "place": order[lead], "similarity": cosine}
                strongest = max(expanded.similarity[one] for one in expanded.path(lead))
                # What leads to a passage speaks for it: its own text may share nothing with the question.
                backing = max(backing, relevance(strongest, self.unrelated()))
            evidence: dict[str, Any] = {**hit.evidence, "expansion": said}
            if by in (MODEL, ASKED_BACK):
                evidence["rerank"] = by
            if hit.passage.id in paths:
                evidence["path"] = paths[hit.passage.id]
            told.append(replace(hit, relevance=backing, evidence=evidence))
        with trace.stage("passages of relations") as entry:
            entry.update(counts)
        return told

    def _by(self, place: int, lead: int, steer: Steer) -> str:
        if lead in steer.chosen:
            return MODEL
        if lead in steer.further:
            return ASKED_BACK
        # Beyond the best few it only fills up to k.
        return "similarity" if not steer.chosen and place <= self.chosen.rerank else "filled"
