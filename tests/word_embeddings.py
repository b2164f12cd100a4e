"""An embedder for tests that is the user's own and needs no weights."""

from __future__ import annotations

import zlib

import numpy as np
from langchain_core.embeddings import Embeddings


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
