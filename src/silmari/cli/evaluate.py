"""``silmari eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from silmari.cli.common import INTERRUPTED, OK, SOME_FAILED, EmbedderName, Json, Llm, MaxCost, console, print_json
from silmari.errors import UsageError


def evaluate(
    folder: Annotated[
        Path, typer.Argument(help="A BEIR folder: corpus.jsonl, queries.jsonl and qrels/, gzipped or not.")
    ],
    way: Annotated[
        list[str] | None,
        typer.Option(
            "--way", metavar="WAY", help="Measure this way; may be repeated, or several with commas.  [default: all]"
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many questions.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", metavar="URL", help="Engine, such as local.")] = None,
    embedder: EmbedderName = None,
    relations: Annotated[
        str | None,
        typer.Option("--relations", metavar="KIND", help="sentences, given (triplets.jsonl) or triplets (llm)."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Measure answers, not rankings.  [default way: fused]")
    ] = False,
    llm: Llm = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="REPORT", help="Write a report with plots and what was missed.")
    ] = None,
) -> None:
    """Measure how well each way finds what answers the questions of a test collection, or how well it is answered."""
    from silmari.cli.progress import ProgressBars
    from silmari.evaluation.folder import evaluate_folder
    from silmari.evaluation.html import make_html
    from silmari.evaluation.table import make_table

    ways = [name for one in way or () for name in one.split(",")] or None
    options: dict[str, Any] = {"engine": engine, "relations": relations, "llm": llm, "max_cost": max_cost}
    if answers:
        if html is not None:
            raise UsageError("--html shows rankings; leave it out with --answers, or use --json.")
        _answers(folder, ways, limit, embedder, options, as_json)
        return
    if html is not None:
        _check_writable(html)
    try:
        with ProgressBars() as bars:
            report = evaluate_folder(
                folder,
                ways=ways,
                limit=limit,
                embedder=embedder,
                explain=html is not None,
                on_progress=bars.show,
                **options,
            )
    except KeyboardInterrupt:
        typer.echo("silmari: Stopped. Run the same command again to go on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if html is not None:
        html.write_text(make_html(report), encoding="utf-8")
    if as_json:
        print_json(report.as_json())
    else:
        out = console()
        out.print(make_table(report))
        for note in report.notes:
            out.print(note, style="dim", soft_wrap=True)
        if html is not None:
            out.print(f"The report is in {html}", soft_wrap=True)
    raise typer.Exit(SOME_FAILED if any(one.failed for one in report.ways.values()) else OK)


def _answers(
    folder: Path,
    ways: list[str] | None,
    limit: int | None,
    embedder: str | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    from silmari.cli.progress import ProgressBars
    from silmari.evaluation.answer_table import make_table
    from silmari.evaluation.answers import evaluate_answers

    try:
        with ProgressBars() as bars:
            report = evaluate_answers(
                folder, ways=ways, limit=limit, embedder=embedder, on_progress=bars.show, **options
            )
    except KeyboardInterrupt:
        typer.echo("silmari: Stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(report.as_json())
        return
    out = console()
    out.print(make_table(report))
    for note in report.notes:
        out.print(note, style="dim", soft_wrap=True)


def _check_writable(path: Path) -> None:
    """Refuse what could not be written at the end of a long run."""
    if path.is_dir():
        raise UsageError(f"--html is {path}, which is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--html is {path}, but there is no folder {path.parent}; make it first.")
