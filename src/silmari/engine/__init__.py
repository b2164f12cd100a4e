"""Search engines behind one protocol, derived from the catalog."""

from __future__ import annotations

from pathlib import Path

from silmari.engine.base import Engine
from silmari.errors import UsageError


def open_engine(url: str, folder: Path) -> Engine:
    """Open the engine that a URL names, for reading; see `Engine.lead`.

    Args:
        url: ``local``, ``milvus:PATH`` (Milvus Lite) or ``milvus+http(s)://HOST:PORT``; what may follow, see
            `silmari.engine.milvus_link.parse`.
        folder: Of the knowledge base.

    Raises:
        UsageError: The URL names no engine.
    """
    if url == "local":
        from silmari.engine.local import LocalEngine

        return LocalEngine(folder / "engine", writable=False)
    if url.startswith(("milvus:", "milvus+")):
        from silmari.engine.milvus import MilvusEngine
        from silmari.engine.milvus_link import parse

        return MilvusEngine(parse(url, folder), folder, writable=False)
    raise UsageError(f"There is no engine named {url!r}; the engines are: local, milvus:PATH, milvus+http://HOST:PORT.")
