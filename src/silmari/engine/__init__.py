"""Search engines behind one protocol, derived from the catalog."""

from __future__ import annotations

from pathlib import Path

from silmari.engine.base import Engine
from silmari.errors import UsageError


def open_engine(url: str, folder: Path, writable: bool) -> Engine:
    """Open the engine that a URL names.

    Args:
        url: ``local``.
        folder: Of the knowledge base.
        writable: Only the holder of the base's lease may ask for True.

    Raises:
        UsageError: The URL names no engine.
    """
    if url == "local":
        from silmari.engine.local import LocalEngine

        return LocalEngine(folder / "engine", writable=writable)
    raise UsageError(f"There is no engine named {url!r}; the engines are: local.")
