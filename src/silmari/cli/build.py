"""``silmari build``."""

from __future__ import annotations

from typing import Any

from silmari.cli.common import EmbedderName, Json, Kb, Llm, MaxCost, Relations, Yes, open_base


def build(
    kb: Kb = None,
    relations: Relations = None,
    embedder: EmbedderName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Complete what earlier calls left pending, such as vectors; with --relations for all documents."""
    from silmari.cli.confirming import Confirming
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    mode: Any = relations
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base, ProgressBars() as bars:
        report = base.build(relations=mode, on_progress=bars, confirm=Confirming(bars, yes=yes))
    if not any(report.pending.values()) and not report.notes:
        report.notes.append("Everything is complete.")
    finish(report, as_json)
