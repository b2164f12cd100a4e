"""Shows what `add`, `sync` and `build` did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from silmari.cli.common import NOTHING_DONE, OK, SOME_FAILED, console, print_json, shown
from silmari.ingest import AddReport

if TYPE_CHECKING:
    from rich.console import Console

    from silmari.extraction.triplets import Extracted


def summary(report: AddReport) -> str:
    """How many files came to which end, as one line; empty when there were none."""
    parts = [f"{count:,} {status}" for status, count in report.counts.items()]
    if report.removed:
        parts.append(f"{len(report.removed):,} removed")
    return f"{', '.join(parts)}." if parts else ""


def finish(report: AddReport, as_json: bool) -> None:
    """Print the report and exit with its code: 1 when some files or vectors failed, 2 when all files did."""
    if as_json:
        print_json(report.as_json())
    else:
        _tell(report)
    counts = report.counts
    if not counts.get("failed"):
        raise typer.Exit(SOME_FAILED if report.problem else OK)
    raise typer.Exit(SOME_FAILED if len(report.files) > counts["failed"] or report.removed else NOTHING_DONE)


def _tell(report: AddReport) -> None:
    out = console()
    for file in report.files:
        if file.reason:
            out.print(f"{file.status}: {shown(file.uri)}: {file.reason}", soft_wrap=True)
    for uri in report.removed:
        out.print(f"removed: {shown(uri)}", soft_wrap=True)
    if line := summary(report):
        out.print(line)
    waiting = report.pending.get("vectors", 0)
    if waiting:
        out.print(
            f"{waiting:,} texts have no vector yet; BM25 finds what was read already, silmari build makes the vectors."
        )
    if report.extracted is not None:
        _tell_extracted(report.extracted, out)
    waiting = report.pending.get("relations", 0)
    if waiting and report.estimate is None:
        out.print(f"{waiting:,} passages wait for a chat model that reads their relations: silmari build --llm NAME.")
    for note in report.notes:
        out.print(note, soft_wrap=True)


def _tell_extracted(extracted: Extracted, out: Console) -> None:
    out.print(
        f"{extracted.triplets:,} relations were read in {extracted.passages:,} passages ({extracted.usage}).",
        soft_wrap=True,
    )
    if extracted.dropped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in extracted.dropped.most_common())
        out.print(f"Statements of the model that were not taken: {reasons}.", soft_wrap=True)
    if extracted.failed:
        out.print(
            f"{extracted.failed:,} passages could not be read, or only in part: silmari status says why, "
            "silmari build --relations triplets tries again.",
            soft_wrap=True,
        )
