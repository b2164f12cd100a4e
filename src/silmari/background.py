"""One event loop in one background thread, shared by all coroutines of a knowledge base.

Clients of model services are bound to the loop that made them; with a single loop they work from
scripts, notebooks, web servers and several threads alike.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
Owner = TypeVar("Owner")
Given = ParamSpec("Given")


def twin(method: Callable[Concatenate[Owner, Given], T]) -> Callable[Concatenate[Owner, Given], Coroutine[Any, Any, T]]:
    """The asynchronous twin of a method that calls no model: the same in a thread, with the same signature."""

    @wraps(method)
    async def awaited(self: Owner, /, *args: Given.args, **options: Given.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **options)

    awaited.__name__ = f"a{method.__name__}"
    awaited.__doc__ = f"See `{method.__name__}`."
    return awaited


class Background:
    """Runs coroutines in a thread of its own, which starts with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the caller waits for the returned future or wraps it for its own loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; Ctrl-C cancels it."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def await_(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine of the background loop from the caller's loop."""
        return await asyncio.wrap_future(self.submit(coroutine))

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Go through an asynchronous iterator from ordinary code."""
        try:
            while True:
                try:
                    yield self.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self.run(_close(items))

    async def aiterate(self, items: AsyncIterator[T]) -> AsyncIterator[T]:
        """Go through an asynchronous iterator of the background loop from the caller's loop."""
        try:
            while True:
                try:
                    yield await self.await_(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            await self.await_(_close(items))

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="silmari", daemon=True)
                self._thread.start()
            return self._loop


async def _next(items: AsyncIterator[T]) -> T:
    # A coroutine may not raise StopIteration, but StopAsyncIteration passes through a future unharmed.
    return await items.__anext__()


async def _close(items: AsyncIterator[T]) -> None:
    close = getattr(items, "aclose", None)
    # A step that was cancelled, as Ctrl-C does, may not have ended yet.
    while getattr(items, "ag_running", False):  # noqa: ASYNC110  - nothing tells when it has
        await asyncio.sleep(0.001)
    if close is not None:
        await close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
