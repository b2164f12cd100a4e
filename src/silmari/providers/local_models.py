"""Embedders that run here from packages of the user's choice; both load their weights from a model hub once."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.errors import MissingExtraError, ProviderError
from silmari.providers.embedding import Embedder
from silmari.providers.prefixes import fingerprint, known_prefixes
from silmari.settings import Settings

_BATCH = 32


class FastembedModel:
    """A model of the package fastembed, loaded at the first text."""

    def __init__(self, model: str, prefixes: tuple[str, str], threads: int | None) -> None:
        self._name = model
        self._prefixes = prefixes
        self._threads = threads
        self._lock = threading.Lock()
        self._model: Any = None

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text.

        Raises:
            ProviderError: The package does not know the model, or cannot load it.
        """
        with self._lock:
            if self._model is None:
                package = importlib.import_module("fastembed")
                try:
                    self._model = package.TextEmbedding(model_name=self._name, threads=self._threads)
                except (ValueError, OSError) as error:
                    raise _unloadable("fastembed", self._name, error) from error
        prefix = self._prefixes[0 if query else 1]
        embed = self._model.query_embed if query else self._model.passage_embed
        return np.asarray(list(embed([prefix + text for text in texts])), np.float32)


class SentenceTransformersModel:
    """A model of the package sentence-transformers, loaded at the first text.

    Prompts that the model itself brings count, unless the user gave prefixes.
    """

    def __init__(self, model: str, prefixes: tuple[str, str], *, given: bool) -> None:
        self._name = model
        self._prefixes = prefixes
        self._given = given
        self._lock = threading.Lock()
        self._model: Any = None

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text.

        Raises:
            ProviderError: The model cannot be loaded.
        """
        with self._lock:
            if self._model is None:
                package = importlib.import_module("sentence_transformers")
                try:
                    self._model = package.SentenceTransformer(self._name)
                except (ValueError, OSError) as error:
                    raise _unloadable("sentence-transformers", self._name, error) from error
                prompts = getattr(self._model, "prompts", None) or {}
                own = prompts.get("query") or "", prompts.get("document") or prompts.get("passage") or ""
                if any(own) and not self._given:
                    self._prefixes = own
        prompt = self._prefixes[0 if query else 1]
        rows = self._model.encode(list(texts), prompt=prompt, batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(rows, np.float32)


def from_package(provider: str, model: str, settings: Settings, prefixes: tuple[str, str] | None) -> Embedder:
    """The embedder ``fastembed:MODEL`` or ``sentence-transformers:MODEL``.

    Raises:
        MissingExtraError: The package is not installed.
    """
    package = "fastembed" if provider == "fastembed" else "sentence-transformers"
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise MissingExtraError(f"The embedder {provider}:{model} needs a package: run pip install {package}.")
    used = known_prefixes(model) if prefixes is None else prefixes
    opened = (
        FastembedModel(model, used, settings.embedder_threads)
        if package == "fastembed"
        else SentenceTransformersModel(model, used, given=prefixes is not None)
    )
    return Embedder(opened, fingerprint(f"{package}:{model}", used), batch_size=_BATCH)


def _unloadable(package: str, model: str, error: Exception) -> ProviderError:
    said = " ".join(str(error).split())[:300].rstrip(".")
    return ProviderError(
        f"The embedder {package}:{model} cannot be loaded, {package} says: {said}; check the name and the network."
    )
