"""Hits and tokens for the tests of answering."""

from __future__ import annotations

from silmari.language.analysis import Analyser
from silmari.model import Hit, Passage, Source

_ANALYSER = Analyser()
tokens = _ANALYSER.tokens
weigh = _ANALYSER.query


def hit(
    content: str,
    *,
    rank: int = 1,
    relevance: float = 0.8,
    title: str = "",
    uri: str = "/문서/보고서.pdf",
    rows: bool = False,
    date: str | None = None,
    context: str = "",
) -> Hit:
    locator = {"rows": [2, 9]} if rows else {"page": rank}
    passage = Passage(content, content, context, locator, date, id=100 + rank, document_id=rank)
    source = Source(uri, title, "csv" if rows else "pdf", date, "content" if date else None, locator)
    return Hit(rank, "fused", passage, source, 1.0 / rank, None, relevance)
