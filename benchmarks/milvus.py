"""The local engine beside Milvus Lite, and ours on Milvus beside bare pymilvus: ``python -m benchmarks.milvus``.

The data are those of `benchmarks.engine`. Bare pymilvus searches the collection that ours made, with the same
parameters, and inserts the same rows in the same batches without texts. With ``--server URL`` a server is measured too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.engine import (
    ALL,
    FILTERS,
    _exact,
    embeddings,
    jittered,
    medians,
    records,
    row,
    vocabulary,
    word_numbers,
)
from silmari.engine.base import Change, Engine, Record
from silmari.engine.local import LocalEngine
from silmari.engine.milvus import MilvusEngine
from silmari.engine.milvus_items import expressions, filter_values
from silmari.engine.milvus_link import WRITE, parse
from silmari.model import Kind

BATCH = 5_000
ASKED = 60
ROUNDS = 3


def _batches(items: list[Record]) -> Iterator[list[Record]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _fill(engine: Engine, items: list[Record], kind: Kind = "passage") -> float:
    """Whole records, as a rebuild brings them (only passages have texts); records a second."""
    engine.reset("bench", "1")
    # Milvus makes a collection when its first record comes, and takes seconds for it.
    engine.apply([Change(1, kind, items[0].id, "vector", items[0])])
    begun = time.perf_counter()
    for part in _batches(items):
        engine.apply([Change(item.id, kind, item.id, "vector", item) for item in part])
    return len(items) / (time.perf_counter() - begun)


def _fill_bare(engine: MilvusEngine, items: list[Record]) -> float:
    """The same rows by pymilvus alone, into a collection like ours."""
    ours = engine._items["passage"]
    bare = type(ours)(engine._link, f"{engine._address.name}_bare", "passage")
    bare.forget()
    bare._make(ours.dim)
    client, name = engine._link.client, bare.name
    begun = time.perf_counter()
    for part in _batches(items):
        rows = [{**filter_values(item), "vector": item.vector.astype(np.float32)} for item in part]
        client.insert(name, rows, timeout=WRITE)
        if engine._address.lite:
            client.flush(name, timeout=WRITE)
    rate = len(items) / (time.perf_counter() - begun)
    bare.forget()
    return rate


def _recall(engine: Engine, questions: NDArray[np.float32], full: NDArray[np.float32]) -> float:
    shared = [
        len({id for id, _ in engine.dense("passage", question, 10, ALL)} & set(_exact(full, question, 10).tolist()))
        for question in questions
    ]
    return sum(shared) / (10 * len(questions))


def _outside(engine: MilvusEngine, questions: NDArray[np.float32]) -> float:
    """Milliseconds of a search that are not spent in pymilvus's own; the same search, so that noise falls on both."""
    client, inside, found = engine._link.client, [0.0], []
    own = client.search

    def search(*args: Any, **options: Any) -> object:
        begun = time.perf_counter()
        try:
            return own(*args, **options)
        finally:
            inside[0] += time.perf_counter() - begun

    client.search = search
    try:
        for question in questions:
            inside[0], begun = 0.0, time.perf_counter()
            engine.dense("passage", question, 10, ALL)
            found.append(time.perf_counter() - begun - inside[0])
    finally:
        del client.search
    return 1e3 * median(found)


def _compared(url: str, items: list[Record], vectors: NDArray[np.float16], local: LocalEngine) -> list[dict[str, Any]]:
    questions = embeddings()[1][:ASKED]
    units = questions / np.linalg.norm(questions, axis=1, keepdims=True)
    full = vectors.astype(np.float32)
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as place:
        engine = MilvusEngine(parse(url or f"milvus:{place}/milvus.db", Path(place)), Path(place))
        name = "Milvus server" if url else "Milvus Lite"
        # In turns: a server that has just been started, or compacts, is slower.
        rates: list[tuple[float, float, float]] = [
            (_fill(engine, items, "relation"), _fill(engine, items), _fill_bare(engine, items)) for _ in range(ROUNDS)
        ]
        vectors_rate, rate, bare_rate = (median(one) for one in zip(*rates, strict=True))
        collection, client = engine._items["passage"], engine._link.client
        params = {"metric_type": "COSINE"} | ({"params": {"ef": 128}} if url else {})

        def bare(n: int, where: str = "") -> object:
            return client.search(
                collection.name,
                data=[units[n]],
                anns_field="vector",
                filter=where,
                limit=10,
                search_params=params,
                consistency_level="Bounded",
            )

        where = FILTERS["one category in five"]
        (filtered,) = expressions(where)
        ids = [item.id for item in items[:1_000]]
        # Pairs that are compared take turns with each other only: after a pause a server is slower.
        best = (
            medians(
                {"ours": lambda n: engine.dense("passage", questions[n], 10, ALL), "bare": bare},
                ASKED,
            )
            | medians(
                {
                    "ours filtered": lambda n: engine.dense("passage", questions[n], 10, where),
                    "bare filtered": lambda n: bare(n, filtered),
                },
                ASKED,
            )
            | medians({"local": lambda n: local.dense("passage", questions[n], 10, ALL)}, ASKED)
            | medians({"cosines": lambda n: engine.similarity("passage", questions[n], ids)}, ASKED)
        )
        outside = _outside(engine, questions)
        recalls = _recall(local, questions, full), _recall(engine, questions, full)
        engine.reset("bench", "2")
        engine.close()
    times = best["ours"].clock / best["local"].clock
    over = best["ours"].clock - best["bare"].clock
    over_filtered = best["ours filtered"].clock - best["bare filtered"].clock
    own = best["ours"].processor - best["bare"].processor
    own_filtered = best["ours filtered"].processor - best["bare filtered"].processor
    size = f"{len(items):,} passages"
    fast = times >= 20 if not url and len(items) >= 100_000 else None
    return [
        row(f"{name}, {size}: dense, k 10", best["ours"].clock, "ms", beside=f"local {best['local']}"),
        row("local is faster", times, "times", "≥ 20 at 100,000 on Lite", fast),
        row("recall@10 of exact", recalls[1], "", beside=f"local {recalls[0]:.3f}"),
        row("our overhead a search", over, "ms", "≤ 1", over <= 1, f"{own:.2f} on the processor; bare {best['bare']}"),
        row(
            "our overhead, filtered",
            over_filtered,
            "ms",
            "≤ 1",
            over_filtered <= 1,
            f"{own_filtered:.2f} on the processor; bare {best['bare filtered']}",
        ),
        row("of a search, outside of pymilvus", outside, "ms", "≤ 1", outside <= 1),
        row("cosines of 1,000 ids", best["cosines"].clock, "ms"),
        _ingest("ingest, texts and vectors", rate, bare_rate),
        _ingest("ingest, vectors alone", vectors_rate, bare_rate),
    ]


def _ingest(what: str, rate: float, bare: float) -> dict[str, Any]:
    return row(what, rate, "/s", "≥ 80 % of bare", rate >= 0.8 * bare, f"bare insert {bare:,.0f}/s, {rate / bare:.0%}")


def run(passages: int = 10_000, servers: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Everything, as rows of what, value, unit, target, met and what it is beside."""
    base, _ = embeddings()
    vectors = jittered(base, passages)
    items = list(records(word_numbers(passages, 50_000), vocabulary(50_000), vectors))
    with tempfile.TemporaryDirectory() as place:
        local = LocalEngine(Path(place) / "engine")
        _fill(local, items)
        found = [line for url in ("", *servers) for line in _compared(url, items, vectors, local)]
        local.close()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--server", action="append", default=[])
    given = parser.parse_args()
    for line in run(given.passages, tuple(given.server)):
        print(json.dumps(line, ensure_ascii=False))
