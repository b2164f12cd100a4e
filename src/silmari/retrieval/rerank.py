"""A model puts the statements that lead to an answer first: one call, and whatever it replies, the search goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from silmari.errors import ProviderError
from silmari.language.leaks import repeats
from silmari.providers.chat import ChatModel
from silmari.providers.gate import Gate
from silmari.retrieval.rerank_prompt import SCHEMA, Language, messages
from silmari.retrieval.rerank_reply import parse


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


async def rerank(
    question: str, candidates: Sequence[Candidate], best: int, language: Language, model: ChatModel, gate: Gate
) -> Reranked:
    """Let a model choose, in one call.

    Args:
        question: As the user asked it.
        candidates: In the order of what is known without a model, the likeliest first.
        best: How many it may choose.
        language: Of the question.
        model: Which model.
        gate: Through which it is called.

    Returns:
        Its choice; never an error of the service or of the reply, which is told in `Reranked.fault`.
    """
    if not candidates:
        return Reranked()
    shown, breaks = chained(candidates)
    texts = [candidate.text for candidate in shown]
    asked = messages(question, texts, breaks, best, language)
    try:
        choice = await gate.ask(model, asked, lambda reply: parse(reply, texts), attempts=1, schema=SCHEMA)
    except ProviderError as error:
        return Reranked(fault=str(error))
    rules = str(asked[0].content)
    folded = " ".join(question.split()).casefold()
    return Reranked(
        tuple(shown[place].id for place in choice.places[:best]),
        # What the model was told is no question, whatever a document made it ask.
        tuple(
            one for one in choice.questions if one.casefold() != folded and not repeats(one, rules, "\n".join(texts))
        ),
    )


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
