"""Keeps an engine equal to the catalog: whoever holds the lease applies the change log, the others read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from silmari.engine.base import Change, Engine
from silmari.errors import KnowledgeBaseError

BATCH = 5_000


class ChangeLog(Protocol):
    """What the mirror needs of the catalog."""

    def identity(self) -> tuple[str, str]:
        """Base id and epoch."""

    def last_seq(self) -> int:
        """Number of the newest change; 0 for an empty log."""

    def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The next changes after a number, in order."""


class Held(Protocol):
    """The right to write to the engine, held by one process at a time."""

    def held(self) -> bool:
        """Whether it is still there: over a network it is lost with its connection."""

    def release(self) -> None:
        """Give it back."""


class Mirror:
    """An engine, and how far it follows the catalog's log.

    Attributes:
        engine: The same one all the time, so that searches in other threads go on while it is written.
        problem: Why the engine could not be brought up to date the last time, or None: the disk is full, say.
    """

    def __init__(self, log: ChangeLog, take: Callable[[float], Held | None], engine: Engine) -> None:
        """Take an engine that is open for reading.

        Args:
            log: The catalog.
            take: Takes the base's lease, waiting up to some seconds; None while another process has it.
            engine: Of the same base.
        """
        self.engine = engine
        self.problem: str | None = None
        self._log = log
        self._take = take
        self._lock = threading.RLock()
        self._lease: Held | None = None
        self._holders = 0

    def lag(self) -> int:
        """Number of changes the engine may be behind; 0 when it shows all of the catalog."""
        mark = self.engine.watermark()
        last = self._log.last_seq()
        if mark is None or (mark.base, mark.epoch) != self._log.identity() or mark.seq > last:
            return last
        return last - mark.seq

    def follow(self, *, wait: float = 0.0) -> int:
        """Bring the engine up to date if the lease can be had, else only see what others published.

        Args:
            wait: Seconds to wait for the lease.

        Returns:
            The lag that remains; more than 0 while another process holds the lease, and when the engine cannot
            be written: then `problem` says why, and what was published before still answers. All of the log
            while the engine's server does not answer; `problem` then says that.
        """
        try:
            return self._followed(wait)
        except KnowledgeBaseError as error:
            self.problem = str(error)
            return self._log.last_seq()

    def _followed(self, wait: float) -> int:
        self.engine.refresh()
        if not self.lag():
            self.problem = None
            return 0
        with self.writing(wait) as mine:
            if mine:
                try:
                    with self._lock:
                        self._apply()
                    self.problem = None
                except KnowledgeBaseError as error:
                    self.problem = str(error)
            else:
                self.engine.refresh()
        return self.lag()

    @contextmanager
    def writing(self, wait: float = 0.0) -> Iterator[bool]:
        """Hold the lease for a while, so that no other process writes; yields whether it could be had.

        May be nested and shared by threads; the last one out gives the lease back.
        """
        with self._lock:
            if self._lease is None and (lease := self._take(wait)) is not None:
                try:
                    self.engine.lead(True)
                except BaseException:
                    lease.release()
                    raise
                self._lease = lease
            mine = self._lease is not None
            self._holders += mine
        try:
            yield mine
        finally:
            if mine:
                with self._lock:
                    self._holders -= 1
                    if not self._holders and self._lease is not None:
                        self.engine.lead(False)
                        self._lease.release()
                        self._lease = None

    def close(self) -> None:
        """Close the engine."""
        with self._lock:
            self.engine.close()

    def _apply(self) -> None:
        mark = self.engine.watermark()
        base, epoch = self._log.identity()
        if mark is None or (mark.base, mark.epoch) != (base, epoch) or mark.seq > self._log.last_seq():
            # Emptied, restored from elsewhere, or ahead of a restored catalog: start anew.
            self.engine.reset(base, epoch)
            after = 0
        else:
            after = mark.seq
        while batch := self._log.changes(after, BATCH):
            if self._lease is None or not self._lease.held():
                raise KnowledgeBaseError(
                    "The connection by which this process alone may write to the search index was lost; what was "
                    "written is kept, and the next search or add goes on."
                )
            self.engine.apply(batch)
            after = batch[-1].seq
