"""The way ``graph``: the fused scores, spread one step along the names that join passages.

A passage that answers the second half of a question may share nothing with it, but a good passage for the first
half names it. So a passage gains from the best passages that name its title or its topic, as far as those stand
out of the candidates:

    score(p) = fused(p) + STRENGTH × max over sources o of strength(o, p) × (fused(o) − the weakest candidate)

No model is called, and sentences and entities need no vectors. docs/notes-graph.md has the measurements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from silmari.engine.base import Engine
from silmari.graph.links import Link
from silmari.model import Filter
from silmari.retrieval.fused import DEPTH, weigh
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored

# Passages that scores are spread from; from 10 to 20 the quality is the same.
SOURCES = 10
STRENGTH = 0.5


@dataclass(frozen=True, slots=True)
class Graphed:
    """Result of `graph`.

    Attributes:
        ranked: (id, score), best first.
        lists: The lists it was made from, by the name of their way.
        links: Of the passages that gained by the graph, through what.
    """

    ranked: Scored
    lists: Mapping[str, Scored]
    links: Mapping[int, Link]


def graph(
    question: Question,
    engine: Engine,
    k: int,
    where: Filter,
    covered: Callable[[int], float],
    unrelated: Callable[[], float] | None,
    spread: Callable[[Sequence[tuple[int, float]]], Mapping[int, Link]],
    allowed: Callable[[Collection[int], Filter], Collection[int]],
) -> Graphed:
    """Spread the fused scores.

    Args:
        question: As asked; without a vector the shares of the best BM25 score are spread.
        engine: Gives both lists and exact cosines.
        k: How many.
        where: What may be found.
        covered: See `silmari.retrieval.fused.weigh`.
        unrelated: The embedder's mean similarity of unrelated pairs; None without an embedder.
        spread: See `silmari.graph.links.Links.spread`.
        allowed: Those passages that a filter lets through.
    """
    found = weigh(question, engine, max(DEPTH, 2 * k), where, covered, unrelated)
    lists = {"fused": found.ranked, "sparse": found.sparse, "dense": found.dense}
    if not found.ranked:
        return Graphed([], lists, {})
    scores = dict(found.ranked)
    if not found.dense:
        best = found.ranked[0][1]
        scores = {item: score / best for item, score in scores.items()}
    ordered = list(scores)
    # What BM25 does not find has nothing; what cosine does not find is little worse than the last that it found.
    weakest = scores[ordered[min(len(ordered), DEPTH) - 1]] if found.dense else 0.0
    links = spread([(item, scores[item] - weakest) for item in ordered[:SOURCES] if scores[item] > weakest])
    reached = [item for item in links if item not in scores]
    if not where.empty and reached:
        reached = sorted(allowed(reached, where))
    if question.vector is not None and unrelated is not None and found.dense:
        mean = unrelated()
        cosine = engine.similarity("passage", question.vector, reached)
        scores.update((item, (cosine.get(item, mean) - mean) / (1 - mean)) for item in reached)
    else:
        scores.update(dict.fromkeys(reached, 0.0))
    links = {item: link for item, link in links.items() if item in scores and link.gain > 0}
    for item, link in links.items():
        scores[item] += STRENGTH * link.gain
    # sorted() is stable: equal scores keep the order of the fused ones.
    ranked = sorted(scores.items(), key=lambda pair: -pair[1])[:k]
    return Graphed(ranked, lists, links)


def spelled(entity: str, texts: Sequence[str]) -> str:
    """An entity as the first of `texts` that names it spells it; its key if none does."""
    pattern = re.compile(r"\s*".join(map(re.escape, entity)), re.IGNORECASE)
    for text in texts:
        if match := pattern.search(text):
            return match[0]
    return entity
