"""One process writes, others read; the writer is killed at any moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import engine_writer
import pytest
import url_writer
from engine_reference import ALL, assert_top
from engine_writer import QUESTION, STEP, batch, living, reference

from silmari.engine import open_engine
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
    for _ in range(50):
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


def _lite(folder: Path) -> str:
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    return f"milvus:{folder}/milvus.db"


def _milvus(folder: Path) -> str:
    pytest.importorskip("pymilvus", reason="needs the package pymilvus")
    from milvus_server import server_url

    return f"{server_url()}?consistency=strong"


def _elastic(folder: Path) -> str:
    from elastic_server import address, shared_url

    return f"{shared_url()}/{address(folder).prefix}"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("url_of", [_lite, _milvus, _elastic])
def test_nothing_is_lost_on_other_engines_when_the_writer_is_killed(
    tmp_path: Path, url_of: Callable[[Path], str]
) -> None:
    url, chance = url_of(tmp_path), random.Random(20240131)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    acknowledged = 0
    for _ in range(50):
        writer = subprocess.Popen(
            [sys.executable, url_writer.__file__, url, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(chance.uniform(0, 0.6))
        writer.kill()
        rest, errors = writer.communicate()
        assert first, errors
        acknowledged = int((first + rest).split()[-1])
    engine = open_engine(url, tmp_path)
    engine.lead(True)
    mark = engine.watermark()
    assert mark is not None
    assert mark.seq // STEP in (acknowledged, acknowledged + 1)
    for n in (mark.seq // STEP + 1, mark.seq // STEP + 2):
        engine.apply(batch(n))
    mark = engine.watermark()
    assert mark is not None
    assert {id for id, _ in engine.dense("passage", QUESTION, 1_000, ALL)} == living(mark.seq)
    assert {id for id, _ in engine.sparse({"서울": 1.0}, 1_000, ALL)} == living(mark.seq)
    assert engine.counts() == {"texts": 40, "vectors": 40}
    engine.close()
