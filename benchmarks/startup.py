"""What a user waits for: import, help, a search from the command line, and ingest beside its pure embedding calls."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SENTENCES = (
    "제{n}조 직원은 해마다 {a}일의 연차휴가를 쓸 수 있으며 남은 날은 다음 해 {b}월까지 쓸 수 있다.",
    "The pump at station {n} was inspected on day {a} and its bearing was replaced after {b} hours of service.",
    "{n}번 지점의 올해 매출은 {a}억 원으로 지난해보다 {b}퍼센트 늘었다.",
    "Record {n} says that the river rose by {a} centimetres within {b} hours after the storm.",
)


def run(rounds: int = 5) -> list[dict[str, Any]]:
    """One row a measurement: name, median, target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SILMARI_CACHE"] = str(folder / "cache")
        return [*_start(folder, rounds), *(_ingest(folder, engine) for engine in ("plain", "onnx"))]


def _start(folder: Path, rounds: int) -> list[dict[str, Any]]:
    from silmari.knowledge_base import KnowledgeBase

    base = folder / "kb"
    with KnowledgeBase.open(base) as kb:
        kb.add_records({"id": str(n), "text": SENTENCES[0].format(n=n, a=n % 25, b=n % 12)} for n in range(20))
    command = [sys.executable, "-m", "silmari"]
    measured = {
        "import silmari": ([sys.executable, "-c", "import silmari"], 0.1),
        "silmari --help": ([*command, "--help"], 0.5),
        "silmari search, small Korean base": ([*command, "search", "연차휴가", "--kb", str(base)], 3.0),
    }
    # A bare interpreter is no part of the import.
    bare = _median([sys.executable, "-c", "pass"], rounds)
    return [
        {
            "what": what,
            "seconds": round(max(0.0, _median(call, rounds) - (bare if what.startswith("import") else 0)), 3),
            "target": target,
        }
        for what, (call, target) in measured.items()
    ]


def _median(call: list[str], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(call, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _ingest(folder: Path, engine: str, files: int = 60) -> dict[str, Any]:
    """The whole of `add` over the time that its own embedding calls took, measured in the same run."""
    from silmari.knowledge_base import KnowledgeBase

    documents = folder / f"documents-{engine}"
    documents.mkdir()
    for number in range(files):
        lines = [SENTENCES[n % 4].format(n=number * 10 + n, a=n * 3 + number % 7, b=number % 12 + n) for n in range(10)]
        (documents / f"{engine} {number}.txt").write_text("\n".join([engine, *lines]), encoding="utf-8")
    with KnowledgeBase.open(folder / engine, embedder=f"bundled:{engine}") as kb:
        assert kb.embedder is not None
        kb.embedder.passages(["warm up"])
        embedding = 0.0
        plain = kb.embedder.passages

        def timed(texts: Any) -> Any:
            nonlocal embedding
            start = time.perf_counter()
            vectors = plain(texts)
            embedding += time.perf_counter() - start
            return vectors

        kb.embedder.passages = timed  # type: ignore[method-assign]
        start = time.perf_counter()
        kb.add(documents)
        whole = time.perf_counter() - start
    return {"what": f"add / its embedding calls, bundled:{engine}", "ratio": round(whole / embedding, 3), "target": 1.1}


if __name__ == "__main__":
    for row in run():
        print(row)
