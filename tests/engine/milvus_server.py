"""A real Milvus server from PyPI (2.3.5, the last that a package brings), in an environment of its own.

Run by that environment's Python as ``python milvus_server.py FOLDER``: serves until its input ends, so that it is
stopped even when the tests are killed. It listens on all interfaces.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import venv
from contextlib import suppress
from functools import cache
from pathlib import Path

VERSION = "2.3.5"


def skip(reason: str) -> None:
    """Not imported above: the server's own environment has no pytest."""
    import pytest

    pytest.skip(reason)


class Server:
    """One server with data of its own, which may be stopped and started again at the same port."""

    def __init__(self) -> None:
        self._python = _python()
        self.folder = Path(tempfile.mkdtemp(prefix="silmari-milvus-"))
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        atexit.register(self.end)
        self.start()

    @property
    def url(self) -> str:
        return f"milvus+http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # Two cannot run at once: they lock one file of the system.
        for other in _running:
            other.stop()
        self.process = subprocess.Popen(
            [self._python, __file__, str(self.folder), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            # What stops the tests must not stop it too, before it has stopped the server.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            self.process.kill()
            self.process.communicate()
            raise RuntimeError(f"Milvus {VERSION} does not start, see {self.folder}/logs.")
        self.port = int(line)
        _running.append(self)

    def stop(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None
            _running.remove(self)

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


_running: list[Server] = []


@cache
def _python() -> str:
    """Python of the environment that has the server; made on first use."""
    if given := os.environ.get("SILMARI_TEST_MILVUS_PYTHON"):
        return given
    folder = Path(__file__).parents[2] / ".venv" / f"milvus-{VERSION}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", f"milvus=={VERSION}", "setuptools<80"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            skip(f"Milvus {VERSION} cannot be installed here.")
        (folder / "ready").touch()
    return str(python)


@cache
def _server() -> Server:
    return Server()


def server_url() -> str:
    """The server that all tests share."""
    server = _server()
    if server.process is None:
        server.start()
    return server.url


def serve(folder: str, port: int) -> None:
    from milvus import MilvusServer, MilvusServerConfig

    # As it is, a port that was just given up is passed over, and the server comes back at another one.
    MilvusServerConfig.try_bind_port = _bound
    server = MilvusServer()
    server.set_base_dir(folder)
    if port:
        server.config.configs["proxy_port"] = port
    try:
        server.start()
        sys.stdout.write(f"{server.listen_port}\n")
        sys.stdout.flush()
        sys.stdin.read()
        if server.server_proc:
            # Killed after a second, as `stop` does, it comes back only when its old session has run out.
            server.server_proc.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.server_proc.wait(timeout=20)
    finally:
        server.stop()


def _bound(_: object, port: int) -> socket.socket | None:
    free = socket.socket()
    free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        free.bind(("0.0.0.0", port))
        free.listen()
    except OSError:
        free.close()
        return None
    return free


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
