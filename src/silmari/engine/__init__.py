"""Search engines behind one protocol, derived from the catalog."""

from __future__ import annotations

import os
import re
from pathlib import Path

from silmari.engine.base import Engine
from silmari.errors import MissingExtraError, UsageError


def open_engine(url: str, folder: Path) -> Engine:
    """Open the engine that a URL names, for reading; see `Engine.lead`.

    Args:
        url: ``local``; ``milvus:PATH`` (Milvus Lite) or ``milvus+http(s)://HOST:PORT``, see docs/milvus.md;
            ``elasticsearch+http(s)://…``, see docs/elasticsearch.md.
        folder: Of the knowledge base.

    Raises:
        UsageError: The URL names no engine, or part of it is wrong.
        MissingExtraError: The engine's package is not installed.
    """
    if url == "local":
        from silmari.engine.local import LocalEngine

        return LocalEngine(folder / "engine", writable=False)
    if url.startswith(("milvus:", "milvus+")):
        from silmari.engine.milvus import MilvusEngine
        from silmari.engine.milvus_link import parse

        return MilvusEngine(parse(url, folder), folder, writable=False)
    if url.startswith("elasticsearch+"):
        return _elastic(url)
    raise UsageError(
        f"There is no engine named {shown(url)!r}; the engines are: local, milvus:PATH, "
        "milvus+http(s)://…, elasticsearch+http(s)://…."
    )


def is_shared(url: str) -> bool:
    """Whether a URL names an engine on a server, which several machines write to; others lie in the base's folder."""
    return url.startswith(("milvus+", "elasticsearch+"))


def shown(url: str) -> str:
    """An engine's URL as it may be printed: without key, token, user and password."""
    return re.sub(r"([?&]token=)[^&]*", r"\1…", re.sub(r"//[^/?#]*@", "//", url))


def _elastic(url: str) -> Engine:
    from silmari.engine.elastic_address import parse

    address = parse(url, os.environ.get("SILMARI_ENGINE_API_KEY"))
    try:
        from silmari.engine.elastic import ElasticEngine
    except ImportError as error:
        raise MissingExtraError(
            "The engine Elasticsearch needs the package elasticsearch: run pip install 'silmari[elastic]'."
        ) from error
    return ElasticEngine(address, writable=False)
