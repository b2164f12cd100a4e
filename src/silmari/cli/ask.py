"""``silmari ask``."""

from __future__ import annotations

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
from silmari.cli.search import show_trace


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
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
    """Answer a question from the documents, each sentence with its sources."""
    options: dict[str, Any] = {
        "way": way,
        "k": k,
        "filters": filters(category, since, until_date, document),
        "entities": several(entities),
        "rerank": rerank,
        "expansion": parameters(degree, expansion),
        "policy": policy,
        "time": False if no_time else None,
    }
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base:
        if as_json:
            print_json(base.ask(question, **options).as_json())
            return
        show(base.stream(question, **options), explain)


def show(pieces: Any, explain: bool = False) -> Any:
    """Print an answer as it comes, then its sources; returns the finished answer."""
    from silmari.answering.answer import Answer, tier_told
    from silmari.answering.wording import language_of

    out = console()
    answer: Any = None
    for piece in pieces:
        if isinstance(piece, Answer):
            answer = piece
        else:
            out.print(piece, end="", soft_wrap=True)
    out.print()
    if answer.sources:
        korean = language_of(answer.question) == "ko"
        out.print()
        out.print("출처" if korean else "Sources", style="bold")
        for cited in answer.sources:
            place = where(cited.source.locator, "ko" if korean else "en")
            dated = f", {cited.source.date}" if cited.source.date else ""
            title = cited.source.title or shown(cited.source.uri)
            out.print(f"[{cited.n}] {title}{dated}" + (f", {place}" if place else ""), soft_wrap=True)
            taken = f"  ({tier_told(cited.tier)})" if cited.tier else ""
            out.print(f"    {shown(cited.source.uri)}{taken}", style="dim", soft_wrap=True)
            for other in cited.source.also:
                out.print(f"    {shown(other)}", style="dim", soft_wrap=True)
    show_trace(answer.trace, explain)
    return answer
