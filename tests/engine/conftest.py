"""An engine for each test, of each kind in `engine_openers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_openers import OPENERS, SLOW

from silmari.engine.base import Engine

KINDS = [*sorted(OPENERS), *(pytest.param(name, marks=[pytest.mark.slow]) for name in sorted(SLOW))]


@pytest.fixture(params=KINDS)
def open_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
    """Opens the same engine each time it is called: filled once, found again. One is open at a time."""
    opened: list[Engine] = []

    def opener() -> Engine:
        if opened:
            opened.pop().close()
        opened.append({**OPENERS, **SLOW}[request.param](tmp_path))
        return opened[-1]

    yield opener
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[[], Engine]) -> Engine:
    """An engine that was reset and holds nothing."""
    fresh = open_engine()
    fresh.reset("base", "epoch")
    return fresh
