"""What a knowledge base says of its own state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from silmari.engine import LOCAL, remembered, shown
from silmari.errors import KnowledgeBaseError
from silmari.providers.usage import Usage

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.engine.mirror import Mirror
    from silmari.providers.embedding import Embedder


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
        catalog: Where the catalog is: ``sqlite``, or a URL without a password.
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
    catalog: str = "sqlite"
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
            "catalog": self.catalog,
            "engine": self.engine,
            "engine_counts": dict(self.engine_counts),
            "lag": self.lag,
            "notes": list(self.notes),
            "usage": {model: usage.as_json() for model, usage in self.usage.items()},
        }


def observed(catalog: Catalog, mirror: Mirror, folder: Path, embedder: Embedder | None, missing: str) -> Status:
    """The state of a base now.

    Args:
        catalog: Of the base.
        mirror: Of its engine, which is brought up to date first.
        folder: Of the base.
        embedder: That it was opened with.
        missing: Why there is none, if nobody chose that.
    """
    lag = mirror.follow()
    counts, notes = {"texts": 0, "vectors": 0}, [missing, mirror.problem]
    try:
        counts = dict(mirror.engine.counts())
        notes.append(mirror.engine.note)
    except KnowledgeBaseError as error:  # a server that does not answer; the catalog tells the rest
        notes.append(str(error))
    home = catalog.standing().engine or LOCAL
    if remembered(mirror.url, folder)[0] != home:
        notes.append(
            f"The base lives on {shown(home, folder)}, but the setting engine (SILMARI_ENGINE or silmari.toml) names "
            f"{shown(mirror.url, folder)}; silmari reindex --engine URL moves it."
        )
    found = catalog.statistics()
    return Status(
        folder=str(folder),
        documents=found.documents,
        passages=found.passages,
        categories=found.categories,
        relations=found.relations,
        entities=found.entities,
        pending={**found.pending, "vectors": found.pending["vectors"] if embedder else 0},
        failed=tuple((file.path, file.reason or "") for file in found.failed),
        skipped=tuple((file.path, file.reason or "") for file in found.skipped),
        failed_extractions=tuple(catalog.extraction_failures()),
        embedder=embedder.fingerprint if embedder else None,
        engine=shown(mirror.url, folder),
        engine_counts=counts,
        lag=lag,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
        catalog=catalog.shown,
        usage={model: Usage.of(counts) for model, counts in catalog.usage().items()},
    )
