"""Ten questions one by one and at once, with a model that takes a second for each reply."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from silmari.knowledge_base import KnowledgeBase
from standin import StandIn

LATENCY = 1.0
QUESTIONS = 10
REPEATS = 3


def run() -> list[dict[str, Any]]:
    """Seconds for all questions: median, least and most of a few runs, both sides in turn."""
    taken: dict[str, list[float]] = {"one by one": [], "10 at once": []}
    with (
        StandIn(behaviour="slow", delay=LATENCY) as service,
        tempfile.TemporaryDirectory() as folder,
        KnowledgeBase.open(
            Path(folder) / "kb",
            llm="openai:any",
            base_url=service.url,
            api_key="none",
            embedder="none",
            cache=Path(folder) / "cache",
        ) as base,
    ):
        base.add_records({"id": str(n), "text": f"Part MX-{n} costs {n * 3} dollars."} for n in range(100, 200))
        base.search("What does part MX-100 cost?")
        fresh = iter(range(100, 200))  # Replies are cached: nothing is asked twice.

        def asked() -> list[str]:
            return [f"What does part MX-{next(fresh)} cost?" for _ in range(QUESTIONS)]

        def timed(ask: Callable[[list[str]], Any]) -> float:
            questions = asked()
            start = time.perf_counter()
            answers = ask(questions)
            assert all(answer.found for answer in answers), "every question has its answer"
            return time.perf_counter() - start

        for _ in range(REPEATS):
            taken["one by one"].append(timed(lambda questions: [base.ask(one) for one in questions]))
            taken["10 at once"].append(timed(lambda questions: base.ask_many(questions, concurrency=10)))
    return [
        {
            "questions": QUESTIONS,
            "how": how,
            "latency s": LATENCY,
            "median s": statistics.median(seconds),
            "least s": min(seconds),
            "most s": max(seconds),
        }
        for how, seconds in taken.items()
    ]
