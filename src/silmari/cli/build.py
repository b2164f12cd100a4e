"""``silmari build``."""

from __future__ import annotations

from typing import Any

from silmari.cli.common import EmbedderName, Json, Kb, Llm, MaxCost, Relations, open_base


def build(
    kb: Kb = None,
    relations: Relations = None,
    embedder: EmbedderName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Complete what earlier calls left pending, such as vectors; with --relations for all documents."""
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    mode: Any = relations
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base, ProgressBars() as bars:
        report = base.build(relations=mode, on_progress=bars)
    if not any(report.pending.values()) and not report.notes:
        report.notes.append("Everything is complete.")
    finish(report, as_json)
