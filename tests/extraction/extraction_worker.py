"""A process that lets a model read records, to be killed by `test_extraction_crash`.

Its arguments are the base's folder, the service's URL, and how many records there are.
"""

from __future__ import annotations

import os
import sys

from extraction_scripts import text_of

from silmari.ingest import Progress
from silmari.knowledge_base import KnowledgeBase


def tell(progress: Progress) -> None:
    """Write a report at once, in one piece."""
    os.write(1, f"{progress.stage} {progress.done} {progress.total}\n".encode())


def main() -> None:
    """Add the records."""
    folder, url, count = sys.argv[1:]
    options = {"llm": "openai:any", "base_url": url, "api_key": "key", "embedder": "none", "concurrency": 4}
    with KnowledgeBase.open(folder, **options) as base:
        records = [{"id": str(number), "text": text_of(number)} for number in range(int(count))]
        base.add_records(records, relations="triplets", on_progress=tell)
    os.write(1, b"end 0 0\n")
