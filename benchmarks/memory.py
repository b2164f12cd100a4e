"""Resident memory of a process that searches a base of 100,000 passages, and what such a base takes on disk.

The vectors are random (an embedder of our own through LangChain's interface): they weigh as much as real
ones. The searching process loads the bundled embedder too, since a real one would.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

WORDS = (
    "강 다리 회사 휴가 직원 계약 보고서 점검 센서 수위 측정 부산 대전 광주 예산 장비 안전 교육 회의 지침 "
    "river bridge company leave staff contract report inspection sensor level budget device safety training meeting"
).split()


class Random(Embeddings):
    """Random unit vectors of 384 numbers."""

    model = "random-384"

    def __init__(self) -> None:
        self._dice = np.random.default_rng(0)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows = self._dice.standard_normal((len(texts), 384))
        return list((rows / np.linalg.norm(rows, axis=1, keepdims=True)).tolist())

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def run(passages: int = 100_000) -> list[dict[str, Any]]:
    """Build the base, then measure in a process of its own."""
    from silmari.knowledge_base import KnowledgeBase

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dice = np.random.default_rng(1)
        drawn = dice.choice(WORDS, (passages, 40))
        start = time.perf_counter()
        with KnowledgeBase.open(folder / "kb", embedder=Random(), cache=folder / "cache") as kb:
            kb.add_records({"id": str(n), "text": f"{n} {' '.join(drawn[n])}"} for n in range(passages))
        built = time.perf_counter() - start
        # Imported there, not run as a script: an embedder is known by the module of its class.
        call = "import sys; from benchmarks.memory import measure; measure(sys.argv[1])"
        shown = subprocess.run([sys.executable, "-c", call, name], check=True, stdout=subprocess.PIPE, text=True)
        size = sum(path.stat().st_size for path in (folder / "kb").rglob("*") if path.is_file())
    return [
        {"what": f"resident memory, {passages:,} passages (MB)", "value": shown.stdout.strip(), "target": 1500},
        {"what": "the base on disk (MB)", "value": round(size / 1e6)},
        {"what": "building it without embedding (s)", "value": round(built)},
    ]


def measure(name: str) -> None:
    """Search and answer in the base below this folder, and print the most memory that took, in MB."""
    folder = Path(name)
    from silmari.knowledge_base import KnowledgeBase
    from silmari.providers.embedding import open_embedder
    from silmari.settings import Settings

    bundled = open_embedder("bundled", Settings.load(cache=folder / "cache"))
    assert bundled is not None
    bundled.query("부산의 다리는 언제 점검했나요?")
    with KnowledgeBase.open(folder / "kb", embedder=Random(), cache=folder / "cache") as kb:
        for way in ("sparse", "dense", "cascade", "fused"):
            kb.search("부산의 다리는 언제 점검했나요?", way=way)  # type: ignore[arg-type]
        kb.ask("When was the bridge inspected?")
    pages = next(line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmHWM"))
    print(round(int(pages.split()[1]) / 1000))
