"""Silmari: answers with proof from your own files, in Korean and English.

The public names are imported when they are first used, so that ``import silmari`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from silmari.answering.answer import Answer
    from silmari.errors import (
        BusyError,
        KnowledgeBaseError,
        MissingExtraError,
        ProviderError,
        SilmariError,
        SkippedError,
        UnreadableError,
        UsageError,
    )
    from silmari.ingest import AddReport, FileResult, Progress
    from silmari.knowledge_base import KnowledgeBase
    from silmari.model import Document, Filter, Hit, Passage, Source, Triplet
    from silmari.overview import Status
    from silmari.retrieval.policy import Policy, Tier
    from silmari.retrieval.trace import Trace
    from silmari.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "AddReport": "silmari.ingest",
    "Answer": "silmari.answering.answer",
    "Document": "silmari.model",
    "FileResult": "silmari.ingest",
    "Filter": "silmari.model",
    "Hit": "silmari.model",
    "KnowledgeBase": "silmari.knowledge_base",
    "Passage": "silmari.model",
    "Policy": "silmari.retrieval.policy",
    "Progress": "silmari.ingest",
    "Settings": "silmari.settings",
    "Source": "silmari.model",
    "Status": "silmari.overview",
    "Tier": "silmari.retrieval.policy",
    "Trace": "silmari.retrieval.trace",
    "Triplet": "silmari.model",
    **dict.fromkeys(
        (
            "BusyError",
            "KnowledgeBaseError",
            "MissingExtraError",
            "ProviderError",
            "SilmariError",
            "SkippedError",
            "UnreadableError",
            "UsageError",
        ),
        "silmari.errors",
    ),
}

__all__ = [
    "AddReport",
    "Answer",
    "BusyError",
    "Document",
    "FileResult",
    "Filter",
    "Hit",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "MissingExtraError",
    "Passage",
    "Policy",
    "Progress",
    "ProviderError",
    "Settings",
    "SilmariError",
    "SkippedError",
    "Source",
    "Status",
    "Tier",
    "Trace",
    "Triplet",
    "UnreadableError",
    "UsageError",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
