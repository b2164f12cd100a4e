"""How good the answers are: against gold answers, against the documents that prove them, and against silence.

Exact match and F1 are SQuAD's (Rajpurkar et al., 2016): case, punctuation and English articles do not count. Where
the gold answer is Korean, F1 is over letters, as in KorQuAD (Lim et al., 2019), since particles are written together
with the words before them. A quoted sentence can hardly match exactly: `contains` says whether it has the gold answer.
"""

from __future__ import annotations

import re
import statistics
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from silmari.errors import UsageError
from silmari.evaluation.beir import Dataset, load
from silmari.evaluation.collection import Collection, opened
from silmari.evaluation.metrics import interval, resampled_means
from silmari.model import WAYS

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from silmari.answering.answer import Answer

# Means over the questions that have what is needed for them.
MEASURES = (
    "exact", "f1", "contains", "citation_precision", "citation_recall", "declined_wrongly", "declined_rightly"
)  # fmt: skip
_CITATION = re.compile(r"\s*\[\d+\]")
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_HANGUL = re.compile("[가-힣]")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer and its measures; a measure that does not apply to the question is left out."""

    query: str
    text: str
    found: bool
    measures: Mapping[str, float]
    ms: float
    model_calls: int
    cost: float | None

    def as_json(self) -> dict[str, Any]:
        """The shape below ``answers`` of ``eval --answers --json``."""
        return {name: getattr(self, name) for name in ("query", "text", "found", "measures", "ms", "model_calls")}


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """The answers of one collection, by way."""

    dataset: Dataset
    answers: Mapping[str, Sequence[Answered]]
    notes: tuple[str, ...] = ()

    def summary(self, way: str) -> dict[str, Any]:
        """Means, their 95 % bootstrap intervals, on how many questions each stands; median time; calls; cost."""
        import numpy as np

        mine = self.answers[way]
        means: dict[str, Any] = {}
        for name in MEASURES:
            values = [one.measures[name] for one in mine if name in one.measures]
            if values:
                low, high = interval(resampled_means(np.array(values)[:, None])[:, 0])
                means[name] = {"mean": float(np.mean(values)), "interval": [low, high], "questions": len(values)}
        costs = [one.cost for one in mine]
        return {
            **means,
            "p50_ms": statistics.median(one.ms for one in mine),
            "model_calls": sum(one.model_calls for one in mine),
            "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
            "characters": statistics.mean(len(one.text) for one in mine),
        }

    def as_json(self) -> dict[str, Any]:
        """The shape of ``eval --answers --json``."""
        return {
            "dataset": self.dataset.name,
            "ways": {way: self.summary(way) for way in self.answers},
            "answers": {way: [one.as_json() for one in mine] for way, mine in self.answers.items()},
            "notes": list(self.notes),
        }


def evaluate_answers(
    folder: str | Path,
    *,
    ways: Sequence[str] | None = None,
    limit: int | None = None,
    embedder: str | Embeddings | None = None,
    llm: str | BaseChatModel | None = None,
    on_progress: Callable[[str, int, int, str], None] | None = None,
    **options: Any,
) -> AnswerReport:
    """Ask every question of a BEIR folder, also those that no document answers.

    Gold answers stand in a question's metadata, as ``answer`` or ``answers``; without any, citations and silence are
    measured all the same. Without a chat model the answers are quoted sentences.

    Args:
        folder: Holds ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.
        ways: Which ways are answered from; None for ``fused``.
        limit: Only the first so many questions.
        embedder: See `silmari.evaluation.folder.evaluate_folder`.
        llm: The chat model; None for what the settings say.
        on_progress: Called often.
        options: Any field of `silmari.settings.Settings`.

    Raises:
        UsageError: The folder is not of this form, or a way or setting is wrong.
    """
    from silmari.settings import Settings

    chosen = list(dict.fromkeys(ways or ("fused",)))
    if strange := [way for way in chosen if way not in WAYS]:
        raise UsageError(f"There is no way named {strange[0]}; the ways are {', '.join(WAYS)}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit is {limit}; at least one question must be asked.")
    dataset = load(Path(folder))
    settings = Settings.load(llm=llm if isinstance(llm, str) else None, **options)
    told = on_progress or (lambda stage, done, total, current: None)

    def building(progress: Any) -> None:
        told(progress.stage, progress.done, progress.total, progress.current)

    with opened(dataset, settings, embedder, building, llm=llm) as collection:
        queries = list(dataset.queries)[:limit]
        found: dict[str, list[Answered]] = {way: [] for way in chosen}
        for done, query in enumerate(queries):
            for way in chosen:
                told("answers", done, len(queries), way)
                found[way].append(_answered(dataset, collection, query, way))
        told("answers", len(queries), len(queries), "")
    return AnswerReport(dataset, found, _notes(dataset, queries))


def _answered(dataset: Dataset, collection: Collection, query: str, way: str) -> Answered:
    start = time.perf_counter()
    answer = collection.base.ask(dataset.queries[query], way=way)  # type: ignore[arg-type]
    took = (time.perf_counter() - start) * 1000
    relevant = {document for document, gain in dataset.qrels.get(query, {}).items() if gain > 0}
    cited = {
        collection.ids[uri]
        for one in answer.sources
        for uri in (one.source.uri, *one.source.also)
        if uri in collection.ids
    }
    measures = _measures(answer, golds_of(dataset.metadata.get(query, {})), relevant, cited)
    usage = answer.trace.get("usage") or {}
    cost = usage.get("cost", 0.0)
    return Answered(query, answer.text, answer.found, measures, took, answer.trace.get("model_calls", 0), cost)


def _measures(answer: Answer, golds: Sequence[str], relevant: set[str], cited: set[str]) -> dict[str, float]:
    if not relevant:
        # Silence is right here, and nothing else can be measured.
        return {"declined_rightly": float(not answer.found)}
    measures = {"declined_wrongly": float(not answer.found), "citation_recall": len(cited & relevant) / len(relevant)}
    if cited:
        measures["citation_precision"] = len(cited & relevant) / len(cited)
    if golds:
        text = answer.text if answer.found else ""
        measures |= {
            "exact": max(exact(text, gold) for gold in golds),
            "f1": max(f1(text, gold) for gold in golds),
            "contains": max(contains(text, gold) for gold in golds),
        }
    return measures


def golds_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The gold answers that a question's metadata hold: ``answers``, or ``answer``, a string or a list."""
    given = metadata.get("answers", metadata.get("answer"))
    listed = given if isinstance(given, list) else [given]
    return tuple(one for one in listed if isinstance(one, str) and one.strip())


def plain(text: str) -> str:
    """A text as it is compared: without citations, case, punctuation and English articles, blanks single."""
    shown = unicodedata.normalize("NFKC", _CITATION.sub("", text)).casefold()
    return " ".join(_ARTICLE.sub(" ", _PUNCTUATION.sub(" ", shown)).split())


def exact(text: str, gold: str) -> float:
    """1 where both are the same, blanks aside, else 0."""
    return float(plain(text).replace(" ", "") == plain(gold).replace(" ", ""))


def contains(text: str, gold: str) -> float:
    """1 where the text has the gold answer in it, else 0: blanks aside in Korean, else as whole words.

    A Korean particle may follow at once.
    """
    if _HANGUL.search(gold):
        return float(plain(gold).replace(" ", "") in plain(text).replace(" ", ""))
    return float(re.search(rf"(?<![a-z0-9]){re.escape(plain(gold))}(?![a-z0-9])", plain(text)) is not None)


def f1(text: str, gold: str) -> float:
    """Harmonic mean of precision and recall over words, or over letters where the gold answer is Korean; 0 to 1."""
    parts: Callable[[str], list[str]] = (lambda one: list(one.replace(" ", ""))) if _HANGUL.search(gold) else str.split
    ours, theirs = Counter(parts(plain(text))), Counter(parts(plain(gold)))
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0


def _notes(dataset: Dataset, queries: Sequence[str]) -> tuple[str, ...]:
    golds = sum(bool(golds_of(dataset.metadata.get(query, {}))) for query in queries)
    silent = sum(not any(gain > 0 for gain in dataset.qrels.get(query, {}).values()) for query in queries)
    return (
        f"{golds:,} of {len(queries):,} questions have a gold answer; {silent:,} have no document that answers them.",
    )
