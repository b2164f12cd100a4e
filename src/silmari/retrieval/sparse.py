"""The way ``sparse``: BM25 over our own tokens."""

from __future__ import annotations

from silmari.engine.base import Engine
from silmari.model import Filter
from silmari.retrieval.question import Question

Scored = list[tuple[int, float]]


def sparse(question: Question, engine: Engine, k: int, where: Filter) -> Scored:
    """The best k passages by BM25 as (id, score), best first; empty when no token of the question is known."""
    return engine.sparse(question.tokens, k, where) if question.tokens else []
