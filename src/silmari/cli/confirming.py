"""Shows what a chat model will cost, and asks where that is much."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from silmari.cli.common import console

if TYPE_CHECKING:
    from silmari.cli.progress import ProgressBars
    from silmari.extraction.estimating import Estimate

# US dollars that are spent without a question.
_LITTLE = 1.0


class Confirming:
    """Give it to ``confirm``: tells the estimate on standard error; asks only a person, and only above $1."""

    def __init__(self, bars: ProgressBars, *, yes: bool) -> None:
        self._bars, self._yes = bars, yes

    def __call__(self, estimate: Estimate) -> bool:
        """Whether to go on."""
        with self._bars.paused():
            console(stderr=True).print(str(estimate), soft_wrap=True)
            much = estimate.cost is not None and estimate.cost > _LITTLE
            return self._yes or not much or not _watched() or typer.confirm("Go on?", err=True)


def _watched() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
