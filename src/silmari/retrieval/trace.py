"""What each stage of an answer saw, kept and dropped, with times: shown to the user, never needed for the result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from silmari.providers.usage import Usage


class Trace:
    """A growing record of stages; `as_json` is what ``--json`` and ``--explain`` show.

    Attributes:
        stages: One mapping a stage: ``{"stage", "ms", …}`` with what the stage chose to tell.
        notes: Sentences for the user, such as which ways were not complete.
        usage: Calls of language models made so far, with tokens and cost.
    """

    def __init__(self) -> None:
        self.stages: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.usage = Usage()
        self._start = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a stage; what is put into the yielded mapping is kept."""
        entry: dict[str, Any] = {"stage": name, "ms": 0.0}
        self.stages.append(entry)
        start = time.perf_counter()
        try:
            yield entry
        finally:
            entry["ms"] = round((time.perf_counter() - start) * 1000, 2)

    def note(self, sentence: str) -> None:
        """Tell the user something once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    @property
    def calls(self) -> int:
        """Calls of language models made so far."""
        return self.usage.calls

    def used(self, usage: Usage) -> None:
        """Count the calls of a stage that has ended."""
        self.usage = self.usage.plus(usage)

    def as_json(self) -> dict[str, Any]:
        """Plain values, in the order of what happened."""
        return {
            "ms": round((time.perf_counter() - self._start) * 1000, 2),
            "model_calls": self.usage.calls,
            "usage": self.usage.as_json(),
            "stages": [dict(stage) for stage in self.stages],
            "notes": list(self.notes),
        }
