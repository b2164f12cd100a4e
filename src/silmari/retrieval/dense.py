"""The way ``dense``: nearest passages by cosine; the "naive" baseline of graph retrieval."""

from __future__ import annotations

from silmari.engine.base import Engine
from silmari.model import Filter
from silmari.retrieval.question import Question
from silmari.retrieval.sparse import Scored


def dense(question: Question, engine: Engine, k: int, where: Filter) -> Scored:
    """The k nearest passages as (id, cosine), best first; empty without an embedder or vectors."""
    return [] if question.vector is None else engine.dense("passage", question.vector, k, where)
