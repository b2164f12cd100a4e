"""``silmari remove``."""

from __future__ import annotations

from typing import Annotated

import typer

from silmari.cli.common import NOTHING_DONE, EmbedderName, Json, Kb, console, open_base, print_json, shown


def remove(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, globs or uris.")],
    kb: Kb = None,
    embedder: EmbedderName = None,
    as_json: Json = False,
) -> None:
    """Take documents out of the base; your files stay where they are."""
    with open_base(kb, embedder=embedder) as base:
        removed = base.remove(paths)
    if as_json:
        print_json({"removed": removed})
    else:
        out = console()
        for uri in removed:
            out.print(f"removed: {shown(uri)}", soft_wrap=True)
        out.print(f"{len(removed):,} removed." if removed else "Nothing in the base has these paths; see silmari list.")
    if not removed:
        raise typer.Exit(NOTHING_DONE)
