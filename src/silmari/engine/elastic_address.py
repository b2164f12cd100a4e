"""Engine URLs of Elasticsearch: what they say, without the client that follows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from silmari.errors import UsageError

FORM = "elasticsearch+https://HOST:9200/PREFIX"
_OPTIONS = ("analysis", "ca_certs", "timeout", "shards", "replicas", "refresh")
# What the server allows in names of indices, so that a wrong prefix is told at once.
_PREFIX = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an Elasticsearch engine lives and how it is made.

    Attributes:
        url: Scheme, host and port, without secrets.
        prefix: What the names of its indices begin with; one knowledge base, one prefix.
        api_key: Sent with each request, or None.
        login: User and password instead of a key, or None.
        ca_certs: File with the certificates that are trusted, or None for the system's.
        analysis: ``blanks`` takes our tokens as they are; ``nori`` lets the server analyse them again.
        timeout: Seconds until a request is given up.
        shards: Of each index.
        replicas: Of each index; None for the server's default.
        refresh: ``now``: what was applied is found as soon as `apply` returns; ``later``: within some seconds.
    """

    url: str
    prefix: str = "silmari"
    api_key: str | None = field(default=None, repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)
    ca_certs: Path | None = None
    analysis: Literal["blanks", "nori"] = "blanks"
    timeout: float = 30.0
    shards: int = 1
    replicas: int | None = None
    refresh: Literal["now", "later"] = "now"


def parse(url: str, api_key: str | None = None, login: str | None = None) -> Address:
    """Read ``elasticsearch+http(s)://[KEY@ or USER:PASSWORD@]HOST[:9200][/PREFIX][?OPTION=…]``.

    Args:
        url: With a key or password percent-encoded where it has characters such as ``/`` or ``=``.
        api_key: Used if the URL holds neither a key nor a password.
        login: ``USER:PASSWORD``, used if there is no key either.

    Raises:
        UsageError: Some part is wrong; the message never repeats a secret.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise UsageError(f"The engine's URL has a wrong host or port: it has the form {FORM}.") from problem
    scheme = parts.scheme.removeprefix("elasticsearch+")
    if not parts.scheme.startswith("elasticsearch+") or scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"The engine's URL names no Elasticsearch server: it has the form {FORM}.")
    options = _options(parts)
    key, own = _secrets(parts)
    if own is None and not (key or api_key) and login:
        user, colon, password = login.partition(":")
        if not (user and colon):
            raise UsageError("SILMARI_ENGINE_LOGIN must be USER:PASSWORD.")
        own = user, password
    ca_certs = Path(options["ca_certs"]).expanduser() if "ca_certs" in options else None
    if ca_certs is not None and not ca_certs.is_file():
        raise UsageError(f"The file {ca_certs} that ca_certs names in the engine's URL is not there: check the path.")
    if ca_certs is not None and scheme == "http":
        raise UsageError("The engine's URL has ca_certs but no encryption: begin it with elasticsearch+https.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Address(
        url=f"{scheme}://{host}:{port or 9200}",
        prefix=_prefix(parts),
        # A key for everything must not override what a URL says about one server.
        api_key=key or (None if own else api_key) or None,
        login=own,
        ca_certs=ca_certs,
        analysis="nori" if _chosen(options, "analysis", ("blanks", "nori")) == "nori" else "blanks",
        timeout=_number(options, "timeout", 30.0, least=0.1),
        shards=int(_number(options, "shards", 1, least=1)),
        replicas=int(_number(options, "replicas", 0, least=0)) if "replicas" in options else None,
        refresh="later" if _chosen(options, "refresh", ("now", "later")) == "later" else "now",
    )


def _options(parts: SplitResult) -> Mapping[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(
                f"The option {name} in the engine's URL is unknown: Elasticsearch has {', '.join(_OPTIONS)}."
            )
    return options


def _chosen(options: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    chosen = options.get(name, choices[0])
    if chosen not in choices:
        raise UsageError(f"The option {name} in the engine's URL is unknown: it is {' or '.join(choices)}.")
    return chosen


def _secrets(parts: SplitResult) -> tuple[str | None, tuple[str, str] | None]:
    if not parts.username:
        return None, None
    if parts.password is None:
        return unquote(parts.username), None
    return None, (unquote(parts.username), unquote(parts.password))


def _prefix(parts: SplitResult) -> str:
    prefix = unquote(parts.path).strip("/") or "silmari"
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"The prefix {prefix!r} in the engine's URL cannot begin the name of an index: use lower-case letters, "
            "digits, dots, dashes and underscores, a letter or digit first."
        )
    return prefix


def _number(options: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    try:
        value = float(options.get(name, default))
    except ValueError:
        value = float("nan")
    whole = name == "timeout" or value.is_integer()
    if not least <= value <= 1_000_000 or not whole:
        raise UsageError(f"The option {name} in the engine's URL must be a number of at least {least:g}.")
    return value
