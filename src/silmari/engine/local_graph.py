"""The HNSW graph over vectors: approximate, checked and completed by its caller."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from silmari.engine.local_state import replace

# Vectors a call of `add`: about 30 ms each, so that Ctrl-C and progress come through.
_PORTION = 64
_REPORT = 1_024
_END = 65_536
# Above this many wanted neighbours an exact scan is as fast.
MOST = 256


class Graph:
    """A saved graph, mapped read-only. Its keys are row numbers.

    Args:
        path: A file that `extend` wrote.
        dim: Length of a vector.
        check: What `extend` returned.

    Raises:
        OSError, RuntimeError: The file is missing or damaged.
    """

    def __init__(self, path: Path, dim: int, check: str) -> None:
        if _checksum(path) != check:
            raise OSError(f"{path} is damaged")
        index = _index(dim, path, view=True)
        self.name = path.name
        self._index = index
        # usearch lets go of the interpreter's lock while it works but shares its scratch space.
        self._lock = threading.Lock()

    def search(self, query: NDArray[np.float16], count: int) -> NDArray[np.int64]:
        """Row numbers of about the `count` nearest."""
        with self._lock:
            keys = self._index.search(query, count, threads=1).keys
        return np.asarray(keys).astype(np.int64)


def _index(dim: int, path: Path | None, *, view: bool) -> Index:
    # With 128, .99 and more of the true ten nearest are found among 100,000. It is not kept in the file.
    return Index(
        ndim=dim,
        metric="cos",
        dtype="f16",
        connectivity=16,
        expansion_add=128,
        expansion_search=128,
        path=path,
        view=view,
    )


def _checksum(path: Path) -> str:
    """Size and both ends of a file. usearch believes what a header says: a wrong one ends the process."""
    size = path.stat().st_size
    with path.open("rb") as file:
        sum = zlib.crc32(file.read(_END))
        file.seek(max(size - _END, 0))
        return f"{size}-{zlib.crc32(file.read(_END), sum):08x}"


def extend(
    old: Path | None,
    new: Path,
    matrix: NDArray[np.float16],
    rows: NDArray[np.int64],
    on_progress: Callable[[int, int], None] | None,
) -> str:
    """Add rows of `matrix` to the graph `old` (None: an empty one) and save it as `new`, durably.

    About 2,000 rows a second at 384 dimensions.

    Args:
        old: The graph so far; it stays as it is.
        new: Where the grown graph appears, whole or not at all.
        matrix: Shape (rows, dim).
        rows: Which rows to add.
        on_progress: Told (rows added, rows to add) about twice a second.

    Returns:
        What tells a damaged file: give it to `Graph`.
    """
    index = _index(matrix.shape[1], old, view=False)
    for start in range(0, len(rows), _PORTION):
        part = rows[start : start + _PORTION]
        index.add(part, matrix[part])
        done = start + len(part)
        if on_progress is not None and (done % _REPORT == 0 or done == len(rows)):
            on_progress(done, len(rows))
    fresh = new.with_name(f"{new.name}.new")
    index.save(str(fresh))
    with fresh.open("r+b") as file:
        os.fsync(file.fileno())
    check = _checksum(fresh)
    replace(fresh, new)
    return check
