"""The knowledge base of a test collection, built once for each content and kept in the cache folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from silmari.errors import BusyError, ProviderError, UsageError
from silmari.evaluation.beir import Dataset
from silmari.model import RelationMode, Triplet
from silmari.reading.cleaning import clean

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from silmari.ingest import AddReport, Progress
    from silmari.knowledge_base import KnowledgeBase
    from silmari.settings import Settings

FOLDER = "eval"


@dataclass(frozen=True, slots=True)
class Collection:
    """A test collection that can be searched.

    Attributes:
        base: Holds the documents, each as the record of its id.
        ids: The documents' ids by uri.
        built_with: The fingerprints that its folder's name stands for, and the engine.
        notes: One sentence for each thing that is odd about it.
    """

    base: KnowledgeBase
    ids: Mapping[str, str]
    built_with: Mapping[str, str | None]
    notes: tuple[str, ...]


@contextmanager
def opened(
    dataset: Dataset,
    settings: Settings,
    embedder: str | Embeddings | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    llm: str | BaseChatModel | None = None,
) -> Iterator[Collection]:
    """The collection's base in ``eval/`` of the cache folder, completed if it is not.

    An interrupted call loses nothing that was stored; the next one goes on from there.

    Args:
        dataset: The documents.
        settings: Everything but the folder, which follows from the contents.
        embedder: In place of the one in the settings.
        on_progress: Told of each step of ``read`` and ``vectors``.
        llm: The chat model that answers, in place of the one in the settings.

    Raises:
        UsageError: The embedder, the engine or a setting is wrong, or two ids cannot be told apart.
        BusyError: Another process is building the same base.
        ProviderError: The embedder failed.
    """
    from silmari.knowledge_base import KnowledgeBase

    mode: RelationMode = settings.relations or "sentences"
    built_with = _fingerprints(settings, embedder)
    if mode == "triplets":
        if settings.llm is None:
            raise UsageError("Relations of the kind triplets are read by a chat model; name one in the setting llm.")
        # Another model reads other relations.
        built_with |= {"relations": settings.llm}
    triplets = dataset.triplets if mode == "given" else {}
    ids = _uris(dataset)
    folder = settings.cache.expanduser() / FOLDER / _key(dataset, triplets, built_with)
    # Beside the user's own base, never in its catalog.
    own = settings.model_copy(update={"kb": folder, "catalog": "sqlite"})
    with KnowledgeBase.open(own, embedder=embedder, llm=llm) as base:
        # A base of this name can only hold documents of exactly this content, so what is there is right.
        there = {uri for document in base.documents() for uri in (document.uri, *document.also)}
        wanted = (
            {
                "id": key,
                "title": dataset.documents[key][0],
                "text": dataset.documents[key][1],
                "triplets": [[one.subject, one.predicate, one.object] for one in triplets.get(key, ())],
            }
            for uri, key in ids.items()
            if uri not in there
        )
        report = base.add_records(wanted, relations=mode, on_progress=on_progress)
        if report.problem:
            raise ProviderError(report.problem)
        if any(report.pending.values()):
            raise BusyError(f"Another process is still building {folder}; wait for it and run this again.")
        yield Collection(base, ids, {**built_with, "engine": base.engine}, _notes(report, base))


def _fingerprints(settings: Settings, embedder: str | Embeddings | None) -> dict[str, str | None]:
    from silmari.language.analysis import Analyser
    from silmari.providers.embedding import open_embedder
    from silmari.splitting import fingerprint as splitter

    model = open_embedder(embedder if embedder is not None else settings.embedder, settings)
    return {
        "embedder": model.fingerprint if model else None,
        "analyser": Analyser(settings.user_dictionary).fingerprint,
        "splitter": splitter(settings.passage_words, settings.passage_chars),
    }


def _key(dataset: Dataset, triplets: Mapping[str, Sequence[Triplet]], built_with: Mapping[str, str | None]) -> str:
    """Folders of equal contents share a base, whatever they are called and whatever is asked of them."""
    digest = hashlib.blake2b(json.dumps(built_with, sort_keys=True).encode(), digest_size=16)
    for key, (title, text) in dataset.documents.items():
        digest.update(json.dumps([key, title, text]).encode())
        for one in triplets.get(key, ()):
            digest.update(json.dumps([one.subject, one.predicate, one.object]).encode())
    return digest.hexdigest()


def _uris(dataset: Dataset) -> dict[str, str]:
    uris: dict[str, str] = {}
    for key in dataset.documents:
        name = clean(key).strip()
        other = uris.setdefault(f"record:{name}", key)
        if not name or other != key:
            raise UsageError(
                f"{dataset.name}: the document ids {other!r} and {key!r} cannot be told apart; rename one of them."
                if name
                else f"{dataset.name}: the document id {key!r} is blank; give the document a name."
            )
    return uris


def _notes(report: AddReport, base: KnowledgeBase) -> tuple[str, ...]:
    notes = list(report.notes)
    refused = [file for file in report.files if file.status == "failed"]
    if refused:
        notes.append(
            f"{len(refused):,} documents were not taken in and cannot be found "
            f"(such as {refused[0].uri}: {refused[0].reason})."
        )
    if unread := base.catalog.extraction_failures():
        notes.append(f"The model gave no relations of {len(unread):,} passages (such as: {unread[0][1]}).")
    return tuple(notes)
