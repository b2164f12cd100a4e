"""Asks every way every question of a collection and sums up what it found, how sure that is and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.errors import SilmariError, UsageError
from silmari.evaluation.beir import Dataset
from silmari.evaluation.metrics import (
    DEPTH,
    METRICS,
    Difference,
    interval,
    measure,
    paired_difference,
    resampled_means,
    resampled_quantile,
)

TIMES = {"p50_ms": 0.5, "p95_ms": 0.95}

Scored = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Found:
    """What a way found for one question.

    Attributes:
        documents: (document id, score) of each passage, best first; a document may come several times.
        ms: Time that the search took; None takes the time that the call took.
        embed_ms: How much of it went into the question's vector.
        model_calls: Calls of language models.
        cost: What they cost, in US dollars.
        trace: The search's trace as plain values (`Trace.as_json`), for the report.
    """

    documents: Sequence[Scored]
    ms: float | None = None
    embed_ms: float = 0.0
    model_calls: int = 0
    cost: float = 0.0
    trace: Mapping[str, Any] = field(default_factory=dict)


SearchWay = Callable[[str], Found | Sequence[Scored]]
OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, asked one way.

    Attributes:
        query: The question's id.
        documents: The first 10 documents, best first, each with its best passage's score.
        metrics: Value of each of `METRICS`.
        ms: Time in milliseconds.
        embed_ms: How much of it went into the question's vector.
        trace: As the way gave it.
        error: Why the way failed on this question (it then found nothing); empty if it did not.
    """

    query: str
    documents: tuple[Scored, ...]
    metrics: Mapping[str, float]
    ms: float
    embed_ms: float
    model_calls: int
    cost: float
    trace: Mapping[str, Any]
    error: str


@dataclass(frozen=True, slots=True)
class Summary:
    """How one way did on all questions.

    Attributes:
        metrics: Mean of each of `METRICS`.
        times: Quantiles of the time: ``p50_ms`` and ``p95_ms``.
        embed_ms: Median of how much of it went into the question's vector.
        model_calls: Mean number of language model calls per question.
        cost: Mean cost per question in US dollars.
        intervals: 95 % bootstrap interval of everything above but `embed_ms`.
        versus_first: Paired bootstrap of each metric against the first way; empty for the first way itself.
        failed: On how many questions the way failed.
    """

    metrics: Mapping[str, float]
    times: Mapping[str, float]
    embed_ms: float
    model_calls: float
    cost: float
    intervals: Mapping[str, tuple[float, float]]
    versus_first: Mapping[str, Difference]
    failed: int

    def as_json(self) -> dict[str, Any]:
        """The shape below ``ways`` of ``eval --json``."""
        return {
            **self.metrics,
            **self.times,
            "embed_ms": self.embed_ms,
            "model_calls": self.model_calls,
            "cost": self.cost,
            "failed": self.failed,
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "versus_first": {name: difference.as_json() for name, difference in self.versus_first.items()},
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What `evaluate` found out.

    Attributes:
        dataset: The collection that was asked.
        queries: Ids of the questions, in the order in which they were asked.
        ways: Summary by way, in the order in which the ways were given.
        outcomes: What each way found, by way, in the order of `queries`.
        notes: Sentences for the reader.
        built_with: Fingerprints of what the ways ran on, by name; empty if they are not known.
    """

    dataset: Dataset
    queries: tuple[str, ...]
    ways: Mapping[str, Summary]
    outcomes: Mapping[str, tuple[Outcome, ...]]
    notes: tuple[str, ...] = ()
    built_with: Mapping[str, str | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The shape of ``eval --json``."""
        return {
            "dataset": self.dataset.name,
            "questions": len(self.queries),
            "ways": {name: summary.as_json() for name, summary in self.ways.items()},
            "notes": list(self.notes),
            "built_with": dict(self.built_with),
        }


def best_passages(pairs: Iterable[Scored]) -> list[Scored]:
    """Documents in the order of their best passage, from (document id, score) of passages, best first."""
    documents: dict[str, float] = {}
    for document, score in pairs:
        documents.setdefault(document, score)
    return list(documents.items())


def asked(dataset: Dataset, limit: int | None = None) -> tuple[str, ...]:
    """Ids of the questions that `evaluate` asks: the first so many of those that a document answers.

    Raises:
        UsageError: There is none.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit is {limit}; at least one question must be asked.")
    queries = tuple(dataset.judged()[:limit])
    if not queries:
        raise UsageError(f"{dataset.name} has no question with a relevant document; see its qrels.")
    return queries


def evaluate(
    dataset: Dataset,
    ways: Mapping[str, SearchWay],
    limit: int | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Asks each way the questions that have an answer, question by question, so that a busy moment hits all ways.

    Each way is asked the first question once before, unmeasured, so that loading does not count as searching. Where a
    way raises a `SilmariError`, it counts as having found nothing for that question, and the report tells why.

    Args:
        dataset: Documents, questions and judgements.
        ways: By name; each takes a question and returns passages as (document id, score), best first, deep enough
            for 10 documents. The first is what the others are compared with.
        limit: Only the first so many questions; None for all.
        on_progress: Called after each answer with the way, the number of answers so far and that of all.

    Raises:
        UsageError: There is no way, or no question that a document answers.
    """
    if not ways:
        raise UsageError("There is no way to evaluate; name at least one.")
    queries = asked(dataset, limit)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in ways}
    for way in ways.values():
        _ask(dataset, queries[0], way)
    done = 0
    for query in queries:
        for name, way in ways.items():
            outcomes[name].append(_ask(dataset, query, way))
            done += 1
            if on_progress:
                on_progress(name, done, len(queries) * len(ways))
    first = next(iter(ways))
    values = {name: _matrix(one) for name, one in outcomes.items()}
    summaries = {
        name: _summary(one, values[name], None if name == first else values[first]) for name, one in outcomes.items()
    }
    return Report(
        dataset,
        queries,
        summaries,
        {name: tuple(one) for name, one in outcomes.items()},
        _notes(dataset, len(dataset.judged()), len(queries), summaries),
    )


def _ask(dataset: Dataset, query: str, way: SearchWay) -> Outcome:
    error = ""
    start = time.perf_counter()
    try:
        answer = way(dataset.queries[query])
    except SilmariError as problem:
        answer, error = (), str(problem) or type(problem).__name__
    took = (time.perf_counter() - start) * 1000
    found = answer if isinstance(answer, Found) else Found(answer)
    documents = tuple(best_passages(found.documents)[:DEPTH])
    return Outcome(
        query,
        documents,
        measure([document for document, _ in documents], dataset.qrels[query]),
        took if found.ms is None else found.ms,
        found.embed_ms,
        found.model_calls,
        found.cost,
        found.trace,
        error,
    )


def _matrix(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    """Shape (questions, metrics + 2): the metrics, then model calls, then cost."""
    return np.array(
        [[*(one.metrics[name] for name in METRICS), one.model_calls, one.cost] for one in outcomes], dtype=np.float64
    )


def _summary(outcomes: Sequence[Outcome], values: NDArray[np.float64], first: NDArray[np.float64] | None) -> Summary:
    means = values.mean(axis=0)
    resampled = resampled_means(values)
    intervals = {name: interval(resampled[:, at]) for at, name in enumerate((*METRICS, "model_calls", "cost"))}
    times = np.array([one.ms for one in outcomes])
    for name, quantile in TIMES.items():
        intervals[name] = interval(resampled_quantile(times, quantile))
    versus = {}
    if first is not None:
        versus = {name: paired_difference(values[:, at], first[:, at]) for at, name in enumerate(METRICS)}
    return Summary(
        metrics={name: float(means[at]) for at, name in enumerate(METRICS)},
        times={name: float(np.quantile(times, quantile)) for name, quantile in TIMES.items()},
        embed_ms=float(np.median([one.embed_ms for one in outcomes])),
        model_calls=float(means[-2]),
        cost=float(means[-1]),
        intervals=intervals,
        versus_first=versus,
        failed=sum(bool(one.error) for one in outcomes),
    )


def _notes(dataset: Dataset, judged: int, asked: int, summaries: Mapping[str, Summary]) -> tuple[str, ...]:
    notes = list(dataset.notes)
    if len(dataset.queries) > judged:
        notes.append(f"{len(dataset.queries) - judged} questions have no relevant document and were not asked.")
    if asked < judged:
        notes.append(f"Only the first {asked} of {judged} questions were asked.")
    notes += [f"{name} failed on {one.failed} questions." for name, one in summaries.items() if one.failed]
    return tuple(notes)
