"""The one pair of chat model and gate that a knowledge base calls, whatever for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from silmari.errors import KnowledgeBaseError
from silmari.providers.chat import ChatModel, open_chat
from silmari.providers.gate import Gate, ReplyCache
from silmari.providers.usage import Usage
from silmari.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_log = logging.getLogger(__name__)


class Ledger(ReplyCache, Protocol):
    """Where replies and counts are kept; the catalog is one."""

    def add_usage(self, model: str, counts: Mapping[str, float]) -> None:
        """Add to the counts of a model."""


@dataclass(frozen=True, slots=True)
class Calling:
    """A chat model with the gate that all its calls go through.

    Attributes:
        chat: The model.
        gate: Limits, counts and caches its calls; `Gate.part` counts those of one question apart.
        ledger: Where counts are kept for good.
    """

    chat: ChatModel
    gate: Gate
    ledger: Ledger
    _saved: list[Usage] = field(default_factory=lambda: [Usage()])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def save(self) -> None:
        """Write down what was used since the last time; a base that cannot be written stays as it is."""
        with self._lock:
            now = self.gate.usage.plus(Usage())
            fresh = now.minus(self._saved[0])
            if fresh == Usage():
                return
            try:
                self.ledger.add_usage(self.chat.name, fresh.as_counts())
            except KnowledgeBaseError as error:
                _log.info("What models cost is not written down: %s", error)
                return
            self._saved[0] = now

    async def close(self) -> None:
        """Release the model's connections, on the loop on which it was called."""
        if self.chat.close is not None:
            await self.chat.close()


def open_calling(llm: str | BaseChatModel, settings: Settings, ledger: Ledger) -> Calling:
    """Open a chat model behind a gate with the settings' limits.

    Raises:
        UsageError: The name is wrong, or there is no key.
        MissingExtraError: The model's package is not installed.
    """
    gate = Gate(
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        total_timeout=settings.total_timeout,
        replies=ledger,
        prices=settings.prices,
        max_cost=settings.max_cost,
    )
    return Calling(open_chat(llm, settings), gate, ledger)
