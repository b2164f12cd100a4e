"""Keeps an engine equal to the catalog: whoever holds the lease applies the change log, the others read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from silmari.engine.base import Change, Engine

BATCH = 5_000


class ChangeLog(Protocol):
    """What the mirror needs of the catalog."""

    def identity(self) -> tuple[str, str]:
        """Base id and epoch."""

    def last_seq(self) -> int:
        """Number of the newest change; 0 for an empty log."""

    def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The next changes after a number, in order."""


class Lease(Protocol):
    """The right to write to the engine, held by one process at a time."""

    @property
    def held(self) -> bool:
        """Whether this process has it."""

    def acquire(self, timeout: float = 0.0) -> bool:
        """Try for up to `timeout` seconds; True when held."""

    def release(self) -> None:
        """Give it back, so that it can be had by another process."""


class Mirror:
    """An engine, and how far it follows the catalog's log."""

    def __init__(self, log: ChangeLog, lease: Lease, open_engine: Callable[[bool], Engine]) -> None:
        """Open the engine for reading.

        Args:
            log: The catalog.
            lease: Of this base.
            open_engine: Opens the engine; the argument says whether for writing.
        """
        self._log = log
        self._lease = lease
        self._open = open_engine
        self._lock = threading.RLock()
        self._writable = False
        self.engine = open_engine(False)

    def lag(self) -> int:
        """Number of changes the engine may be behind; 0 when it shows all of the catalog."""
        mark = self.engine.watermark()
        last = self._log.last_seq()
        if mark is None or (mark.base, mark.epoch) != self._log.identity() or mark.seq > last:
            return max(last, 1) if last else 0
        return last - mark.seq

    def follow(self, *, wait: float = 0.0, on_progress: Callable[[int, int], None] | None = None) -> int:
        """Bring the engine up to date if the lease can be had, else only see what others published.

        Args:
            wait: Seconds to wait for the lease.
            on_progress: Told (changes applied, changes to apply).

        Returns:
            The lag that remains; more than 0 only while another process holds the lease.
        """
        with self._lock:
            self.engine.refresh()
            if not self.lag():
                return 0
            mine = self._lease.held
            if not mine and not self._lease.acquire(wait):
                self.engine.refresh()
                return self.lag()
            try:
                self._apply(on_progress)
            finally:
                if not mine:
                    self.demote()
                    self._lease.release()
            return self.lag()

    def demote(self) -> None:
        """Go back to reading, before the lease is given away."""
        with self._lock:
            if self._writable:
                self._reopen(False)

    def close(self) -> None:
        """Close the engine."""
        with self._lock:
            self.engine.close()

    def _reopen(self, writable: bool) -> None:
        # The new engine is opened before the old one is closed only for reading: a writer must be alone.
        self.engine.close()
        self.engine = self._open(writable)
        self._writable = writable

    def _apply(self, on_progress: Callable[[int, int], None] | None) -> None:
        if not self._writable:
            self._reopen(True)
        mark = self.engine.watermark()
        base, epoch = self._log.identity()
        last = self._log.last_seq()
        if mark is None or (mark.base, mark.epoch) != (base, epoch) or mark.seq > last:
            # Emptied, restored from elsewhere, or ahead of a restored catalog: start anew.
            self.engine.reset(base, epoch)
            after = 0
        else:
            after = mark.seq
        done = 0
        total = last - after
        while batch := self._log.changes(after, BATCH):
            self.engine.apply(batch)
            after = batch[-1].seq
            done += len(batch)
            if on_progress is not None:
                on_progress(done, max(total, done))
