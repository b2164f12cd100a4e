"""``silmari search``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from silmari.cli.common import (
    Category,
    EmbedderName,
    Explain,
    Json,
    K,
    Kb,
    NoTime,
    Only,
    PolicyName,
    Since,
    UntilDate,
    WayName,
    console,
    filters,
    open_base,
    print_json,
    shown,
    where,
)


def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    kb: Kb = None,
    k: K = None,
    way: WayName = None,
    category: Category = None,
    since: Since = None,
    until_date: UntilDate = None,
    document: Only = None,
    policy: PolicyName = None,
    no_time: NoTime = False,
    embedder: EmbedderName = None,
    explain: Explain = False,
    as_json: Json = False,
) -> None:
    """Find the passages that fit a question best, with their sources."""
    from silmari.answering.answer import tier_told
    from silmari.retrieval.trace import Trace

    trace = Trace()
    chosen: Any = way
    with open_base(kb, embedder=embedder) as base:
        hits = base.search(
            question,
            way=chosen,
            k=k,
            filters=filters(category, since, until_date, document),
            policy=policy,
            time=False if no_time else None,
            trace=trace,
        )
        used = way or base.settings.way
    if as_json:
        result = {"question": question, "way": used, "hits": [hit.as_json() for hit in hits], "trace": trace.as_json()}
        print_json(result)
        return
    out = console()
    for hit in hits:
        source = hit.source
        place = where(source.locator)
        dated = f", {source.date}" if source.date else ""
        similarity = "–" if hit.similarity is None else f"{hit.similarity:.3f}"
        out.print(f"{hit.rank}. {source.title}{dated}" + (f", {place}" if place else ""), style="bold", soft_wrap=True)
        out.print(f"   relevance {hit.relevance:.2f}  similarity {similarity}  score {hit.score:.3f}", style="dim")
        taken = f"  ({tier_told(hit.evidence['tier'])})" if "tier" in hit.evidence else ""
        out.print(f"   {shown(source.uri)}{taken}", style="dim", soft_wrap=True)
        if explain and "path" in hit.evidence:
            out.print(f"   {_told(hit.evidence['path'])}", style="dim", soft_wrap=True)
        out.print(_indent(_shorten(hit.passage.content)))
        out.print()
    if not hits:
        out.print("Nothing was found.")
    show_trace(trace.as_json(), explain)


def show_trace(trace: Mapping[str, Any], explain: bool) -> None:
    """The trace's notes, and on request its stages."""
    out = console()
    for note in trace.get("notes", ()):
        out.print(f"Note: {note}", style="yellow")
    if explain:
        for entry in trace.get("stages", ()):
            out.print(f"{entry['ms']:8.1f} ms  {entry['stage']}: {_listed(entry)}", style="dim", soft_wrap=True)
            for tier in entry.get("tiers", ()):
                out.print(f"{tier['ms']:20.1f} ms  {_listed(tier)}", style="dim", soft_wrap=True)


def _listed(entry: Mapping[str, Any]) -> str:
    """What a stage tells, on one line."""
    return ", ".join(f"{name} {value}" for name, value in entry.items() if name not in ("stage", "ms", "tiers"))


def _told(path: Sequence[Mapping[str, Any]]) -> str:
    """The path through the graph that led to a hit, as a line."""
    start, link, _ = path
    place = where(start["locator"])
    how = {"title": "the title of", "topic": "the topic of", "mention": "its title, named by", "given": "given with"}[
        link["link"]
    ]
    return f"found through {start['title']}{f', {place}' if place else ''} → {link['entity']} ({how} this passage)"


def _shorten(text: str, limit: int = 400) -> str:
    flat = text.strip()
    return flat if len(flat) <= limit else f"{flat[:limit].rstrip()} …"


def _indent(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
