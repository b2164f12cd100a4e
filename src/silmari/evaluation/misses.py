"""Which questions a way missed, where the relevant documents stood instead, and what the trace says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from silmari.evaluation.beir import Dataset
from silmari.evaluation.runner import Outcome, Report

MISS_DEPTH = 5
INSTEAD = 3
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Miss:
    """One question that one way missed.

    Attributes:
        way: The way.
        instead: (rank, document id, score) of the best documents that are not relevant.
        reason: Where the relevant documents stood, in sentences.
        trace: One line for each stage and note of the trace.
    """

    way: str
    instead: tuple[tuple[int, str, float], ...]
    reason: str
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MissedQuestion:
    """A question that at least one way missed.

    Attributes:
        query: Its id.
        relevant: For each relevant document, in the order of gain, its rank by way; None beyond the first 10.
        misses: The ways that missed it.
    """

    query: str
    relevant: Mapping[str, Mapping[str, int | None]]
    misses: tuple[Miss, ...]


def missed_questions(report: Report, depth: int = MISS_DEPTH) -> list[MissedQuestion]:
    """The questions for which a way lacks a relevant document among its first `depth`, most missed ones first.

    A question with more than `depth` relevant documents is missed when the first `depth` hold another one.
    """
    found = []
    for at, query in enumerate(report.queries):
        gains = report.dataset.qrels[query]
        relevant = sorted((document for document in gains if gains[document] > 0), key=lambda one: -gains[one])
        labels = {document: document_label(report.dataset, document) for document in relevant}
        ranks = {
            way: {document: rank for rank, (document, _) in enumerate(outcomes[at].documents, start=1)}
            for way, outcomes in report.outcomes.items()
        }
        misses = tuple(
            _miss(way, report.outcomes[way][at], labels, ranks[way], depth)
            for way in report.ways
            if sum(ranks[way].get(document, depth + 1) <= depth for document in relevant) < min(depth, len(relevant))
        )
        if misses:
            table = {document: {way: ranks[way].get(document) for way in report.ways} for document in relevant}
            found.append(MissedQuestion(query, table, misses))
    return sorted(found, key=lambda question: -len(question.misses))


def _miss(way: str, outcome: Outcome, relevant: Mapping[str, str], ranks: Mapping[str, int], depth: int) -> Miss:
    wrong = [
        (rank, document, score)
        for rank, (document, score) in enumerate(outcome.documents, start=1)
        if document not in relevant
    ]
    return Miss(way, tuple(wrong[:INSTEAD]), _reason(outcome, relevant, ranks, depth), trace_lines(outcome.trace))


def _reason(outcome: Outcome, relevant: Mapping[str, str], ranks: Mapping[str, int], depth: int) -> str:
    if outcome.error:
        return f"The way failed: {outcome.error}"
    if not outcome.documents:
        return "It found nothing at all."
    sentences = []
    for document, label in relevant.items():
        rank = ranks.get(document)
        if rank is None:
            sentences.append(f"{label} is not among the first {len(outcome.documents)}.")
        elif rank > depth:
            gap = outcome.documents[depth - 1][1] - outcome.documents[rank - 1][1]
            sentences.append(f"{label} stands at rank {rank}, {gap:.4g} below the score of rank {depth}.")
    return " ".join(sentences)


def document_label(dataset: Dataset, document: str) -> str:
    """A document as sentences name it: by its title in quotes, else by its id."""
    title = dataset.documents.get(document, ("", ""))[0]
    return f"“{title}”" if title else document


def trace_lines(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """`Trace.as_json` in words: each stage with its time and what it told, then the notes."""
    lines = []
    for stage in trace.get("stages", ()):
        told = [f"{key} {_value(value)}" for key, value in stage.items() if key not in ("stage", "ms")]
        time = f" ({stage['ms']} ms)" if "ms" in stage else ""
        lines.append(f"{stage.get('stage', 'stage')}{time}{': ' if told else ''}{', '.join(told)}")
    return (*lines, *map(str, trace.get("notes", ())))


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
