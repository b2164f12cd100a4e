"""The way ``cascade``: BM25 first, then exact cosine over exactly those hits.

The second step is a restriction, never a union: a passage that BM25 did not find cannot come back.
"""

from __future__ import annotations

from silmari.engine.base import Engine
from silmari.model import Filter
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored, sparse


def depth(k: int) -> int:
    """How many BM25 hits the second step ranks."""
    return max(50, 10 * k)


def cascade(question: Question, engine: Engine, k: int, where: Filter) -> tuple[Scored, Scored]:
    """Rank BM25's best ``max(50, 10 k)`` by exact cosine.

    Returns:
        The best k as (id, cosine), and the BM25 hits they were taken from. Hits that have no vector
        yet follow after those that have one, in BM25's order, so that nothing is lost meanwhile; their
        score is -1, the least cosine there is.
    """
    hits = sparse(question, engine, depth(k), where)
    if question.vector is None or not hits:
        return [], hits
    similarity = engine.similarity("passage", question.vector, [item for item, _ in hits])
    # sorted() is stable: equal cosines keep BM25's order.
    ranked = sorted(((item, similarity.get(item, -1.0)) for item, _ in hits), key=lambda pair: -pair[1])
    return ranked[:k], hits
