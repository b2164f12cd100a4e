"""A graph question end to end, question vector included, beside a dense one; on evaluation sets with given triplets.

The sets lie in ``../shared/data`` beside the project, or in ``SILMARI_SHARED``; without them nothing is measured.
Their bases are built in the cache folder first, which takes minutes.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from pathlib import Path
from typing import Any

SETS = ("musique100", "ko-world")
WAYS = ("dense", "graph", "fused")
QUESTIONS = 40


def run() -> list[dict[str, Any]]:
    folder = Path(os.environ.get("SILMARI_SHARED") or Path(__file__).parents[2] / "shared") / "data"
    rows = []
    for name in SETS:
        if (folder / name).is_dir():
            rows.append(_measured(folder / name))
        else:
            rows.append({"set": name, "note": "is not there"})
    return rows


def _measured(folder: Path) -> dict[str, Any]:
    from silmari.evaluation.beir import load
    from silmari.evaluation.collection import opened
    from silmari.settings import Settings

    dataset = load(folder)
    fresh = itertools.count()
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    with opened(dataset, Settings.load(relations="given")) as collection:
        for text in [dataset.queries[query] for query in dataset.judged()][:QUESTIONS]:
            for way in WAYS:
                # Never asked before, so that its vector is made anew.
                question = f"{text} {next(fresh)}"
                start = time.perf_counter()
                collection.base.search(question, way=way)  # type: ignore[arg-type]
                taken[way].append((time.perf_counter() - start) * 1000)
    medians = {f"{way}, ms": statistics.median(found) for way, found in taken.items()}
    ratios = [graph / dense for graph, dense in zip(taken["graph"], taken["dense"], strict=True)]
    return {"set": folder.name, **medians, "graph ÷ dense": statistics.median(ratios), "target": 2.0}
