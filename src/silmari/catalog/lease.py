"""The lease on a base: the one process that brings the engine up to date."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from silmari.errors import KnowledgeBaseError


class Lease:
    """Held by at most one `Lease` at a time, over processes and threads; ends with its process.

    Take one with `Lease.try_take`, and leave it with `release`.
    """

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    @classmethod
    def try_take(cls, folder: Path, *, timeout: float = 0.0, name: str = "engine") -> Lease | None:
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
        return cls(lock)

    def held(self) -> bool:
        """Whether it was not given back."""
        return self._lock.is_locked

    def release(self) -> None:
        """Give the lease back; does nothing the second time."""
        if self._lock.is_locked:
            self._lock.release()
