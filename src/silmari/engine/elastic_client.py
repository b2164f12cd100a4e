"""The connection to Elasticsearch: its errors as sentences, and writing in bulk."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from elastic_transport import ConnectionTimeout, TlsError, Transport, TransportApiResponse, TransportError
from elasticsearch import ApiError, Elasticsearch, NotFoundError, UnsupportedProductError

from silmari.engine.elastic_address import Address
from silmari.errors import KnowledgeBaseError

# One bulk request; the server refuses those of 100 MB and likes those of a few.
_ACTIONS = 500
_BYTES = 4_000_000
# Seconds that a busy server is given, with pauses that double.
PATIENCE = 120.0
_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_VERSION = re.compile(r"compatible-with=\d+")
# Without a handler of anyone's, failed connections would be printed with a traceback besides being raised.
logging.getLogger("elastic_transport").addHandler(logging.NullHandler())


class IndexGoneError(KnowledgeBaseError):
    """An index that was there is not there any more."""


class _Compatible(Transport):
    """Speaks version 8 of the interface, which servers 8 and 9 both understand; client 9 alone would say 9."""

    def perform_request(self, method: str, target: str, **options: Any) -> TransportApiResponse:
        headers = options.get("headers")
        if isinstance(headers, Mapping):
            spoken = {name: _VERSION.sub("compatible-with=8", str(value)) for name, value in headers.items()}
            options["headers"] = spoken
        return super().perform_request(method, target, **options)


def connect(address: Address) -> Elasticsearch:
    """A client, safe to use from several threads; nothing is sent yet."""
    options: dict[str, Any] = {}
    if address.ca_certs is not None:
        options["ca_certs"] = str(address.ca_certs)
    return Elasticsearch(
        address.url,
        api_key=address.api_key,
        basic_auth=address.login,
        request_timeout=address.timeout,
        # For connections that a restarted server has dropped. All that is written may be written twice.
        max_retries=2,
        retry_on_timeout=False,
        retry_on_status=(),
        transport_class=_Compatible,
        **options,
    )


@contextmanager
def plainly(address: Address) -> Iterator[None]:
    """Around requests: what goes wrong becomes one sentence, without secrets.

    Raises:
        IndexGoneError: The index is gone.
        KnowledgeBaseError: Everything else.
    """
    try:
        yield
    except (ApiError, TransportError, UnsupportedProductError) as problem:
        kind = IndexGoneError if isinstance(problem, NotFoundError) else KnowledgeBaseError
        raise kind(f"The Elasticsearch server at {address.url} {_sentence(problem, address)}.") from problem


def _sentence(problem: Exception, address: Address) -> str:
    if isinstance(problem, ConnectionTimeout):
        return f"did not answer within {address.timeout:g} seconds: try again, or raise timeout in the engine's URL"
    if isinstance(problem, TlsError):
        return "cannot be trusted: name the file of its certificate authority with ca_certs in the engine's URL"
    if isinstance(problem, UnsupportedProductError):
        return "is not Elasticsearch: check the engine's URL"
    if isinstance(problem, ApiError):
        return _refusal(problem.meta.status, reason(problem.body), address)
    return "cannot be reached: start it, or check the engine's URL; nothing that was stored is lost"


def _refusal(status: int, why: str, address: Address) -> str:
    if "flood" in why or "disk usage" in why:
        return "has no disk space left: make room there and try again; nothing that was stored is lost"
    if "nori" in why:
        return "has no nori: install the plugin analysis-nori there, or take analysis=nori out of the engine's URL"
    return {
        401: "refused the key: set SILMARI_ENGINE_API_KEY, or put the key into the engine's URL",
        403: f"does not allow this: the key needs all rights to indices named {address.prefix}-*",
        404: "has lost an index of this knowledge base: it is built anew from the catalog at the next search or add",
        429: "is too busy: try again in a moment; nothing that was stored is lost",
        503: "is not ready: try again in a moment; nothing that was stored is lost",
    }.get(status, f"answered {status} ({why[:300]}): check the server's log")


def reason(body: object) -> str:
    """What the server says about a failure, in its own words."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        causes = [error, error.get("caused_by") or {}]
        return " ".join(str(cause["reason"]) for cause in causes if cause.get("reason")) or str(error.get("type", ""))
    return " ".join(str(error).split())


@dataclass(frozen=True, slots=True)
class Action:
    """One entry of a bulk request.

    Attributes:
        index: Where; an alias.
        id: Of what.
        body: Its JSON, or None to delete it.
        label: What messages call it.
    """

    index: str
    id: str
    body: bytes | None
    label: str

    @classmethod
    def of(cls, index: str, id: int, source: Mapping[str, Any] | None, label: str) -> Action:
        """An action for a document, or for the removal of one that may be missing."""
        body = None if source is None else json.dumps(source, ensure_ascii=False).encode()
        return cls(index, str(id), body, label)

    @property
    def lines(self) -> list[bytes]:
        """As the interface wants it."""
        name = "delete" if self.body is None else "index"
        head = json.dumps({name: {"_index": self.index, "_id": self.id, "require_alias": True}}).encode()
        return [head] if self.body is None else [head, self.body]


def bulk(client: Elasticsearch, actions: Iterable[Action]) -> None:
    """Write, one request after the other; when the server is busy, wait and send again what it refused.

    Raises:
        KnowledgeBaseError: The server refused an entry for good; the message names the first one.
        ApiError: It refused a whole request for good.
        TransportError: It cannot be reached.
    """
    for part in _parts(actions):
        _send(client, part)


def _parts(actions: Iterable[Action]) -> Iterator[list[Action]]:
    part: list[Action] = []
    size = 0
    for action in actions:
        weight = len(action.body or b"")
        if part and (len(part) >= _ACTIONS or size + weight > _BYTES):
            yield part
            part, size = [], 0
        part.append(action)
        size += weight
    if part:
        yield part


def _send(client: Elasticsearch, part: Sequence[Action]) -> None:
    left = list(part)
    until, pause = time.monotonic() + PATIENCE, _PAUSE
    while True:
        patient = time.monotonic() + pause < until
        try:
            lines: Any = [line for action in left for line in action.lines]
            answer = client.bulk(operations=lines)
        except ApiError as problem:
            if problem.meta.status not in {429, 503} or not patient or "flood" in reason(problem.body):
                raise
        else:
            if not answer["errors"]:
                return
            left = _refused(left, answer["items"], patient)
            if not left:
                return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _refused(sent: Sequence[Action], items: Sequence[Mapping[str, Any]], patient: bool) -> list[Action]:
    """Those to be sent again: refused because the server is busy."""
    again: list[Action] = []
    for action, item in zip(sent, items, strict=True):
        (result,) = item.values()
        error = result.get("error")
        if error is None:
            continue
        why = reason({"error": error})
        if "flood" in why or "disk usage" in why:
            raise KnowledgeBaseError(
                "The Elasticsearch server has no disk space left: make room there and try again; "
                "nothing that was stored is lost."
            )
        if result["status"] in {429, 503} and patient:
            again.append(action)
        elif result["status"] == 404:
            raise IndexGoneError(
                f"The Elasticsearch server has lost the index {action.index}: "
                "it is built anew from the catalog at the next search or add."
            )
        else:
            raise KnowledgeBaseError(
                f"The Elasticsearch server refused {action.label} ({result['status']}: {why[:300]}): "
                "check the server's log and try again; nothing that was stored is lost."
            )
    return again
