"""A history that anyone can work out from the watermark alone, and programs that write and read it.

Batch n adds the passages 10 n to 10 n + 9 and removes those of batch n − 4, so that four batches live.
Run as ``python engine_writer.py write|read|dawdle FOLDER LAST``.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np
from engine_reference import ALL, Reference, changes, random_unit, record

from silmari.engine import local
from silmari.engine.base import Change

QUESTION = random_unit(5).astype(np.float32)
STEP = 100


def batch(n: int) -> list[Change]:
    """Its seqs begin at 100 n + 1 and are fewer than 100."""
    added = [record(10 * n + i, f"서울 batch{n} word{i}", seed=10 * n + i, day=20240101) for i in range(10)]
    gone = [10 * (n - 4) + i for i in range(10)] if n > 4 else [5]  # 5 was never there
    return changes([*added, *gone], start=STEP * n + 1)


def living(seq: int) -> set[int]:
    n = seq // STEP
    return {id for id in range(10 * max(n - 3, 1), 10 * n + 10)} if seq >= STEP else set()


def reference(seq: int) -> Reference:
    truth = Reference()
    for n in range(1, seq // STEP + 1):
        truth.apply(batch(n))
    return truth


def small_files() -> None:
    """Graphs and rewriting from a few rows on, so that short histories meet them."""
    local.EXACT_ROWS = 20
    local._GROW_ROWS = 10
    local._DEAD_ENTRIES = 15


def write(folder: Path, last: int) -> None:
    """Go on from the watermark; each finished batch is reported on standard output."""
    engine = local.LocalEngine(folder)
    mark = engine.watermark()
    if mark is None:
        engine.reset("base", "epoch")
    for n in range((mark.seq if mark else 0) // STEP + 1, last + 1):
        engine.apply(batch(n))
        sys.stdout.write(f"{n}\n")
        sys.stdout.flush()
    engine.close()


def dawdle() -> None:
    """Make this reader slow between learning what is published and opening it, so that a writer overtakes it."""
    parse, chance = local.parse, random.Random(1)

    def slow(raw: bytes) -> local.State | None:
        time.sleep(chance.choice([0, 0, 0.05, 0.2]))
        return parse(raw)

    local.parse = slow


def read(folder: Path, last: int) -> None:
    """Search until batch `last` is seen; every answer must be that of the watermark it was given under."""
    engine = local.LocalEngine(folder, writable=False)
    cosines: dict[int, float] = {}
    seen = set()
    while True:
        engine.refresh()
        mark = engine.watermark()
        if mark is None:
            continue
        found = engine.dense("passage", QUESTION, 1_000, ALL)
        assert {id for id, _ in found} == living(mark.seq), (mark, sorted(found))
        near = engine.dense("passage", QUESTION, 3, ALL)
        assert len(near) == 3 or not mark.seq, (mark, near)
        for id, cosine in [*found, *near]:
            if id not in cosines:
                own = random_unit(id).astype(np.float32)
                cosines[id] = float(own @ QUESTION / np.linalg.norm(own) / np.linalg.norm(QUESTION))
            assert abs(cosine - cosines[id]) < 1e-5, (mark, id)
        # The text may be ahead of the watermark, never behind it nor in between.
        texts = {id for id, _ in engine.sparse({"서울": 1.0}, 1_000, ALL)}
        assert any(texts == living(mark.seq + STEP * ahead) for ahead in range(last + 1)), (mark, texts)
        seen.add(mark.seq)
        if mark.seq // STEP >= last:
            break
    engine.close()
    sys.stdout.write(f"{len(seen)}\n")


if __name__ == "__main__":
    small_files()
    if sys.argv[1] == "dawdle":
        dawdle()
    {"write": write, "read": read, "dawdle": read}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
