"""Sentences that state the relations of a chain, hop by hop: the proof of an answer that no single sentence holds.

"What is the birthplace of the founder of X known for?" has its answer in a sentence that shares nothing with the
question. What was found by a chain of relations is therefore quoted along that chain, wherever the sentences that
resemble the question leave much of it open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from silmari.answering.ranking import FoundPassage

# Of the question's weight, what must be left open for more to be quoted.
OPEN = 0.4
# Of a relation's words, the share that a sentence must have to state it.
_STATES = 0.5

Place = tuple[int, int]


def along_chain(
    passages: Sequence[FoundPassage], left_open: float, tokens: Callable[[str], Sequence[str]]
) -> list[Place]:
    """Where the relations of the best chain are stated, from hop to hop.

    Args:
        passages: The hits, opened; their evidence has the paths.
        left_open: The share of the question's weight that what is quoted so far does not have.
        tokens: The tokens of any text.

    Returns:
        Pairs of a passage's order and a unit's place in it; empty without a chain over several passages.
    """
    if left_open < OPEN:
        return []
    chains = [passage for passage in passages if "says" in passage.hit.evidence]
    if not chains:
        return []
    best = max(passage.hit.evidence["says"] for passage in chains)
    # Of the parts of one chain that lead to several hits, the longest.
    road = max(
        (_relations(passage.hit.evidence["path"]) for passage in chains if passage.hit.evidence["says"] == best),
        key=len,
    )
    orders = {passage.hit.passage.id: passage.order for passage in passages}
    if len({step["passage_id"] for step in road}) < 2 or any(step["passage_id"] not in orders for step in road):
        return []
    places = [_stating(passages[orders[step["passage_id"]]], frozenset(tokens(step["text"])), tokens) for step in road]
    return list(dict.fromkeys(place for place in places if place is not None))


def _relations(path: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [step for step in path if "relation" in step]


def _stating(passage: FoundPassage, words: frozenset[str], tokens: Callable[[str], Sequence[str]]) -> Place | None:
    """The sentence of a passage that has most of a relation's words, if it has enough of them."""
    held = [len(words & frozenset(tokens(unit.text))) for unit in passage.units]
    most = max(held, default=0)
    return (passage.order, held.index(most)) if most and most >= _STATES * len(words) else None
