"""From hits to an answer: quoted without a model, written with one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from silmari.answering.answer import Answer
from silmari.answering.extractive import extract
from silmari.answering.generative import write
from silmari.model import Hit
from silmari.providers.chat import ChatModel
from silmari.providers.gate import Gate
from silmari.retrieval.trace import Trace


@dataclass(frozen=True, slots=True)
class Answering:
    """How a knowledge base answers.

    Attributes:
        model: Writes the answers; None quotes sentences.
        gate: Every call of the model goes through it.
        tokens: The tokens of any text.
        min_relevance: Hits below this prove nothing.
        similarity: Cosines of a question with some sentences, for when words do not decide; None without
            an embedder.
    """

    model: ChatModel | None
    gate: Gate
    tokens: Callable[[str], Sequence[str]]
    min_relevance: float
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None

    async def pieces(
        self, question: str, hits: Sequence[Hit], weights: Mapping[str, float], trace: Trace
    ) -> AsyncIterator[str | Answer]:
        """Answer from hits: pieces of the text as they come, then the `Answer` with the whole trace.

        Args:
            question: As it was asked.
            hits: Best first.
            weights: The question's tokens with their weights, idf included.
            trace: Of the search; what happens here is added.
        """

        def quoted() -> Answer:
            return extract(
                question,
                hits,
                weigh=lambda _: weights,
                tokens=self.tokens,
                min_relevance=self.min_relevance,
                similarity=self.similarity,
            )

        calls = self.gate.usage.calls
        with trace.stage("answer"):
            if self.model is None:
                answer = await asyncio.to_thread(quoted)
                yield answer.text
            else:
                async for piece in write(
                    question,
                    hits,
                    self.model,
                    self.gate,
                    fallback=quoted,
                    tokens=self.tokens,
                    min_relevance=self.min_relevance,
                ):
                    if isinstance(piece, Answer):
                        answer = piece
                    else:
                        yield piece
        trace.calls += self.gate.usage.calls - calls
        if "degraded" in answer.trace:
            trace.note(f"The model's answer could not be used, so sentences are quoted: {answer.trace['degraded']}")
        yield replace(answer, trace={**trace.as_json(), "answer": answer.trace})

    async def close(self) -> None:
        """Release the model's connections, on the loop on which it was called."""
        if self.model is not None and self.model.close is not None:
            await self.model.close()
