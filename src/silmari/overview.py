"""What a knowledge base says of its own state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from silmari.providers.usage import Usage


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a base.

    Attributes:
        relations: How many the passages state, and `entities` how many these tie; both without those that are
            only sentences.
        pending: What waits, by stage: texts for ``vectors``, passages for a model that reads ``relations``.
        failed: (uri, reason) of the files that could not be read.
        skipped: (uri, reason) of the files that hold nothing to read.
        failed_extractions: (number, reason) of the passages whose relations no model could give.
        engine_counts: ``texts`` and ``vectors`` that the engine holds.
        lag: Changes that the engine does not show yet.
        notes: Sentences about the whole, such as why there is no embedder.
        usage: Calls, tokens and cost of each chat model since the base was made.
    """

    folder: str
    documents: int
    passages: int
    categories: Mapping[str, int]
    relations: int
    entities: int
    pending: Mapping[str, int]
    failed: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    failed_extractions: tuple[tuple[int, str], ...]
    embedder: str | None
    engine: str
    engine_counts: Mapping[str, int]
    lag: int
    notes: tuple[str, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The shape that ``status --json`` prints."""
        return {
            "kb": self.folder,
            "documents": self.documents,
            "passages": self.passages,
            "categories": dict(self.categories),
            "relations": self.relations,
            "entities": self.entities,
            "pending": dict(self.pending),
            "failed": [{"uri": uri, "reason": reason} for uri, reason in self.failed],
            "skipped": [{"uri": uri, "reason": reason} for uri, reason in self.skipped],
            "failed_extractions": [
                {"passage_id": number, "reason": reason} for number, reason in self.failed_extractions
            ],
            "embedder": self.embedder,
            "engine": self.engine,
            "engine_counts": dict(self.engine_counts),
            "lag": self.lag,
            "notes": list(self.notes),
            "usage": {model: usage.as_json() for model, usage in self.usage.items()},
        }
