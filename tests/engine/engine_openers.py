"""Every engine passes the same suite: add its opener to `OPENERS`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from silmari.engine.base import Engine


def _local(folder: Path) -> Engine:
    from silmari.engine.local import LocalEngine

    return LocalEngine(folder / "engine")


def _elastic(folder: Path) -> Engine:
    from elastic_server import elastic

    return elastic(folder)


def _milvus(url: str, folder: Path) -> Engine:
    from silmari.engine.milvus import MilvusEngine
    from silmari.engine.milvus_link import parse

    return MilvusEngine(parse(url, folder), folder)


def _lite(folder: Path) -> Engine:
    return _milvus(f"milvus:{folder}/milvus.db", folder)


def _lite_own_text(folder: Path) -> Engine:
    return _milvus(f"milvus:{folder}/milvus.db?text=server", folder)


def _server(folder: Path) -> Engine:
    from milvus_server import server_url

    return _milvus(f"{server_url()}?consistency=strong", folder)


def _cluster(folder: Path) -> Engine:
    url = os.environ["SILMARI_TEST_MILVUS_URL"]
    return _milvus(f"{url}{'&' if '?' in url else '?'}consistency=strong", folder)


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


OPENERS: dict[str, Callable[[Path], Engine]] = {"local": _local, "elastic": _elastic}
# Run by make test-all: they need a server that takes long, or differ little from others.
SLOW: dict[str, Callable[[Path], Engine]] = {}
if _installed("pymilvus"):
    SLOW["milvus-2.3.5"] = _server
    if _installed("milvus_lite"):
        OPENERS["milvus-lite"] = _lite
        SLOW["milvus-lite-own-text"] = _lite_own_text
    if os.environ.get("SILMARI_TEST_MILVUS_URL"):
        SLOW["milvus-cluster"] = _cluster
