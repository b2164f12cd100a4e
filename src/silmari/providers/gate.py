"""The one gate that every model call passes: limits, retries, deadlines, counts and the cache of replies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from silmari.errors import KnowledgeBaseError, ProviderError
from silmari.providers.chat import ChatModel
from silmari.providers.faults import Fault, ServiceError, UselessReplyError, fault_of, told
from silmari.providers.messages import added, held_to, readable, repair, reply_key, text_of, tokens_in
from silmari.providers.tokens import estimate_tokens
from silmari.providers.usage import Meter, Prices, Usage, price_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

T = TypeVar("T")
_log = logging.getLogger(__name__)

_MAX_ATTEMPTS = 8
_ENDINGS = frozenset({"finish_reason", "stop_reason", "done_reason"})
# What they say of a reply that is not whole, by provider.
_CUT = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "prohibited_content", "blocklist"})
# Tokens that a reply is taken to have before it is there.
REPLY_TOKENS = 500
# What services answer that do not know how to hold a reply to a schema.
_NO_SCHEMA = frozenset({400, 415, 422, 501})


class ReplyCache(Protocol):
    """Where validated replies are kept; the catalog has one."""

    def reply(self, model: str, key: str) -> Any | None:
        """The reply stored under this model and key, or None."""

    def put_reply(self, model: str, key: str, reply: Any) -> None:
        """Store a reply that proved useful."""


@dataclass
class Gate:
    """Limits, repeats, times and counts model calls.

    Args:
        concurrency: Calls in flight at once.
        timeout: Seconds that one call may take; for a stream, that it may be silent.
        total_timeout: Seconds that a call may take with all its repetitions.
        replies: Cache of validated replies; None for none.
        prices: US dollars for a million tokens ``(in, out)`` by ``provider:model``; on top of
            `silmari.providers.usage.PRICES`.
        max_cost: US dollars that all calls together may cost; a call that might go over is refused.
            Calls of a model without a price are not held back.
    """

    concurrency: int = 16
    timeout: float = 60.0
    total_timeout: float = 180.0
    replies: ReplyCache | None = None
    prices: Prices = field(default_factory=dict)
    max_cost: InitVar[float | None] = None
    meter: Meter = field(default_factory=Meter, init=False)
    # A semaphore belongs to the loop on which it first had to wait.
    _slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )
    # Models (by identity) whose service refused a schema, and then took the same request without.
    _plain: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self, max_cost: float | None) -> None:
        self.meter.max_cost = max_cost

    @property
    def usage(self) -> Usage:
        """What has passed this gate."""
        return self.meter.usage

    def part(self, max_cost: float | None = None) -> Gate:
        """The same gate with counts of its own, which count here too; for one question or one run.

        Args:
            max_cost: A further limit, for this part alone.
        """
        made = replace(self, max_cost=None)
        made.meter = Meter(max_cost, self.meter)
        made._slots, made._plain = self._slots, self._plain
        return made

    def unwatched(self, model: ChatModel) -> str:
        """Why a limit on the cost cannot hold for a model, in one sentence; empty if it can or there is none."""
        if not self.meter.limited or price_of(model.name, self.prices, listed=model.priced) is not None:
            return ""
        return f"The price of {model.name} is unknown, so max_cost is not watched; set prices to have it watched."

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
        schema: Mapping[str, Any] | None = None,
        expected: int = REPLY_TOKENS,
    ) -> T:
        """A whole reply, validated; from the cache when the same was asked before.

        A useless reply is shown to the model again together with what is wrong with it.

        Args:
            model: Which model.
            messages: What it is asked.
            validate: Turns the reply into what is wanted; raises ValueError for a useless one, which
                is never cached. Its message is read by the model.
            attempts: How many replies are looked at.
            schema: JSON schema of the reply, in the form that OpenAI calls strict (an object whose fields
                are all required, without additional ones); left out where the service cannot do it.
            expected: Tokens that the reply is likely to have at most; counts against `max_cost`.

        Raises:
            BudgetError: The call might go over `max_cost`; it was not made.
            UselessReplyError: No reply was useful; its cause is the ValueError.
            ProviderError: The service failed.
        """
        known = self.recall(model, messages)
        if known is not None:
            try:
                value = validate(known)
            except ValueError:
                pass  # Stored by an earlier version with other rules: ask again.
            else:
                self.meter.add(cached=1)
                return value
        said, useless = list(messages), ValueError("it was not asked")
        for _ in range(attempts):
            message = await self._asked(model, said, schema, expected)
            text = text_of(message)
            try:
                value = validate(text)
            except ValueError as error:
                said, useless = [*messages, *repair(text, error)], error
                continue
            self.remember(model, messages, text)
            return value
        raise UselessReplyError(f"{model.name} gave no useful reply: {useless}", retryable=True) from useless

    async def _asked(
        self, model: ChatModel, messages: list[BaseMessage], schema: Mapping[str, Any] | None, expected: int
    ) -> Any:
        """One reply, counted; held to the schema where the service can do it."""

        async def reply(options: dict[str, Any]) -> Any:
            with self._reserved(model, messages, expected):
                message = await self.call(
                    model.name, lambda: readable(model.name, model.client.ainvoke(messages, **options))
                )
                self._counted(model, messages, text_of(message), getattr(message, "usage_metadata", None))
                return message

        if schema is None or not model.schemas or model.identity in self._plain:
            return await reply({})
        try:
            return await reply(held_to(schema, model))
        except ServiceError as error:
            if error.status not in _NO_SCHEMA:
                raise
        message = await reply({})
        self._plain.add(model.identity)
        return message

    def _reserved(
        self, model: ChatModel, messages: Sequence[BaseMessage], expected: int
    ) -> AbstractContextManager[None]:
        price = price_of(model.name, self.prices, listed=model.priced)
        if price is None or not self.meter.limited:
            return self.meter.reserved(None, model.name)
        return self.meter.reserved((tokens_in(messages) * price[0] + expected * price[1]) / 1_000_000, model.name)

    def _counted(self, model: ChatModel, messages: Sequence[BaseMessage], reply: str, usage: Any) -> None:
        """Count a reply by what the service told, else by the texts."""
        estimated = None if usage else (tokens_in(messages), estimate_tokens(reply))
        self.count(model.name, usage, listed=model.priced, estimated=estimated)

    async def stream(self, model: ChatModel, messages: Sequence[BaseMessage]) -> AsyncGenerator[str, None]:
        """The reply as it comes; in one piece when it is cached.

        A fault before the first piece is repeated like any other; after it, nothing is asked again.

        Raises:
            BudgetError: The call might go over `max_cost`; it was not made.
            ProviderError: The service failed, fell silent on the way, or cut the reply off.
        """
        known = self.recall(model, messages)
        if known is not None:
            self.meter.add(cached=1)
            yield known
            return
        deadline = time.monotonic() + self.total_timeout
        usage: Any = None
        pieces: list[str] = []
        # A connection that is cut can look like an orderly end. OpenAI's protocol says when it is one.
        finished, ending = not model.name.startswith("openai:"), ""
        with self._reserved(model, messages, REPLY_TOKENS):
            async with self._slot():

                async def begin() -> tuple[AsyncGenerator[Any, None], Any]:
                    # Declared as a mere iterator; it is a generator, and must be closed.
                    opened: Any = model.client.astream(list(messages))
                    return opened, await readable(model.name, anext(opened, None))

                stream, chunk = await self._repeated(model.name, begin, deadline)

                async def further() -> Any:
                    return await readable(model.name, anext(stream, None))

                try:
                    async with aclosing(stream):
                        while chunk is not None:
                            usage = added(usage, getattr(chunk, "usage_metadata", None))
                            for said in _ENDINGS & chunk.response_metadata.keys():
                                finished, ending = True, str(chunk.response_metadata[said] or ending).lower()
                            text = text_of(chunk)
                            pieces.append(text)
                            if text:
                                yield text
                            chunk = await self._once(model.name, further, deadline, begun=True)
                finally:  # What was left in the middle has been paid for too.
                    self._counted(model, messages, "".join(pieces), usage)
        if not finished:
            raise ProviderError(f"The model {model.name} broke off its reply: the stream ended before the text did.")
        if ending in _CUT:
            raise ProviderError(f"The model {model.name} reached its limit of tokens before its reply was complete.")
        if ending in _FILTERED:
            raise ProviderError(f"The model {model.name} did not complete its reply: its service filtered it.")

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

    def count(self, name: str, usage: Any, *, listed: bool = True, estimated: tuple[int, int] | None = None) -> None:
        """Count tokens and cost of one reply.

        Args:
            name: The model.
            usage: LangChain's ``usage_metadata``; None if the service told nothing.
            listed: Whether the price in the table applies when `prices` has none.
            estimated: Tokens in and out, for a service that told nothing.
        """
        if not usage:
            self.meter.add(uncounted=1)
            if estimated is None:
                self.meter.add(unpriced=1)
                return
            usage = dict(zip(("input_tokens", "output_tokens"), estimated, strict=True))
        sent, got = int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
        self.meter.add(input_tokens=sent, output_tokens=got)
        price = price_of(name, self.prices, listed=listed)
        if price is None:
            self.meter.add(unpriced=1)
        else:
            self.meter.add(spent=(sent * price[0] + got * price[1]) / 1_000_000)

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
                    self.meter.add(retries=1)
                self.meter.add(calls=1)
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
            self.meter.add(seconds=time.monotonic() - start)


_backoff = wait_random_exponential(multiplier=0.5, max=20)


def _wait(state: RetryCallState) -> float:
    """What the service asks for, else a growing random time."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ServiceError) else None
    return _backoff(state) if asked is None else asked + 0.05
