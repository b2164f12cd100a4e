"""A process that adds a folder and tells what it has done, to be killed by `test_crashes`.

Its arguments are the base's folder, the folder to add, the file LOG, and perhaps a file that it waits for. Each line
on standard output is a progress report; each line of LOG is the hash of a text that was embedded.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time

import numpy as np
from langchain_core.embeddings import Embeddings

from silmari.ingest import Progress
from silmari.knowledge_base import KnowledgeBase


class LoggedEmbeddings(Embeddings):
    """Vectors made of a text's hash, slowly, with a line in a file for each."""

    model = "hashed-32"

    def __init__(self, log: str) -> None:
        self._log = log

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with open(self._log, "a", encoding="ascii") as log:
            log.writelines(f"{hashlib.sha256(text.encode()).hexdigest()}\n" for text in texts)
        time.sleep(float(os.environ.get("SILMARI_TEST_PAUSE", "0.02")))
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(size=32).tolist()


def tell(progress: Progress) -> None:
    """Write a report at once, in one piece."""
    os.write(1, f"{progress.stage} {progress.done} {progress.total}\n".encode())


def main() -> None:
    """Add the folder."""
    kb, folder, log, *gate = sys.argv[1:]
    with KnowledgeBase.open(kb, embedder=LoggedEmbeddings(log)) as base:
        os.write(1, b"open 0 0\n")
        while gate and not os.path.exists(gate[0]):
            time.sleep(0.01)
        report = base.add(folder, on_progress=tell)
    os.write(1, f"end {len(report.files)} {report.pending['vectors']} {report.notes}\n".encode())
