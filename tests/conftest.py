"""Shared by all tests: a base in a temporary folder, and the user's own embedder that needs no weights."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from langchain_core.embeddings import Embeddings

from silmari.knowledge_base import KnowledgeBase

settings.register_profile("silmari", deadline=None, max_examples=int(os.environ.get("SILMARI_EXAMPLES", "40")))
settings.load_profile("silmari")

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2] / "shared"))


class WordEmbeddings(Embeddings):
    """A real if simple embedder: hashed counts of a text's character pairs.

    Attributes:
        texts: Every text that was embedded as a passage, in order.
    """

    model = "pairs-512"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        counts = np.zeros(512)
        for word in text.split():
            for pair in {word[at : at + 2] for at in range(len(word))}:
                counts[zlib.crc32(pair.encode()) % 512] += 1
        total = np.sqrt(counts) + 1e-6
        return list(total / np.linalg.norm(total))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's own cache, settings or base."""
    monkeypatch.setenv("SILMARI_CACHE", str(tmp_path_factory.mktemp("cache")))
    for name in ("SILMARI_KB", "SILMARI_EMBEDDER", "SILMARI_LLM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def embedder() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture
def base(tmp_path: Path, embedder: WordEmbeddings) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as opened:
        yield opened


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the evaluation data (../shared) are not here")
    return SHARED
