"""How several processes share a queue: each takes items that nobody else works on, and nobody waits for a dead one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar

from sqlalchemy import Connection

from silmari.catalog.store import Shares, Store

T = TypeVar("T")

# Items belong to shares, and shares are what is locked: so a claim costs no row an item, and writers of the items
# never wait for it. As many that two processes with a few hundred items each rarely get in each other's way.
SHARES = 1024
VECTORS, EXTRACTIONS = QUEUES = ("vectors", "relations")

Allowed = Callable[[int], bool]


@dataclass(slots=True)
class Claim(Generic[T]):
    """Items of a queue that no other process works on until they are given back.

    Attributes:
        items: In the order of the queue.
        others: Whether other processes are at work on more; without it, nothing waits beyond `items` and what comes
            after them.
    """

    items: Sequence[T]
    others: bool = False
    _shares: Shares | None = None

    def release(self) -> None:
        """Give them back: those that still wait may be taken by others; does nothing the second time."""
        if self._shares is not None:
            self._shares.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def claim(
    store: Store,
    queue: str,
    waiting: Callable[[Connection, Allowed], Sequence[T]],
    share_of: Callable[[T], int],
) -> Claim[T]:
    """Take the next items of a queue.

    Args:
        store: Where they are.
        queue: Which of `QUEUES`.
        waiting: The next items, of those shares that are allowed.
        share_of: The share that an item belongs to, below `SHARES`.
    """
    shares = store.shares(queue)
    if shares is None:
        with store.read() as connection:
            return Claim(waiting(connection, lambda share: True))
    refused: set[int] = set()

    def free(share: int) -> bool:
        return share not in refused

    try:
        while True:
            with store.read() as connection:
                wanted = {share_of(item) for item in waiting(connection, free)}
            mine = shares.take(wanted)
            refused.update(wanted - mine)
            if not wanted:
                shares.release()
                return Claim((), bool(refused))
            # Read again: what was done before a share could be taken no longer waits.
            with store.read() as connection:
                items = waiting(connection, mine.__contains__) if mine else ()
            if items:
                return Claim(items, bool(refused), shares)
    except BaseException:
        shares.release()
        raise
