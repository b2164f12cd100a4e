"""For the tests of extraction."""

from __future__ import annotations

from model_fixtures import on_loop, service

__all__ = ["on_loop", "service"]
