"""One search: the way runs, near-identical passages go, and what is left becomes hits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from silmari.engine.base import Engine
from silmari.errors import KnowledgeBaseError, UsageError
from silmari.graph.links import Link
from silmari.model import WAYS, Filter, Hit, Passage, Source, Way
from silmari.retrieval.cascade import cascade
from silmari.retrieval.chains import Chain
from silmari.retrieval.dense import dense
from silmari.retrieval.distinct import distinct
from silmari.retrieval.expanding import Expander
from silmari.retrieval.graph import FUSED, Graphed, graph
from silmari.retrieval.paths import RelationShelf, tell_chains, tell_links
from silmari.retrieval.question import Question
from silmari.retrieval.relevance import coverage, relevance
from silmari.retrieval.seeds import Known, Meeting
from silmari.retrieval.sparse import Scored, sparse
from silmari.retrieval.steer import NOTHING, Steer, marked, put_first
from silmari.retrieval.trace import Trace

_BY_VECTOR: tuple[Way, ...] = ("dense", "cascade", "expansion")


class Shelf(RelationShelf, Protocol):
    """What a search needs of the catalog."""

    def passages(self, ids: Sequence[int]) -> Mapping[int, tuple[Passage, Source]]:
        """Passages with where they stand; missing ones are left out."""

    def tokens(self, ids: Sequence[int]) -> Mapping[int, str]:
        """The analysed texts, tokens joined by blanks."""

    def allowed(self, ids: Collection[int], where: Filter) -> Collection[int]:
        """Those passages that a filter lets through."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What of the base can be searched how.

    Attributes:
        passages: Number of passages in the catalog.
        vectors: How many of them have a vector.
        lag: Changes that the engine does not show yet.
        problem: Why, if the engine could not be written.
    """

    passages: int
    vectors: int
    lag: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Searcher:
    """Everything a search runs on.

    Attributes:
        unrelated: The embedder's mean similarity of unrelated pairs (see `relevance`), measured when
            it is first needed; None without an embedder.
        spread: One step through the graph, see `silmari.graph.links.Links.spread`.
        expander: For the way ``expansion``.
        known: The relations of the base as they are now; None without any.
    """

    engine: Engine
    shelf: Shelf
    readiness: Readiness
    unrelated: Callable[[], float] | None
    spread: Callable[[Sequence[tuple[int, float]]], Mapping[int, Link]]
    expander: Expander
    known: Callable[[], Known | None] = lambda: None

    def search(
        self,
        question: Question,
        way: Way,
        k: int,
        where: Filter,
        trace: Trace,
        *,
        duplicates: bool = False,
        steer: Steer = NOTHING,
    ) -> list[Hit]:
        """The best k passages by a way, distinct ones unless `duplicates` are wanted too.

        Args:
            question: As asked.
            way: Which way.
            k: How many.
            where: What may be found.
            trace: Told what happened.
            duplicates: Whether passages that are nearly the same as a better one are kept.
            steer: What `silmari.retrieval.steer.steered` found out before.

        Raises:
            UsageError: For a way that needs an embedder where there is none.
            KnowledgeBaseError: The engine failed, and there is no other way to it.
        """
        try:
            return self._search(question, way, k, where, trace, duplicates, steer)
        except KnowledgeBaseError as error:
            # Where vectors cannot be searched (a server is down), BM25 may still answer: some engines have it nearby.
            if question.vector is None or way in _BY_VECTOR:
                raise
            question.go_without(error)
            return self._search(question, way, k, where, trace, duplicates, steer)

    def _search(
        self, question: Question, way: Way, k: int, where: Filter, trace: Trace, duplicates: bool, steer: Steer
    ) -> list[Hit]:
        self._tell_readiness(question, way, trace)
        if way == "expansion" and steer.expanded is None:
            steer = replace(steer, expanded=self.expander.expanded(question, where, trace))
        # Near-identical passages go later: take more than k, and all of it when that was not enough.
        deep = k if duplicates else 3 * k + 10
        while True:
            ranked, lists, led = self._run(question, way, deep, where, trace, steer)
            tokens = self.shelf.tokens([item for item, _ in ranked])
            texts = [(item, tokens[item]) for item, _ in ranked if item in tokens]
            if duplicates:
                kept = [item for item, _ in texts]
                break
            kept, dropped = distinct(texts, k)
            if len(kept) == k or len(ranked) < deep or deep > 50 * k:
                break
            deep *= 4
        if not duplicates:
            with trace.stage("distinct") as entry:
                entry.update(kept=len(kept), dropped=dropped)
        hits = self._hits(question, way, kept, dict(ranked), tokens, lists, led)
        return self.expander.tracked(hits, steer, trace) if way == "expansion" else marked(hits, steer)

    def weights(self, question: Question) -> Mapping[str, float]:
        """Weight of each question token: its own weight times how rare it is."""
        frequency = self.engine.frequencies(list(question.tokens))
        size = max(self.readiness.passages, 1)
        return {
            token: weight * math.log(1 + (size - min(frequency[token], size) + 0.5) / (frequency[token] + 0.5))
            for token, weight in question.tokens.items()
        }

    def _covered(self, question: Question, item: int) -> float:
        """The share of the question's term weight that a passage covers."""
        return coverage(self.weights(question), self.shelf.tokens([item]).get(item, "").split())

    def _run(
        self, question: Question, way: Way, k: int, where: Filter, trace: Trace, steer: Steer
    ) -> tuple[Scored, Mapping[str, Scored], Graphed | None]:
        """Run a way; also returns the lists it was made from, by the name of their way, and what the graph found."""
        led: Graphed | None = None
        lists: Mapping[str, Scored]
        with trace.stage(way) as entry:
            if way == "sparse":
                ranked = sparse(question, self.engine, k, where)
                lists = {"sparse": ranked}
            elif way == "dense":
                ranked = dense(question, self.engine, k, where)
                lists = {"dense": ranked}
            elif way == "cascade":
                ranked, by_terms = cascade(question, self.engine, k, where)
                lists = {"sparse": by_terms}
            elif way in ("fused", "graph"):
                led = graph(
                    question,
                    self.engine,
                    k,
                    where,
                    partial(self._covered, question),
                    self.unrelated,
                    self.spread,
                    self.shelf.allowed,
                    self.known(),
                    FUSED if way == "fused" else 1.0,
                )
                ranked, lists = led.ranked, led.lists
                if way == "graph":
                    ranked = put_first(ranked, steer, k)
                entry.update(linked=len(led.links), chained=len(led.chains), relations=led.reached)
            elif way == "expansion":
                ranked, lists = self.expander.ranked(question, steer, k, where), {}
            else:
                raise UsageError(f"There is no way named {way}; the ways are {', '.join(WAYS)}.")
            entry.update(asked=k, found=len(ranked), **{f"by_{name}": len(found) for name, found in lists.items()})
        return ranked, lists, led

    def _tell_readiness(self, question: Question, way: Way, trace: Trace) -> None:
        ready = self.readiness
        if way in _BY_VECTOR and question.vector is None:
            if question.fault is not None:
                raise question.fault
            raise UsageError(f"The way {way} needs an embedder. {question.without} Or use --way sparse.")
        if question.cut:
            trace.note(f"The question was cut: its last {question.cut:,} characters were not used.")
        if question.vector is None and (way != "sparse" or question.fault is not None):
            trace.note(f"Only BM25 was used. {question.without}")
        elif way != "sparse" and ready.vectors < ready.passages:
            trace.note(
                f"{ready.passages - ready.vectors:,} of {ready.passages:,} passages have no vector yet"
                " and were found by BM25 only; run silmari build to complete them."
            )
        if ready.lag:
            why = ready.problem or "Another process is writing them, or you may not write to this base."
            trace.note(f"The last {ready.lag:,} changes are not searchable yet. {why}")

    def _hits(
        self,
        question: Question,
        way: Way,
        kept: Sequence[int],
        scores: Mapping[int, float],
        tokens: Mapping[int, str],
        lists: Mapping[str, Scored],
        led: Graphed | None,
    ) -> list[Hit]:
        links = {item: led.links[item] for item in kept if item in led.links} if led else {}
        chains = {item: led.chains[item] for item in kept if item in led.chains} if led else {}
        sources = [link.source for link in links.values()]
        ids = list(dict.fromkeys([*kept, *sources]))
        found = self.shelf.passages(ids)
        similarity = {} if question.vector is None else self.engine.similarity("passage", question.vector, ids)
        ranks = {
            name: {item: (rank, score) for rank, (item, score) in enumerate(ranked, 1)}
            for name, ranked in lists.items()
        }
        missing = [item for item in sources if item not in tokens and item not in similarity]
        tokens = {**tokens, **self.shelf.tokens(missing)} if missing else tokens
        weights: Mapping[str, float] | None = None
        support: dict[int, float] = {}
        for item in ids:
            if item in similarity and self.unrelated is not None:
                support[item] = relevance(similarity[item], self.unrelated())
            elif item in tokens:
                weights = weights if weights is not None else self.weights(question)
                support[item] = coverage(weights, tokens[item].split())
        # A chain tells more than that two passages have something in common.
        told = {item: chain for item, chain in chains.items() if len(chain.relations) > 1 or item not in links}
        others = {item: link for item, link in links.items() if item not in told}
        paths = tell_links(others, found, self.shelf, partial(self._close, question))
        paths |= tell_chains(told, found, self.shelf)
        hits: list[Hit] = []
        for item in kept:
            if item not in found:
                continue  # deleted since the engine's snapshot
            passage, source = found[item]
            evidence: dict[str, Any] = {
                name: {"rank": ranked[item][0], "score": ranked[item][1]}
                for name, ranked in ranks.items()
                if item in ranked
            }
            backing = support[item]
            if item in paths:
                evidence["path"] = paths[item]
                if item in told:
                    evidence["says"] = round(told[item].says, 4)
                # What leads to a passage speaks for it: its own text may share nothing with the question.
                backing = max(backing, self._backing(links.get(item), chains.get(item), support))
            hits.append(Hit(len(hits) + 1, way, passage, source, scores[item], similarity.get(item), backing, evidence))
        return hits

    def _close(self, question: Question, relations: Sequence[int]) -> Mapping[int, float]:
        """Cosines of question and relations."""
        return {} if question.vector is None else self.engine.similarity("relation", question.vector, relations)

    def _backing(self, link: Link | Meeting | None, chain: Chain | None, support: Mapping[int, float]) -> float:
        """The relevance of what led to a passage: of another passage, and of the closest relation of a chain."""
        backing = 0.0 if link is None else support.get(link.source, 0.0)
        if chain is not None and self.unrelated is not None:
            backing = max(backing, relevance(max(chain.close), self.unrelated()))
        return backing
