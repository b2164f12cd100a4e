"""Every engine passes the same suite: add its opener to `OPENERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from silmari.engine.base import Engine


def _local(folder: Path) -> Engine:
    from silmari.engine.local import LocalEngine

    return LocalEngine(folder / "engine")


def _elastic(folder: Path) -> Engine:
    from elastic_server import elastic

    return elastic(folder)


OPENERS: dict[str, Callable[[Path], Engine]] = {"local": _local, "elastic": _elastic}
