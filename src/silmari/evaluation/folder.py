"""From a BEIR folder to a report: the base is built or found, and every way is asked every question."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from silmari.errors import UsageError
from silmari.evaluation.beir import Dataset, load
from silmari.evaluation.collection import Collection, opened
from silmari.evaluation.metrics import DEPTH
from silmari.evaluation.runner import Found, Report, SearchWay, asked, evaluate
from silmari.model import WAYS, Way

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from silmari.ingest import Progress
    from silmari.providers.embedding import Embedder

# What needs no vectors; the other ways would fail on every question, or do the same.
WITHOUT_EMBEDDER: tuple[Way, ...] = ("sparse",)
_NEEDS_EMBEDDER = ("dense", "cascade")
_MOST = 1000  # passages that one search returns

# A stage (``read``, ``vectors``, ``questions`` or ``search``), how much of it is done, how much there is, and what
# is being done now.
OnProgress = Callable[[str, int, int, str], None]


def evaluate_folder(
    folder: str | Path,
    *,
    ways: Sequence[str] | None = None,
    limit: int | None = None,
    split: str | None = None,
    embedder: str | Embeddings | None = None,
    explain: bool = False,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Report:
    """Measure how well each way finds what answers the questions of a BEIR folder.

    The knowledge base is built in the cache folder at the first call, which may take long and may be interrupted;
    later calls, and other folders with the same documents, only search.

    Args:
        folder: Holds ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``, gzipped or not.
        ways: Which ways, the one that the others are compared with first; None for all that can be used.
        limit: Only the first so many questions; None for all.
        split: Name of the judgements' file without its suffix; None takes test, else dev, else train.
        embedder: Name of an embedder, or a LangChain ``Embeddings`` object; None for what the settings say.
        explain: Whether to look deeper into what was missed, for the HTML report.
        on_progress: Called often.
        options: Any field of `silmari.settings.Settings`, such as ``engine``.

    Raises:
        UsageError: The folder is not of this form, there is nothing to ask, or a way or setting is wrong.
        BusyError: Another process is building the same base.
        ProviderError: The embedder failed.
    """
    return evaluate_dataset(
        load(Path(folder), split),
        ways=ways,
        limit=limit,
        embedder=embedder,
        explain=explain,
        on_progress=on_progress,
        **options,
    )


def evaluate_dataset(
    dataset: Dataset,
    *,
    ways: Sequence[str] | None = None,
    limit: int | None = None,
    embedder: str | Embeddings | None = None,
    explain: bool = False,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Report:
    """Like `evaluate_folder`, for a collection that is already in memory."""
    from silmari.catalog.vector_cache import VectorCache
    from silmari.evaluation.questions import embedding_ms, remember_questions
    from silmari.settings import Settings

    def told(stage: str, done: int, total: int, current: str = "") -> None:
        if on_progress is not None:
            on_progress(stage, done, total, current)

    def building(progress: Progress) -> None:
        told(progress.stage, progress.done, progress.total, progress.current)

    # What can be refused is refused before hours of embedding.
    texts = [dataset.queries[query] for query in asked(dataset, limit)]
    settings = Settings.load(**options)
    chosen = _known(ways, any_embedder=(embedder or settings.embedder) != "none")
    with opened(dataset, settings, embedder, building) as collection:
        model = collection.base.embedder
        embed_ms = 0.0
        if model is not None:
            with VectorCache(settings.cache.expanduser()) as cache:
                remember_questions(model, cache, texts, lambda done, total: told("questions", done, total))
            embed_ms = embedding_ms(model, texts)
        report = evaluate(
            dataset,
            {way: _search_way(collection, way, embed_ms) for way in chosen},
            limit,
            lambda way, done, total: told("search", done, total, way),
        )
        if explain:
            from silmari.evaluation.reasons import explained

            report = explained(report, collection)
    notes = (*report.notes, *collection.notes, *_own_notes(model, embed_ms, ways))
    return replace(report, notes=notes, built_with=collection.built_with)


def _known(ways: Sequence[str] | None, *, any_embedder: bool) -> tuple[Way, ...]:
    """The ways that were asked for, each once, or all that can be used."""
    if not ways:
        return WAYS if any_embedder else WITHOUT_EMBEDDER
    chosen: dict[Way, None] = {}
    for name in ways:
        way = next((known for known in get_args(Way) if known == name), None)
        if way is None:
            raise UsageError(f"There is no way named {name}; the ways are {', '.join(WAYS)}.")
        if name in _NEEDS_EMBEDDER and not any_embedder:
            raise UsageError(f"The way {name} needs an embedder; name one with --embedder, or use --way sparse.")
        chosen[way] = None
    return tuple(chosen)


def _search_way(collection: Collection, way: Way, embed_ms: float) -> SearchWay:
    """Asks for ten passages, and for more as long as they are of less than ten documents.

    Near-identical passages stay: judgements name documents, and a twin of a relevant one is not always judged.
    The time is that of the last search, the one that found the ten, and of making the question's vector.
    """
    from silmari.retrieval.trace import Trace

    def search(question: str) -> Found:
        count = DEPTH
        while True:
            trace = Trace()
            start = time.perf_counter()
            hits = collection.base.search(question, way=way, k=count, duplicates=True, trace=trace)
            took = (time.perf_counter() - start) * 1000
            documents = [(collection.ids[uri], hit.score) for hit in hits for uri in (hit.source.uri, *hit.source.also)]
            if len({key for key, _ in documents}) >= DEPTH or len(hits) < count or count == _MOST:
                break
            count = min(2 * count, _MOST)
        embedding = embed_ms if any(hit.similarity is not None for hit in hits) else 0.0
        return Found(documents, took + embedding, embedding, trace.calls, 0.0, trace.as_json())

    return search


def _own_notes(model: Embedder | None, embed_ms: float, ways: Sequence[str] | None) -> list[str]:
    if model is not None:
        return [
            f"Times are of one search, {embed_ms:.1f} ms of them for the question's vector: the median of up to 20"
            " questions embedded alone. For all others it came from the cache."
        ]
    return [] if ways else ["Without an embedder only the way sparse can be measured."]
