"""The way ``graph``: the fused scores, and what the graph of the base adds to them.

A passage that answers the second half of a question may share nothing with it, but a good passage for the first
half names it. What the graph adds is in the unit of relevance, as the fused scores are:

    score(p) = fused(p) + max(LINKED × names(p), MET × relations(p)) + CHAINED × chain(p) + WALKED × walk(p)

- names(p): what comes from the best passages that name its title or its topic, as far as those stand out of the
  candidates (`silmari.graph.links`);
- relations(p): likewise from those with which it has an entity in common, under any of its names; then, less, from
  the best by all of this, so that two steps are made (`silmari.retrieval.seeds.meet`);
- chain(p): what the best chain of relations that p is a part of says of the question (`silmari.retrieval.chains`);
- walk(p): how much of its time a random walk with restart spends there, on a logarithmic scale.

A base with names only has the first, one whose relations have no vectors yet the first two, and one with nothing at
all gives the fused scores. No model is called. docs/notes-graph.md has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from silmari.engine.base import Engine
from silmari.graph.links import Link
from silmari.model import Filter
from silmari.retrieval.chains import Chain, find_chains
from silmari.retrieval.fused import DEPTH, weigh
from silmari.retrieval.question import Question
from silmari.retrieval.seeds import Known, Meeting, Vector, gather, meet, nearest_relations, walk_seeds
from silmari.retrieval.sparse import Scored

# Passages that scores are spread from; from 10 to 20 the quality is the same.
SOURCES = 10
LINKED = 0.5
MET = 0.4
MET_AGAIN = 0.15
CHAINED = 1.0
WALKED = 0.2
# In the way ``fused``, of what the graph adds.
FUSED = 0.7
# Of the walk's restarts, the share that passages get; and the powers of ten below the best that count.
_RESTARTS = 0.2
_MAGNITUDES = 4
# Passages that the walk gives.
_TOP = 100


@dataclass(frozen=True, slots=True)
class Graphed:
    """Result of `graph`.

    Attributes:
        ranked: (id, score), best first.
        lists: The lists it was made from, by the name of their way.
        links: Of the passages that have a name or a relation in common with a good one, through what.
        chains: Of those that are a part of a chain of relations, that chain, cut where it reaches the passage.
        reached: How many relations chains were made of.
    """

    ranked: Scored
    lists: Mapping[str, Scored]
    links: Mapping[int, Link | Meeting]
    chains: Mapping[int, Chain] = field(default_factory=dict)
    reached: int = 0


@dataclass(slots=True)
class _Gains:
    """What the graph adds: by a name or a relation in common, by a chain, by the walk."""

    linked: dict[int, tuple[float, Link | Meeting]] = field(default_factory=dict)
    chained: dict[int, tuple[float, Chain]] = field(default_factory=dict)
    walked: dict[int, float] = field(default_factory=dict)
    reached: int = 0

    def of(self, item: int) -> float:
        linked = self.linked[item][0] if item in self.linked else 0.0
        chained = self.chained[item][0] if item in self.chained else 0.0
        return linked + chained + self.walked.get(item, 0.0)

    def offer(self, found: Mapping[int, Link] | Mapping[int, Meeting], strength: float) -> None:
        """Let passages gain by what they have in common with others, if it is more than what they have."""
        for item, link in found.items():
            gain = strength * link.gain
            if gain > 0 and (item not in self.linked or gain > self.linked[item][0]):
                self.linked[item] = gain, link

    @property
    def passages(self) -> list[int]:
        return list(dict.fromkeys([*self.linked, *self.chained, *self.walked]))


def graph(
    question: Question,
    engine: Engine,
    k: int,
    where: Filter,
    covered: Callable[[int], float],
    unrelated: Callable[[], float] | None,
    spread: Callable[[Sequence[tuple[int, float]]], Mapping[int, Link]],
    allowed: Callable[[Collection[int], Filter], Collection[int]],
    known: Known | None = None,
    share: float = 1.0,
) -> Graphed:
    """Add what the graph says to the fused scores.

    Args:
        question: As asked; without a vector the shares of the best BM25 score are spread.
        engine: Gives both lists and exact cosines.
        k: How many.
        where: What may be found.
        covered: See `silmari.retrieval.fused.weigh`.
        unrelated: The embedder's mean similarity of unrelated pairs; None without an embedder.
        spread: See `silmari.graph.links.Links.spread`.
        allowed: Those passages that a filter lets through.
        known: The relations of the base; None if it has none.
        share: How much of what the graph adds counts, 0 to 1.
    """
    found = weigh(question, engine, max(DEPTH, 2 * k), where, covered, unrelated)
    lists = {"fused": found.ranked, "sparse": found.sparse, "dense": found.dense}
    if not found.ranked:
        return Graphed([], lists, {})
    vector = question.vector
    mean = unrelated() if unrelated is not None and vector is not None and found.dense else None
    base = dict(found.ranked)
    if mean is None:
        best = found.ranked[0][1]
        base = {item: score / best for item, score in base.items()}
    ordered = list(base)
    # What BM25 does not find has nothing; what cosine does not find is little worse than the last that it found.
    weakest = base[ordered[min(len(ordered), DEPTH) - 1]] if mean is not None else 0.0
    may = None if where.empty else lambda passages: allowed(passages, where)

    def standing_out(scores: Mapping[int, float]) -> list[tuple[int, float]]:
        first = sorted(scores, key=lambda item: -scores[item])[:SOURCES]
        return [(item, scores[item] - weakest) for item in first if scores[item] > weakest]

    def completed() -> None:
        """Score what was reached by the graph alone, and forget what may not be found."""
        reached = [item for item in gains.passages if item not in base]
        reached = sorted(may(reached)) if may is not None and reached else reached
        if mean is None or vector is None:
            base.update(dict.fromkeys(reached, 0.0))
            return
        cosine = engine.similarity("passage", vector, reached)
        base.update((item, (cosine.get(item, mean) - mean) / (1 - mean)) for item in reached)

    gains = _Gains()
    sources = standing_out(base)
    gains.offer(spread(sources), LINKED)
    if known is not None and len(known.facts):
        gains.offer(meet(sources, known), MET)
        if mean is not None and vector is not None:
            standing = {item: score - weakest for item, score in found.ranked if score > weakest}
            _follow(gains, vector, engine, known, standing, mean, may)
        completed()
        gains.offer(meet(standing_out({item: base[item] + gains.of(item) for item in base}), known), MET_AGAIN)
    completed()
    scores = {item: score + share * gains.of(item) for item, score in base.items()}
    # sorted() is stable: equal scores keep the order of the fused ones.
    ranked = sorted(scores.items(), key=lambda pair: -pair[1])[:k]
    chains = {item: chain for item, (_, chain) in gains.chained.items() if item in base}
    links = {item: link for item, (_, link) in gains.linked.items() if item in base}
    return Graphed(ranked, lists, links, chains, gains.reached)


def _follow(
    gains: _Gains,
    vector: Vector,
    engine: Engine,
    known: Known,
    standing: Mapping[int, float],
    mean: float,
    may: Callable[[Collection[int]], Collection[int]] | None,
) -> None:
    """Let passages gain by chains of relations and by the walk, where relations have vectors."""
    nearest = nearest_relations(vector, engine, known, may)
    if not nearest:
        return
    starts = [item for item, _ in nearest]
    pool, stated, alike = gather(vector, starts, engine, known, may)
    gains.reached = len(pool.ids)
    best: dict[int, Chain] = {}
    states: dict[int, list[int]] = {}
    for relation, chain in find_chains(vector, pool, starts, alike).items():
        for passage in stated[relation]:
            states.setdefault(passage, []).append(relation)
            if passage not in best or chain.says > best[passage].says:
                best[passage] = chain
    least = min((chain.says for chain in best.values()), default=0.0)
    gains.chained = {
        passage: (CHAINED * (chain.says - least) / (1 - mean), chain.upto(states[passage]))
        for passage, chain in best.items()
    }
    gains.walked = _walked(walk_seeds(nearest, known.facts, mean), standing, known)


def _walked(entities: Mapping[int, float], passages: Mapping[int, float], known: Known) -> dict[int, float]:
    """What passages gain by the walk: the best `WALKED`, one with a tenth of its time a quarter of that less."""
    whole, parts = sum(entities.values()), sum(passages.values())
    if not whole:
        return {}
    held = known.facts.walk(
        {item: weight * (1 - _RESTARTS) / whole for item, weight in entities.items()},
        {item: weight * _RESTARTS / parts for item, weight in passages.items()},
        top=_TOP,
    )
    if not held or held[0][1] <= 0:
        return {}
    most = held[0][1]
    shares = {item: 1 + math.log10(mass / most) / _MAGNITUDES for item, mass in held if mass > 0}
    return {item: WALKED * share for item, share in shares.items() if share > 0}
