"""The lease on a base: the one process that brings the engine up to date."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from silmari.errors import BusyError, KnowledgeBaseError

_NAME = "engine"


class Lease:
    """Held by at most one `Lease` at a time, over processes and threads; ends with its process.

    Take one with `Lease.take` or `Lease.try_take`, and leave it with `release` or by ``with``.
    """

    def __init__(self, holder: Path, lock: FileLock) -> None:
        self._holder = holder
        self._lock = lock

    @classmethod
    def try_take(cls, folder: Path, *, timeout: float = 0.0, name: str = _NAME) -> Lease | None:
        """The lease on the base in `folder`, or None while another holds it.

        Args:
            folder: The folder of the base.
            timeout: Seconds to wait for it.
            name: What for; each name is a lease of its own.

        Raises:
            KnowledgeBaseError: The lock file cannot be written.
        """
        # Not bound to a thread: a server may take it in one and give it back in another.
        lock = FileLock(folder / f"{name}.lock", thread_local=False)
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            return None
        except OSError as error:
            raise KnowledgeBaseError(
                f"The knowledge base {folder} cannot be locked ({error.strerror or error}); "
                "check the rights of the folder."
            ) from error
        holder = folder / f"{name}.pid"
        lease = cls(holder, lock)
        try:
            holder.write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            # Only messages need it; a full disk must not keep anyone from searching.
            holder.unlink(missing_ok=True)
        return lease

    @classmethod
    def take(cls, folder: Path, *, timeout: float = 0.0) -> Lease:
        """The lease, or an error that names its holder.

        Raises:
            BusyError: Another process holds it.
        """
        lease = cls.try_take(folder, timeout=timeout)
        if lease is None:
            pid = cls.holder(folder)
            named = f"Another process (pid {pid})" if pid else "Another process"
            raise BusyError(
                f"{named} is building the knowledge base {folder}; wait until it is done or stop it, "
                "and run this again."
            )
        return lease

    @staticmethod
    def holder(folder: Path) -> int | None:
        """The process that took the lease last, or None if that is unknown; it may have ended since."""
        try:
            return int((folder / f"{_NAME}.pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def held(self) -> bool:
        """Whether it was not given back."""
        return self._lock.is_locked

    def release(self) -> None:
        """Give the lease back; does nothing the second time."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
