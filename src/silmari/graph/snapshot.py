"""Arrays of the graph on disk, mapped into memory when they are read.

Each part is a file of arrays that is never written again, and a small JSON file that names it and is replaced
atomically. What is damaged, of another layout or unfinished counts as not there: it can always be built anew.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine.local_state import replace, sync_folder

# Raised when the arrays or what they mean change.
_LAYOUT = 1
_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Saved:
    """A part as it was kept.

    Attributes:
        epoch: Of the catalog's log.
        seq: The last change that is in.
        arrays: By name; they cannot be written to.
    """

    epoch: str
    seq: int
    arrays: Mapping[str, NDArray[Any]]


class Snapshots:
    """The parts of a base's graph on disk. Only one process at a time may save.

    Args:
        folder: Where they are; it is made when something is saved.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str) -> Saved | None:
        """A part, or None if it is not there or not as it was written."""
        try:
            state = json.loads((self._folder / f"{name}.json").read_bytes())
            if state["layout"] != _LAYOUT:
                return None
            # As a plain array, which is faster to take parts of.
            data = np.asarray(np.memmap(self._folder / state["file"], np.uint8, "r"))
            if len(data) != state["size"] or zlib.crc32(data.data) != state["check"]:
                return None
            arrays = {
                key: data[start : start + np.dtype(kind).itemsize * int(np.prod(shape))].view(kind).reshape(shape)
                for key, (kind, shape, start) in state["arrays"].items()
            }
            return Saved(str(state["epoch"]), int(state["seq"]), arrays)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, name: str, saved: Saved) -> bool:
        """Keep a part instead of the former one; False if it cannot be written, which leaves the former one."""
        try:
            self._folder.mkdir(exist_ok=True)
            fresh = self._fresh(name)
            try:
                self._write(name, fresh, saved)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
        except OSError:
            return False
        self._clean(name, fresh)
        return True

    def _write(self, name: str, fresh: Path, saved: Saved) -> None:
        places: dict[str, tuple[str, tuple[int, ...], int]] = {}
        check = start = 0
        with fresh.open("xb") as file:
            for key, array in saved.arrays.items():
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                places[key] = array.dtype.str, array.shape, start
                # No file may be empty, since nothing could be mapped.
                padded = b"\0" * (_ALIGNED - raw.size % _ALIGNED)
                for part in (raw.data, padded):
                    file.write(part)
                    check = zlib.crc32(part, check)
                start += raw.size + len(padded)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._folder)
        state = {
            "layout": _LAYOUT,
            "file": fresh.name,
            "size": start,
            "check": check,
            "epoch": saved.epoch,
            "seq": saved.seq,
            "arrays": places,
        }
        beside = self._folder / f"{name}.json.new"
        with beside.open("wb") as file:
            file.write(json.dumps(state).encode())
            file.flush()
            os.fsync(file.fileno())
        replace(beside, self._folder / f"{name}.json")

    def _fresh(self, name: str) -> Path:
        """A file that was never there, so that nothing a reader has open is written over."""
        numbers = [int(match[1]) for path in self._folder.iterdir() if (match := _file(name).fullmatch(path.name))]
        return self._folder / f"{name}-{max(numbers, default=0) + 1}.bin"

    def _clean(self, name: str, kept: Path) -> None:
        for path in self._folder.iterdir():
            if _file(name).fullmatch(path.name) and path != kept:
                try:
                    path.unlink()
                except OSError:  # Windows: a reader still has it mapped
                    continue


def _file(name: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(name)}-(\d+)\.bin")
