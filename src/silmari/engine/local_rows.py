"""Writing vectors: rows are appended or marked dead, and rewritten when too many are dead."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Record
from silmari.engine.local_state import VectorState
from silmari.engine.local_vectors import DEAD, HALF, ROW, Vectors, category_code
from silmari.errors import KnowledgeBaseError
from silmari.model import Kind

_BLOCK = 8_192


class Batch:
    """What a set of changes means for the files of one kind: rows to append and rows to mark dead.

    Making one checks everything and writes nothing.

    Args:
        current: The published rows.
        records: By id; None, or a record without a vector, for those that shall have none.

    Raises:
        KnowledgeBaseError: A vector is not finite or not as long as the others.
    """

    def __init__(self, current: Vectors, records: Mapping[int, Record | None]) -> None:
        dim = current.state.dim
        table: list[tuple[int, int, int, int, float]] = []
        matrix: list[NDArray[np.float16]] = []
        dead: list[int] = []
        rows = current.rows_of(list(records)).tolist()
        for (id, record), row in zip(records.items(), rows, strict=True):
            if record is not None and record.vector is not None:
                vector = _checked(record.vector, dim, current.kind, id)
                dim = len(vector)
                length = float(np.linalg.norm(vector.astype(np.float32)))
                entry = (
                    id,
                    record.document_id,
                    category_code(record.category),
                    record.day or 0,
                    1 / length if length else 0.0,
                )
                if row >= 0 and _same(current, row, entry, vector):
                    continue
                table.append(entry)
                matrix.append(vector)
            if row >= 0:
                dead.append(row)
        self.kind: Kind = current.kind
        self._state = current.state
        self._stem = f"{current.kind}-{current.state.generation}"
        self._dim = dim
        self._table = np.array(table, dtype=ROW)
        self._matrix = np.array(matrix, dtype=HALF).reshape(len(matrix), dim)
        self._dead = np.array(dead, dtype=DEAD)

    def write(self, folder: Path) -> VectorState:
        """Write behind what is published, durably; it counts once the returned state is published."""
        state = self._state
        if len(self._table):
            _write_at(folder / f"{self._stem}.f16", state.rows * self._dim * HALF.itemsize, self._matrix)
            _write_at(folder / f"{self._stem}.rows", state.rows * ROW.itemsize, self._table)
        if len(self._dead):
            _write_at(folder / f"{self._stem}.dead", state.dead * DEAD.itemsize, self._dead)
        return replace(state, dim=self._dim, rows=state.rows + len(self._table), dead=state.dead + len(self._dead))


def compact(folder: Path, current: Vectors, generation: int) -> VectorState:
    """Copy the living rows to files of a new generation, without a graph."""
    living = np.flatnonzero(current.alive)
    stem = f"{current.kind}-{generation}"
    for start in range(0, len(living), _BLOCK):
        rows = living[start : start + _BLOCK]
        _write_at(folder / f"{stem}.f16", start * current.state.dim * HALF.itemsize, current.matrix[rows])
        _write_at(folder / f"{stem}.rows", start * ROW.itemsize, current.table[rows])
    # With the last row gone, so is the length they shared: another embedder may start here.
    return VectorState(generation, dim=current.state.dim if len(living) else 0, rows=len(living))


def _checked(vector: NDArray[np.float16], dim: int, kind: Kind, id: int) -> NDArray[np.float16]:
    flat = np.asarray(vector, dtype=HALF).ravel()
    if not len(flat) or (dim and len(flat) != dim):
        raise KnowledgeBaseError(
            f"The vector of {kind} {id} has {len(flat)} numbers where the index holds {dim or 'at least 1'}: "
            "vectors of two embedders cannot be mixed, rebuild the knowledge base with one of them."
        )
    if not np.isfinite(flat).all():
        raise KnowledgeBaseError(f"The vector of {kind} {id} is not finite: check the embedder and embed it again.")
    return flat


def _same(current: Vectors, row: int, entry: tuple[int, int, int, int, float], vector: NDArray[np.float16]) -> bool:
    return bool(current.table[row] == np.array(entry, dtype=ROW)) and np.array_equal(current.matrix[row], vector)


def _write_at(path: Path, offset: int, data: NDArray[Any]) -> None:
    """Write at a place: over what an unpublished write may have left there.

    Cutting that off instead would fail on Windows, where a mapped file cannot be made shorter.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+b") as file:
        file.seek(offset)
        file.write(np.ascontiguousarray(data).data)
        file.flush()
        os.fsync(file.fileno())
