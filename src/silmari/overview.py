"""What a knowledge base says of itself: its documents and its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from silmari.model import DateSource


@dataclass(frozen=True, slots=True)
class Entry:
    """One document in a list; `passages` is their number, `also` the other paths of the same content."""

    uri: str
    title: str
    category: str
    date: str | None
    date_source: DateSource | None
    passages: int
    also: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The shape that ``list --json`` prints."""
        return {
            "uri": self.uri,
            "title": self.title,
            "category": self.category,
            "date": self.date,
            "date_source": self.date_source,
            "passages": self.passages,
            "also": list(self.also),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a base.

    Attributes:
        pending: Texts that wait, by stage.
        failed: (uri, reason) of the files that could not be read.
        skipped: (uri, reason) of the files that hold nothing to read.
        lag: Changes that the engine does not show yet.
    """

    folder: str
    documents: int
    passages: int
    categories: Mapping[str, int]
    pending: Mapping[str, int]
    failed: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    embedder: str | None
    engine: str
    lag: int

    def as_json(self) -> dict[str, Any]:
        """The shape that ``status --json`` prints."""
        return {
            "kb": self.folder,
            "documents": self.documents,
            "passages": self.passages,
            "categories": dict(self.categories),
            "pending": dict(self.pending),
            "failed": [{"uri": uri, "reason": reason} for uri, reason in self.failed],
            "skipped": [{"uri": uri, "reason": reason} for uri, reason in self.skipped],
            "embedder": self.embedder,
            "engine": self.engine,
            "lag": self.lag,
        }
