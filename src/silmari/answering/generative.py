"""Answers that a chat model writes from the sources: streamed, cited, checked; quoted ones if that fails."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from silmari.answering.answer import Answer
from silmari.answering.backing import Nearness, backed
from silmari.answering.budget import LEAST_ROOM, Fitted, fit
from silmari.answering.citations import CitationStream, Cleaned
from silmari.answering.guard import LinkGuard, neutralise
from silmari.answering.orders import asks_for_instructions, is_order
from silmari.answering.prompts import Prompt, build
from silmari.answering.units import split
from silmari.answering.wording import DEGRADED, LINK_REMOVED, NOT_FOUND, REFUSAL, REFUSED_QUOTED, Language, language_of
from silmari.errors import ProviderError
from silmari.language.leaks import LeakGuard, ScriptGuard
from silmari.model import Hit
from silmari.providers.chat import ChatModel
from silmari.providers.faults import ServiceError
from silmari.providers.gate import Gate
from silmari.providers.messages import tokens_in

# Until a first citation proves that the reply is an answer, this much of it waits.
_UNPROVEN_CHARS = 400
# Tokens of a prompt, where the settings do not say.
PROMPT_TOKENS = 8_000
_TOO_LONG = re.compile(r"context.?(?:length|window|size)|maximum context|too many tokens|prompt is too long", re.I)
_THINKING = ("<think>", "</think>")
_DENIES = re.compile(
    r"찾(을|지)\s*(수|못)|확인(할|되지)\s*(수\s*없|않)"
    r"|(정보|내용|답|언급)[이은가는]?\s*(포함되어 있지 않|없|나와 있지 않)"
    r"|\b(not|n't|no)\b[^.]{0,60}\b(found|mention|contain|provide|state|specif|answer|information|include)"
    r"|\b(cannot|can't|unable to)\b[^.]{0,40}\b(find|answer|determine)",
    re.I,
)


async def write(
    question: str,
    hits: Sequence[Hit],
    model: ChatModel,
    gate: Gate,
    *,
    fallback: Callable[[], Answer],
    tokens: Callable[[str], Sequence[str]],
    nearness: Nearness | None = None,
    budget: int = PROMPT_TOKENS,
    language: Language | None = None,
    history: Sequence[tuple[str, str]] = (),
    not_found: Mapping[Language, str] = NOT_FOUND,
) -> AsyncIterator[str | Answer]:
    """Let a model answer from the hits.

    Yields:
        Pieces of text that may be shown as they come, then, last, the `Answer`. The pieces together
        are its text; when the reply had to be given up after some of it was shown, they end with
        its text, and the trace says why. Nothing is ever asked twice after something was shown.

    Args:
        question: As it was asked.
        hits: Those that may prove something, best first; without any, the model is not called.
        model: What writes.
        gate: Through which it is called.
        fallback: Gives the quoted answer, for a reply that cannot be used.
        tokens: The tokens of any text, to find the sentence that proves a statement.
        nearness: Compares sentences with passages by their vectors; None without an embedder.
        budget: Tokens that the whole prompt may take: rules, question and sources.
        language: Of the answer; that of the question if None.
        history: Earlier ``(question, answer)`` pairs, oldest first.
        not_found: What is said when the sources do not answer.

    Raises:
        ProviderError: The service refuses the call for good, such as for a wrong key.
    """
    spoken = language or language_of(question)
    trace: dict[str, Any] = {"how": "written", "model": model.name, "hits": len(hits)}
    if not hits or not any(char.isalnum() for char in question):
        # The quoted answer says the same, and why, without a call.
        answer = fallback()
        yield answer.text
        yield answer
        return
    asked = set(tokens(question))
    around = tokens_in(build(question, (), spoken, history=history).messages)
    fitted = fit(hits, budget - around, worth=lambda text: len(asked.intersection(tokens(text))))
    trace |= {"sources_shown": len(fitted.pieces), "source_tokens": fitted.tokens, "left_out": list(fitted.left_out)}
    trace |= {"prompt_tokens": around + fitted.tokens, "prompt_limit": budget}
    if not fitted.pieces:
        # Without a source the model could only invent.
        full = (
            f"No source fits into prompt_tokens ({budget:,}): rules and question take {around:,}, a source needs "
            f"{LEAST_ROOM} or more; raise prompt_tokens."
        )
        quoted = fallback()
        answer = replace(quoted, trace={**quoted.trace, **trace, "how": quoted.trace.get("how"), "degraded": full})
        yield answer.text
        yield answer
        return
    prompt = build(question, fitted.pieces, spoken, history=history)
    checks = _Checks(question, prompt, fitted, spoken)
    raw: list[str] = []
    fault: str | None = None
    shown = False
    try:
        async with aclosing(gate.stream(model, prompt.messages)) as stream:
            async for piece in stream:
                raw.append(piece)
                passed = checks.feed(piece)
                if passed:
                    shown = True
                    yield passed
                if checks.leaking:
                    break
    except ProviderError as error:
        too_long = bool(_TOO_LONG.search(str(error)))
        if isinstance(error, ServiceError) and not (error.retryable or raw or too_long):
            raise  # A wrong key or name is for the user to mend, not to be papered over.
        fault = f"{str(error).rstrip('.')}; lower prompt_tokens ({budget:,})." if too_long else str(error)
    rest = checks.close()
    # In a thread of its own: vectors may be made, and other answers go on meanwhile.
    answer = await asyncio.to_thread(
        _judge, question, checks, fitted, spoken, tokens, nearness, fault, fallback, not_found, trace
    )
    if answer.found and "degraded" not in answer.trace:
        gate.remember(model, prompt.messages, "".join(raw))
        if rest:
            yield rest
    elif shown:
        told = answer.found and "refused" not in answer.trace
        yield f"\n\n{DEGRADED[spoken]}\n\n{answer.text}" if told else f"\n\n{answer.text}"
    else:
        yield answer.text
    yield answer


async def written(pieces: AsyncIterator[str | Answer]) -> Answer:
    """The answer at the end of `write`, for those who do not stream."""
    answer: Answer | None = None
    async for piece in pieces:
        if isinstance(piece, Answer):
            answer = piece
    if answer is None:
        raise RuntimeError("the stream ended without an answer")
    return answer


class _Checks:
    """All that stands between the model's words and the reader, in order."""

    def __init__(self, question: str, prompt: Prompt, fitted: Fitted, language: Language) -> None:
        self._contents = [piece.text for piece in fitted.pieces]
        self._thinking = _Thinking()
        known = "\n".join(piece.hit.passage.context + "\n" + piece.text for piece in fitted.pieces)
        self._leak = LeakGuard(prompt.secret, [prompt.canary], known=known)
        self._script = ScriptGuard(f"{question}\n{known}")
        self._citations = CitationStream(len(self._contents))
        self._links = LinkGuard(self._content, LINK_REMOVED[language])
        self._waiting: list[str] | None = []
        self._text: list[str] = []

    @property
    def leaking(self) -> bool:
        """Whether the reply was stopped since it repeats the instructions."""
        return self._leak.tripped or self._script.tripped

    @property
    def text(self) -> str:
        """All that passed, shown or still waiting."""
        return "".join(self._text)

    def cleaned(self) -> Cleaned:
        """The citations, after `close`."""
        return self._citations.result()

    def feed(self, piece: str) -> str:
        """Take a piece of the reply; return what may be shown now."""
        opened = neutralise(self._thinking.feed(piece))
        return self._release(self._citations.feed(self._links.feed(self._script.feed(self._leak.feed(opened)))))

    def close(self) -> str:
        """Return what was still held back."""
        last = self._script.feed(self._leak.feed(neutralise(self._thinking.close())) + self._leak.close())
        last = self._links.feed(last) + self._links.close()
        shown = self._release(self._citations.feed(last) + self._citations.close())
        waiting, self._waiting = self._waiting, None
        return "".join(waiting or []) + shown

    def _release(self, passed: str) -> str:
        if not self._text:
            passed = passed.lstrip()
        if not passed:
            return ""
        self._text.append(passed)
        if self._waiting is None:
            return passed
        self._waiting.append(passed)
        waiting = "".join(self._waiting)
        if not self._citations.cited and len(waiting) < _UNPROVEN_CHARS:
            return ""
        self._waiting = None
        return waiting

    def _content(self, number: int) -> str | None:
        """What the model was shown under a number."""
        return self._contents[number - 1] if 1 <= number <= len(self._contents) else None


class _Thinking:
    """Drops the ``<think>`` part with which some local models begin."""

    def __init__(self) -> None:
        self._held: str | None = ""

    def feed(self, piece: str) -> str:
        if self._held is None:
            return piece
        self._held += piece
        begun = self._held.lstrip()
        opening, closing = _THINKING
        if begun.startswith(opening):
            _, closed, after = begun.partition(closing)
            if not closed:
                return ""
            begun = after
        elif opening.startswith(begun):
            return ""
        self._held = None
        return begun

    def close(self) -> str:
        held, self._held = self._held or "", None
        return "" if held.lstrip().startswith(_THINKING[0]) else held


def _judge(
    question: str,
    checks: _Checks,
    fitted: Fitted,
    language: Language,
    tokens: Callable[[str], Sequence[str]],
    nearness: Nearness | None,
    fault: str | None,
    fallback: Callable[[], Answer],
    not_found: Mapping[Language, str],
    trace: dict[str, Any],
) -> Answer:
    """The answer that the whole reply amounts to."""
    if checks.leaking:
        trace["refused"] = "the reply began to repeat the instructions"
        quoted = None if asks_for_instructions(question) else fallback()
        if quoted is None or not quoted.found:
            return Answer(question, REFUSAL[language], False, (), trace)
        told = {**quoted.trace, **trace, "how": quoted.trace.get("how"), "degraded": trace["refused"]}
        return replace(quoted, text=f"{REFUSED_QUOTED[language]}\n\n{quoted.text}", trace=told)
    text = checks.text
    cleaned = checks.cleaned()
    if cleaned.dropped:
        trace["dropped_citations"] = list(cleaned.dropped)
    if fault is None and _says_not_found(text, cleaned, language):
        quoted = (
            fallback()
            if any(is_order(unit.text) for piece in fitted.pieces for unit in split(piece.hit.passage))
            else None
        )
        if quoted is not None and quoted.found:
            # A document may have told the model to say so.
            denied = "a source gives the model orders, so that its denial is not trusted"
            return replace(quoted, trace={**quoted.trace, **trace, "how": quoted.trace.get("how"), "degraded": denied})
        trace["not_found"] = "the model found no answer in the sources"
        return Answer(question, not_found[language], False, (), trace)
    if fault is None:
        fault = _fault(text, cleaned)
    if fault is not None:
        quoted = fallback()
        return replace(quoted, trace={**quoted.trace, **trace, "how": quoted.trace.get("how"), "degraded": fault})
    found = backed(text, cleaned, fitted, tokens, nearness)
    trace["unsupported"] = [{"sentence": sentence, "reason": reason} for sentence, reason in found.doubtful]
    if found.unjudged:
        trace["unjudged"] = found.unjudged
    return Answer(question, text, True, found.sources, trace, tuple(sentence for sentence, _ in found.doubtful))


def _fault(text: str, cleaned: Cleaned) -> str | None:
    """Why a reply cannot be used, in one sentence; None if it can."""
    if not any(char.isalnum() for char in text):
        return "The model's reply was empty."
    if not cleaned.order:
        return "The model's reply cited none of the sources."
    return None


def _says_not_found(text: str, cleaned: Cleaned, language: Language) -> bool:
    if _letters(NOT_FOUND[language]) in _letters(text):
        return len(_letters(text)) < 2 * len(_letters(NOT_FOUND[language]))
    return not cleaned.order and len(text) < 240 and bool(_DENIES.search(text))


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFC", text) if char.isalnum())
