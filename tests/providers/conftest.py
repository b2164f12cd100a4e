"""For the tests of providers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from model_fixtures import on_loop, service

__all__ = ["on_loop", "service"]


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package look as if it were not installed."""
    real = importlib.util.find_spec

    def hide(package: str) -> None:
        def find(name: str, *given: Any) -> Any:
            return None if name == package else real(name, *given)

        monkeypatch.setattr(importlib.util, "find_spec", find)

    return hide
