"""What a base takes as it grows: ``python -m benchmarks.scaling --passages N`` (docs/scaling.md).

One base is written into its catalog as files of ten passages, one transaction each; its analysis is made up
beforehand, since Kiwi's takes most of the time and no place. Then the base is moved from engine to engine by
`KnowledgeBase.reindex`, and on each of them a process of its own opens it, searches and adds. Texts and vectors are
those of `benchmarks.engine`; tokens and names take the room beside a text that they take in Korean bases. With
``--server``, the Milvus server of the tests is one of the engines; with ``--postgres URL``, the catalog is also written
to that database.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from benchmarks.engine import Times, embeddings, jittered, row, timed, vocabulary, word_numbers
from silmari.catalog.vector_cache import text_hash
from silmari.catalog.words import AnalysedPassage, FileInfo, ReadDocument
from silmari.knowledge_base import KnowledgeBase
from silmari.language.analysis import Analyser
from silmari.model import Document, Passage

Rows = list[dict[str, Any]]

WORDS = 50_000
EACH = 10  # passages a document
NAMES = 25  # names a passage mentions
ASKED = 60
RELATIONS = 3_000
VECTORS = 2_000  # stored in one transaction
WAYS = ("sparse", "dense", "cascade", "fused")
TABLES = {
    "text, tokens, names": ("passages",),
    "vectors": ("vectors", "sqlite_autoindex_vectors_1"),
    "change log": ("changes", "sqlite_autoindex_changes_1", "sqlite_autoindex_changes_2"),
}


class Drawn(Embeddings):
    """Vectors between those of real sentences, chosen by the text's hash."""

    model = "drawn-384"

    def __init__(self) -> None:
        base, self._questions = embeddings()
        self._rows = jittered(base, 10_000).astype(np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(self._rows[_number(text) % len(self._rows)].tolist()) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return list(self._questions[_number(text) % len(self._questions)].tolist())


def _number(text: str) -> int:
    return int.from_bytes(text_hash(text)[:8], "little")


def _open(folder: Path, **options: Any) -> KnowledgeBase:
    return KnowledgeBase.open(folder / "kb", embedder=Drawn(), cache=folder / "cache", **options)


def _tokens(words: list[str]) -> str:
    """Korean words with pairs of their syllables, as `silmari.language` gives them."""
    found: list[str] = []
    for word in words:
        found.append(word)
        if not word.isascii():
            found += [f"{word}의", *(f"#{word[n : n + 2]}" for n in range(len(word) - 1))]
    return " ".join(found)


def _files(passages: int) -> Iterator[tuple[FileInfo, ReadDocument]]:
    words, numbers = vocabulary(WORDS), word_numbers(passages, WORDS)
    for n, start in enumerate(range(0, passages, EACH)):
        path, title = f"/docs/{n // 100}/{n}.txt", f"{words[-1 - n % 20_000]}{n}"
        analysed = []
        for spoken in numbers[start : start + EACH]:
            said = [words[number] for number in spoken]
            names = [words[number] for number in sorted(set(spoken.tolist()))[-NAMES:]]
            text = " ".join(said)
            passage = Passage(text, text, title, {"chars": [0, len(text)]})
            analysed.append(AnalysedPassage(passage, _tokens(said), names=" ".join([f"={title}", title, *names])))
        date = f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}"
        document = Document(path, f"c{n % 5}", title, date, "content", f"{n:064x}", ())
        yield FileInfo(path, 10_000, 1, f"{n:064x}"), ReadDocument(document, analysed, title, title)


def _fill(base: KnowledgeBase, passages: int, vectors: NDArray[np.float16]) -> Rows:
    catalog, embedder = base.catalog, base.embedder
    assert embedder is not None
    spent, hashes = 0.0, []
    for file, document in _files(passages):
        begun = time.perf_counter()
        catalog.put_file(file, [document])
        spent += time.perf_counter() - begun
        hashes += [one.text_hash for one in document.passages]
    begun = time.perf_counter()
    for start in range(0, len(hashes), VECTORS):
        part = slice(start, start + VECTORS)
        catalog.store_vectors(embedder.fingerprint, dict(zip(hashes[part], vectors[part], strict=True)))
    stored = time.perf_counter() - begun
    return [
        row("catalog: documents of ten passages put", passages / EACH / spent, "/s"),
        row("catalog: vectors stored", passages / stored, "/s"),
    ]


def _analysis(passages: int = 300) -> Rows:
    """Kiwi and the stemmer, half of the words Korean."""
    analyser = Analyser(None)
    texts = [("", one.passage.text) for _, document in _files(passages) for one in document.passages]
    list(analyser.passages_many(texts[:5]))
    begun = time.perf_counter()
    list(analyser.passages_many(texts))
    return [row("analysis of texts", passages / (time.perf_counter() - begun), "passages/s")]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _catalog_sizes(folder: Path, passages: int) -> Rows:
    path = folder / "kb" / "silmari.sqlite"
    found = [row("catalog on SQLite", path.stat().st_size / passages, "B/passage")]
    with closing(sqlite3.connect(path)) as connection:
        pages = dict(connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name"))
        averages = ", ".join(f"AVG(LENGTH(CAST({column} AS BLOB)))" for column in ("text", "tokens", "names"))
        lengths = connection.execute(f"SELECT {averages} FROM passages").fetchone()
    for what, tables in TABLES.items():
        found.append(row(f"  {what}", sum(pages.pop(table) for table in tables) / passages, "B/passage"))
    found[1]["beside"] = "as they are: {:.0f}, {:.0f}, {:.0f} B".format(*lengths)
    return [*found, row("  all else, indexes included", sum(pages.values()) / passages, "B/passage")]


def _local_sizes(folder: Path, passages: int) -> Rows:
    files = [path for path in (folder / "kb" / "engine").rglob("*") if path.is_file()]
    parts = {"vectors": (".f16", ".rows", ".dead"), "graph of vectors": (".hnsw",)}
    found = [row("local engine", sum(path.stat().st_size for path in files) / passages, "B/passage")]
    for what, ends in parts.items():
        some = [path for path in files if path.suffix in ends]
        found.append(row(f"  {what}", sum(path.stat().st_size for path in some) / passages, "B/passage"))
        files = [path for path in files if path not in some]
    graph = _size(folder / "kb" / "graph") if (folder / "kb" / "graph").exists() else 0
    return [
        *found,
        row("  tantivy", sum(path.stat().st_size for path in files) / passages, "B/passage"),
        row("links between passages, kept on disk", graph / passages, "B/passage"),
    ]


def _resident(process: int, field: str = "VmRSS") -> float:
    """MB of a process; of a dead one 0."""
    try:
        status = Path(f"/proc/{process}/status").read_text("utf-8")
    except FileNotFoundError:
        return 0.0
    return int(status.split(f"{field}:")[1].split()[0]) / 1e3 if f"{field}:" in status else 0.0


def _below(process: int) -> float:
    """Resident MB of all that a process has started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text("utf-8").rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found, left = 0.0, children.get(process, [])
    while left:
        one = left.pop()
        found += _resident(one)
        left += children.get(one, [])
    return found


def measure(name: str) -> None:
    """Open, search and add in the base below this folder; prints rows as JSON."""
    folder = Path(name)
    chance = np.random.default_rng(5)
    words = vocabulary(WORDS)
    questions = [" ".join(words[int(n)] for n in chance.integers(0, 2_000, 6)) for _ in range(ASKED)]
    embedder = Drawn()
    begun = time.perf_counter()
    base = KnowledgeBase.open(folder / "kb", embedder=embedder, cache=folder / "cache")
    opened = time.perf_counter() - begun
    base.analyser.tokens_many(["다리 bridge"])
    me = os.getpid()
    found = [row("memory: the program, Kiwi loaded", _resident(me), "MB")]
    before = {field: _resident(me, field) for field in ("RssAnon", "RssFile")}

    def used(what: str) -> None:
        anon, file = (_resident(me, field) - before[field] for field in before)
        found.append(row(f"memory: {what}", anon + file, "MB", beside=f"{file:.0f} of it mapped files"))

    begun = time.perf_counter()
    base.search(questions[0], way="dense")
    first = time.perf_counter() - begun
    for way in WAYS:
        if way == "fused":
            used("sparse, dense, cascade")
            begun = time.perf_counter()
            base.search(questions[0], way=way)
            links = time.perf_counter() - begun
        pairs = []
        for question in questions:
            clock, processor = time.perf_counter(), time.process_time()
            base.search(question, way=way)  # type: ignore[arg-type]
            pairs.append((time.perf_counter() - clock, time.process_time() - processor))
        found.append(timed(f"search, {way}, k 5", Times(pairs)))
    used("and fused, which reads the links")
    found.append(row("  engine's own processes", _below(me), "MB"))
    times = []
    for turn in range(5):
        begun = time.perf_counter()
        base.add_records([{"id": "changed", "text": f"{turn}. {questions[turn]} 다리를 점검했다."}])
        times.append(time.perf_counter() - begun)
    base.close()
    told = [row("opening", opened, "s"), row("first search", first, "s"), row("first fused search", links, "s")]
    print(json.dumps([*told, *found, row("a document replaced, until it is found", 1e3 * median(times), "ms")]))


def _measured(folder: Path) -> Rows:
    call = "import sys; from benchmarks.scaling import measure; measure(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", call, str(folder)], check=True, stdout=subprocess.PIPE, text=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def _moved(folder: Path, url: str, passages: int) -> Rows:
    with _open(folder) as base:
        begun = time.perf_counter()
        base.reindex(engine=url)
        spent = time.perf_counter() - begun
    return [row("silmari reindex --engine", spent, "s", beside=f"{passages / spent:,.0f} passages/s")]


def _named(engine: str, rows: Rows) -> Rows:
    return [{**one, "what": f"{engine}: {one['what']}"} for one in rows]


def _lite(folder: Path, passages: int) -> Rows:
    found = _moved(folder, f"milvus:{folder}/lite/milvus.db", passages)
    found.append(row("vectors and filters", _size(folder / "lite") / passages, "B/passage"))
    found.append(row("BM25 beside the catalog", _size(folder / "kb" / "milvus-text") / passages, "B/passage"))
    return _named("Milvus Lite", found + _measured(folder))


def _server(folder: Path, passages: int) -> Rows:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "engine"))
    from milvus_server import Server
    from pymilvus import MilvusClient

    server = Server()
    try:
        assert server.process is not None
        found = [row("memory: server, empty", _below(server.process.pid), "MB")]
        found += _moved(folder, f"{server.url}?name=scaling", passages)
        client = MilvusClient(server.url.removeprefix("milvus+"))
        client.flush("scaling_passages")
        client.close()
        found += _measured(folder)
        found.append(row("memory: server, after the searches", _below(server.process.pid), "MB"))
        for path in sorted(path for path in server.folder.rglob("*") if path.is_dir()):
            # The message queue, the metadata, and the store, whose parts are told one by one.
            if (path.parent.name == "data" and path.parent.parent == server.folder) or path.parent.name == "files":
                found.append(row(f"on disk: {path.relative_to(server.folder)}", _size(path) / passages, "B/passage"))
    finally:
        server.end()
    return _named("Milvus 2.3.5", found)


def _postgres(url: str, passages: int, vectors: NDArray[np.float16]) -> Rows:
    """The same catalog in a schema of its own, which is dropped in the end."""
    import psycopg

    sizes = (
        "SELECT relname, pg_total_relation_size(c.oid), pg_table_size(c.oid) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'scaling' AND relkind = 'r'"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            with tempfile.TemporaryDirectory() as name:
                with _open(Path(name), catalog=f"{url}{'&' if '?' in url else '?'}schema=scaling") as base:
                    found = _fill(base, passages, vectors)
            connection.execute("VACUUM")
            tables = {str(table): (int(whole), int(bare)) for table, whole, bare in connection.execute(sizes)}
            wal = connection.execute("SELECT SUM(size) FROM pg_ls_waldir()").fetchone()
        finally:
            connection.execute("DROP SCHEMA IF EXISTS scaling CASCADE")
    found.append(row("catalog", sum(whole for whole, _ in tables.values()) / passages, "B/passage"))
    for table in ("passages", "vectors", "changes"):
        whole, bare = tables[table]
        beside = f"{(whole - bare) / passages:.0f} of it indexes"
        found.append(row(f"  {table}", whole / passages, "B/passage", beside=beside))
    found.append(row("write-ahead log", float(wal[0] if wal else 0) / 1e6, "MB"))
    return _named("PostgreSQL", found)


def _relations(passages: int = 1_000) -> Rows:
    """What a relation adds, with its share of an entity."""
    sizes: dict[bool, tuple[int, int]] = {}
    for stated in (False, True):
        with tempfile.TemporaryDirectory() as name:
            words = vocabulary(WORDS)
            each = RELATIONS // passages
            records: list[dict[str, Any]] = []
            for n in range(passages):
                triplets = [
                    [f"{words[n]} 주식회사", "supplies", words[20_000 + (each * n + m) % 1_000]] for m in range(each)
                ]
                records.append(
                    {"id": str(n), "text": " ".join(words[n : n + 20])} | ({"triplets": triplets} if stated else {})
                )
            with _open(Path(name)) as base:
                base.add_records(records)
            sizes[stated] = (_size(Path(name) / "kb") - _size(Path(name) / "kb" / "engine"), _size(Path(name) / "kb"))
    catalog, whole = (now - before for now, before in zip(sizes[True], sizes[False], strict=True))
    beside = "two thirds of an entity with it, vectors included"
    return [
        row("a relation in the catalog", catalog / RELATIONS, "B/relation", beside=beside),
        row("a relation in the local engine", (whole - catalog) / RELATIONS, "B/relation", beside=beside),
    ]


def run(passages: int = 10_000, server: bool = False, postgres: str = "") -> Rows:
    """Everything, as rows of what, value, unit, target, met and what it is beside."""
    vectors = jittered(embeddings()[0], passages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _open(folder) as base:
            found = _fill(base, passages, vectors)
            wal = folder / "kb" / "silmari.sqlite-wal"
            found.append(row("catalog: write-ahead log while open", wal.stat().st_size / 1e6, "MB"))
            begun = time.perf_counter()
            base.build()
            spent = time.perf_counter() - begun
            found.append(row("local: filled", spent, "s", beside=f"{passages / spent:,.0f} passages/s"))
        found += _catalog_sizes(folder, passages) + _named("local", _measured(folder))
        found += _local_sizes(folder, passages) + _lite(folder, passages)
        if server:
            found += _server(folder, passages)
    if postgres:
        found += _postgres(postgres, passages, vectors)
    return [*found, *_relations(), *_analysis()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--postgres", default="", metavar="URL")
    given = parser.parse_args()
    # Imported, not as `__main__`: an embedder is known by the module of its class.
    from benchmarks import scaling

    for line in scaling.run(given.passages, given.server, given.postgres):
        print(json.dumps(line, ensure_ascii=False))
