"""Milvus beyond the common suite: its URL, limits, faults of the server and of the way to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_reference import ALL, Reference, assert_top, changes, random_unit, record

from silmari.engine import open_engine, shown
from silmari.engine.milvus import MilvusEngine
from silmari.engine.milvus_items import MOST, category_text, expressions
from silmari.engine.milvus_link import parse
from silmari.engine.milvus_text import ServerText
from silmari.errors import KnowledgeBaseError, UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Filter
from silmari.retrieval.trace import Trace
from silmari.settings import Settings
from word_embeddings import WordEmbeddings

pytest.importorskip("pymilvus", reason="needs the package pymilvus")

QUESTION = random_unit(99).astype(np.float32)
ITEMS = [record(n, f"서울 word{n}", seed=n, document=n % 3, day=20240100 + n) for n in range(1, 13)]
COSINE = 2e-6


def lite_url(folder: Path) -> str:
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    return f"milvus:{folder}/milvus.db"


def engine_at(url: str, folder: Path, *, writable: bool = True) -> MilvusEngine:
    return MilvusEngine(parse(url, folder), folder, writable=writable)


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[MilvusEngine]:
    engine = engine_at(lite_url(tmp_path), tmp_path)
    engine.reset("base", "epoch")
    yield engine
    engine.close()


def patiently(ask: Callable[[], Any]) -> Any:
    """What a server says that has just been started: it listens before it has loaded its collections."""
    end = time.monotonic() + 90
    while True:
        try:
            return ask()
        except KnowledgeBaseError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def truth(items: list = ITEMS) -> Reference:
    reference = Reference()
    reference.apply(changes(items))
    return reference


def test_urls_say_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SILMARI_ENGINE_TOKEN", "root:환경")
    server = parse("milvus+https://milvus.example:19540?database=office&consistency=strong&timeout=3&name=kb", tmp_path)
    assert (server.target, server.database, server.consistency) == ("https://milvus.example:19540", "office", "Strong")
    assert (server.token, server.timeout, server.name, server.lite) == ("root:환경", 3.0, "kb", False)
    assert parse("milvus+http://h", tmp_path).target == "http://h:19530"
    assert parse("milvus+http://h", tmp_path).consistency == "Bounded"
    assert parse("milvus+http://h?token=a%3Ab", tmp_path).token == "a:b"
    assert parse("milvus+http://me:p%40ss@[::1]:5", tmp_path).target == "http://[::1]:5"
    assert parse("milvus+http://me:p%40ss@[::1]:5", tmp_path).token == "me:p@ss"
    assert "root" not in repr(server)
    lite = parse("milvus:./a b/milvus.db?text=server", tmp_path)
    assert (lite.lite, lite.text, Path(lite.target)) == (True, "server", Path("a b/milvus.db").absolute())
    assert parse("milvus:x.db", tmp_path).name != parse("milvus:x.db", tmp_path / "other").name


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("milvus:", "no file"),
        ("milvus://host:19530", "no file"),
        ("milvus+ftp://h", "begins with"),
        ("milvus+http://", "no host"),
        ("milvus+http://h:99999", "port"),
        ("milvus+http://h/office", r"\?database="),
        ("milvus+http://h?token=secret&colour=1", "no option 'colour'"),
        ("milvus:x.db?token=secret", "no option 'token'"),
        ("milvus+http://h?token=secret&consistency=eventual", "one of: bounded"),
        ("milvus+http://h?timeout=0", "timeout"),
        ("milvus+http://h?timeout=nan", "timeout"),
        ("milvus+http://h?text=jieba", "local or server"),
        ("milvus+http://h?name=내것", "Latin"),
    ],
)
def test_a_wrong_url_is_told_without_its_secret(url: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=part) as told:
        open_engine(url, tmp_path)
    assert "secret" not in str(told.value)
    assert "secret" not in shown(url, Path())


def test_filters_become_expressions() -> None:
    assert expressions(ALL) == [""]
    assert expressions(Filter(categories=frozenset())) == expressions(Filter(documents=frozenset())) == []
    assert expressions(Filter(undated=True, until="2024-01-01")) == []
    assert expressions(Filter(until="2024-01-31")) == ["day >= 1 and day <= 20240131"]
    assert expressions(Filter(categories=frozenset({'a"\\'}))) == ['category in ["a\\"\\\\"]']
    assert len(expressions(Filter(documents=frozenset(range(25_000))))) == 3


def test_lite_answers_like_the_reference(lite: MilvusEngine) -> None:
    lite.apply(changes(ITEMS))
    assert lite.counts() == {"texts": 12, "vectors": 12}
    assert_top(lite.dense("passage", QUESTION, 5, ALL), truth().dense("passage", QUESTION), 5, COSINE)
    where = Filter(documents=frozenset({1, *range(100, 25_000)}))
    assert_top(lite.dense("passage", QUESTION, 5, where), truth().dense("passage", QUESTION, where), 5, COSINE)
    assert_top(lite.sparse({"word3": 1.0}, 5, ALL), truth().sparse({"word3": 1.0}), 5, 1e-4)
    assert lite.frequencies(["서울", "word3", "없다"]) == {"서울": 12, "word3": 1, "없다": 0}
    assert len(lite.dense("passage", QUESTION, MOST + 1, ALL)) == 12
    assert "folder" in lite.note


ODD = ['"', "\\", "'", "a%b_c", "줄\n바꿈", "긴" * 5000, "\ud800", "\0", "", "#digest", "나라", "é", "한글"]


def test_any_category_is_found_again(lite: MilvusEngine) -> None:
    assert len({category_text(name) for name in ODD}) == len(ODD)
    # A catalog holds no lone surrogates; filters may.
    names = [name for name in ODD if name != "\ud800"]
    lite.apply(changes([record(n, "x", seed=n, category=name) for n, name in enumerate(names, 1)]))
    for n, name in enumerate(names, 1):
        found = lite.dense("passage", QUESTION, 99, Filter(categories=frozenset({name})))
        assert [id for id, _ in found] == [n], name
    assert lite.dense("passage", QUESTION, 99, Filter(categories=frozenset({"\ud800"}))) == []


def test_an_unpublished_batch_is_mended(lite: MilvusEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    lite.apply(changes(ITEMS[:3]))
    mark = lite.watermark()
    assert mark is not None
    with monkeypatch.context() as broken:
        broken.setattr(MilvusEngine, "_publish", lambda *_: (_ for _ in ()).throw(KnowledgeBaseError("broken off")))
        with pytest.raises(KnowledgeBaseError, match="broken off"):
            lite.apply(changes(ITEMS))
    assert lite.watermark() == mark
    lite.lead(True)
    assert lite.watermark() == mark
    lite.apply(changes(ITEMS))
    assert lite.counts() == {"texts": 12, "vectors": 12}
    assert_top(lite.dense("passage", QUESTION, 5, ALL), truth().dense("passage", QUESTION), 5, COSINE)


def test_without_its_texts_it_is_built_anew(tmp_path: Path) -> None:
    engine = engine_at(lite_url(tmp_path), tmp_path)
    engine.reset("base", "epoch")
    engine.apply(changes(ITEMS))
    engine.close()
    (tmp_path / "milvus-text").rename(tmp_path / "away")
    engine = engine_at(lite_url(tmp_path), tmp_path)
    assert engine.watermark() is None
    engine.close()


def test_another_embedder_may_start_in_an_empty_collection(lite: MilvusEngine) -> None:
    lite.apply(changes(ITEMS[:2]))
    with pytest.raises(KnowledgeBaseError, match="passage 9 has 4 numbers where the index holds 8"):
        lite.apply(changes([record(9, "x", seed=1, dim=4)], start=50))
    lite.apply(changes([1, 2], start=50))
    lite.apply(changes([record(9, "x", seed=1, dim=4)], start=60))
    assert [id for id, _ in lite.dense("passage", QUESTION[:4], 5, ALL)] == [9]


def test_only_the_lease_holder_writes(tmp_path: Path) -> None:
    engine = engine_at(lite_url(tmp_path), tmp_path, writable=False)
    with pytest.raises(KnowledgeBaseError, match="reading only"):
        engine.reset("base", "epoch")
    engine.lead(True)
    engine.reset("base", "epoch")
    engine.lead(False)
    with pytest.raises(KnowledgeBaseError, match="reading only"):
        engine.apply(changes(ITEMS))
    engine.close()


@pytest.mark.slow
def test_lites_own_bm25_is_bm25_within_one_batch(tmp_path: Path) -> None:
    engine = engine_at(lite_url(tmp_path) + "?text=server", tmp_path)
    engine.reset("base", "epoch")
    engine.apply(changes(ITEMS))
    assert isinstance(engine.texts, ServerText)
    tokens = {"서울": 0.25, "word3": 2.0, "word4": 1.0}
    assert_top(engine.sparse(tokens, 12, ALL), truth().sparse(tokens), 12, 1e-4)
    assert engine.frequencies(["서울", "word3", "없다", "'"]) == {"서울": 12, "word3": 1, "없다": 0, "'": 0}
    engine.close()


def worker(what: str, folder: Path) -> subprocess.Popen[str]:
    source = Path(__file__).parents[2] / "src"
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "url_writer.py"), what, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def test_lite_serves_one_process_at_a_time(tmp_path: Path) -> None:
    engine = engine_at(lite_url(tmp_path), tmp_path)
    engine.reset("base", "epoch")
    other = worker(lite_url(tmp_path), tmp_path)
    out, errors = other.communicate(timeout=60)
    assert "one process at a time" in errors.strip().splitlines()[-1], errors
    assert not out
    engine.close()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_writers_that_take_turns_write_no_row_twice(tmp_path: Path) -> None:
    """What is new to one of them may have been written by the other: only replacing is sound then."""
    from milvus_server import server_url

    url = f"{server_url()}?consistency=strong"  # Lite replaces a row that is inserted again
    one = engine_at(url, tmp_path)
    other = engine_at(url, tmp_path, writable=False)
    one.reset("base", "epoch")
    one.apply(changes(ITEMS[:4], start=1))
    for engine, idle, first in ((other, one, 3), (one, other, 5), (other, one, 7)):
        idle.lead(False)
        engine.refresh()
        engine.lead(True)
        engine.apply(changes(ITEMS[first : first + 4], start=100 * first))
    assert other.counts() == {"texts": 11, "vectors": 11}
    assert [id for id, _ in other.dense("passage", QUESTION, 50, ALL)].count(6) == 1
    one.close()
    other.close()


def test_files_of_lite_that_were_cut_short(tmp_path: Path, embedder: WordEmbeddings) -> None:
    """Killed while it writes them, it leaves such files; all is made anew from the catalog."""
    settings = Settings.load(kb=tmp_path / "kb", engine=lite_url(tmp_path))
    records = [{"id": str(n), "text": f"서울 {n}번 지점의 예산"} for n in range(20)]
    with KnowledgeBase.open(settings, embedder=embedder) as base:
        base.add_records(records)
        found = [hit.source.uri for hit in base.search("7번 지점", way="dense")]
    # What Lite writes in place; it puts its manifests there by renaming.
    files = [path for path in (tmp_path / "milvus.db").rglob("*.idx") if path.stat().st_size]
    kinds = {path.parents[3].name: path for path in sorted(files)}
    assert len(kinds) > 1, files
    for path in kinds.values():
        if not path.exists():
            continue  # made anew under another name since
        path.write_bytes(path.read_bytes()[:-1] if path.stat().st_size < 9 else b"")
        with KnowledgeBase.open(settings, embedder=embedder) as base:
            assert [hit.source.uri for hit in base.search("7번 지점", way="dense")] == found, path
            assert base.status().lag == 0
            assert base.status().engine_counts == {"texts": 20, "vectors": 20}


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    engine = open_engine("milvus+http://127.0.0.1:9", tmp_path)
    start = time.monotonic()
    for _ in range(3):
        with pytest.raises(KnowledgeBaseError, match="cannot be reached") as told:
            engine.dense("passage", QUESTION, 5, ALL)
        assert "\n" not in str(told.value)
    assert time.monotonic() - start < 3
    engine.close()


def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        engine = open_engine(f"milvus+http://127.0.0.1:{silent.getsockname()[1]}?timeout=1&token=a:secret", tmp_path)
        start = time.monotonic()
        with pytest.raises(KnowledgeBaseError, match=r"cannot be reached|did not answer") as told:
            engine.dense("passage", QUESTION, 5, ALL)
        assert time.monotonic() - start < 5
        assert "secret" not in str(told.value)
        engine.close()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_base_outlives_its_server(tmp_path: Path, embedder: WordEmbeddings) -> None:
    """Stopped while idle and while adding: adds go on into the catalog, and after the restart nothing is missing."""
    from milvus_server import Server

    server = Server()
    try:
        settings = Settings.load(kb=tmp_path / "kb", engine=f"{server.url}?consistency=strong")
        with KnowledgeBase.open(settings, embedder=embedder) as base:
            base.add_records([{"id": "a", "text": "서울 본사 예산"}])
            assert [hit.source.uri for hit in base.search("예산", way="cascade")] == ["record:a"]
            server.stop()
            report = base.add_records([{"id": "b", "text": "부산 지사 예산"}])
            assert any("cannot be reached" in note for note in report.notes), report.notes
            with pytest.raises(KnowledgeBaseError, match="cannot be reached"):
                base.search("예산", way="dense")
            for way in ("sparse", "fused", "graph"):  # what BM25 finds, since the texts lie in the folder
                trace = Trace()
                assert [hit.source.uri for hit in base.search("예산", way=way, trace=trace)] == ["record:a"]
                assert any("Only BM25 was used. The search engine cannot be reached" in note for note in trace.notes)
            assert any("cannot be reached" in note for note in base.status().notes)
            with KnowledgeBase.open(settings, embedder=embedder) as later:
                assert [hit.source.uri for hit in later.search("예산", way="sparse")] == ["record:a"]
            server.start()
            patiently(lambda: base.search("예산", way="dense"))
            both = {"record:a", "record:b"}
            assert {hit.source.uri for hit in base.search("예산", way="sparse")} == both
            assert {hit.source.uri for hit in base.search("예산", way="cascade")} == both
            assert base._mirror.engine.counts()["texts"] == 2
    finally:
        server.end()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_server_that_stops_while_applying(tmp_path: Path) -> None:
    from milvus_server import Server

    server = Server()
    engine = engine_at(f"{server.url}?consistency=strong", tmp_path)
    try:
        engine.reset("base", "epoch")
        log = [changes([record(n, f"서울 word{n}", seed=n)], start=2 * n) for n in range(1, 400)]
        engine.apply(log[0])
        killer = threading.Timer(0.5, server.stop)
        killer.start()
        with pytest.raises(KnowledgeBaseError):
            for one in log:
                engine.apply(one)
        killer.join()
        server.start()
        engine.lead(True)
        mark = patiently(engine.watermark)
        assert mark is not None
        assert 0 < mark.seq < log[-1][-1].seq
        engine.apply([change for one in log for change in one])
        assert engine.counts() == {"texts": 399, "vectors": 399}
        reference = Reference()
        reference.apply([change for one in log for change in one])
        assert_top(engine.dense("passage", QUESTION, 9, ALL), reference.dense("passage", QUESTION), 9, COSINE)
    finally:
        engine.close()
        server.end()
