"""Elasticsearch beyond the common suite: its URL, faults of the server and of the way to it."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elastic_server import Server, address, elastic
from engine_reference import ALL, Reference, assert_top, changes, random_unit, record

from silmari.engine import open_engine, shown
from silmari.engine.elastic_address import parse
from silmari.errors import KnowledgeBaseError, UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Filter
from silmari.settings import Settings
from word_embeddings import WordEmbeddings

QUESTION = random_unit(99).astype(np.float32)
ITEMS = [record(n, f"서울 word{n}", seed=n, document=n % 3, day=20240100 + n) for n in range(1, 13)]


class Way:
    """Real HTTP between client and server; `faults` are met by the next requests whose path holds the given part."""

    def __init__(self, port: int) -> None:
        self.faults: list[tuple[str, str]] = []
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        way, target = self, f"http://127.0.0.1:{port}"

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                way.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                fault = next((fault for fault in way.faults if fault[0] in self.path), None)
                if fault:
                    way.faults.remove(fault)
                self.reply(*way.treat(fault[1] if fault else "", target, self, body))

            def reply(self, status: int, body: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("X-Elastic-Product", "Elasticsearch")
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        self.url = f"elasticsearch+http://127.0.0.1:{self.server.server_address[1]}"

    def treat(self, fault: str, target: str, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        if fault.isdigit():
            error = {"type": "made", "reason": "a made failure"}
            return int(fault), json.dumps({"error": error, "status": int(fault)}).encode()
        if fault == "slow":
            time.sleep(1.0)
        kept = {name: value for name, value in request.headers.items() if name.lower() in {"content-type", "accept"}}
        made = urllib.request.Request(target + request.path, body or None, kept, method=request.command)
        try:
            with urllib.request.urlopen(made, timeout=10) as answer:
                status, sent = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, sent = error.code, error.read()
            error.close()
        if fault.startswith("item"):
            told = json.loads(sent)
            told["errors"] = True
            told["items"][0]["index"] |= {"status": int(fault[4:]), "error": {"type": "made", "reason": "a made one"}}
            sent = json.dumps(told).encode()
        return status, sent

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def way(server: Server) -> Iterator[Way]:
    way = Way(server.port)
    yield way
    way.close()


def engine_at(folder: Path, url: str) -> Any:
    from silmari.engine.elastic import ElasticEngine

    return ElasticEngine(address(folder, url))


def truth() -> Reference:
    reference = Reference()
    reference.apply(changes(ITEMS))
    return reference


def test_urls_say_all(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    place = parse(
        f"elasticsearch+https://a%2Fb%3D@es.example/office?ca_certs={bundle}&timeout=5&shards=2&replicas=0", "x"
    )
    assert (place.url, place.prefix, place.api_key) == ("https://es.example:9200", "office", "a/b=")
    assert (place.ca_certs, place.timeout, place.shards, place.replicas) == (bundle, 5.0, 2, 0)
    assert parse("elasticsearch+http://me:p%40ss@[::1]:1", "x").login == ("me", "p@ss")
    assert parse("elasticsearch+http://me:p%40ss@[::1]:1", "x").api_key is None
    assert parse("elasticsearch+http://host", "from outside").api_key == "from outside"
    assert parse("elasticsearch+http://host", None, "me:p:w").login == ("me", "p:w")
    assert parse("elasticsearch+http://host", "key", "me:pw").login is None
    assert parse("elasticsearch+http://a:b@host", None, "me:pw").login == ("a", "b")
    with pytest.raises(UsageError, match="USER:PASSWORD"):
        parse("elasticsearch+http://host", None, "me")
    assert "from outside" not in repr(parse("elasticsearch+http://host", "from outside"))
    assert shown("elasticsearch+http://me:secret@host/x?a=b@c", Path()) == "elasticsearch+http://host/x?a=b@c"


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("elasticsearch://secret@host", "form"),
        ("elasticsearch+http://secret@", "form"),
        ("elasticsearch+http://secret@host:port", "port"),
        ("elasticsearch+http://secret@host/UPPER", "prefix"),
        ("elasticsearch+http://secret@host?colour=red", "colour"),
        ("elasticsearch+http://secret@host?analysis=kuromoji", "nori"),
        ("elasticsearch+http://secret@host?shards=1.5", "shards"),
        ("elasticsearch+http://secret@host?timeout=soon", "timeout"),
        ("elasticsearch+https://secret@host?ca_certs=/no/such/file", "ca_certs"),
    ],
)
def test_a_wrong_url_is_told_without_its_secret(url: str, part: str) -> None:
    with pytest.raises(UsageError, match=part) as told:
        parse(url)
    assert "secret" not in str(told.value)


def test_the_graph_of_the_server_is_used_for_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = elastic(tmp_path)
    engine.reset("base", "epoch")
    engine.apply(changes(ITEMS))
    monkeypatch.setattr("silmari.engine.elastic.EXACT_ROWS", 0)
    monkeypatch.setattr("silmari.engine.elastic.EXACT_ALLOWED", 0)
    for where in (ALL, Filter(documents=frozenset({1})), Filter(since="2024-01-09"), Filter(undated=True)):
        for k in (1, 5, 50):
            found = engine.dense("passage", QUESTION, k, where)
            assert_top(found, truth().dense("passage", QUESTION, where), k, 2e-6)
    engine.close()


def test_a_busy_server_is_waited_for(tmp_path: Path, way: Way) -> None:
    engine = engine_at(tmp_path, way.url)
    engine.reset("base", "epoch")
    way.faults = [("_bulk", "429"), ("_bulk", "item429")]
    engine.apply(changes(ITEMS))
    bulks = [body.count(b"\n") // 2 for path, _, body in way.seen if "_bulk" in path]
    assert bulks == [12, 12, 1]  # all again, then only the one that was refused
    assert engine.counts() == {"texts": 12, "vectors": 12}
    engine.close()


def test_a_refused_record_is_named_and_may_be_applied_again(tmp_path: Path, way: Way) -> None:
    engine = engine_at(tmp_path, way.url)
    engine.reset("base", "epoch")
    way.faults = [("_bulk", "item400")]
    with pytest.raises(KnowledgeBaseError, match=r"passage 1 \(400: a made one\)"):
        engine.apply(changes(ITEMS))
    assert engine.watermark().seq == 0
    engine.apply(changes(ITEMS))
    assert engine.counts() == {"texts": 12, "vectors": 12}
    engine.close()


def test_what_broke_off_before_the_watermark_is_mended(tmp_path: Path, way: Way) -> None:
    engine = engine_at(tmp_path, way.url)
    engine.reset("base", "epoch")
    way.faults = [("-meta/_doc/state", ""), ("-meta/_doc/state", "503")]  # read, then written
    with pytest.raises(KnowledgeBaseError, match="not ready"):
        engine.apply(changes(ITEMS))
    again = engine_at(tmp_path, way.url)
    assert again.watermark().seq == 0
    again.apply(changes(ITEMS))
    assert again.counts() == {"texts": 12, "vectors": 12}
    assert_top(again.dense("passage", QUESTION, 5, ALL), truth().dense("passage", QUESTION), 5, 2e-6)
    again.close()
    engine.close()


@pytest.mark.parametrize(
    ("fault", "told"), [("401", "SILMARI_ENGINE_API_KEY"), ("403", "all rights"), ("429", "too busy"), ("500", "500")]
)
def test_refusals_are_one_sentence(tmp_path: Path, way: Way, fault: str, told: str) -> None:
    engine = engine_at(tmp_path, way.url.replace("//", "//top%3Dsecret@"))
    engine.reset("base", "epoch")
    assert {headers["authorization"] for _, headers, _ in way.seen} == {"ApiKey top=secret"}
    accepted = {headers["accept"] for _, headers, _ in way.seen}
    assert accepted == {"application/vnd.elasticsearch+json; compatible-with=8"}  # whichever client it is
    way.faults = [("_search", fault)]
    with pytest.raises(KnowledgeBaseError, match=told) as error:
        engine.sparse({"서울": 1.0}, 5, ALL)
    assert "secret" not in str(error.value) and "\n" not in str(error.value)
    assert engine.sparse({"서울": 1.0}, 5, ALL) == []
    engine.close()


def test_a_slow_server_is_given_up(tmp_path: Path, way: Way) -> None:
    engine = engine_at(tmp_path, way.url + "?timeout=0.5")
    engine.reset("base", "epoch")
    way.faults = [("_search", "slow")]
    start = time.monotonic()
    with pytest.raises(KnowledgeBaseError, match=r"0\.5 seconds"):
        engine.sparse({"서울": 1.0}, 5, ALL)
    assert time.monotonic() - start < 0.95
    engine.close()


def test_an_index_that_is_gone_is_built_anew(tmp_path: Path, server: Server) -> None:
    engine = engine_at(tmp_path, server.url)
    engine.reset("base", "epoch")
    engine.apply(changes(ITEMS))
    (name,) = engine._client.indices.get_alias(name=engine._alias["passage"]).body
    engine._client.indices.delete(index=name)
    with pytest.raises(KnowledgeBaseError, match="built anew"):
        engine.sparse({"서울": 1.0}, 5, ALL)
    assert engine.watermark() is None
    with pytest.raises(KnowledgeBaseError, match="never filled"):
        engine.apply(changes([record(99, "서울")], start=900))
    engine.reset("base", "epoch")
    engine.apply(changes(ITEMS))
    assert engine.counts() == {"texts": 12, "vectors": 12}
    assert len(engine._generations()) == 3
    engine.close()


def test_a_base_outlives_its_server(tmp_path: Path, embedder: WordEmbeddings) -> None:
    """Killed while idle, adding goes on into the catalog; after the restart nothing is missing or doubled."""
    server = Server(tmp_path / "server")
    try:
        settings = Settings.load(kb=tmp_path / "kb", engine=f"{server.url}/office")
        with KnowledgeBase.open(settings, embedder=embedder) as base:
            base.add_records([{"id": "a", "text": "서울 본사 예산"}])
            assert [hit.source.uri for hit in base.search("예산", way="sparse")] == ["record:a"]
            server.kill()
            report = base.add_records([{"id": "b", "text": "부산 지사 예산"}])
            assert any("cannot be reached" in note for note in report.notes)
            with pytest.raises(KnowledgeBaseError, match="cannot be reached"):
                base.search("예산", way="sparse")
            server.start()
            assert {hit.source.uri for hit in base.search("예산", way="sparse")} == {"record:a", "record:b"}
            assert {hit.source.uri for hit in base.search("예산", way="cascade")} == {"record:a", "record:b"}
            assert base._mirror.engine.counts()["texts"] == 2
    finally:
        server.stop()


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_server_that_ends_while_applying(tmp_path: Path, how: str) -> None:
    """Stopped, it keeps what it has; killed, the stand-in may forget (a cluster does not), and is filled anew."""
    server = Server(tmp_path / "server")
    engine = engine_at(tmp_path, server.url)
    try:
        engine.reset("base", "epoch")
        log = [changes([record(n, f"서울 word{n}", seed=n)], start=2 * n) for n in range(1, 400)]
        killer = threading.Timer(0.3, server.kill if how == "killed" else server.end)
        killer.start()
        with pytest.raises(KnowledgeBaseError, match="cannot be reached"):
            for one in log:
                engine.apply(one)
        killer.join()
        server.start()
        engine.refresh()
        mark = engine.watermark()
        assert how == "killed" or mark is not None
        if mark is None:
            engine.reset("base", "epoch")
        else:
            assert 0 < mark.seq < log[-1][-1].seq
        engine.apply([change for one in log for change in one])
        assert engine.counts() == {"texts": 399, "vectors": 399}
    finally:
        engine.close()
        server.stop()


def test_an_engine_is_opened_by_its_url_without_being_asked(tmp_path: Path) -> None:
    engine = open_engine("elasticsearch+http://127.0.0.1:9", tmp_path)
    with pytest.raises(KnowledgeBaseError, match="cannot be reached"):
        engine.refresh()
    engine.close()
    with pytest.raises(UsageError, match="the engines are") as told:
        open_engine("solr://me:secret@host", tmp_path)
    assert "secret" not in str(told.value)
