"""``silmari reindex``."""

from __future__ import annotations

from typing import Annotated

import typer

from silmari.cli.common import EmbedderName, Json, Kb, open_base

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="URL",
        help="Move to another engine: local, milvus:PATH, milvus+http(s)://HOST:19530, elasticsearch+http(s)://HOST:9200.",
    ),
]


def reindex(kb: Kb = None, embedder: EmbedderName = None, engine: Engine = None, as_json: Json = False) -> None:
    """Rebuild the base for the embedder, analyser and splitter that are set now, or move it to another engine.

    Files whose splitting changed are read again; texts that were embedded before by the same embedder
    are taken from the cache. A move embeds nothing again; the former engine serves until the new one is complete.
    """
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import finish

    with open_base(kb, embedder=embedder, check=False) as base, ProgressBars() as bars:
        report = base.reindex(engine=engine, on_progress=bars)
    finish(report, as_json)
