"""The answer to a question, with the passages that prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from silmari.language.normalise import visible
from silmari.model import Hit, Source


@dataclass(frozen=True, slots=True)
class Cited:
    """A source that the answer cites.

    Attributes:
        n: Its number in the answer's text, from 1, in order of first citation.
        quote: An exact substring of the passage's content that supports the answer.
        passage_id: The catalog's number of the passage.
        tier: Which tier of which policy it was taken from (``policy``, ``tier``, ``part``); None for a search
            without tiers.
    """

    n: int
    source: Source
    quote: str
    passage_id: int
    tier: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The shape that ``ask --json`` prints."""
        shown: dict[str, Any] = {
            "n": self.n,
            "uri": self.source.uri,
            "title": visible(self.source.title),
            "category": self.source.category,
            "date": self.source.date,
            "locator": dict(self.source.locator),
            "quote": self.quote,
        }
        if self.source.also:
            shown["also"] = list(self.source.also)
        if self.tier is not None:
            shown["tier"] = dict(self.tier)
        return shown


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered, and what proves it.

    Attributes:
        text: The answer with its ``[n]`` marks, without the list of sources.
        found: False when the documents do not answer the question; then there are no sources.
        sources: Only those that `text` cites, numbered from 1 in order of first citation.
        trace: What the stages saw, kept, dropped and why.
        unsupported: Sentences of `text` that have no valid citation, or that the passages which they cite do
            not support (the trace says why); always empty for quoted answers.
    """

    question: str
    text: str
    found: bool
    sources: tuple[Cited, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The shape that ``ask --json`` prints."""
        shown: dict[str, Any] = {
            "question": self.question,
            "answer": self.text,
            "found": self.found,
            "sources": [cited.as_json() for cited in self.sources],
            "trace": dict(self.trace),
        }
        if self.unsupported:
            shown["unsupported"] = list(self.unsupported)
        return shown

    def source_list(self) -> str:
        """The numbered list of sources, one line each; empty when nothing is cited."""
        return "\n".join(
            f"[{cited.n}] {_place(cited.source)}" + (f" · {tier_told(cited.tier)}" if cited.tier else "")
            for cited in self.sources
        )

    def __str__(self) -> str:
        """The text and, below it, the numbered list of sources."""
        listed = self.source_list()
        return f"{self.text}\n\n{listed}" if listed else self.text


def with_tiers(answer: Answer, hits: Sequence[Hit]) -> Answer:
    """The answer, each of its sources with the tier that its hit was taken from."""
    tiers = {hit.passage.id: hit.evidence["tier"] for hit in hits if "tier" in hit.evidence}
    if not tiers:
        return answer
    return replace(answer, sources=tuple(replace(cited, tier=tiers.get(cited.passage_id)) for cited in answer.sources))


def tier_told(tier: Mapping[str, Any]) -> str:
    """``fresh: newest, 31–60 days``."""
    return f"{tier['policy'] or 'policy'}: " + ", ".join(part for part in (tier["tier"], tier["part"]) if part)


def _place(source: Source) -> str:
    """Title, place and date of a source on one line."""
    parts = [part for part in (source.title, source.uri) if part]
    parts += [f"{key} {_span(value)}" for key, value in source.locator.items()]
    if source.known_date:
        parts.append(source.known_date)
    if source.also:
        parts.append("= " + ", ".join(source.also))
    return " · ".join(" ".join(visible(part).split()) for part in parts)


def _span(value: object) -> str:
    """``[2, 40]`` as ``2-40``; everything else as it is."""
    if isinstance(value, (list, tuple)):
        return "-".join(str(end) for end in dict.fromkeys(value))
    return str(value)
