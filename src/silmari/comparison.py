"""What several ways find for one question, and what is answered from it, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from silmari.answering.answer import Answer
from silmari.model import Hit, Way

# The baseline first, then each with more of the graph.
COMPARED: tuple[Way, ...] = ("dense", "cascade", "expansion", "graph", "fused")


@dataclass(frozen=True, slots=True)
class Compared:
    """One way's part of a comparison.

    Attributes:
        hits: Best first.
        answer: From these hits; None when none was wanted or `fault` says why there is none.
        fault: Why the way could not run, or could not answer; None if it could.
        trace: What happened, as `silmari.retrieval.trace.Trace.as_json` tells it.
    """

    way: Way
    hits: tuple[Hit, ...] = ()
    answer: Answer | None = None
    fault: str | None = None
    trace: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "way": self.way,
            "hits": [hit.as_json() for hit in self.hits],
            "answer": None if self.answer is None else self.answer.as_json(),
            "fault": self.fault,
            "trace": dict(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of `KnowledgeBase.compare`."""

    question: str
    k: int
    ways: tuple[Compared, ...]

    def passages(self) -> list[tuple[Hit, dict[Way, int]]]:
        """Each passage that any way found, with its rank in those that did.

        Ordered by the best rank, then by how many ways found it, then as the ways stand.
        """
        hits: dict[int, Hit] = {}
        ranks: dict[int, dict[Way, int]] = {}
        for compared in self.ways:
            for hit in compared.hits:
                hits.setdefault(hit.passage.id, hit)
                ranks.setdefault(hit.passage.id, {})[compared.way] = hit.rank
        order = sorted(hits, key=lambda item: (min(ranks[item].values()), -len(ranks[item])))
        return [(hits[item], ranks[item]) for item in order]

    def as_json(self) -> dict[str, Any]:
        """The shape that ``compare --json`` prints."""
        return {"question": self.question, "k": self.k, "ways": [compared.as_json() for compared in self.ways]}
