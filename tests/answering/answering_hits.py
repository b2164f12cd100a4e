"""Hits and tokens for the tests of answering."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from silmari.model import Hit, Passage, Source

_PARTICLE = re.compile(r"(?<=[가-힣]{2})(은|는|이|가|을|를|의|에|에서|로|으로|와|과|도)$")


def tokens(text: str) -> Sequence[str]:
    """Words without particles; the real analysis belongs to another room."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return [_PARTICLE.sub("", word) for word in words]


def weigh(question: str) -> Mapping[str, float]:
    return {token: 1.0 for token in tokens(question)}


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
