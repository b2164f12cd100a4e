"""Fixtures of the tests that call models: a service on loopback, and a loop like a knowledge base's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from standin import StandIn


@pytest.fixture
def service() -> Iterator[StandIn]:
    """An OpenAI-style service on loopback."""
    with StandIn() as standin:
        yield standin


@pytest.fixture(scope="session")
def on_loop() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs coroutines on one loop in the background, as a knowledge base does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
