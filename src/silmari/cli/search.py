"""``silmari search``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from silmari.cli.common import (
    Category,
    Degree,
    EmbedderName,
    Entities,
    ExpansionOption,
    Explain,
    Json,
    K,
    Kb,
    Llm,
    MaxCost,
    NoTime,
    Only,
    PolicyName,
    Rerank,
    Since,
    UntilDate,
    WayName,
    console,
    filters,
    open_base,
    parameters,
    print_json,
    several,
    shown,
    where,
)
from silmari.cli.paths import tree


def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    kb: Kb = None,
    k: K = None,
    way: WayName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    rerank: Rerank = None,
    entities: Entities = None,
    degree: Degree = None,
    expansion: ExpansionOption = None,
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
    from rich.padding import Padding

    from silmari.answering.answer import tier_told
    from silmari.retrieval.trace import Trace

    trace = Trace()
    chosen: Any = way
    reranking: Any = rerank
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base:
        hits = base.search(
            question,
            way=chosen,
            k=k,
            filters=filters(category, since, until_date, document),
            entities=several(entities),
            rerank=reranking,
            expansion=parameters(degree, expansion),
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
        dated = f", {source.known_date}" if source.known_date else ""
        similarity = "–" if hit.similarity is None else f"{hit.similarity:.3f}"
        title = source.title or shown(source.uri)
        out.print(f"{hit.rank}. {title}{dated}" + (f", {place}" if place else ""), style="bold", soft_wrap=True)
        out.print(f"   relevance {hit.relevance:.2f}  similarity {similarity}  score {hit.score:.3f}", style="dim")
        taken = f"  ({tier_told(hit.evidence['tier'])})" if "tier" in hit.evidence else ""
        out.print(f"   {shown(source.uri)}{taken}", style="dim", soft_wrap=True)
        if explain and "path" in hit.evidence:
            out.print(Padding(tree(hit.evidence["path"]), (0, 0, 0, 3)))
        out.print(_indent(_shorten(hit.passage.content)))
        out.print()
    if not hits:
        out.print("Nothing was found.")
    show_trace(trace.as_json(), explain)


def show_trace(trace: Mapping[str, Any], explain: bool) -> None:
    """The trace's notes, and on request its stages."""
    out = console()
    for note in trace.get("notes", ()):
        out.print(f"Note: {note}", style="yellow", soft_wrap=True)
    if explain:
        for entry in trace.get("stages", ()):
            out.print(f"{entry['ms']:8.1f} ms  {entry['stage']}: {_listed(entry)}", style="dim", soft_wrap=True)
            for tier in entry.get("tiers", ()):
                out.print(f"{tier['ms']:20.1f} ms  {_listed(tier)}", style="dim", soft_wrap=True)


def _listed(entry: Mapping[str, Any]) -> str:
    """What a stage tells, on one line."""
    return ", ".join(f"{name} {value}" for name, value in entry.items() if name not in ("stage", "ms", "tiers"))


def _shorten(text: str, limit: int = 400) -> str:
    flat = text.strip()
    return flat if len(flat) <= limit else f"{flat[:limit].rstrip()} …"


def _indent(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
