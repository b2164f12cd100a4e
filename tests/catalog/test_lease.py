from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from silmari.catalog.lease import Lease
from silmari.errors import KnowledgeBaseError

HOLD = """
import sys, time
from pathlib import Path
from silmari.catalog.lease import Lease
lease = Lease.try_take(Path(sys.argv[1]))
print(lease is not None, flush=True)
time.sleep(60)
"""


def take(folder: Path, name: str = "engine") -> Lease:
    lease = Lease.try_take(folder, name=name)
    assert lease is not None
    return lease


def test_only_one_holds_it(tmp_path: Path) -> None:
    lease = take(tmp_path)
    assert Lease.try_take(tmp_path) is None
    take(tmp_path, "moving").release()
    assert lease.held()
    lease.release()
    assert not lease.held()
    again = take(tmp_path)
    again.release()
    again.release()


def test_releasing_twice_does_not_end_anothers_lease(tmp_path: Path) -> None:
    first = take(tmp_path)
    first.release()
    second = take(tmp_path)
    first.release()
    assert Lease.try_take(tmp_path) is None
    second.release()


def test_it_may_be_given_back_in_another_thread(tmp_path: Path) -> None:
    lease = take(tmp_path)
    thread = threading.Thread(target=lease.release)
    thread.start()
    thread.join()
    take(tmp_path).release()


def test_it_ends_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert Lease.try_take(tmp_path) is None
        holder.kill()
        holder.wait()
    lease = Lease.try_take(tmp_path, timeout=5)
    assert lease is not None
    lease.release()


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match="cannot be locked"):
        Lease.try_take(tmp_path / "file")
