"""The half of a knowledge base that is asked: searches, answers, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from silmari.background import Background
from silmari.desk import Desk
from silmari.errors import UsageError
from silmari.model import WAYS, Hit, Way
from silmari.retrieval.trace import Trace
from silmari.searching import SearchOptions, Wanted
from silmari.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from silmari.answering.answer import Answer
    from silmari.answering.answering import Answering
    from silmari.answering.conversation import History
    from silmari.catalog.catalog import Catalog
    from silmari.comparison import Comparison
    from silmari.language.analysis import Analyser
    from silmari.many import Fault
    from silmari.providers.calling import Calling
    from silmari.providers.embedding import Embedder


class Questions:
    """What `silmari.knowledge_base.KnowledgeBase` is asked; it sets the attributes."""

    settings: Settings
    analyser: Analyser
    embedder: Embedder | None
    catalog: Catalog
    _desk: Desk
    _background: Background
    _llm: str | BaseChatModel | None

    def search(self, question: str, *, trace: Trace | None = None, **options: Unpack[SearchOptions]) -> list[Hit]:
        """The passages that answer a question best.

        Args:
            question: In any language.
            trace: Filled with what happened, if given.
            options: ``way``, ``k``, ``filters``, ``policy`` and others, see `SearchOptions`.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
        """
        wanted = self._desk.wanted(question, options)
        if wanted.helper is None:
            return wanted.found(trace or Trace())
        return self._background.run(wanted.steered(trace or Trace()))

    async def asearch(
        self, question: str, *, trace: Trace | None = None, **options: Unpack[SearchOptions]
    ) -> list[Hit]:
        """See `search`."""
        wanted = await asyncio.to_thread(self._desk.wanted, question, options)
        return await self._background.await_(wanted.steered(trace or Trace()))

    def ask(self, question: str, *, history: History | None = None, **options: Unpack[SearchOptions]) -> Answer:
        """Answer a question from the documents, or say that they do not answer it.

        Without a chat model the answer is made of quoted sentences; with one it is written. Either way
        each sentence cites its sources. Where the model's service fails, sentences are quoted instead, and
        the trace says why.

        Args:
            question: In any language.
            history: What was said before, oldest first: ``(question, answer)`` pairs, or messages ``{"role":
                "user" | "assistant", "content": …}``. A follow-up is made to stand on its own by it, which
                the trace shows.
            options: As in `search`.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
            MissingExtraError: The chat model's package is not installed.
        """
        return self._background.run(self._ask(question, options, history))

    async def aask(self, question: str, *, history: History | None = None, **options: Unpack[SearchOptions]) -> Answer:
        """See `ask`."""
        return await self._background.await_(self._ask(question, options, history))

    def stream(
        self, question: str, *, history: History | None = None, **options: Unpack[SearchOptions]
    ) -> Iterator[str | Answer]:
        """Like `ask`: first pieces of the text as they are written, then the finished `Answer`."""
        return self._background.iterate(self._pieces(question, options, history))

    def astream(
        self, question: str, *, history: History | None = None, **options: Unpack[SearchOptions]
    ) -> AsyncIterator[str | Answer]:
        """See `stream`."""
        return self._background.aiterate(self._pieces(question, options, history))

    def ask_many(
        self, questions: Iterable[str], *, concurrency: int | None = None, **options: Unpack[SearchOptions]
    ) -> list[Answer | Fault]:
        """Answer many questions at once; one that fails or is slow does not hold the others.

        Args:
            questions: In any language.
            concurrency: How many are in flight at once, 1 to 256; default: the setting, which is also the most
                that the chat model is called at once.
            options: As in `ask`, the same for all.

        Returns:
            For each question, in its order, its `Answer`, or a `silmari.many.Fault` that says why there is none.

        Raises:
            UsageError: `concurrency` is out of range, or `questions` is one text.
        """
        from silmari.many import all_of

        return self._background.run(all_of(self._each(questions, concurrency, options)))

    async def aask_many(
        self, questions: Iterable[str], *, concurrency: int | None = None, **options: Unpack[SearchOptions]
    ) -> list[Answer | Fault]:
        """See `ask_many`."""
        from silmari.many import all_of

        return await self._background.await_(all_of(self._each(questions, concurrency, options)))

    def ask_each(
        self, questions: Iterable[str], *, concurrency: int | None = None, **options: Unpack[SearchOptions]
    ) -> Iterator[tuple[int, Answer | Fault]]:
        """Like `ask_many`, but each result as soon as it is there, after its question's place, from 0."""
        return self._background.iterate(self._each(questions, concurrency, options))

    def aask_each(
        self, questions: Iterable[str], *, concurrency: int | None = None, **options: Unpack[SearchOptions]
    ) -> AsyncIterator[tuple[int, Answer | Fault]]:
        """See `ask_each`."""
        return self._background.aiterate(self._each(questions, concurrency, options))

    def compare(
        self,
        question: str,
        *,
        ways: Sequence[Way] | None = None,
        answers: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Comparison:
        """What several ways find for a question, and what is answered from it, side by side.

        Args:
            question: In any language.
            ways: Which; default: ``dense``, ``cascade``, ``expansion``, ``graph`` and ``fused``.
            answers: Whether each way answers, too.
            options: As in `search`, but for ``way``.

        Raises:
            UsageError: The question has no words, or an argument is wrong. What only one way cannot do is
                told in its part.
        """
        return self._background.run(self._compare(question, ways, answers, options))

    async def acompare(
        self,
        question: str,
        *,
        ways: Sequence[Way] | None = None,
        answers: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Comparison:
        """See `compare`."""
        return await self._background.await_(self._compare(question, ways, answers, options))

    async def _ask(self, question: str, options: SearchOptions, history: History | None = None) -> Answer:
        from silmari.answering.generative import written

        return await written(self._pieces(question, options, history))

    async def _pieces(
        self, question: str, options: SearchOptions, history: History | None = None
    ) -> AsyncIterator[str | Answer]:
        trace, asked = Trace(), question
        if history is not None and isinstance(question, str):
            from silmari.answering.conversation import standalone, turns_of

            asked = await standalone(question, turns_of(history), self._model, self.analyser.names, trace)
        wanted = await asyncio.to_thread(self._desk.wanted, asked, options)
        async for piece in wanted.pieces(self._answering, trace):
            yield piece if isinstance(piece, str) else replace(piece, question=question)

    def _each(
        self, questions: Iterable[str], concurrency: int | None, options: SearchOptions
    ) -> AsyncIterator[tuple[int, Answer | Fault]]:
        from silmari.many import each

        at_once = self.settings.concurrency if concurrency is None else concurrency
        return each(questions, lambda question: self._ask(question, options), at_once)

    async def _compare(
        self, text: str, ways: Sequence[Way] | None, answers: bool, options: SearchOptions
    ) -> Comparison:
        from silmari.comparison import COMPARED
        from silmari.searching import compared

        chosen = list(dict.fromkeys(COMPARED if ways is None else ways))
        if strange := [way for way in chosen if way not in WAYS]:
            raise UsageError(f"There is no way named {strange[0]}; the ways are {', '.join(WAYS)}.")
        count = self.settings.k if (k := options.get("k")) is None else k
        question = self._desk.question(text)

        def wanted(way: Way) -> Wanted:
            return self._desk.wanted(question, {**options, "way": way, "k": count})

        # Once for all ways; a mistake in the arguments is told before any of them runs.
        await asyncio.to_thread(lambda: (question.vector, wanted("sparse")))
        return await compared(text, count, chosen, wanted, self._answering if answers else None)

    @cached_property
    def _answering(self) -> Answering:
        from silmari.answering.answering import Answering
        from silmari.answering.wording import not_found

        return Answering(
            calling=self._model,
            tokens=self.analyser.tokens,
            min_relevance=self.settings.min_relevance,
            similarity=None if self.embedder is None else self.embedder.similarity,
            nearness=None if self.embedder is None else self._desk.nearness,
            prompt_tokens=self.settings.prompt_tokens,
            not_found=not_found(self.settings.fallback),
        )

    @cached_property
    def _model(self) -> Calling | None:
        """The chat model and the gate for all its calls; None without one."""
        from silmari.providers.calling import open_calling

        return None if self._llm is None else open_calling(self._llm, self.settings, self.catalog)
