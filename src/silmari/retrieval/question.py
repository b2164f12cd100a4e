"""A question, analysed and embedded at most once, and only when a way needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.errors import MissingExtraError, ProviderError, SilmariError, UsageError

# Longer questions are cut: beyond this, terms and vector say what the whole collection says.
MAX_CHARS = 4_000
NO_EMBEDDER = "This base has no embedder: name one with --embedder, such as openai:MODEL."


class QuestionAnalyser(Protocol):
    """What a question needs of `silmari.language.analysis.Analyser`."""

    def query(self, text: str) -> dict[str, float]:
        """Weighted tokens of a question."""

    def names(self, text: str) -> list[str]:
        """The names in a text, by the rules of its language, spelled as there."""


class QuestionEmbedder(Protocol):
    """What a question needs of `silmari.providers.embedding.Embedder`."""

    def query(self, text: str) -> NDArray[np.float32]:
        """Unit vector of a question, shape (dim,)."""

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of passages and names, shape (n, dim)."""


class Question:
    """A question and what is derived from it.

    Attributes:
        text: The question, stripped and cut to `MAX_CHARS`.
        cut: How many characters were cut off.
        fault: After `vector`: what the embedder raised, if it did; or why the engine cannot search vectors.
        without: After `vector` is None: one sentence that says why there is none.
    """

    def __init__(
        self, text: str, analyser: QuestionAnalyser, embedder: QuestionEmbedder | None, without: str = NO_EMBEDDER
    ) -> None:
        stripped = text.strip()
        if not any(char.isalnum() for char in stripped):
            raise UsageError("The question has no words; ask something such as: 연차는 며칠인가요?")
        self.text = stripped[:MAX_CHARS]
        self.cut = len(stripped) - len(self.text)
        self.without = without
        self.fault: SilmariError | None = None
        self._analyser = analyser
        self._embedder = embedder

    def prepare(self) -> None:
        """Derive everything now: several threads that need it next would each do it."""
        _ = self.tokens, self.vector

    def go_without(self, fault: SilmariError) -> None:
        """Go on as if there were no vector, since what would compare it failed."""
        self.vector = None
        self.fault, self.without = fault, str(fault)

    @cached_property
    def tokens(self) -> Mapping[str, float]:
        """Tokens with their weights, as `Engine.sparse` takes them."""
        return self._analyser.query(self.text)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names that it holds, by the rules of its language."""
        return self._analyser.names(self.text)

    def vectors(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of names as those of entities are made, shape (n, dim).

        Raises:
            ProviderError: The embedder failed.
            UsageError: There is none.
        """
        if self._embedder is None:
            raise UsageError(self.without)
        return self._embedder.passages(names)

    @cached_property
    def vector(self) -> NDArray[np.float32] | None:
        """Unit vector of shape (dim,), or None without an embedder, or when it fails: `without` says why then."""
        if self._embedder is None:
            return None
        try:
            return self._embedder.query(self.text)
        except (ProviderError, MissingExtraError) as error:
            # Whoever can do without goes on with BM25; the others raise.
            self.fault = error
            self.without = str(error)
            return None
