"""The stage ``triplets``: what waits for a chat model is estimated, agreed to, and read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from silmari.ingest import OnProgress, Progress

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.extraction.estimating import Estimate
    from silmari.extraction.triplets import Extracted
    from silmari.providers.calling import Calling
    from silmari.providers.usage import Usage

Confirm = Callable[["Estimate"], bool]


@dataclass(frozen=True, slots=True)
class Extracting:
    """Reads the relations of the passages that wait for a chat model.

    Attributes:
        model: Opens the chat model, at the first need; None without one.
        run: Waits for a coroutine on the base's own loop; Ctrl-C cancels it.
    """

    catalog: Catalog
    model: Callable[[], Calling | None]
    run: Callable[[Coroutine[Any, Any, Extracted]], Extracted]

    def estimate(self) -> Estimate | None:
        """What the passages that wait will take; None when none waits or there is no model.

        Raises:
            UsageError: The model's name is wrong, or there is no key.
            MissingExtraError: Its package is not installed.
        """
        from silmari.extraction.estimating import SAMPLE, estimate

        waiting, _ = self.catalog.count_extractions()
        calling = self.model() if waiting else None
        if calling is None:
            return None
        return estimate(self.catalog.pending_extractions(SAMPLE), waiting, calling)

    def unwatched(self) -> str:
        """Why a limit on the cost cannot hold for the model; empty if it can or there is none."""
        calling = self.model()
        return calling.gate.unwatched(calling.chat) if calling else ""

    def complete(self, on_progress: OnProgress | None) -> Extracted:
        """Read what waits; the lease must be held."""
        from silmari.extraction.triplets import extract_pending

        calling = self.model()
        assert calling is not None

        def told(done: int, total: int, usage: Usage) -> None:
            if on_progress is not None:
                on_progress(Progress("triplets", done, total, str(usage)))

        return self.run(extract_pending(self.catalog, calling, told))
