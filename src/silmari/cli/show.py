"""``silmari show``."""

from __future__ import annotations

from typing import Annotated

import typer

from silmari.cli.common import EmbedderName, Json, Kb, console, open_base, print_json, where


def show(
    target: Annotated[str, typer.Argument(help="A path or uri, or the number of a passage.")],
    kb: Kb = None,
    embedder: EmbedderName = None,
    as_json: Json = False,
) -> None:
    """Show a document's passages as Silmari read them, with the relations they state, or one passage."""
    with open_base(kb, embedder=embedder) as base:
        passages = base.show(target)
        stated = base.relations(passage.id for passage, _ in passages)
    if as_json:
        print_json(
            {
                "passages": [
                    {
                        "passage_id": passage.id,
                        "text": passage.text,
                        "content": passage.content,
                        "context": passage.context,
                        "date": passage.date,
                        "relations": [relation.as_json() for relation in stated.get(passage.id, ())],
                        "source": source.as_json(),
                    }
                    for passage, source in passages
                ]
            }
        )
        return
    out = console()
    source = passages[0][1]
    out.print(f"{source.title}  ({source.category}, {source.known_date or 'no date'})", style="bold", soft_wrap=True)
    for uri in (source.uri, *source.also):
        out.print(uri, style="dim", soft_wrap=True)
    for passage, at in passages:
        place = where(at.locator)
        out.print()
        out.print(f"passage {passage.id}" + (f", {place}" if place else ""), style="dim")
        out.print(passage.content)
        for relation in stated.get(passage.id, ()):
            out.print(f"  {relation.subject} – {relation.predicate} – {relation.object}", style="dim", soft_wrap=True)
