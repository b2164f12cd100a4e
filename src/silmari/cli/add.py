"""``silmari add``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from silmari.cli.common import EmbedderName, Exclude, Json, Kb, Llm, MaxCost, Relations, UntilStage, Yes, open_base
from silmari.errors import UsageError


def add(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files, folders or globs.")] = None,
    kb: Kb = None,
    triplets: Annotated[
        list[str] | None,
        typer.Option(
            "--triplets",
            metavar="FILE",
            help="Triplets for documents: JSONL of _id and triplets, or CSV of subject, predicate, object, document.",
        ),
    ] = None,
    relations: Relations = None,
    exclude: Exclude = None,
    until: UntilStage = "all",
    embedder: EmbedderName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Add files, folders and globs; what is already in and unchanged is passed over."""
    if not paths and not triplets:
        raise UsageError("There is nothing to add: name files, folders or globs, or --triplets FILE.")
    mode: Any = relations
    from silmari.cli.confirming import Confirming
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    with open_base(kb, create=True, embedder=embedder, llm=llm, max_cost=max_cost) as base, ProgressBars() as bars:
        report = base.add(
            paths or (),
            triplets=triplets or (),
            relations=mode,
            exclude=tuple(exclude or ()),
            until=stage(until),
            on_progress=bars,
            confirm=Confirming(bars, yes=yes),
        )
    finish(report, as_json)


def stage(name: str) -> Any:
    """Check the value of ``--until``."""
    if name not in ("read", "all"):
        raise UsageError(f"--until is {name!r}; it takes read or all.")
    return name
