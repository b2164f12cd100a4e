"""The way ``fused``: BM25 and cosine on one scale, added.

Ranks throw away how clear a win was, so scores are fused (weighting by scores, not RRF). Each is
brought to the number of standard deviations above an average passage of the collection: for cosine
from a fixed sample of passages, for BM25 over all passages, of which nearly all score nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from silmari.engine.base import Engine
from silmari.model import Filter
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored, sparse

# Both lists are taken this deep, so that a passage missing from one of them scores low there indeed.
DEPTH = 200
SPARSE_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Fused:
    """Result of `fused`: (id, score) best first, and the two lists it was made from."""

    ranked: Scored
    sparse: Scored
    dense: Scored


def fused(question: Question, engine: Engine, k: int, where: Filter, sample: Sequence[int], size: int) -> Fused:
    """Fuse BM25 and cosine.

    Args:
        sample: Passage numbers drawn at random from the collection, to know an average cosine.
        size: Number of passages in the collection.

    Returns:
        The best k; while vectors are missing, passages without one count by BM25 alone.
    """
    depth = max(DEPTH, 2 * k)
    by_terms = sparse(question, engine, depth, where)
    if question.vector is None:
        return Fused(by_terms[:k], by_terms, [])
    by_meaning = engine.dense("passage", question.vector, depth, where)
    if not by_meaning:
        return Fused(by_terms[:k], by_terms, [])
    ids = list(dict.fromkeys([item for item, _ in by_meaning] + [item for item, _ in by_terms]))
    cosine = engine.similarity("passage", question.vector, ids)
    background = list(engine.similarity("passage", question.vector, sample).values())
    ranked = combine(ids, dict(by_terms), cosine, background, size)
    return Fused(ranked[:k], by_terms, by_meaning)


def combine(
    ids: Sequence[int],
    bm25: Mapping[int, float],
    cosine: Mapping[int, float],
    background: Sequence[float],
    size: int,
) -> Scored:
    """Add the standardised scores of each candidate.

    Args:
        ids: The candidates; earlier ones win ties.
        bm25: Scores of those that BM25 found; the others count as 0.
        cosine: Similarities of those that have a vector.
        background: Similarities of randomly drawn passages with the question.
        size: Number of passages that BM25 ran over.
    """
    middle, spread = _moments(np.asarray(background or list(cosine.values()), dtype=np.float64))
    scores = np.asarray(list(bm25.values()), dtype=np.float64)
    total = max(size, len(scores), 1)
    mean = float(scores.sum()) / total
    deviation = max(float((scores**2).sum()) / total - mean**2, 0.0) ** 0.5 or 1.0
    # A passage without a vector is placed where an average candidate stands, not at the bottom.
    missing = float(np.mean(list(cosine.values()))) if cosine else middle
    ranked = [
        (
            item,
            (cosine.get(item, missing) - middle) / spread + SPARSE_WEIGHT * (bm25.get(item, 0.0) - mean) / deviation,
        )
        for item in ids
    ]
    return sorted(ranked, key=lambda pair: -pair[1])


def _moments(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), max(float(values.std()), 1e-3)
