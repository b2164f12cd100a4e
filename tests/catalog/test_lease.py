from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from silmari.catalog.lease import Lease
from silmari.errors import BusyError, KnowledgeBaseError

HOLD = """
import sys, time
from pathlib import Path
from silmari.catalog.lease import Lease
lease = Lease.try_take(Path(sys.argv[1]))
print(lease is not None, flush=True)
time.sleep(60)
"""


def test_only_one_holds_it(tmp_path: Path) -> None:
    with Lease.take(tmp_path):
        assert Lease.holder(tmp_path) == os.getpid()
        assert Lease.try_take(tmp_path) is None
        with pytest.raises(BusyError, match=rf"Another process \(pid {os.getpid()}\) is building .*wait until"):
            Lease.take(tmp_path)
    assert Lease.holder(tmp_path) is None
    again = Lease.try_take(tmp_path)
    assert again is not None
    again.release()
    again.release()


def test_releasing_twice_does_not_end_anothers_lease(tmp_path: Path) -> None:
    first = Lease.take(tmp_path)
    first.release()
    with Lease.take(tmp_path):
        first.release()
        assert Lease.holder(tmp_path) == os.getpid()
        assert Lease.try_take(tmp_path) is None


def test_it_may_be_given_back_in_another_thread(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    thread = threading.Thread(target=lease.release)
    thread.start()
    thread.join()
    Lease.take(tmp_path).release()


def test_it_ends_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert Lease.holder(tmp_path) == holder.pid
        assert Lease.try_take(tmp_path) is None
        holder.kill()
        holder.wait()
    lease = Lease.try_take(tmp_path, timeout=5)
    assert lease is not None
    assert Lease.holder(tmp_path) == os.getpid()
    lease.release()


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match="cannot be locked"):
        Lease.try_take(tmp_path / "file")
