"""From hits to an answer: quoted without a model, written with one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from silmari.answering.answer import Answer
from silmari.answering.answerable import Passage as Found
from silmari.answering.answerable import standing_out, support
from silmari.answering.asked import understand
from silmari.answering.backing import Nearness
from silmari.answering.extractive import extract, nothing
from silmari.answering.generative import PROMPT_TOKENS, write
from silmari.answering.units import is_table, split
from silmari.answering.wording import NOT_FOUND, Language, language_of
from silmari.model import Hit
from silmari.providers.calling import Calling
from silmari.retrieval.trace import Trace

# Hits whose sentences are compared one by one where no whole passage supports an answer; it takes time.
_READ = 3
_COMPARED = 32
_ASKED = 2_000


@dataclass(frozen=True, slots=True)
class Answering:
    """How a knowledge base answers.

    Attributes:
        calling: The model that writes the answers; None quotes sentences.
        tokens: The tokens of any text.
        min_relevance: The least support (see `answerable`) that an answer needs.
        similarity: Cosines of a question with some sentences, for when words do not decide; None without
            an embedder.
        nearness: Compares what was written with stored vectors of passages; None without an embedder.
        prompt_tokens: Tokens that a prompt may take.
        not_found: What is said when there is no answer.
    """

    calling: Calling | None
    tokens: Callable[[str], Sequence[str]]
    min_relevance: float
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None
    nearness: Nearness | None = None
    prompt_tokens: int = PROMPT_TOKENS
    not_found: Mapping[Language, str] = field(default_factory=lambda: NOT_FOUND)

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
        proofs, backing = await asyncio.to_thread(self._proofs, question, hits, weights)

        def quoted() -> Answer:
            if not proofs:
                seen = {"how": "extractive", "hits": len(hits)}
                return nothing(question, seen, self.not_found, "no hit supports an answer enough")
            return extract(
                question,
                proofs,
                weigh=lambda _: weights,
                tokens=self.tokens,
                similarity=self.similarity,
                not_found=self.not_found,
            )

        with trace.stage("answer") as entry:
            entry.update(support=round(backing, 3), needed=self.min_relevance, hits=len(hits), used=len(proofs))
            if self.calling is None or not proofs:
                answer = await asyncio.to_thread(quoted)
                yield answer.text
            else:
                chat, gate = self.calling.chat, self.calling.gate.part()
                if unwatched := gate.unwatched(chat):
                    trace.note(unwatched)
                try:
                    async for piece in write(
                        question,
                        proofs,
                        chat,
                        gate,
                        fallback=quoted,
                        tokens=self.tokens,
                        nearness=self.nearness,
                        budget=self.prompt_tokens,
                        not_found=self.not_found,
                    ):
                        if isinstance(piece, Answer):
                            answer = piece
                        else:
                            yield piece
                finally:
                    trace.used(gate.usage)
        if left := answer.trace.get("left_out"):
            trace.note(_told(left, self.prompt_tokens))
        if "degraded" in answer.trace:
            trace.note(f"The model's answer could not be used, so sentences are quoted: {answer.trace['degraded']}")
        yield replace(answer, trace={**trace.as_json(), "answer": answer.trace})

    def _proofs(self, question: str, hits: Sequence[Hit], weights: Mapping[str, float]) -> tuple[list[Hit], float]:
        """The hits that may prove something, none if all together support no answer, and their best support."""
        asked_in = language_of(question)
        found: list[Found] = []
        for hit in hits:
            # So do the words of the relations that lead to a passage: it is found for what they say together.
            led = (step["text"] for step in hit.evidence.get("path", ()) if "text" in step)
            text = "\n".join([hit.passage.context, hit.passage.content, *led])
            # Words of two languages do not meet: there the cosine decides alone.
            foreign = language_of(hit.passage.content[:1000]) != asked_in
            words = None if foreign and hit.similarity is not None else self.tokens(text)
            found.append((None if hit.similarity is None else hit.relevance, words))
        backing = support(weights, found)
        # What a model has chosen for this question it shall also read.
        picked = any(hit.evidence.get("rerank") == "model" for hit in hits)
        if backing < self.min_relevance and not picked:
            return self._by_sentence(question, hits, weights, backing)
        proofs = [
            hit
            for hit, one in zip(hits, found, strict=True)
            if hit.relevance >= self.min_relevance
            or support(weights, [one]) >= self.min_relevance
            or "rerank" in hit.evidence
        ]
        return proofs, backing

    def _by_sentence(
        self, question: str, hits: Sequence[Hit], weights: Mapping[str, float], backing: float
    ) -> tuple[list[Hit], float]:
        """The hit with a sentence that is far nearer to the question than all others, and shows what it seeks."""
        asked = understand(question[:_ASKED], lambda _: weights, self.tokens)
        if self.similarity is None or not asked.sought:
            return [], backing
        told = [(hit, unit.text) for hit in hits[:_READ] if not is_table(hit.passage) for unit in split(hit.passage)][
            :_COMPARED
        ]
        if not any(asked.shows(text) for _, text in told):
            return [], backing
        cosines = self.similarity(question[:_ASKED], [text for _, text in told])
        outstanding = standing_out(cosines)
        hit, text = told[cosines.index(max(cosines))]
        if outstanding < self.min_relevance or not asked.shows(text):
            return [], backing
        return [hit], outstanding


def _told(left: Sequence[Mapping[str, Any]], limit: int) -> str:
    """One sentence on what the model was not shown."""
    parts = (
        f"{one['source']} ({'all' if one['tokens'] >= one['of'] else one['tokens']} of {one['of']} tokens)"
        for one in left
    )
    return f"To keep the prompt within prompt_tokens ({limit:,}), the model was not shown: {', '.join(parts)}."
