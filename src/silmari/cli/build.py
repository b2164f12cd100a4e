"""``silmari build``."""

from __future__ import annotations

from silmari.cli.common import EmbedderName, Json, Kb, Llm, MaxCost, open_base


def build(
    kb: Kb = None, embedder: EmbedderName = None, llm: Llm = None, max_cost: MaxCost = None, as_json: Json = False
) -> None:
    """Complete what earlier calls left pending, such as vectors."""
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base, ProgressBars() as bars:
        report = base.build(on_progress=bars)
    if not report.pending.get("vectors") and not report.notes:
        report.notes.append("Everything is complete.")
    finish(report, as_json)
