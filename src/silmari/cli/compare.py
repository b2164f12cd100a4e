"""``silmari compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from silmari.cli.common import (
    Category,
    Degree,
    EmbedderName,
    Entities,
    ExpansionOption,
    Json,
    K,
    Kb,
    Llm,
    MaxCost,
    Only,
    Rerank,
    Since,
    UntilDate,
    console,
    filters,
    open_base,
    parameters,
    print_json,
    several,
    shown,
    where,
)

if TYPE_CHECKING:
    from rich.console import Console

    from silmari.comparison import Compared, Comparison
    from silmari.model import Hit


def compare(
    question: Annotated[str, typer.Argument(help="The question.")],
    kb: Kb = None,
    ways: Annotated[
        str | None,
        typer.Option("--ways", metavar="WAY,…", help="Which.  [default: dense,cascade,expansion,graph,fused]"),
    ] = None,
    k: K = None,
    answers: Annotated[bool, typer.Option("--answers/--no-answers", help="Let each way answer, too.")] = True,
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
    embedder: EmbedderName = None,
    as_json: Json = False,
) -> None:
    """Show side by side what several ways find for a question, and what is answered from it."""
    policy: Any = rerank
    chosen: Any = several(ways)
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base:
        found = base.compare(
            question,
            ways=chosen,
            k=k,
            filters=filters(category, since, until_date, document),
            answers=answers,
            entities=several(entities),
            rerank=policy,
            expansion=parameters(degree, expansion),
        )
    if as_json:
        print_json(found.as_json())
        return
    out = console()
    _show_passages(found, out)
    for compared in found.ways:
        _show_answer(compared, out)


def _show_passages(found: Comparison, out: Console) -> None:
    """Which way found which passage at which rank."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Passage", overflow="fold")
    for compared in found.ways:
        table.add_column(compared.way, justify="right")
    for hit, ranks in found.passages():
        cells = [str(ranks[compared.way]) if compared.way in ranks else "·" for compared in found.ways]
        table.add_row(_named(hit), *cells)
    if found.passages():
        out.print(table)
    else:
        out.print("Nothing was found.")


def _show_answer(compared: Compared, out: Console) -> None:
    if compared.answer is not None or compared.fault is not None:
        out.print(compared.way, style="bold")
    if compared.fault is not None:
        out.print(f"Note: {compared.fault}", style="yellow", soft_wrap=True)
    if compared.answer is not None:
        out.print(compared.answer.text, soft_wrap=True)
        for cited in compared.answer.sources:
            place = where(cited.source.locator)
            named = cited.source.title or shown(cited.source.uri)
            out.print(f"[{cited.n}] {named}" + (f", {place}" if place else ""), style="dim", soft_wrap=True)
    for note in compared.trace.get("notes", ()):
        out.print(f"Note: {note}", style="yellow", soft_wrap=True)
    out.print()


def _named(hit: Hit) -> str:
    """A passage on one line: where it stands, and how it begins."""
    place = where(hit.source.locator)
    head = (hit.source.title or shown(hit.source.uri)) + (f", {place}" if place else "")
    begin = " ".join(hit.passage.content.split())
    return f"{head}: {begin[:90]}…" if len(begin) > 90 else f"{head}: {begin}"
