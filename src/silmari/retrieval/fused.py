"""The way ``fused``: what meaning and words say for a passage, each as a relevance, added.

Ranks throw away how clear a win was, and scaling each list to its own best or spread makes the best of a
bad list look as good as the best of a good one. So both addends keep an absolute meaning:

- by meaning, the `relevance` of the cosine: 0 for unrelated texts, 1 for equal ones;
- by words, the passage's share of the best BM25 score, times the share of the question's term weight that the
  best BM25 hit covers (`coverage`). Where even the best hit has few of the question's words (another language,
  a paraphrase), BM25 hardly counts; where it has nearly all (codes, names, known items), it counts much.

docs/notes-fusion.md has the measurements, and what was tried beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Engine
from silmari.model import Filter
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored, sparse

# Both lists are taken this deep, so that a passage missing from one of them scores low there indeed.
DEPTH = 200
# Of the words beside the meaning; from .4 to .6 the quality is the same on all collections measured.
WORDS = 0.5


@dataclass(frozen=True, slots=True)
class Fused:
    """Result of `weigh`: (id, score) best first, and the two lists it was made from."""

    ranked: Scored
    sparse: Scored
    dense: Scored


def fused(
    question: Question,
    engine: Engine,
    k: int,
    where: Filter,
    covered: Callable[[int], float],
    unrelated: Callable[[], float] | None,
) -> Fused:
    """The best k of what `weigh` gives."""
    found = weigh(question, engine, max(DEPTH, 2 * k), where, covered, unrelated)
    return Fused(found.ranked[:k], found.sparse, found.dense)


def weigh(
    question: Question,
    engine: Engine,
    depth: int,
    where: Filter,
    covered: Callable[[int], float],
    unrelated: Callable[[], float] | None,
) -> Fused:
    """Fuse BM25 and cosine.

    Args:
        question: As asked; without a vector BM25 ranks alone.
        engine: Gives both lists and exact cosines.
        depth: How much of each list.
        where: What may be found.
        covered: The share of the question's term weight that a passage covers, 0 to 1; asked once.
        unrelated: The embedder's mean similarity of unrelated pairs; None without an embedder.

    Returns:
        All candidates; passages that have no vector yet are among them, see `combine`.
    """
    by_words = sparse(question, engine, depth, where)
    if question.vector is None or unrelated is None:
        return Fused(by_words, by_words, [])
    by_meaning = engine.dense("passage", question.vector, depth, where)
    if not by_meaning:
        return Fused(by_words, by_words, [])
    ids = list(dict.fromkeys([item for item, _ in by_meaning] + [item for item, _ in by_words]))
    cosine = engine.similarity("passage", question.vector, ids)
    trust = covered(by_words[0][0]) if by_words else 0.0
    return Fused(combine(ids, dict(by_words), cosine, unrelated(), trust), by_words, by_meaning)


def combine(
    ids: Sequence[int], bm25: Mapping[int, float], cosine: Mapping[int, float], unrelated: float, trust: float
) -> Scored:
    """Add what meaning and words say for each candidate.

    A passage without a vector gets the relevance that passages with its BM25 score have on average (a straight
    line through the candidates that have both, up to the best of all), so that it stands among those that have one
    where its words place it.

    Args:
        ids: The candidates; earlier ones win ties.
        bm25: Scores of those that BM25 found, in any unit; the others count as 0.
        cosine: Similarities of those that have a vector.
        unrelated: The embedder's mean similarity of unrelated pairs, below 1.
        trust: The share of the question's term weight that BM25's best hit covers, 0 to 1.

    Returns:
        (id, score), best first.
    """
    if not ids:
        return []
    best = max(bm25.values(), default=0.0)
    share = np.array([bm25.get(item, 0.0) for item in ids]) / (best if best > 0 else 1.0)
    # Not clipped: among passages below the mean of unrelated ones the order still counts.
    meaning = (np.array([cosine.get(item, np.nan) for item in ids]) - unrelated) / (1 - unrelated)
    missing = np.isnan(meaning)
    if missing.any():
        meaning[missing] = _expected(share, meaning, missing)
    scores = meaning + WORDS * trust * share
    order = np.argsort(-scores, kind="stable")
    return [(ids[at], float(scores[at])) for at in order]


def _expected(
    share: NDArray[np.float64], meaning: NDArray[np.float64], missing: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The relevance that is to be expected of passages without a vector, from their shares of the best BM25."""
    if missing.all():
        return np.zeros(len(share))
    known = ~missing & (share > 0)
    if known.sum() < 3:  # no line to draw
        return np.full(int(missing.sum()), meaning[known if known.any() else ~missing].mean())
    x, y = share[known], meaning[known]
    spread = ((x - x.mean()) ** 2).sum()
    slope = max(0.0, float(((x - x.mean()) * (y - y.mean())).sum() / spread)) if spread > 0 else 0.0
    # Few points make steep lines: nothing unseen is better than the best that was seen.
    line: NDArray[np.float64] = y.mean() + slope * (share[missing] - x.mean())
    return np.minimum(line, float(meaning[~missing].max()))
