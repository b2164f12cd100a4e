"""One process writes, others read; the writer is killed at any moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import engine_writer
import pytest
from engine_reference import ALL, assert_top
from engine_writer import QUESTION, STEP, living, reference

from silmari.engine.local import LocalEngine


def start(what: str, folder: Path, last: int) -> subprocess.Popen[str]:
    source = Path(__file__).parents[2] / "src"
    return subprocess.Popen(
        [sys.executable, "-W", "error", engine_writer.__file__, what, str(folder), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def test_readers_follow_a_writer(tmp_path: Path) -> None:
    last = 12
    readers = [start(what, tmp_path / "engine", last) for what in ("read", "dawdle")]
    writer = start("write", tmp_path / "engine", last)
    try:
        for process in (writer, *readers):
            _, errors = process.communicate(timeout=90)
            assert process.returncode == 0, errors
    finally:
        for process in (writer, *readers):
            process.kill()
            process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_published_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    chance = random.Random(20240131)
    folder = tmp_path / "engine"
    acknowledged = 0
    for _ in range(25):
        writer = start("write", folder, 10_000)
        assert writer.stdout is not None
        first = writer.stdout.readline()  # it is at work
        time.sleep(chance.uniform(0, 0.3))
        writer.kill()
        rest, errors = writer.communicate()
        assert not errors
        acknowledged = int((first + rest).split()[-1])
        engine = LocalEngine(folder, writable=False)
        mark = engine.watermark()
        assert mark is not None
        assert mark.seq // STEP in (acknowledged, acknowledged + 1)
        assert {id for id, _ in engine.dense("passage", QUESTION, 1_000, ALL)} == living(mark.seq)
        engine.close()
    end = acknowledged + 2
    writer = start("write", folder, end)
    _, errors = writer.communicate(timeout=60)
    assert writer.returncode == 0, errors
    engine = LocalEngine(folder)
    engine.compact()
    truth = reference(end * STEP)
    tokens = {"서울": 1.0, f"batch{end}": 1.0, "word3": 2.0}
    assert_top(engine.sparse(tokens, 15, ALL), truth.sparse(tokens), 15, 1e-4)
    assert_top(engine.dense("passage", QUESTION, 15, ALL), truth.dense("passage", QUESTION), 15, 2e-6)
    assert engine.counts() == {"texts": 40, "vectors": 40}
    engine.close()
