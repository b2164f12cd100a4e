"""A server that speaks Elasticsearch's interface (noida-db), started for the tests and always stopped.

A cluster of one's own is tested instead when the variable SILMARI_TEST_ES_URL names it, as an engine URL without prefix
(``elasticsearch+https://KEY@host:9200?ca_certs=…``); what the tests make there begins with ``silmari-test-`` and is
removed at the end.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from silmari.engine.base import Engine
from silmari.engine.elastic_address import Address, parse

PREFIX = "silmari-test"


class Server:
    """One process of noida-db with a folder of its own."""

    def __init__(self, folder: Path | None = None) -> None:
        if not find_spec("noida_db") or not find_spec("elasticsearch"):
            pytest.skip("needs the packages noida-db and elasticsearch")
        self._own = folder is None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="silmari-noida-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"elasticsearch+http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # The package's command would start it as a child that outlives a kill.
        binary = Path(str(files("noida_db"))) / ("noida-db.exe" if os.name == "nt" else "noida-db")
        binary.chmod(0o755)
        options = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--only", "elasticsearch"]
        self._process = subprocess.Popen(
            [str(binary), "start", *options, "--elasticsearch-port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        until = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}", timeout=2):
                    return
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    self.kill()
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        self._end(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)

    def end(self) -> None:
        self._end(signal.SIGTERM)

    def stop(self) -> None:
        self.end()
        if self._own:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@functools.cache
def shared_url() -> str:
    """Of the server that most tests share, each with a prefix of its own."""
    if given := os.environ.get("SILMARI_TEST_ES_URL"):
        atexit.register(_clean, given)
        return given
    server = Server()
    atexit.register(server.stop)
    return server.url


def address(folder: Path, url: str | None = None) -> Address:
    """A place on the shared server (or on that at `url`) that belongs to this folder."""
    parts = urlsplit(url or shared_url())
    own = hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()
    return parse(parts._replace(path=f"/{PREFIX}-{own}").geturl(), os.environ.get("SILMARI_ENGINE_API_KEY"))


def elastic(folder: Path) -> Engine:
    place = address(folder)
    from silmari.engine.elastic import ElasticEngine

    return ElasticEngine(place)


def _clean(url: str) -> None:
    from silmari.engine.elastic_client import connect

    with connect(parse(url, os.environ.get("SILMARI_ENGINE_API_KEY"))) as client:
        made = client.options(ignore_status=404).indices.get_alias(index=f"{PREFIX}-*").body
        for name in made:
            if name.startswith(PREFIX):
                client.indices.delete(index=name)
