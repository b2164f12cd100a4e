"""Why a relevant document was missed: how deep it stands by its terms and by its meaning, and which terms it shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from silmari.errors import SilmariError
from silmari.evaluation.misses import document_label, missed_questions
from silmari.evaluation.runner import Report, best_passages
from silmari.language.analysis import BIGRAM

if TYPE_CHECKING:
    from silmari.evaluation.collection import Collection
    from silmari.knowledge_base import KnowledgeBase
    from silmari.model import Way

SEARCHED = 200
_NAMES: Mapping[Way, str] = {"sparse": "BM25", "dense": "cosine"}
_TERMS = 8


def explained(report: Report, collection: Collection) -> Report:
    """The report with one more note in the trace of each miss, for each relevant document.

    Args:
        report: Of the ways, asked over `collection`.
        collection: As it was asked.
    """
    places = {query: at for at, query in enumerate(report.queries)}
    outcomes = {way: list(found) for way, found in report.outcomes.items()}
    uris = {key: uri for uri, key in collection.ids.items()}
    for missed in missed_questions(report):
        question = report.dataset.queries[missed.query]
        try:
            ranked = {name: _ranked(collection, question, way) for way, name in _ways(collection).items()}
        except SilmariError:
            continue  # the ways failed as well, and their outcomes say why
        notes = [
            f"{document_label(report.dataset, document)}: "
            + "; ".join(
                [
                    *(_place(name, documents, document) for name, documents in ranked.items()),
                    _shared(collection.base, question, uris.get(document)),
                ]
            )
            for document in missed.relevant
        ]
        for miss in missed.misses:
            one = outcomes[miss.way][places[missed.query]]
            trace = {**one.trace, "notes": [*one.trace.get("notes", ()), *notes]}
            outcomes[miss.way][places[missed.query]] = replace(one, trace=trace)
    return replace(report, outcomes={way: tuple(found) for way, found in outcomes.items()})


def _ways(collection: Collection) -> Mapping[Way, str]:
    return _NAMES if collection.base.embedder is not None else {"sparse": _NAMES["sparse"]}


def _ranked(collection: Collection, question: str, way: Way) -> list[tuple[str, float]]:
    """The documents of the best `SEARCHED` passages, best first."""
    hits = collection.base.search(question, way=way, k=SEARCHED, duplicates=True)
    return best_passages((collection.ids[uri], hit.score) for hit in hits for uri in (hit.source.uri, *hit.source.also))


def _place(name: str, documents: Sequence[tuple[str, float]], wanted: str) -> str:
    for rank, (document, score) in enumerate(documents, start=1):
        if document == wanted:
            return f"{name} {score:.4g} at rank {rank} (best {documents[0][1]:.4g})"
    last = f", below {documents[-1][1]:.4g}" if documents else ""
    return f"{name} beyond rank {len(documents)}{last}"


def _shared(base: KnowledgeBase, question: str, uri: str | None) -> str:
    """Which of the question's words the document has; pairs of syllables say nothing to a reader."""
    if uri is None:
        return "the corpus does not have it"
    document = base.catalog.document(uri)
    if document is None:
        return "it was not taken in"
    asked = [term for term in base.analyser.query(question) if not term.startswith(BIGRAM)]
    ids = [passage.id for passage in base.catalog.passages_of(document.id)]
    held = {term for tokens in base.catalog.tokens(ids).values() for term in tokens.split()}
    shared = [term for term in asked if term in held]
    if not shared:
        return f"it has none of the question's {len(asked)} terms"
    more = ", …" if len(shared) > _TERMS else ""
    return f"it has {len(shared)} of the question's {len(asked)} terms: {', '.join(shared[:_TERMS])}{more}"
