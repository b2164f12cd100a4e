"""When a model is asked although the graph has answered, and what it chooses from then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from silmari.language.sentences import sentences
from silmari.model import Hit, Relation
from silmari.retrieval.question import Question
from silmari.retrieval.rerank import Candidate

if TYPE_CHECKING:
    from silmari.retrieval.expanding import Expander

# Of the best k of `graph`, so many must also be among the best k of `fused`.
AGREEMENT = 0.6
# And the k-th must have this relevance, or more.
LEAST = 0.25
# So many hits are read, or k if that is more.
READ = 12
# Of each hit.
_RELATIONS = 3
_SENTENCES = 2
_MAX_SENTENCES = 40
_MAX_CHARS = 20_000


def doubt(hits: Sequence[Hit], k: int) -> str:
    """Why the order of a search by ``graph`` is doubtful, in a few words; empty if it is not.

    Args:
        hits: Best first.
        k: How many will be shown.
    """
    top = hits[:k]
    if not top:
        return ""
    agreed = sum(hit.evidence.get("fused", {}).get("rank", k + 1) <= k for hit in top)
    if agreed < AGREEMENT * len(top):
        return f"only {agreed} of the best {len(top)} are also the best by meaning and words"
    if top[-1].relevance < LEAST:
        return f"the relevance of the last is {top[-1].relevance:.2f}"
    return ""


def candidates(
    hits: Sequence[Hit], expander: Expander, question: Question, weights: Mapping[str, float]
) -> tuple[tuple[Candidate, ...], list[tuple[int, ...]]]:
    """The statements by which hits can be judged.

    Of a hit whose passage states relations, those that are most similar to the question, and those that led to it;
    of any other its best sentences, under what it is about.

    Args:
        hits: Best first.
        expander: Knows relations.
        question: As asked.
        weights: Of its tokens, idf included.

    Returns:
        The candidates, and by their ids the passages that they stand for.
    """
    shown = {hit.passage.id for hit in hits}
    stated = expander.stated(list(shown), question, _RELATIONS)
    led = expander.shelf.relations([step["id"] for hit in hits for step in _relations(hit)])
    offered: list[Candidate] = []
    stands: list[tuple[int, ...]] = []
    seen: set[int] = set()

    def offer(relation: Relation, passage: int) -> None:
        if relation.id not in seen:
            seen.add(relation.id)
            ends = f"e{relation.subject_id}", f"e{relation.object_id}"
            offered.append(Candidate(len(offered), relation.text, ends))
            stands.append((passage,))

    for hit in hits:
        item = hit.passage.id
        for relation in stated.get(item, ()):
            offer(relation, item)
        for step in _relations(hit):
            if step["id"] in led:  # what only leads somewhere stands for where it leads
                offer(led[step["id"]], step["passage_id"] if step["passage_id"] in shown else item)
        if item not in stated:
            offered.append(Candidate(len(offered), _said(hit, expander, weights), _about(hit)))
            stands.append((item,))
    return tuple(offered), stands


def _relations(hit: Hit) -> list[Mapping[str, Any]]:
    """The relations on the path to a hit."""
    return [step for step in hit.evidence.get("path", ()) if "relation" in step]


def _about(hit: Hit) -> tuple[int, int]:
    """The passage, and the one that led to it: they read on from each other."""
    path = hit.evidence.get("path", ())
    return hit.passage.id, path[0].get("passage_id", hit.passage.id) if path else hit.passage.id


def _said(hit: Hit, expander: Expander, weights: Mapping[str, float]) -> str:
    text = hit.passage.content[:_MAX_CHARS]
    told = [one for start, end in sentences(text) if any(map(str.isalnum, one := text[start:end].strip()))]
    worth = [sum(weights.get(token, 0.0) for token in set(expander.tokens(one))) for one in told[:_MAX_SENTENCES]]
    # sorted() is stable: of equal ones the first counts, which says what the passage is about.
    best = sorted(sorted(range(len(worth)), key=lambda at: -worth[at])[:_SENTENCES])
    head = hit.passage.context or hit.source.title
    said = " … ".join(told[at] for at in best)
    return f"{head}: {said}" if head else said
