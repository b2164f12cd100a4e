"""``silmari status``."""

from __future__ import annotations

from silmari.cli.common import EmbedderName, Json, Kb, console, open_base, print_json, shown


def status(kb: Kb = None, embedder: EmbedderName = None, as_json: Json = False) -> None:
    """Say what is in the base, what is still pending, and which files failed."""
    with open_base(kb, embedder=embedder) as base:
        state = base.status()
    if as_json:
        print_json(state.as_json())
        return
    out = console()
    kinds = ", ".join(f"{count:,} {name}" for name, count in state.categories.items())
    out.print(f"Base       {state.folder}", soft_wrap=True)
    if state.catalog != "sqlite":
        out.print(f"Catalog    {state.catalog}", soft_wrap=True)
    out.print(f"Documents  {state.documents:,}" + (f"  ({kinds})" if kinds else ""))
    out.print(f"Passages   {state.passages:,}")
    out.print(f"Relations  {state.relations:,} between {state.entities:,} entities")
    out.print(f"Embedder   {state.embedder or 'none (BM25 only)'}")
    out.print(f"Engine     {state.engine}" + (f", {state.lag:,} changes behind" if state.lag else ""))
    for stage, count in state.pending.items():
        out.print(f"Pending    {stage}: {count:,}" + ("  (silmari build completes them)" if count else ""))
    for model, usage in state.usage.items():
        out.print(f"Model      {model}: {usage}")
    for note in state.notes:
        out.print(f"Note: {note}", style="yellow", soft_wrap=True)
    for name, problems in (("Failed", state.failed), ("Skipped", state.skipped)):
        for uri, reason in problems:
            out.print(f"{name:10} {shown(uri)}: {reason}", soft_wrap=True)
    for number, reason in state.failed_extractions:
        out.print(f"Failed     relations of passage {number}: {reason}", soft_wrap=True)
