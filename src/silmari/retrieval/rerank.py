"""A model puts the statements that lead to an answer first: one call, and whatever it replies, the search goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from silmari.errors import ProviderError
from silmari.providers.chat import ChatModel
from silmari.providers.faults import fault_of
from silmari.providers.gate import Gate
from silmari.retrieval.rerank_prompt import SCHEMA, Language, messages
from silmari.retrieval.rerank_reply import Choice, parse

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

# What services answer that do not know `response_format`, or not with a schema.
_REFUSED = frozenset({400, 415, 422, 501})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may lead to the answer.

    Attributes:
        id: The caller's number, such as a relation's.
        text: What it says.
        about: What it begins with and what it leads to, in any form that is equal for equal things;
            statements that share them are shown together.
    """

    id: int
    text: str
    about: tuple[int | str, int | str] = ("", "")


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a model made of candidates.

    Attributes:
        chosen: Their ids, the most useful first; empty when the order stays as it was.
        questions: What else it wants to be searched, three at most.
        fault: Why the reply could not be used, in one sentence; None if it could.
    """

    chosen: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()
    fault: str | None = None


class Reranker:
    """Asks one model through one gate; safe to be used by many coroutines of one loop."""

    def __init__(self, model: ChatModel, gate: Gate) -> None:
        self.model = model
        self.gate = gate
        self._plain = not model.name.startswith("openai:")

    async def rerank(self, question: str, candidates: Sequence[Candidate], best: int, language: Language) -> Reranked:
        """Let the model choose.

        Args:
            question: As the user asked it.
            candidates: In the order of what is known without a model, the likeliest first.
            best: How many it may choose.
            language: Of the question.

        Returns:
            Its choice; never an error of the service or of the reply, which is told in `Reranked.fault`.
        """
        if not candidates:
            return Reranked()
        shown, breaks = chained(candidates)
        texts = [candidate.text for candidate in shown]
        asked = messages(question, texts, breaks, best, language)
        try:
            choice = await self._choice(asked, texts)
        except ProviderError as error:
            return Reranked(fault=str(error))
        folded = " ".join(question.split()).casefold()
        return Reranked(
            tuple(shown[place].id for place in choice.places[:best]),
            tuple(one for one in choice.questions if one.casefold() != folded),
        )

    async def _choice(self, asked: Sequence[BaseMessage], texts: Sequence[str]) -> Choice:
        def validate(reply: str) -> Choice:
            return parse(reply, texts)

        if not self._plain:
            try:
                return await self.gate.ask(_by_schema(self.model), asked, validate, attempts=1)
            except ProviderError as error:
                fault = fault_of(error.__cause__) if error.__cause__ else None
                if fault is None or fault.status not in _REFUSED:
                    raise
                # Asked once more without a schema, and not again with one.
                self._plain = True
        return await self.gate.ask(self.model, asked, validate, attempts=1)


def _by_schema(model: ChatModel) -> ChatModel:
    """The model, bound to reply in JSON of our schema."""
    # In the body, and not as an argument of the client: that one raises when a reply is cut off.
    form = {"response_format": {"type": "json_schema", "json_schema": SCHEMA}}
    client: Any = model.client.bind(extra_body=form)
    return replace(model, client=client)


def chained(candidates: Sequence[Candidate]) -> tuple[list[Candidate], frozenset[int]]:
    """Put statements that read on from each other together.

    Those with one subject stand together; after them come those whose subject they lead to, then those that lead to
    them. Where nothing is joined the given order decides.

    Returns:
        All candidates, and the places before which nothing joins what follows with what precedes.
    """
    groups: dict[int | str, list[Candidate]] = {}
    leading: dict[int | str, list[int | str]] = {}
    for place, candidate in enumerate(candidates):
        subject, target = candidate.about
        start: int | str = subject if subject != "" else f"\0{place}"
        groups.setdefault(start, []).append(candidate)
        if target != "":
            leading.setdefault(target, []).append(start)
    ordered: list[Candidate] = []
    breaks: set[int] = set()
    seen: set[int | str] = set()
    for first in groups:
        if first in seen:
            continue
        breaks.add(len(ordered))
        seen.add(first)
        waiting = [first]
        while waiting:
            group = groups[waiting.pop()]
            ordered += group
            fresh = [one for one in dict.fromkeys(_joined(group, leading)) if one in groups and one not in seen]
            seen.update(fresh)
            waiting += reversed(fresh)  # the best of them is read next
    return ordered, frozenset(breaks)


def _joined(group: Sequence[Candidate], leading: dict[int | str, list[int | str]]) -> Iterator[int | str]:
    for candidate in group:
        yield candidate.about[1]
    yield from leading.get(group[0].about[0], ())
    for candidate in group:
        yield from leading.get(candidate.about[1], ())
