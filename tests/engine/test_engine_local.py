"""What is special to the local engine: its files, its graph, its readers."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from engine_reference import ALL, Reference, assert_top, changes, random_unit, record

from silmari.engine import local, local_rows, local_text
from silmari.engine.base import Change, Record, Watermark
from silmari.engine.local import LocalEngine
from silmari.engine.local_graph import Graph
from silmari.errors import BusyError, KnowledgeBaseError
from silmari.model import Filter

QUESTION = random_unit(99).astype(np.float32)
OFFICE = [record(id, f"서울 예산 word{id}", seed=id, document=id % 3, day=20240100 + id) for id in range(1, 21)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kb" / "engine"


@pytest.fixture
def engine(folder: Path) -> Iterator[LocalEngine]:
    opened = LocalEngine(folder)
    opened.reset("base", "epoch")
    opened.apply(changes(OFFICE))
    yield opened
    opened.close()


def everything(engine: LocalEngine) -> dict[int, float]:
    return dict(engine.dense("passage", QUESTION, 1_000, ALL))


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        found[str(path)] = (status.st_size, status.st_mtime_ns)
    return found


def test_opening_creates_nothing(folder: Path) -> None:
    for writable in (False, True):
        LocalEngine(folder, writable=writable).close()
    assert not folder.parent.exists()


def test_a_reader_leaves_the_folder_as_it_is(folder: Path, engine: LocalEngine) -> None:
    engine.close()
    before = listing(folder)
    reader = LocalEngine(folder, writable=False)
    reader.refresh()
    assert len(reader.sparse({"서울": 1.0}, 100, ALL)) == 20
    assert len(everything(reader)) == 20
    with pytest.raises(KnowledgeBaseError, match="reading only"):
        reader.apply(changes([1], start=1_000))
    with pytest.raises(KnowledgeBaseError, match="reading only"):
        reader.reset("base", "epoch")
    reader.close()
    assert listing(folder) == before


def test_a_reader_works_where_it_may_not_write(
    folder: Path, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.access
    # Said outright too, since the administrator may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and real(path, mode, **more))

    def forbid() -> None:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)

    def allow() -> None:
        folder.chmod(0o755)
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)

    forbid()
    try:
        before = listing(folder)
        reader = LocalEngine(folder, writable=False)
        assert reader.watermark() is not None
        assert len(reader.sparse({"서울": 1.0}, 100, ALL)) == 20
        assert listing(folder) == before
        allow()
        engine.apply(changes([record(50, "서울 새", seed=50), 1], start=1_000))
        forbid()
        reader.refresh()
        assert reader.watermark() == engine.watermark()
        assert [id for id, _ in reader.sparse({"새": 1.0}, 100, ALL)] == [50]
        assert len(reader.sparse({"서울": 1.0}, 100, ALL)) == 20
        reader.close()
    finally:
        allow()


def test_a_reader_sees_news_when_it_asks(folder: Path, engine: LocalEngine) -> None:
    reader = LocalEngine(folder, writable=False)
    engine.apply(changes([record(50, "새 passage", seed=50), 1], start=1_000))
    assert reader.watermark() != engine.watermark()
    assert 1 in everything(reader)
    assert 50 not in everything(reader)
    reader.refresh()
    assert reader.watermark() == engine.watermark()
    assert set(everything(reader)) == {*range(2, 21), 50}
    assert [id for id, _ in reader.sparse({"새": 1.0}, 5, ALL)] == [50]
    reader.close()


def test_a_reader_outlives_rewriting_and_reset(folder: Path, engine: LocalEngine) -> None:
    reader = LocalEngine(folder, writable=False)
    engine.apply(changes(range(1, 11), start=1_000))
    engine.compact()
    assert len(everything(reader)) == 20
    assert len(reader.sparse({"서울": 1.0}, 100, ALL)) == 20
    reader.refresh()
    assert set(everything(reader)) == set(range(11, 21))
    engine.reset("base", "epoch 2")
    assert len(reader.sparse({"서울": 1.0}, 100, ALL)) == 10
    reader.refresh()
    assert reader.watermark() == Watermark("base", "epoch 2", 0)
    assert everything(reader) == {}
    reader.close()


def test_a_reader_may_come_before_the_writer(folder: Path) -> None:
    reader = LocalEngine(folder, writable=False)
    assert reader.watermark() is None
    assert reader.counts() == {"texts": 0, "vectors": 0}
    assert reader.sparse({"서울": 1.0}, 5, ALL) == []
    assert reader.dense("passage", QUESTION, 5, ALL) == []
    assert reader.similarity("passage", QUESTION, [1]) == {}
    writer = LocalEngine(folder)
    writer.reset("base", "epoch")
    writer.apply(changes(OFFICE))
    reader.refresh()
    assert len(everything(reader)) == 20
    reader.close()
    writer.close()


def test_one_writer_at_a_time(folder: Path, engine: LocalEngine) -> None:
    second = LocalEngine(folder)
    with pytest.raises(BusyError, match="Another process"):
        second.apply(changes([1], start=1_000))
    engine.close()
    second.apply(changes([1], start=1_000))
    assert 1 not in everything(second)
    second.close()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "state.json").unlink(),
        lambda folder: (folder / "state.json").write_bytes(b""),
        lambda folder: (folder / "state.json").write_text("[]"),
        lambda folder: (folder / "state.json").write_text('{"layout": 1, "base": "base"}'),
        lambda folder: (folder / "state.json").write_text(
            (folder / "state.json").read_text().replace('"layout": 1', '"layout": 99')
        ),
        lambda folder: next(folder.glob("text-*/meta.json")).unlink(),
        lambda folder: next(folder.glob("text-*/meta.json")).write_text("{"),
        lambda folder: next(folder.glob("text-*/*.term")).unlink(),
        lambda folder: _cut(next(folder.glob("passage-*.f16"))),
        lambda folder: _cut(next(folder.glob("passage-*.rows"))),
        lambda folder: next(folder.glob("passage-*.dead")).unlink(),
    ],
    ids=["no-state", "empty", "list", "half", "layout", "no-meta", "meta", "no-segment", "f16", "rows", "no-dead"],
)
def test_a_damaged_engine_asks_to_be_rebuilt(folder: Path, engine: LocalEngine, damage: object) -> None:
    engine.apply(changes([1], start=1_000))
    engine.close()
    assert callable(damage)
    damage(folder)
    again = LocalEngine(folder)
    assert again.watermark() is None
    assert again.sparse({"서울": 1.0}, 5, ALL) == []
    again.reset("base", "epoch")
    again.apply(changes(OFFICE))
    assert len(everything(again)) == 20
    assert len(again.sparse({"서울": 1.0}, 100, ALL)) == 20
    again.close()
    # What the damaged one left is gone: one text index, three files of vectors.
    assert len(list(folder.glob("text-*"))) == 1
    assert sorted(path.suffix for path in folder.glob("passage-*")) == [".f16", ".rows"]


def test_an_older_copy_of_the_text_is_noticed(folder: Path, engine: LocalEngine) -> None:
    meta = next(folder.glob("text-*/meta.json"))
    engine.close()
    older = meta.read_bytes()
    again = LocalEngine(folder)
    again.apply(changes([record(77, "새")], start=1_000))
    again.close()
    meta.write_bytes(older)
    broken = LocalEngine(folder)
    assert broken.watermark() is None
    broken.close()


class Broken(Exception):
    """Stands for the power cut."""


@pytest.mark.parametrize(
    ("module", "name"),
    [(local_text.TextIndex, "reload"), (local_rows.Batch, "write"), (local, "publish"), (local, "clean")],
    ids=["after-text", "before-vectors", "before-publishing", "before-cleaning"],
)
@pytest.mark.parametrize("reopen", [True, False])
def test_broken_off_anywhere(
    folder: Path, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, module: object, name: str, reopen: bool
) -> None:
    """The old state is there, and applying again gives what a whole apply gives."""
    given = changes([record(1, "다른 글", seed=31), 2, 3, record(40, "서울", seed=40)], start=1_000)
    truth = Reference()
    truth.apply(changes(OFFICE))
    old, mark = truth.dense("passage", QUESTION), engine.watermark()

    def fail(*_: object, **__: object) -> None:
        raise Broken

    with monkeypatch.context() as patch:
        patch.setattr(module, name, fail)
        patch.setattr(local, "_DEAD_ENTRIES", 1)
        patch.setattr(local, "_DEAD_SHARE", 0.01)
        with pytest.raises(Broken):
            engine.apply(given)
    if reopen:
        engine.close()
        engine = LocalEngine(folder)
    truth.apply(given)
    if engine.watermark() == mark:
        assert everything(engine) == pytest.approx(old, abs=2e-6)
    else:
        assert name == "clean"  # published before it broke
    engine.apply(given)
    engine.compact()
    assert engine.counts() == {"texts": 19, "vectors": 19}
    assert everything(engine) == pytest.approx(truth.dense("passage", QUESTION), abs=2e-6)
    tokens = {"서울": 1.0, "글": 1.0}
    assert_top(engine.sparse(tokens, 100, ALL), truth.sparse(tokens), 100, 1e-4)
    engine.close()


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_is_said_and_survived(folder: Path, engine: LocalEngine) -> None:
    import resource

    mark, before = engine.watermark(), everything(engine)
    given = changes([record(id, f"서울 {'가' * 50}{id}", seed=id) for id in range(100, 1_600)], start=1_000)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, hard))
    try:
        with pytest.raises(KnowledgeBaseError, match="cannot be written"):
            engine.apply(given)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert engine.watermark() == mark
    assert everything(engine) == before
    engine.apply(given)
    assert engine.counts() == {"texts": 1_520, "vectors": 1_520}
    assert len(engine.sparse({"서울": 1.0}, 5_000, ALL)) == 1_520


def _crowd(count: int, dim: int, start: int = 0) -> list[Record]:
    """Vectors in groups, as texts have them."""
    chance = np.random.default_rng(start + 1)
    centres = np.random.default_rng(7).standard_normal((60, dim))
    vectors = centres[chance.integers(0, 60, count)] + 0.4 * chance.standard_normal((count, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        Record(start + n, "", vector.astype(np.float16), n % 50, ["pdf", "csv"][n % 2], 20240101 + n % 28)
        for n, vector in enumerate(vectors)
    ]


def _vectors(records: list[Record], start: int) -> list[Change]:
    return [Change(start + n, "passage", item.id, "vector", item) for n, item in enumerate(records)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "EXACT_ROWS", 1_000)
    monkeypatch.setattr(local, "_GROW_ROWS", 500)


def test_the_graph_finds_what_exact_search_finds(folder: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    engine = LocalEngine(folder, on_progress=lambda done, total: told.append((done, total)))
    engine.reset("base", "epoch")
    dim, truth = 24, Reference()
    first = _vectors(_crowd(3_000, dim), 1)
    engine.apply(first)
    assert told[-1] == (3_000, 3_000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    # A tail that the graph does not cover, some updates and deletions that it does not know.
    second = _vectors(_crowd(400, dim, start=5_000), 10_001)
    second += changes([*range(0, 300, 2), *_crowd(40, dim, start=500)], start=20_001)
    engine.apply(second)
    truth.apply(first)
    truth.apply(second)
    graphs = list(folder.glob("passage-*.hnsw"))
    assert len(graphs) == 1
    searched = 0
    real = Graph.search

    def counted(self: Graph, query: np.ndarray, count: int) -> np.ndarray:
        nonlocal searched
        searched += 1
        return real(self, query, count)

    monkeypatch.setattr(Graph, "search", counted)
    reader = LocalEngine(folder, writable=False)
    agreed = 0
    for seed in range(100):
        vector = random_unit(seed, dim).astype(np.float32)
        scores = truth.dense("passage", vector)
        best = sorted(scores, key=lambda id: -scores[id])[:10]
        found = reader.dense("passage", vector, 10, ALL)
        assert len(found) == 10
        assert dict(found) == pytest.approx({id: scores[id] for id, _ in found}, abs=2e-6)
        agreed += len({id for id, _ in found} & set(best))
    assert searched == 100
    assert agreed >= 990
    for where in (
        Filter(categories=frozenset({"pdf"})),
        Filter(documents=frozenset({3})),
        Filter(since="2024-01-05", until="2024-01-20"),
    ):
        vector = random_unit(3, dim).astype(np.float32)
        assert_top(reader.dense("passage", vector, 25, where), truth.dense("passage", vector, where), 25, 2e-6)
    assert searched == 100
    assert_top(reader.dense("passage", vector, 900, ALL), truth.dense("passage", vector), 900, 2e-6)
    reader.close()
    engine.close()


def test_a_neighbourhood_that_died_is_no_hole(folder: Path, small: None) -> None:
    engine = LocalEngine(folder)
    engine.reset("base", "epoch")
    crowd = _crowd(2_000, 16)
    engine.apply(_vectors(crowd, 1))
    vector = crowd[0].vector
    assert vector is not None
    question = vector.astype(np.float32)
    nearest = [id for id, _ in engine.dense("passage", question, 200, ALL)]
    truth = Reference()
    truth.apply(_vectors(crowd, 1))
    gone = changes(nearest, start=10_000)
    engine.apply(gone)
    truth.apply(gone)
    assert_top(engine.dense("passage", question, 10, ALL), truth.dense("passage", question), 10, 2e-6)
    engine.close()


def test_a_lost_graph_costs_time_only(folder: Path, small: None) -> None:
    engine = LocalEngine(folder)
    engine.reset("base", "epoch")
    crowd = _crowd(2_000, 16)
    engine.apply(_vectors(crowd, 1))
    expected = engine.dense("passage", random_unit(1, 16).astype(np.float32), 10, ALL)
    engine.close()
    graph = next(folder.glob("*.hnsw"))
    whole = graph.read_bytes()
    for damage in (
        lambda: graph.write_bytes(b"x" * len(whole)),
        lambda: graph.write_bytes(whole[: len(whole) // 2]),
        lambda: graph.write_bytes(b""),
        lambda: graph.unlink(),
    ):
        damage()
        again = LocalEngine(folder)
        found = again.dense("passage", random_unit(1, 16).astype(np.float32), 10, ALL)
        # Without the graph the search is exact: the same, or better where the graph had missed one.
        assert all(score >= other - 1e-6 for (_, score), (_, other) in zip(found, expected, strict=True))
        again.close()
    again = LocalEngine(folder)
    again.apply(_vectors(_crowd(1, 16, start=8_000), 20_000))
    assert len(list(folder.glob("*.hnsw"))) == 1
    assert next(folder.glob("*.hnsw")) != graph
    again.close()


def test_rewriting_drops_the_dead(folder: Path, small: None) -> None:
    engine = LocalEngine(folder)
    engine.reset("base", "epoch")
    crowd = _crowd(3_000, 16)
    engine.apply(_vectors(crowd, 1))
    size = next(folder.glob("*.f16")).stat().st_size
    assert size == 3_000 * 16 * 2
    engine.apply(changes(range(1_200), start=10_000))
    assert next(folder.glob("*.f16")).stat().st_size == 1_800 * 16 * 2
    assert engine.counts() == {"texts": 0, "vectors": 1_800}
    assert len(list(folder.glob("*.hnsw"))) == 1
    truth = Reference()
    truth.apply(_vectors(crowd[1_200:], 1))
    question = random_unit(4, 16).astype(np.float32)
    scores = truth.dense("passage", question)
    found = engine.dense("passage", question, 10, ALL)
    assert found == [(item, pytest.approx(scores[item], abs=2e-6)) for item, _ in found]
    # A graph is built by several threads, and now and then misses one.
    assert len({item for item, _ in found} & set(sorted(scores, key=lambda item: -scores[item])[:10])) >= 9
    engine.close()


def test_another_embedder_may_start_once_all_is_gone(folder: Path, engine: LocalEngine) -> None:
    engine.apply(changes(range(1, 21), start=1_000))
    engine.compact()
    engine.apply(changes([record(5, "서울", seed=5, dim=3)], start=2_000))
    assert list(engine.similarity("passage", np.ones(3, np.float32), [5])) == [5]


def test_vectors_that_are_not_quite_unit_are_compared_as_if_they_were(folder: Path) -> None:
    engine = LocalEngine(folder)
    engine.reset("base", "epoch")
    vector = np.array([3, 4, 0], dtype=np.float16)
    engine.apply([Change(1, "passage", 1, "vector", Record(1, "", vector, 1, "pdf", None))])
    engine.apply([Change(2, "passage", 2, "vector", Record(2, "", vector * 0, 1, "pdf", None))])
    question = np.array([1, 0, 0], dtype=np.float32)
    assert engine.similarity("passage", question, [1, 2]) == pytest.approx({1: 0.6, 2: 0.0}, abs=1e-6)
    assert [id for id, _ in engine.dense("passage", question, 2, ALL)] == [1, 2]
    engine.close()


def test_threads_search_while_one_applies(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "EXACT_ROWS", 20)
    monkeypatch.setattr(local, "_GROW_ROWS", 10)
    monkeypatch.setattr(local, "_DEAD_ENTRIES", 15)
    problems: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                # Passages 1 to 20 stay throughout.
                assert set(everything(engine)) >= set(range(1, 21))
                assert len(engine.dense("passage", QUESTION, 5, ALL)) == 5
                assert {id for id, _ in engine.sparse({"예산": 1.0}, 1_000, ALL)} == set(range(1, 21))
                engine.refresh()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(6):
        ids = range(100 + 10 * n, 110 + 10 * n)
        engine.apply(changes([record(id, "서울", seed=id) for id in ids], start=1_000 * (n + 1)))
        engine.apply(changes(list(ids)[:8], start=1_000 * (n + 1) + 500))
    done.set()
    for thread in threads:
        thread.join()
    assert not problems


def test_a_closed_engine_finds_nothing(engine: LocalEngine) -> None:
    engine.close()
    engine.close()
    assert engine.sparse({"서울": 1.0}, 5, ALL) == []
    assert engine.watermark() is None
