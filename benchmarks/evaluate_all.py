"""Every way on every development set: results as JSON, and the tables of docs/evaluation.md written from them.

``make eval`` runs all sets, ``make eval-small`` two small ones and the one that comes with Silmari. Vectors and bases
come from the cache where they were made before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from silmari.cli.common import console
from silmari.cli.progress import ProgressBars
from silmari.evaluation.beir import Dataset, load
from silmari.evaluation.folder import evaluate_dataset
from silmari.evaluation.metrics import METRICS, paired_difference
from silmari.evaluation.runner import Report
from silmari.evaluation.table import heading, make_table, milliseconds, share
from silmari.model import WAYS
from silmari.retrieval.relevance import pairs

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SILMARI_SHARED", ROOT.parent / "shared")) / "data"
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "evaluation.md"
BEGIN, END = "<!-- results: begin, written by benchmarks/evaluate_all.py -->", "<!-- results: end -->"

SETS = {
    "hotpot100": "English, 2 hops",
    "musique100": "English, 2 to 4 hops",
    "2wiki101": "English, 2 to 4 hops",
    "scifact-train": "English scientific claims",
    "ko-strategyqa": "Korean, single facts; English titles",
    "ko-hop": "Korean, 2 and more hops, over the same passages",
    "ko-world": "Korean, an invented town: 1 to 3 hops, aliases, homonyms",
    "ko-science": "Korean science passages",
    "ko-autorag": "Korean PDF pages",
}
SMALL = ("ko-world", "nano")
PARTS = ("sparse", "dense")
GIVEN = ", given relations"
FUSED = "fused"
# Published by others, with the number of questions that they asked where it differs; see docs/evaluation.md.
ANCHORS = {
    "ndcg@10": {
        "ko-strategyqa": "BM25 .378 (words), .561 (bigrams); bge-m3 .786",
        "ko-autorag": "BM25 .796 (words), .923 (bigrams); bge-m3 .823; arctic-ko .903",
        "scifact-train": "BM25 .679 (on the test questions)",
    },
    "recall@5": {
        "hotpot100": "NV-Embed-v2 .945, HippoRAG 2 .963, PropRAG .970 (1,000 questions)",
        "musique100": "NV-Embed-v2 .697, HippoRAG 2 .747, PropRAG .773 (1,000 questions)",
        "2wiki101": "NV-Embed-v2 .765, HippoRAG 2 .904, PropRAG .937 (1,000 questions)",
    },
}


def built_in() -> Dataset:
    """The questions that ship with Silmari, each with the one passage that answers it."""
    known = list(enumerate(pairs()))
    return Dataset(
        "built-in",
        {f"d{number}": ("", pair.passage) for number, pair in known},
        {f"q{number}": pair.question for number, pair in known},
        {f"q{number}": {f"d{number}": 1} for number, _ in known},
    )


def variants(dataset: Dataset) -> list[tuple[Dataset, str]]:
    """A set as it is, and again with the relations that it brings, if it brings any."""
    if not dataset.triplets:
        return [(dataset, "sentences")]
    return [(dataset, "sentences"), (replace(dataset, name=f"{dataset.name}{GIVEN}"), "given")]


def run(dataset: Dataset, relations: str) -> Report:
    # Without relations, expansion finds what dense finds.
    ways = [way for way in WAYS if way != "expansion" or relations == "given"]
    with ProgressBars() as bars:
        return evaluate_dataset(dataset, ways=ways, relations=relations, on_progress=bars.show)


def as_json(report: Report) -> dict[str, Any]:
    """The shape of ``eval --json``, and what the comparison of the fusion with its parts needs besides."""
    shown = report.as_json()
    shown["documents"] = len(report.dataset.documents)
    shown["machine"] = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    shown["fused_versus_best_part"] = {
        metric: against_best_part(report, metric) for metric in METRICS if FUSED in report.ways
    }
    return {name: rounded(value) for name, value in shown.items()}


def against_best_part(report: Report, metric: str) -> dict[str, Any]:
    """Paired bootstrap of the fusion against whichever of its parts is better on this set."""
    best = max(PARTS, key=lambda way: report.ways[way].metrics[metric])
    values = {way: np.array([one.metrics[metric] for one in report.outcomes[way]]) for way in (FUSED, best)}
    return {"part": best, **paired_difference(values[FUSED], values[best]).as_json()}


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


def write_page(results: Sequence[Mapping[str, Any]]) -> None:
    """Put the tables between the page's two markers."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", encoding="utf-8")


def tables(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return "No results yet: run `make eval`.\n"
    ways = list(dict.fromkeys(way for one in results for way in one["ways"]))
    built_with = {f"{name} `{value}`" for one in results for name, value in one["built_with"].items()}
    parts = [
        f"Built with {', '.join(sorted(built_with))}.",
        *(
            f"### {heading(metric)}\n\n{quality_table(results, ways, metric)}"
            for metric in ("ndcg@10", "recall@5", "recall@2")
        ),
        f"### All metrics\n\n{full_table(results)}",
        f"### Time of one search\n\nMilliseconds, median / 95th percentile, besides making the question's vector "
        f"({', '.join(sorted({one['machine'] for one in results}))}).\n\n{time_table(results, ways)}",
    ]
    return "\n\n".join(parts) + "\n"


def quality_table(results: Sequence[Mapping[str, Any]], ways: Sequence[str], metric: str) -> str:
    anchors = ANCHORS.get(metric, {})
    head = ["set", *ways, "fused against its best part", *(["published by others"] if anchors else [])]
    rows = []
    for one in results:
        best = max(one["ways"][way][metric] for way in one["ways"])
        cells = [quality(one["ways"][way], metric, best) if way in one["ways"] else "" for way in ways]
        versus = one["fused_versus_best_part"].get(metric)
        rows.append(
            [
                one["dataset"],
                *cells,
                difference(versus) if versus else "",
                *([anchors.get(one["dataset"], "")] if anchors else []),
            ]
        )
    return markdown(head, rows)


def quality(summary: Mapping[str, Any], metric: str, best: float) -> str:
    value, (low, high) = summary[metric], summary["intervals"][metric]
    shown = f"**{share(value)}**" if value == best else share(value)
    return f"{shown} <sub>{share(low)}–{share(high)}</sub>"


def difference(versus: Mapping[str, Any]) -> str:
    low, high = versus["interval"]
    verdict = "above" if low > 0 else "**below**" if high < 0 else "level"
    return f"{signed(versus['difference'])} <sub>{signed(low)} to {signed(high)}</sub> {verdict} ({versus['part']})"


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{share(abs(value))}"


def full_table(results: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [one["dataset"] if at == 0 else "", way, *(share(summary[metric]) for metric in METRICS)]
        for one in results
        for at, (way, summary) in enumerate(one["ways"].items())
    ]
    return markdown(["set", "way", *map(heading, METRICS)], rows)


def time_table(results: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> str:
    rows = []
    for one in results:
        embed = max(summary["embed_ms"] for summary in one["ways"].values())
        cells = [
            f"{milliseconds(max(0.0, one['ways'][way]['p50_ms'] - embed))} / "
            f"{milliseconds(max(0.0, one['ways'][way]['p95_ms'] - embed))}"
            if way in one["ways"]
            else ""
            for way in ways
        ]
        rows.append([one["dataset"], f"{one['documents']:,}", f"{one['questions']:,}", milliseconds(embed), *cells])
    return markdown(["set", "documents", "questions", "the question's vector", *ways], rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stored() -> list[dict[str, Any]]:
    names = [f"{name}{variant}" for variant in ("", GIVEN) for name in SETS]
    paths = [path for name in names if (path := stored_at(name)).exists()]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def stored_at(name: str) -> Path:
    return RESULTS / f"{name.replace(GIVEN, '.given')}.json"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="*", help="which sets; default: all")
    parser.add_argument("--data", type=Path, default=DATA, help="where the sets lie")
    parser.add_argument("--small", action="store_true", help="two small sets and the built-in one; only shows them")
    parser.add_argument("--tables", action="store_true", help="only write the page anew from stored results")
    chosen = parser.parse_args(arguments)
    out = console()
    if chosen.tables:
        write_page(stored())
        return 0
    names = chosen.sets or (SMALL if chosen.small else tuple(SETS))
    there = [name for name in names if (chosen.data / name).is_dir()]
    if len(there) < len(names):
        out.print(f"Not in {chosen.data}: {', '.join(name for name in names if name not in there)}", style="yellow")
    todo: list[Callable[[], Dataset]] = [lambda name=name: load(chosen.data / name) for name in there]  # type: ignore[misc]
    if chosen.small:
        todo.append(built_in)
    for dataset, relations in (variant for made in todo for variant in variants(made())):
        report = run(dataset, relations)
        out.print(make_table(report))
        for note in report.notes:
            out.print(note, style="dim", soft_wrap=True)
        if not chosen.small:
            RESULTS.mkdir(exist_ok=True)
            text = json.dumps(as_json(report), ensure_ascii=False, indent=1)
            stored_at(dataset.name).write_text(f"{text}\n", encoding="utf-8")
            write_page(stored())
    return 0 if todo else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
