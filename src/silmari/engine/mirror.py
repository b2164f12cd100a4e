"""Keeps an engine equal to the catalog: whoever holds the lease applies the change log, the others read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from silmari.engine import LOCAL
from silmari.engine.base import Change, Engine, Standing, Watermark
from silmari.errors import BusyError, KnowledgeBaseError, MissingExtraError, UsageError

BATCH = 5_000
_FOREIGN = (
    "There is the index of another knowledge base in that engine; give this one a name of its own in the engine's URL, "
    "or delete that index if nobody needs it (docs/engines.md)."
)


class ChangeLog(Protocol):
    """What the mirror needs of the catalog."""

    def standing(self) -> Standing:
        """Where it stands, all as of one moment."""

    def changes(self, after: int, limit: int, *, whole: tuple[int, int] | None = None) -> Sequence[Change]:
        """The next changes after a number, in order; `whole` as in `silmari.catalog.changes.read`."""

    def count_changes(self, after: int) -> int:
        """How many changes there are after a number."""

    def applying(self, place: str, before: int, after: int) -> None:
        """Note which numbers the watermark of the engine at a place may have from now on."""

    def new_epoch(self) -> None:
        """Start the log anew, so that every engine is built anew."""


class Held(Protocol):
    """The right to write to the engine, held by one process at a time."""

    def held(self) -> bool:
        """Whether it is still there: over a network it is lost with its connection."""

    def release(self) -> None:
        """Give it back."""


class Mirror:
    """An engine, and how far it follows the catalog's log.

    Attributes:
        engine: Of the base now. When the base has been moved to another one, `follow` puts that here; the former
            stays open until `close`, so that searches in other threads go on.
        url: Of that engine.
        problem: Why the engine could not be brought up to date the last time, or None: the disk is full, say.
    """

    def __init__(
        self,
        log: ChangeLog,
        take: Callable[[float], Held | None],
        open_engine: Callable[[str], Engine],
        pinned: str | None = None,
    ) -> None:
        """Open the engine of a base, for reading.

        Args:
            log: The catalog.
            take: Takes the base's lease, waiting up to some seconds; None while another process has it.
            open_engine: Opens what a URL names.
            pinned: The engine's URL; None for the one that the catalog names, also when that changes.
        """
        self.problem: str | None = None
        self._log = log
        self._take = take
        self._open = open_engine
        self._pinned = pinned
        self._lock = threading.RLock()
        self._lease: Held | None = None
        self._holders = 0
        self._former: list[Engine] = []
        self.url = pinned or log.standing().engine or LOCAL
        self.engine = open_engine(self.url)

    def lag(self) -> int:
        """Number of changes the engine may be behind; 0 when it shows all of the catalog."""
        return self._behind(self._log.standing())

    def follow(self, *, wait: float = 0.0) -> int:
        """Bring the engine up to date if the lease can be had, else only see what others published.

        Args:
            wait: Seconds to wait for the lease.

        Returns:
            The lag that remains; more than 0 while another process holds the lease, and when the engine cannot
            be written: then `problem` says why, and what was published before still answers. All of the log
            while the engine's server does not answer; `problem` then says that.
        """
        standing = self._log.standing()
        try:
            if self._pinned is None and (standing.engine or LOCAL) != self.url:
                self._switch(standing.engine or LOCAL)
            return self._followed(standing, wait)
        except (KnowledgeBaseError, MissingExtraError, UsageError) as error:
            self.problem = str(error)
            return standing.seq

    def assert_own(self) -> None:
        """Do nothing if the engine holds this base, or nothing yet, or cannot say.

        Raises:
            KnowledgeBaseError: It holds another one, whose hits would be taken for this one's.
        """
        try:
            mark = self.engine.watermark()
        except KnowledgeBaseError:
            return  # a server that does not answer gives no wrong hits either
        if mark is not None and mark.base != self._log.standing().base:
            raise KnowledgeBaseError(_FOREIGN)

    def fill(self, told: Callable[[int, int], None]) -> None:
        """Bring the engine up to date now, or say why not; what was done is kept, and another call goes on from there.

        Args:
            told: How many changes were applied, of how many.

        Raises:
            BusyError: Another process fills it.
            KnowledgeBaseError: It holds another base, cannot be reached or written.
        """
        with self.writing() as mine:
            if not mine:
                raise BusyError("Another process is moving this knowledge base; wait until it is done, or stop it.")
            with self._lock:
                self._apply(told)

    def go_to(self, url: str, *, pinned: bool) -> None:
        """Serve from another engine from now on; `pinned` says whether it stays when the catalog names another one."""
        with self._lock:
            if url != self.url:
                self._switch(url)
            self._pinned = url if pinned else None

    def _behind(self, standing: Standing) -> int:
        mark = self.engine.watermark()
        return standing.seq if mark is None or not self._follows(mark, standing) else standing.seq - mark.seq

    def _follows(self, mark: Watermark, standing: Standing) -> bool:
        """Whether what the engine holds is what the log had at that number."""
        same = (mark.base, mark.epoch) == (standing.base, standing.epoch)
        return same and mark.seq <= standing.seq and not self._strayed(mark, standing)

    def _strayed(self, mark: Watermark, standing: Standing) -> bool:
        """Whether another copy of the catalog wrote there: this one was copied, or restored from a copy, since."""
        place = self.engine.place
        if not place or (mark.base, mark.epoch) != (standing.base, standing.epoch):
            return False
        # Other processes may have other names for the same server.
        name = place.rpartition("/")[2]
        ours = (both for where, both in standing.applied.items() if where.rpartition("/")[2] == name)
        return not {mark.seq, mark.ahead} <= {0}.union(*ours)

    def _switch(self, url: str) -> None:
        with self._lock:
            if url == self.url:
                return  # another thread was first
            engine = self._open(url)
            if self._lease is not None:
                self.engine.lead(False)
                engine.lead(True)
            self._former.append(self.engine)
            self.engine, self.url = engine, url

    def _followed(self, standing: Standing, wait: float) -> int:
        self.engine.refresh()
        if not self._behind(standing):
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
        """Close the engine, and former ones."""
        with self._lock:
            for engine in (self.engine, *self._former):
                engine.close()

    def _apply(self, told: Callable[[int, int], None] | None = None) -> None:
        self.engine.refresh()
        mark = self.engine.watermark()
        standing = self._log.standing()
        if mark is not None and mark.base != standing.base and self.url != LOCAL:
            # Two bases would take the place from each other at every search.
            raise KnowledgeBaseError(_FOREIGN)
        if mark is not None and self._strayed(mark, standing):
            # The numbers of the two logs say different things, also to the other copy.
            self._log.new_epoch()
            standing = self._log.standing()
        if mark is None or not self._follows(mark, standing):
            # Emptied, restored from elsewhere, or ahead of a restored catalog: start anew.
            self.engine.reset(standing.base, standing.epoch)
            after = 0
        else:
            after = mark.seq
        # Counting all of a long log takes as long as some searches.
        total = self._log.count_changes(0) if told is not None else 0
        done = total - self._log.count_changes(after) if told is not None else 0
        if told is not None:
            told(done, total)
        whole = (after, standing.seq) if self.engine.writes_whole else None
        while batch := self._log.changes(after, BATCH, whole=whole):
            if self._lease is None or not self._lease.held():
                raise KnowledgeBaseError(
                    "The connection by which this process alone may write to the search index was lost; what was "
                    "written is kept, and the next search or add goes on."
                )
            if self.engine.place:
                self._log.applying(self.engine.place, after, batch[-1].seq)
            self.engine.apply(batch)
            after = batch[-1].seq
            if told is not None:
                # Some changes are left out, others have come since.
                left = self._log.count_changes(after)
                told(max(total, left) - left, max(total, left))
