"""Search engines behind one protocol, derived from the catalog."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from silmari.engine.base import Engine
from silmari.errors import MissingExtraError, UsageError

LOCAL = "local"
# Where a base's own folder stands in a URL that it remembers, so that the folder may be moved.
_FOLDER = "{kb}"


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
    url = url.replace(_FOLDER, quote(str(folder)))
    if url == LOCAL:
        from silmari.engine.local import LocalEngine

        return LocalEngine(folder / "engine", writable=False)
    if url.startswith(("milvus:", "milvus+")):
        from silmari.engine.milvus import MilvusEngine
        from silmari.engine.milvus_link import parse

        return MilvusEngine(parse(url, folder), folder, writable=False)
    if url.startswith("elasticsearch+"):
        return _elastic(url)
    raise UsageError(
        f"There is no engine named {shown(url, folder)!r}; the engines are: local, milvus:PATH, "
        "milvus+http(s)://…, elasticsearch+http(s)://…."
    )


def is_shared(url: str) -> bool:
    """Whether a URL names an engine on a server, which several machines write to; others lie in the base's folder."""
    return url.startswith(("milvus+", "elasticsearch+"))


def shown(url: str, folder: Path) -> str:
    """An engine's URL as it may be printed, for the base in a folder: without key, token, user and password."""
    url = url.replace(_FOLDER, str(folder))
    return re.sub(r"([?&]token=)[^&]*", r"\1…", re.sub(r"//[^/?#]*@", "//", url))


def remembered(url: str, folder: Path) -> tuple[str, bool]:
    """An engine's URL as a base may remember it: complete for other working folders, but without secrets.

    Args:
        url: As `open_engine` takes it.
        folder: Of the knowledge base.

    Returns:
        The URL, and whether it held a secret, which must come from the environment from now on.

    Raises:
        UsageError: The URL names no engine, or part of it is wrong.
    """
    plain = re.sub(r"//[^/?#]*@", "//", url)
    place, _, query = plain.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    secret = plain != url or "token" in options
    options.pop("token", None)
    if url.startswith(("milvus:", "milvus+")):
        from silmari.engine.milvus_link import parse

        address = parse(url, folder)
        # The same collections from another machine or folder.
        options["name"] = address.name
        if address.lite:
            file = Path(address.target)
            inside = file.is_relative_to(folder)
            place = "milvus:" + (f"{_FOLDER}/{quote(str(file.relative_to(folder)))}" if inside else quote(str(file)))
    elif "ca_certs" in options:
        options["ca_certs"] = str(Path(options["ca_certs"]).expanduser().absolute())
    return (f"{place}?{urlencode(options)}" if options else place), secret


def _elastic(url: str) -> Engine:
    from silmari.engine.elastic_address import parse

    address = parse(url, os.environ.get("SILMARI_ENGINE_API_KEY"), os.environ.get("SILMARI_ENGINE_LOGIN"))
    try:
        from silmari.engine.elastic import ElasticEngine
    except ImportError as error:
        raise MissingExtraError(
            "The engine Elasticsearch needs the package elasticsearch: run pip install 'silmari[elastic]'."
        ) from error
    return ElasticEngine(address, writable=False)
