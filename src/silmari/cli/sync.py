"""``silmari sync``."""

from __future__ import annotations

from typing import Annotated

import typer

from silmari.cli.add import stage
from silmari.cli.common import EmbedderName, Exclude, Json, Kb, Llm, MaxCost, UntilStage, Yes, open_base


def sync(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder to follow.")],
    kb: Kb = None,
    exclude: Exclude = None,
    until: UntilStage = "all",
    embedder: EmbedderName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Make the base equal to a folder: add, update, and remove what is gone, only under that folder."""
    from silmari.cli.confirming import Confirming
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    with open_base(kb, create=True, embedder=embedder, llm=llm, max_cost=max_cost) as base, ProgressBars() as bars:
        report = base.sync(
            folder,
            exclude=tuple(exclude or ()),
            until=stage(until),
            on_progress=bars,
            confirm=Confirming(bars, yes=yes),
        )
    finish(report, as_json)
