"""The one gate that every model call passes: limits, retries, deadlines, counts and the cache of replies."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from silmari.errors import KnowledgeBaseError, ProviderError
from silmari.providers.chat import ChatModel
from silmari.providers.faults import Fault, ServiceError, fault_of, told

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

T = TypeVar("T")
_log = logging.getLogger(__name__)

# US dollars for a million tokens in and out, as listed by the provider; override with `prices`.
PRICES: Mapping[str, tuple[float, float]] = {
    "openai:gpt-4o": (2.50, 10.00),
    "openai:gpt-4o-mini": (0.15, 0.60),
    "openai:gpt-4.1": (2.00, 8.00),
    "openai:gpt-4.1-mini": (0.40, 1.60),
    "openai:gpt-4.1-nano": (0.10, 0.40),
    "openai:text-embedding-3-small": (0.02, 0.0),
    "openai:text-embedding-3-large": (0.13, 0.0),
}
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MAX_ATTEMPTS = 8
_ENDINGS = frozenset({"finish_reason", "stop_reason", "done_reason"})


class ReplyCache(Protocol):
    """Where validated replies are kept; the catalog has one."""

    def reply(self, model: str, key: str) -> Any | None:
        """The reply stored under this model and key, or None."""

    def put_reply(self, model: str, key: str, reply: Any) -> None:
        """Store a reply that proved useful."""


@dataclass(slots=True)
class Usage:
    """What has passed a gate.

    Attributes:
        calls: Calls that were sent, each retry counted.
        retries: Of these, repetitions after a fault.
        cached: Replies that came from the cache.
        uncounted: Replies for which the service told no token counts.
        cost: In US dollars; None once a call's price or token count was unknown.
        seconds: Time spent waiting for services, summed over calls.
    """

    calls: int = 0
    retries: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For the Trace."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        return shown | {"seconds": round(self.seconds, 3)}


@dataclass
class Gate:
    """Limits, repeats, times and counts model calls.

    Args:
        concurrency: Calls in flight at once.
        timeout: Seconds that one call may take; for a stream, that it may be silent.
        total_timeout: Seconds that a call may take with all its repetitions.
        replies: Cache of validated replies; None for none.
        prices: US dollars for a million tokens ``(in, out)`` by ``provider:model``; on top of `PRICES`.
    """

    concurrency: int = 16
    timeout: float = 60.0
    total_timeout: float = 180.0
    replies: ReplyCache | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage, init=False)
    # A semaphore belongs to the loop on which it first had to wait.
    _slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )

    async def call(self, name: str, once: Callable[[], Awaitable[T]]) -> T:
        """Make one call, of whatever kind (embeddings too), repeated while its fault is transient.

        Args:
            name: The model, for messages.
            once: Makes the call; called anew for each attempt.

        Raises:
            ProviderError: With the service's own message; at once when repeating cannot help.
        """
        async with self._slot():
            return await self._repeated(name, once, time.monotonic() + self.total_timeout)

    async def ask(
        self,
        model: ChatModel,
        messages: Sequence[BaseMessage],
        validate: Callable[[str], T],
        *,
        attempts: int = 2,
    ) -> T:
        """A whole reply, validated; from the cache when the same was asked before.

        Args:
            model: Which model.
            messages: What it is asked.
            validate: Turns the reply into what is wanted; raises ValueError for a useless one, which
                is never cached.
            attempts: How often a useless reply is asked for anew, the first time included.

        Raises:
            ProviderError: The service failed, or no reply was useful.
        """
        known = self.recall(model, messages)
        if known is not None:
            try:
                value = validate(known)
            except ValueError:
                pass  # Stored by an earlier version with other rules: ask again.
            else:
                self.usage.cached += 1
                return value
        reason = ""
        for _ in range(attempts):
            message = await self.call(model.name, lambda: _readable(model.name, model.client.ainvoke(list(messages))))
            self.count(model.name, getattr(message, "usage_metadata", None), listed=model.priced)
            text = text_of(message)
            try:
                value = validate(text)
            except ValueError as error:
                reason = str(error)
                continue
            self.remember(model, messages, text)
            return value
        raise ProviderError(f"{model.name} gave no useful reply: {reason}", retryable=True)

    async def stream(self, model: ChatModel, messages: Sequence[BaseMessage]) -> AsyncGenerator[str, None]:
        """The reply as it comes; in one piece when it is cached.

        A fault before the first piece is repeated like any other; after it, nothing is asked again.

        Raises:
            ProviderError: The service failed, or fell silent on the way.
        """
        known = self.recall(model, messages)
        if known is not None:
            self.usage.cached += 1
            yield known
            return
        deadline = time.monotonic() + self.total_timeout
        usage: Any = None
        # A connection that is cut can look like an orderly end. OpenAI's protocol says when it is one.
        finished = not model.name.startswith("openai:")
        async with self._slot():

            async def begin() -> tuple[AsyncGenerator[Any, None], Any]:
                # Declared as a mere iterator; it is a generator, and must be closed.
                opened: Any = model.client.astream(list(messages))
                return opened, await _readable(model.name, anext(opened, None))

            stream, chunk = await self._repeated(model.name, begin, deadline)

            async def further() -> Any:
                return await _readable(model.name, anext(stream, None))

            async with aclosing(stream):
                while chunk is not None:
                    usage = _added(usage, getattr(chunk, "usage_metadata", None))
                    finished = finished or bool(_ENDINGS & set(chunk.response_metadata))
                    text = text_of(chunk)
                    if text:
                        yield text
                    chunk = await self._once(model.name, further, deadline, begun=True)
        self.count(model.name, usage, listed=model.priced)
        if not finished:
            raise ProviderError(f"The model {model.name} broke off its reply: the stream ended before the text did.")

    def recall(self, model: ChatModel, messages: Sequence[BaseMessage]) -> str | None:
        """A reply from the cache."""
        known = self.replies.reply(model.identity, reply_key(messages)) if self.replies else None
        return known if isinstance(known, str) else None

    def remember(self, model: ChatModel, messages: Sequence[BaseMessage], reply: str) -> None:
        """Cache a reply that proved useful."""
        if self.replies:
            try:
                self.replies.put_reply(model.identity, reply_key(messages), reply)
            except KnowledgeBaseError as error:  # read-only, busy or full: the reply is there all the same
                _log.info("A model's reply is not kept: %s", error)

    def count(self, name: str, usage: Any, *, listed: bool = True) -> None:
        """Count tokens and cost of one reply.

        Args:
            name: The model.
            usage: LangChain's ``usage_metadata``; None if the service told nothing.
            listed: Whether the price in `PRICES` applies when `prices` has none.
        """
        if not usage:
            self.usage.uncounted += 1
            self.usage.cost = None
            return
        sent, got = int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
        self.usage.input_tokens += sent
        self.usage.output_tokens += got
        price = self._price(name, listed)
        if price is None or self.usage.cost is None:
            self.usage.cost = None
        else:
            self.usage.cost += (sent * price[0] + got * price[1]) / 1_000_000

    def _price(self, name: str, listed: bool) -> tuple[float, float] | None:
        tables = (self.prices, PRICES) if listed else (self.prices,)
        for table in tables:
            for spelled in (name, _DATED.sub("", name)):
                if spelled in table:
                    return table[spelled]
        return None

    def _slot(self) -> asyncio.Semaphore:
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.concurrency))

    async def _repeated(self, name: str, once: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Try until it works, the fault is permanent, or the deadline comes first."""

        def hopeless(state: RetryCallState) -> bool:
            return state.attempt_number >= _MAX_ATTEMPTS or time.monotonic() + state.upcoming_sleep >= deadline

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            wait=_wait,
            stop=hopeless,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                if attempt.retry_state.attempt_number > 1:
                    self.usage.retries += 1
                self.usage.calls += 1
                return await self._once(name, once, deadline)
        raise AssertionError("the retry loop always returns or raises")

    async def _once(self, name: str, once: Callable[[], Awaitable[T]], deadline: float, *, begun: bool = False) -> T:
        """One wait for the service, within the deadlines, its faults told as ours."""
        start = time.monotonic()
        limit = max(min(self.timeout, deadline - start), 0.001)
        try:
            async with asyncio.timeout(limit):
                return await once()
        except Exception as error:
            fault = None if isinstance(error, ProviderError) else fault_of(error)
            if fault is None:
                raise
            if isinstance(error, TimeoutError):
                fault = Fault(f"no reply within {limit:.3g} seconds", True, None)
            raise told(name, fault, begun=begun) from error
        finally:
            self.usage.seconds += time.monotonic() - start


async def _readable(name: str, call: Awaitable[T]) -> T:
    """The client's result; what it could not make sense of is the service's fault, not a bug."""
    try:
        return await call
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        words = " ".join(str(error).split())[:300]
        raise ProviderError(f"The model {name} sent a reply that cannot be read; check base_url: {words}") from error


_backoff = wait_random_exponential(multiplier=0.5, max=20)


def _wait(state: RetryCallState) -> float:
    """What the service asks for, else a growing random time."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ServiceError) else None
    return _backoff(state) if asked is None else asked + 0.05


def _added(one: Any, other: Any) -> Any:
    """Token counts of two chunks together; services send them once or in parts."""
    if not one or not other:
        return one or other
    return {name: int(one.get(name, 0)) + int(other.get(name, 0)) for name in ("input_tokens", "output_tokens")}


def reply_key(messages: Sequence[BaseMessage]) -> str:
    """What a reply is cached under, beside the model: the hash of all that was said."""
    said = json.dumps([[message.type, message.content] for message in messages], ensure_ascii=False, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def text_of(message: Any) -> str:
    """The text of a message or chunk, whether its content is a string or a list of blocks."""
    content = message.content
    if isinstance(content, str):
        return content
    blocks = (block if isinstance(block, str) else block.get("text") or "" for block in content)
    return "".join(block for block in blocks if isinstance(block, str))
