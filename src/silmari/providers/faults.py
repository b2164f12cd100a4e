"""What a service's exception means: whether to try again, when, and the service's own words.

Every SDK has exceptions of its own; what they share is a status, a response with headers, and names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from silmari.errors import ProviderError

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# Names in an exception's ancestry, over all HTTP libraries and SDKs.
_TIMEOUTS = frozenset({"TimeoutError", "TimeoutException", "Timeout", "APITimeoutError", "StreamChunkTimeoutError"})
_CONNECTION = frozenset(
    {"ConnectionError", "TransportError", "APIConnectionError", "ClientConnectionError", "ClientPayloadError"}
)
_SERVICE = frozenset(
    {"APIError", "APIStatusError", "HTTPStatusError", "ResponseError", "GoogleAPIError", "ClientError"}
)
# 429 also when the account is empty: waiting does not fill it.
_EXHAUSTED = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.I)
_SECRET = re.compile(r"\b(?:sk|pk|key|gsk|AIza)[-_A-Za-z0-9*]{12,}|Bearer\s+\S+")
_MAX_MESSAGE = 400


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a service.

    Attributes:
        message: The service's own words, secrets removed.
        transient: Whether the same call may succeed later.
        status: The HTTP status, if there was a response.
        retry_after: Seconds that the service asks to wait.
    """

    message: str
    transient: bool
    status: int | None = None
    retry_after: float | None = None


class ServiceError(ProviderError):
    """A `ProviderError` with the seconds that the service asks to wait and the HTTP status, where there are such."""

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None, status: int | None = None) -> None:
        super().__init__(message, retryable=retryable)
        self.retry_after = retry_after
        self.status = status


class UselessReplyError(ProviderError):
    """The service is well, but none of the model's replies was useful; its cause says why."""


def fault_of(error: BaseException) -> Fault | None:
    """What an exception says about the service; None if it is none of the service's (a bug, a wrong argument)."""
    chain = list(_chain(error))
    for each in chain:
        status = _status(each)
        if status is not None:
            words = _words(each)
            transient = (status in _TRANSIENT_STATUS or status >= 500) and not _EXHAUSTED.search(words)
            return Fault(words, transient, status, _retry_after(each))
    names = {cls.__name__ for each in chain for cls in type(each).__mro__}
    if names & _TIMEOUTS:
        return Fault("no reply in time", True)
    if names & _CONNECTION:
        return Fault(f"no connection ({_words(chain[-1])})", True)
    if names & _SERVICE:
        return Fault(_words(chain[0]), False)
    return None


def told(name: str, fault: Fault, *, begun: bool = False) -> ServiceError:
    """The fault as an error of ours, in one sentence that says what to do.

    Args:
        name: The model.
        fault: What was wrong.
        begun: Whether part of the reply had already come.
    """
    status = f" (HTTP {fault.status})" if fault.status else ""
    words = fault.message.rstrip(". ")
    hint = ""
    if fault.status in (401, 403):
        hint = "; check api_key, or the provider's own key variable, and base_url"
    elif fault.status == 404:
        hint = "; check the model's name and base_url"
    elif fault.retry_after and fault.retry_after >= 1:
        hint = f"; it asks to wait {fault.retry_after:.0f} seconds"
    elif fault.status is None and fault.transient:
        hint = "; check base_url and the network"
    what = "broke off its reply" if begun else "failed"
    return ServiceError(
        f"The model {name} {what}{status}: {words}{hint}.",
        retryable=fault.transient,
        retry_after=fault.retry_after,
        status=fault.status,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return value
    return None


def _words(error: BaseException) -> str:
    """The service's message, on one line."""
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    text = body.get("message") if isinstance(body, dict) else None
    code = body.get("code") if isinstance(body, dict) else None
    words = " ".join(str(text or error or type(error).__name__).split())
    if code and str(code) not in words:
        words += f" ({code})"
    return _SECRET.sub("…", words)[:_MAX_MESSAGE]


def _retry_after(error: BaseException) -> float | None:
    """Seconds from ``retry-after-ms`` or ``Retry-After`` (seconds or a date)."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    try:
        if headers.get("retry-after-ms"):
            return max(float(headers["retry-after-ms"]) / 1000, 0.0)
        value = headers.get("retry-after")
        if not value:
            return None
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
