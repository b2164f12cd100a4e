"""Several processes at one base: readers beside a writer, writers one after the other, sudden death."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from catalog_samples import FINGERPRINTS, dump, embed, mirror, numbers, put, read

from silmari.catalog.catalog import Catalog

HEAD = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv.pop())
from catalog_samples import *
catalog = Catalog.open(Path(sys.argv[1]), FINGERPRINTS, url=sys.argv[2])
"""


def start(folder: Path, url: str, script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + script, str(folder), url, *arguments, str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=100)
    assert (process.returncode, errors) == (0, "")
    return output


def test_processes_that_make_one_base_at_the_same_moment(tmp_path: Path, url: str) -> None:
    script = "print(catalog.identity()[0]); put(catalog, read(f'/{sys.argv[3]}', sys.argv[3]))"
    started = [start(tmp_path / "kb", url, script, str(n)) for n in range(4)]
    assert len({finish(process) for process in started}) == 1
    with Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url) as catalog:
        assert [one.uri for one in catalog.documents()] == ["/0", "/1", "/2", "/3"]


def test_others_read_whole_versions_while_one_writes(tmp_path: Path, url: str) -> None:
    script = """
counts = set()
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    document = catalog.document("/a")
    texts = {one.text.split()[0] for one in catalog.passages_of(document.id)}
    assert len(texts) <= 1, texts  # never passages of two versions
    counts |= texts
    Path(sys.argv[3]).touch()
    if "end" in texts: break
print(len(counts))
"""
    with Catalog.open(tmp_path, FINGERPRINTS, url=url) as catalog:
        put(catalog, read("/a", *(f"start {n}" for n in range(50))))
        ready = [tmp_path / f"ready-{n}" for n in range(2)]
        readers = [start(tmp_path, url, script, str(path)) for path in ready]
        version = 0
        begun = time.monotonic()
        # On a busy machine it takes a while until both read.
        while time.monotonic() - begun < (1 if all(path.exists() for path in ready) else 60):
            put(catalog, read("/a", *(f"v{version} {n}" for n in range(50))))
            version += 1
        put(catalog, read("/a", *(f"end {n}" for n in range(50))))
        assert all(int(finish(reader)) >= 2 for reader in readers)


def test_writers_take_turns_and_the_log_misses_nothing(tmp_path: Path, url: str) -> None:
    script = "for n in range(20): put(catalog, read(f'/{sys.argv[3]}/{n}', f'{sys.argv[3]} {n}'))"
    with Catalog.open(tmp_path, FINGERPRINTS, url=url) as catalog:
        started = [start(tmp_path, url, script, str(n)) for n in range(2)]
        threads = [
            threading.Thread(target=lambda t=t: [put(catalog, read(f"/t{t}/{n}", f"t{t} {n}")) for n in range(20)])
            for t in range(2)
        ]
        for thread in threads:
            thread.start()
        engine: dict = {}
        after = 0
        while any(process.poll() is None for process in started) or any(thread.is_alive() for thread in threads):
            after = mirror(catalog, engine, after, 7)
            embed(catalog, 5)
        for process in started:
            finish(process)
        embed(catalog)
        mirror(catalog, engine, after)
        anew: dict = {}
        mirror(catalog, anew, 0)
        assert len(anew) == 80
        assert engine == anew


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_was_acknowledged_is_lost_by_a_kill(tmp_path: Path, url: str, seed: int) -> None:
    script = """
n = 0
while True:
    n += 1
    put(catalog, read(f"/{n % 7}", *(f"{n} {i}" for i in range(n % 40 + 1))))
    print("put", n, flush=True)
    if n % 3 == 0:
        embed(catalog, 10)
        print("embedded", n, flush=True)
    if n % 5 == 0:
        catalog.remove([f"/{(n + 1) % 7}"])
        print("removed", n, flush=True)
"""
    with Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url) as catalog:
        put(catalog, read("/first", "처음"))
    with start(tmp_path / "kb", url, script) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 0.5))
        writer.kill()
        said = [line.split() for line in (first + writer.stdout.read()).splitlines() if len(line.split()) == 2]
    with Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url) as catalog:
        assert catalog.check() is None
        if url == "sqlite":
            with catalog._store.read() as connection:
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        held: dict[str, int] = {}
        for verb, number in said:
            n = int(number)
            if verb == "put":
                held[f"/{n % 7}"] = n
            elif verb == "removed":
                held.pop(f"/{(n + 1) % 7}", None)
        n = int(said[-1][1])
        # The step after the last acknowledged one may be there or not.
        unsure = {f"/{(n + 1) % 7}"}
        for uri, version in held.items():
            if uri not in unsure:
                texts = [one.text for one, _ in catalog.passages(numbers(catalog, uri)).values()]
                assert texts == [f"{version} {i}" for i in range(version % 40 + 1)]
        assert {one.uri for one in catalog.documents()} - unsure == {"/first", *held} - unsure
        embed(catalog)
        engine: dict = {}
        mirror(catalog, engine, 0)
        assert len(engine) == catalog.statistics().passages == len(dump(catalog)["passages"])
        assert all(vector is not None and vector[0] is not None for _, vector in engine.values())
