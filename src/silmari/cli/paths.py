"""The path that led to a hit, as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from silmari.cli.common import shown, where

if TYPE_CHECKING:
    from rich.tree import Tree

_LINKS = {
    "title": "the title of this passage",
    "topic": "the topic of this passage",
    "mention": "named here, and the title there",
    "given": "given for both",
}


def tree(path: Sequence[Mapping[str, Any]]) -> Tree:
    """From where the question leads, over entities and relations, down to the passage."""
    from rich.tree import Tree

    root = Tree(_step(path[0], last=len(path) == 1), guide_style="dim", style="dim")
    node = root
    for place, step in enumerate(path[1:], 2):
        node = node.add(_step(step, last=place == len(path)))
    return root


def _step(step: Mapping[str, Any], *, last: bool) -> str:
    """One thing on the path, as a line."""
    if "relation" in step:
        return f"{step['text']}  (passage {step['passage_id']})"
    if "entity" in step:
        link = step.get("link")
        return f"{step['entity']}  ({_LINKS.get(link, link)})" if link else str(step["entity"])
    if last:
        return "this passage"
    if "passage_id" in step:
        title, place = (
            step.get("title") or shown(step.get("uri", "")) or f"passage {step['passage_id']}",
            where(step["locator"]),
        )
        return f"{title}, {place}" if place else str(title)
    return ", ".join(f"{name} {value}" for name, value in step.items())
