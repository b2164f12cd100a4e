from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from silmari.catalog.vector_cache import FILE_NAME, VectorCache, text_hash


def vectors(*texts: str, dim: int = 8) -> dict[bytes, np.ndarray]:
    return {text_hash(text): np.full(dim, len(text), np.float16) for text in texts}


def test_the_hash_is_of_the_exact_text() -> None:
    assert text_hash("서울") == text_hash("서울")
    assert len(text_hash("")) == 16
    assert len({text_hash(text) for text in ("서울", "서울 ", "\u1109\u1165\u110b\u116e\u11af", "\ud800")}) == 4


def test_what_was_put_is_found_by_embedder_and_hash(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "new" / "folder") as cache:
        cache.put_many("e5", vectors("가", "나나"))
        cache.put_many("other", vectors("가", dim=4))
        found = cache.get_many("e5", [text_hash("가"), text_hash("나나"), text_hash("없음"), text_hash("가")])
        assert {key: vector.tolist() for key, vector in found.items()} == {
            text_hash("가"): [1] * 8,
            text_hash("나나"): [2] * 8,
        }
        assert found[text_hash("가")].dtype == np.float16
        assert cache.get_many("other", [text_hash("가")])[text_hash("가")].shape == (4,)
        assert cache.get_many("unknown", [text_hash("가")]) == {}
    with VectorCache(tmp_path / "new" / "folder") as again:
        assert len(again.get_many("e5", vectors("가", "나나"))) == 2
        assert again.problem is None


def test_more_than_one_batch(tmp_path: Path) -> None:
    many = {text_hash(str(n)): np.array([n], np.float32) for n in range(1234)}
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", many)
        found = cache.get_many("e", many)
    assert {key: int(vector[0]) for key, vector in found.items()} == {key: int(v[0]) for key, v in many.items()}


def test_vectors_that_are_not_finite_are_not_kept(tmp_path: Path) -> None:
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", {b"nan": np.array([np.nan]), b"huge": np.array([1e9]), b"none": np.array([])})
        assert cache.get_many("e", [b"nan", b"huge", b"none"]) == {}


def test_a_corrupt_file_is_passed_over(tmp_path: Path) -> None:
    content = b"this is no database, but it is long enough to be read as one" * 99
    (tmp_path / FILE_NAME).write_bytes(content)
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", vectors("가"))
        assert cache.get_many("e", vectors("가")) == {}
        assert cache.problem is not None
        assert FILE_NAME in cache.problem
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_pages_that_rot_later_break_nothing(tmp_path: Path) -> None:
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", {text_hash(str(n)): np.zeros(384, np.float16) for n in range(200)})
    file = tmp_path / FILE_NAME
    rotten = bytearray(file.read_bytes())
    rotten[4096:] = b"\xff" * (len(rotten) - 4096)
    file.write_bytes(rotten)
    with VectorCache(tmp_path) as cache:
        assert cache.get_many("e", [text_hash("1")]) == {}
        cache.put_many("e", vectors("가"))
        assert cache.problem is not None


def test_a_folder_that_cannot_be_made_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    cache = VectorCache(tmp_path / "file" / "cache")
    cache.put_many("e", vectors("가"))
    assert cache.get_many("e", vectors("가")) == {}
    assert cache.problem is not None


def test_a_locked_cache_is_used_again_once_it_is_free(tmp_path: Path) -> None:
    with VectorCache(tmp_path, timeout=0.05) as cache:
        other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cache.put_many("e", vectors("가"))
        assert cache.problem is not None
        assert "locked" in cache.problem
        other.execute("ROLLBACK")
        other.close()
        cache.put_many("e", vectors("가"))
        assert len(cache.get_many("e", vectors("가"))) == 1


def test_threads_and_processes_share_one_file(tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np; from pathlib import Path; from silmari.catalog.vector_cache import *\n"
        "cache = VectorCache(Path(sys.argv[1]))\n"
        "for n in range(50): cache.put_many('e', {text_hash(f'{sys.argv[2]} {n}'): np.ones(8)})\n"
        "assert cache.problem is None, cache.problem\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name], env={**os.environ}) for name in "ab"
    ]
    with VectorCache(tmp_path) as cache:
        threads = [
            threading.Thread(target=lambda name=name: [cache.put_many("e", vectors(f"{name} {n}")) for n in range(50)])
            for name in "cd"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [process.wait(60) for process in running] == [0, 0]
        assert cache.problem is None
        assert len(cache.get_many("e", (text_hash(f"{name} {n}") for name in "abcd" for n in range(50)))) == 200
