"""A progress bar a stage, with time left, on standard error and only where a person looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bars,
)

from silmari.cli.common import console
from silmari.ingest import Progress

_NAMES = {
    "read": "Reading files",
    "vectors": "Making vectors",
    "triplets": "Reading relations",
    "relations": "Making vectors of relations",
    "index": "Writing the index",
    "questions": "Embedding questions",
    "search": "Asking questions",
    "answers": "Answering questions",
}


class ProgressBars:
    """Give it to ``on_progress``; silent when standard error is no terminal."""

    def __init__(self, *, shown: bool = True) -> None:
        screen = console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            # Embedding is slow and uneven: the rate of the last minutes tells more than the last seconds'.
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[current]}"),
            console=screen,
            disable=not shown or not screen.is_terminal,
            speed_estimate_period=120,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bars down while the user is asked something."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()

    def __call__(self, progress: Progress) -> None:
        """Show how far a stage is."""
        self.show(progress.stage, progress.done, progress.total, progress.current)

    def show(self, stage: str, done: int, total: int, current: str = "") -> None:
        """Show how far any stage is, not only one of an ingest."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(_NAMES[stage], total=total, current="")
        self._bars.update(self._tasks[stage], completed=done, total=total, current=current[:40])
