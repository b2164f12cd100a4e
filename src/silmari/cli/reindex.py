"""``silmari reindex``."""

from __future__ import annotations

from silmari.cli.common import EmbedderName, Json, Kb, open_base


def reindex(kb: Kb = None, embedder: EmbedderName = None, as_json: Json = False) -> None:
    """Rebuild the base for the embedder, analyser, splitter and engine that are set now.

    Files whose splitting changed are read again; texts that were embedded before by the same embedder
    are taken from the cache.
    """
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    with open_base(kb, embedder=embedder, check=False) as base, ProgressBars() as bars:
        report = base.reindex(on_progress=bars)
    finish(report, as_json)
