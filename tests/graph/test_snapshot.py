"""Arrays on disk: they come back as they were, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from silmari.graph import snapshot
from silmari.graph.snapshot import Saved, Snapshots

ARRAYS = {
    "numbers": np.arange(7, dtype=np.int32),
    "none": np.empty(0, np.int64),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bytes": np.frombuffer("가나다".encode(), np.uint8),
    "one": np.broadcast_to(np.float32(1), 3),
}


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    kept = Snapshots(tmp_path / "graph")
    assert kept.load("facts") is None
    assert kept.save("facts", Saved("epoch", 12, ARRAYS))
    found = Snapshots(tmp_path / "graph").load("facts")
    assert found is not None and (found.epoch, found.seq) == ("epoch", 12)
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
        assert not found.arrays[name].flags.writeable
    assert kept.load("links") is None


def test_the_former_ones_go_while_they_may_be_in_use(tmp_path: Path) -> None:
    kept = Snapshots(tmp_path)
    kept.save("facts", Saved("a", 1, ARRAYS))
    before = kept.load("facts")
    kept.save("facts", Saved("a", 2, {"numbers": np.zeros(3)}))
    kept.save("links", Saved("a", 5, {}))
    after = kept.load("facts")
    assert before is not None and before.arrays["numbers"].tolist() == list(range(7))
    assert after is not None and after.seq == 2 and list(after.arrays) == ["numbers"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "facts-2.bin",
        "facts.json",
        "links-1.bin",
        "links.json",
    ]


def _cut(folder: Path) -> None:
    os.truncate(folder / "facts-1.bin", 10)


def _flip(folder: Path) -> None:
    raw = bytearray((folder / "facts-1.bin").read_bytes())
    raw[5] ^= 1
    (folder / "facts-1.bin").write_bytes(raw)


def _change(**fields: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        state = json.loads((folder / "facts.json").read_text("utf-8"))
        (folder / "facts.json").write_text(json.dumps(state | fields), "utf-8")

    return change


DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut": _cut,
    "flipped": _flip,
    "gone": lambda folder: (folder / "facts-1.bin").unlink(),
    "empty": lambda folder: os.truncate(folder / "facts-1.bin", 0),
    "no JSON": lambda folder: (folder / "facts.json").write_bytes(b"\xff{"),
    "a list": lambda folder: (folder / "facts.json").write_bytes(b"[1]"),
    "no fields": lambda folder: (folder / "facts.json").write_bytes(b'{"layout": 1}'),
    "another layout": _change(layout=99),
    "a place that is not there": _change(arrays={"numbers": ["<i4", [10_000], 0]}),
    "a kind that is none": _change(arrays={"numbers": ["what", [1], 0]}),
    "a folder": lambda folder: ((folder / "facts.json").unlink(), (folder / "facts.json").mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_not_there_and_can_be_written_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    kept = Snapshots(tmp_path)
    kept.save("facts", Saved("a", 1, ARRAYS))
    damage(tmp_path)
    assert kept.load("facts") is None
    if (tmp_path / "facts.json").is_dir():
        (tmp_path / "facts.json").rmdir()
    assert kept.save("facts", Saved("a", 3, ARRAYS))
    assert kept.load("facts") is not None


def test_a_write_that_fails_leaves_the_former_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Snapshots(tmp_path)
    kept.save("facts", Saved("a", 1, ARRAYS))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot, "replace", full)
    assert not kept.save("facts", Saved("a", 2, ARRAYS))
    found = kept.load("facts")
    assert found is not None and found.seq == 1
    assert [path.name for path in tmp_path.glob("*.bin")] == ["facts-1.bin"]
    (tmp_path / "file").write_bytes(b"")
    assert not Snapshots(tmp_path / "file").save("facts", Saved("a", 2, ARRAYS))
