"""The catalog in SQLite beside PostgreSQL: ``python -m benchmarks.catalogs postgresql://user@host/database``.

Schemas of their own are made there and dropped. Documents are prepared before the clock starts (that is the same for
both), one transaction a document as files are added; then by whole knowledge bases, without vectors.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from silmari.catalog.catalog import Catalog
from silmari.catalog.words import AnalysedPassage, FileInfo, ReadDocument
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Document, Passage

DOCUMENTS = 2_000
PROCESSES = (1, 2, 4)
SEARCHES = 200
_WORDS = "연차 휴가 계약 예산 지점 회의 보고 직원 규정 bridge contract annual report budget leave branch staff".split()


def prepared(name: str, count: int) -> Iterator[tuple[FileInfo, ReadDocument]]:
    """Short documents of one passage."""
    source = random.Random(name)
    for number in range(count):
        text = f"{name} {number} " + " ".join(source.choices(_WORDS, k=40))
        path = f"/{name}/{number}.txt"
        document = Document(path, "text", "", None, None, f"{name}{number}", ())
        passage = AnalysedPassage(Passage(text, text, "", {"chars": [0, len(text)]}), text)
        yield FileInfo(path, len(text), 1, f"{name}{number}"), ReadDocument(document, [passage], path, path)


def put_all(folder: Path, url: str, name: str, count: int) -> float:
    """Seconds for putting documents, one transaction each."""
    ready = list(prepared(name, count))
    with Catalog.open(folder, {}, url=url) as catalog:
        begun = time.perf_counter()
        for file, document in ready:
            catalog.put_file(file, [document])
        return time.perf_counter() - begun


def together(folder: Path, url: str, processes: int) -> float:
    """Documents a second of several processes that put at once."""
    Catalog.open(folder, {}, url=url).close()
    each = DOCUMENTS // processes
    script = (
        "import sys, time; from pathlib import Path; from benchmarks.catalogs import put_all; "
        "print('ready', flush=True); sys.stdin.readline(); "
        "put_all(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(folder), url, f"p{number}", str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    begun = time.perf_counter()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.communicate()
        assert process.returncode == 0
    return each * processes / (time.perf_counter() - begun)


@contextmanager
def schema(url: str, name: str) -> Iterator[str]:
    """The URL of a schema that is dropped in the end; SQLite needs none."""
    if url == "sqlite":
        yield url
        return
    import psycopg

    full = f"{url}{'&' if '?' in url else '?'}schema=bench_{name}"
    try:
        yield full
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS bench_{name} CASCADE")


def measure(url: str) -> dict[str, Any]:
    """All figures of one database."""
    found: dict[str, Any] = {"catalog": url.partition(":")[0]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for processes in PROCESSES:
            with schema(url, f"p{processes}") as place:
                found[f"put, {processes} processes (documents/s)"] = together(folder / str(processes), place, processes)
        docs = folder / "docs"
        docs.mkdir()
        for number, (_, read) in enumerate(prepared("files", DOCUMENTS)):
            (docs / f"{number}.txt").write_text(read.passages[0].passage.text, "utf-8")
        with schema(url, "base") as place:
            with KnowledgeBase.open(folder / "kb", catalog=place, embedder="none") as base:
                base.search("warm")
                begun = time.perf_counter()
                base.add(docs)
                found[f"silmari add, {DOCUMENTS:,} files (s)"] = time.perf_counter() - begun
                times = []
                source = random.Random(1)
                for _ in range(SEARCHES):
                    question = " ".join(source.choices(_WORDS, k=3))
                    begun = time.perf_counter()
                    base.search(question, way="sparse")
                    times.append(time.perf_counter() - begun)
                found["search, sparse, median (ms)"] = statistics.median(times) * 1000
            opening = []
            for _ in range(20):
                begun = time.perf_counter()
                Catalog.open(folder / "kb", {}, url=place).close()
                opening.append(time.perf_counter() - begun)
            found["open the catalog, median (ms)"] = statistics.median(opening) * 1000
    return found


def main() -> None:
    """Print one column a database."""
    from benchmarks.__main__ import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="Of a database in PostgreSQL.")
    columns = [measure("sqlite"), measure(parser.parse_args().url)]
    names = [str(one.pop("catalog")) for one in columns]
    print(table([{"": key, **dict(zip(names, (one[key] for one in columns), strict=True))} for key in columns[0]]))


if __name__ == "__main__":
    main()
