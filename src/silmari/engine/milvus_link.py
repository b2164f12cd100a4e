"""The way to Milvus: its address, one connection, and its errors as sentences."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from silmari.errors import BusyError, KnowledgeBaseError, MissingExtraError, UsageError

Consistency = Literal["Bounded", "Strong", "Session", "Eventually"]

TOKEN = "SILMARI_ENGINE_TOKEN"
_CONSISTENCIES: Mapping[str, Consistency] = {
    "bounded": "Bounded",
    "strong": "Strong",
    "session": "Session",
    "eventually": "Eventually",
}
_TEXTS: Mapping[str, Literal["local", "server"]] = {"local": "local", "server": "server"}
# Seconds for one search or look-up, for one batch that is written, and for reaching the server.
READ, WRITE, REACH = 10.0, 180.0, 5.0
# How long calls fail at once after the server could not be reached.
_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Address:
    """What a URL says.

    Attributes:
        target: ``http(s)://host:port``, or the absolute path of Milvus Lite's database.
        name: What the names of the collections begin with.
        text: Who does BM25: ``local`` the folder, ``server`` Milvus; None to choose by its version.
    """

    target: str
    lite: bool
    name: str
    database: str
    consistency: Consistency
    text: Literal["local", "server"] | None
    timeout: float = READ
    token: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """For messages: without secrets."""
        return f"Milvus Lite in {self.target}" if self.lite else f"the Milvus server at {self.target}"


def parse(url: str, folder: Path) -> Address:
    """Take ``milvus:PATH`` or ``milvus+http(s)://HOST:PORT`` apart.

    Both may end in ``?name=…&consistency=bounded|strong|session|eventually&text=local|server&timeout=SECONDS``;
    a server's also in ``token=…&database=…``. The token may stand in `SILMARI_ENGINE_TOKEN` instead.

    Args:
        url: The URL.
        folder: Of the knowledge base: without a name in the URL its path gives one, so that two knowledge
            bases on one server do not meet.

    Raises:
        UsageError: One sentence on what is wrong with the URL.
    """
    scheme, _, rest = url.partition(":")
    lite = scheme == "milvus"
    if scheme not in ("milvus", "milvus+http", "milvus+https"):
        raise UsageError(f"The engine URL begins with {scheme!r}: write milvus:PATH or milvus+http://HOST:19530.")
    place, _, query = rest.partition("?")
    known = {"name", "consistency", "text", "timeout"} | (set() if lite else {"token", "database"})
    given = dict(parse_qsl(query, keep_blank_values=True))
    if wrong := sorted(set(given) - known):
        # What is no word may be part of a password that was not percent-encoded.
        called = f" {wrong[0]!r}" if wrong[0].isidentifier() else " like the one given"
        raise UsageError(f"The engine URL has no option{called}; it has: {', '.join(sorted(known))}.")
    if not lite and "#" in rest:
        raise UsageError("The engine URL has a # in it: percent-encode it in passwords.")
    token = given.get("token") or os.environ.get(TOKEN, "")
    if lite:
        if not place or place.startswith("//"):
            raise UsageError("The engine URL names no file: write milvus:PATH, such as milvus:./kb/milvus.db.")
        target = str(Path(unquote(place)).expanduser().absolute())
    else:
        target, token = _server(f"{scheme.removeprefix('milvus+')}:{place}", token)
    consistency = _CONSISTENCIES.get(given.get("consistency", "bounded").lower())
    if consistency is None:
        raise UsageError(f"The engine URL's consistency must be one of: {', '.join(_CONSISTENCIES)}.")
    if (text := given.get("text")) is not None and text not in _TEXTS:
        raise UsageError("The engine URL's text must be local or server.")
    name = given.get("name") or f"silmari_{blake2b(os.fsencode(folder.resolve()), digest_size=6).hexdigest()}"
    if not (name.isascii() and name.isidentifier() and len(name) <= 200):
        raise UsageError("The engine URL's name must be up to 200 Latin letters, digits and _, not a digit first.")
    return Address(
        target=target,
        lite=lite,
        name=name,
        database=given.get("database", ""),
        consistency=consistency,
        text=None if text is None else _TEXTS[text],
        timeout=_seconds(given.get("timeout")),
        token=token,
    )


def _server(url: str, token: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        port = parts.port or 19530
    except ValueError:
        raise UsageError("The engine URL's port is not a number up to 65535.") from None
    if not parts.hostname:
        raise UsageError("The engine URL names no host: write milvus+http://HOST:19530.")
    if parts.path.strip("/"):
        raise UsageError("The engine URL has a path after its host: name a database as ?database=NAME.")
    if parts.username:
        token = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}", token


def _seconds(given: str | None) -> float:
    try:
        seconds = float(given) if given is not None else READ
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise UsageError("The engine URL's timeout must be seconds, more than 0 and up to 3600.")
    return seconds


class Link:
    """One connection, made at the first call and shared by threads.

    Args:
        address: Where to.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.version: tuple[int, ...] = ()
        self._lock = threading.Lock()
        self._client: Any = None
        self._down: tuple[float, KnowledgeBaseError] | None = None

    @property
    def client(self) -> Any:
        """Pymilvus's client.

        Raises:
            KnowledgeBaseError: It cannot be reached, or refuses us.
            MissingExtraError: pymilvus is not installed.
        """
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = self._connect()
        return self._client

    def call(self, method: str, *args: Any, timeout: float | None = None, **options: Any) -> Any:
        """Call the client with a deadline; what goes wrong becomes one sentence."""
        if self._down is not None:
            since, problem = self._down
            if time.monotonic() - since < _PAUSE:
                raise KnowledgeBaseError(str(problem))
            self._reach()
            self._down = None
        client = self.client
        with self._told():
            return getattr(client, method)(*args, timeout=timeout or self.address.timeout, **options)

    def close(self) -> None:
        """Give the connection back; Milvus Lite's database is closed when nobody here uses it."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()
            if self.address.lite:
                _release(self.address.target)

    def _connect(self) -> Any:
        try:
            from pymilvus import MilvusClient
        except ImportError as error:
            raise MissingExtraError("The engine milvus needs a package: pip install 'silmari[milvus]'.") from error
        # What goes wrong is raised; pymilvus would print a traceback beside it.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        if self.address.lite:
            uri = _lite(self.address.target)
        else:
            uri = self.address.target
            self._reach()
        try:
            with self._told():
                client = MilvusClient(
                    uri, token=self.address.token, db_name=self.address.database, timeout=self.address.timeout
                )
                self.version = _version(client.get_server_version(timeout=self.address.timeout))
        except BaseException:
            if self.address.lite:
                _release(self.address.target)
            raise
        return client

    def _reach(self) -> None:
        """Try the port: grpc would try again and again until the deadline."""
        if self.address.lite:
            return
        parts = urlsplit(self.address.target)
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0), timeout=REACH).close()
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from error

    def _lost(self, reason: str) -> KnowledgeBaseError:
        problem = KnowledgeBaseError(
            f"The search engine cannot be reached ({self.address.shown}: {reason}): start it or check the address; "
            "nothing that was stored is lost."
        )
        self._down = time.monotonic(), problem
        return problem

    @contextmanager
    def _told(self) -> Iterator[None]:
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except MilvusException as error:
            raise self._sentence(str(error.message or error), error.code) from error
        except grpc.RpcError as error:
            code = error.code() if hasattr(error, "code") else error
            raise self._sentence(f"{code} {error.details() if hasattr(error, 'details') else error}", code) from error
        except (ValueError, OSError) as error:
            # A channel that was closed under a call.
            raise self._sentence(str(error), None) from error

    def _sentence(self, message: str, code: Any) -> KnowledgeBaseError:
        low, shown = f"{code} {message}".lower(), self.address.shown
        has = _finder(low)
        if has("unauthenticated", "auth check", "authentication", "permission", "not authorized", "privilege"):
            return KnowledgeBaseError(
                f"The search engine refused us ({shown}): check the token in {TOKEN} and its rights."
            )
        if has("database not found", "database not exist"):
            return KnowledgeBaseError(
                f"The search engine has no database {self.address.database!r} ({shown}): create it or name another."
            )
        if has("no space", "disk quota", "quota exceeded", "memory quota", "force deny"):
            return KnowledgeBaseError(
                f"The search engine is full ({shown}): give it room and try again; nothing that was stored is lost."
            )
        if has("unavailable", "failed to connect", "fail connecting", "connection refused", "closed channel"):
            return self._lost("no answer")
        if has("deadline", "timeout", "timed out"):
            return KnowledgeBaseError(
                f"The search engine did not answer in {self.address.timeout:g} seconds ({shown}): try again, or allow "
                "more with ?timeout=SECONDS in its URL."
            )
        first = message.strip().splitlines()[0][:300] if message.strip() else "no reason given"
        return KnowledgeBaseError(
            f"The search engine reports a problem ({shown}: {first}): if it lasts, rebuild it with reindex."
        )


def _finder(text: str) -> Callable[..., bool]:
    return lambda *words: any(word in text for word in words)


def _version(text: str) -> tuple[int, ...]:
    """``v2.3.5-lite`` as (2, 3, 5)."""
    numbers = text.rpartition("lite-")[2].lstrip("v").split("-")[0].split(".")
    return tuple(int(part) for part in numbers if part.isdigit())


_open: dict[str, int] = {}
_open_lock = threading.Lock()


def _lite(path: str) -> str:
    """Open a database of Milvus Lite, which serves this process at a loopback port; each needs a `_release`."""
    try:
        from milvus_lite.server_manager import server_manager_instance
    except ImportError as error:
        raise MissingExtraError("Milvus Lite needs a package: pip install 'silmari[milvus]'.") from error
    # It logs the traceback of what it then does not raise.
    logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)
    with _open_lock:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            held = set(os.listdir(path)) if os.path.isdir(path) else set()
        except OSError as error:
            raise KnowledgeBaseError(f"The folder of {path} cannot be made or read ({error}): name another.") from error
        if held and not held & {"LOCK", "collections"}:
            # It would write between someone's documents, and later be called deletable with them.
            raise UsageError(f"{path} is a folder with other files: name a path for Milvus Lite that is not there yet.")
        uri = server_manager_instance.start_and_get_uri(path)
        if uri is None:
            raise BusyError(
                f"Milvus Lite cannot open {path}: it serves one process at a time, so close the other one "
                "(or use the engine local or a Milvus server); if there is none, rebuild with reindex."
            )
        _open[path] = _open.get(path, 0) + 1
        return str(uri)


def _release(path: str) -> None:
    from milvus_lite.server_manager import server_manager_instance

    with _open_lock:
        _open[path] -= 1
        if not _open[path]:
            del _open[path]
            server_manager_instance.release_server(path)
