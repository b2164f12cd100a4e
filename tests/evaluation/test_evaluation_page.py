"""The tables of docs/evaluation.md come from results, and from those that lie beside it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from silmari.evaluation.beir import Dataset
from silmari.evaluation.runner import evaluate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluate_all", ROOT / "benchmarks" / "evaluate_all.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(page: ModuleType) -> dict[str, object]:
    """A collection on which the fusion is as good as its better part, or worse."""
    queries = {f"q{number}": f"question {number}" for number in range(40)}
    dataset = Dataset("ko-world", {"a": ("", ""), "b": ("", "")}, queries, {query: {"a": 1} for query in queries})
    ways = {
        "sparse": lambda question: [("b", 2.0), ("a", 1.0)],
        "dense": lambda question: [("a", 1.0)],
        "fused": lambda question: [("a", 1.0)] if question.endswith("7") else [("b", 2.0), ("a", 1.0)],
    }
    return json.loads(json.dumps(page.as_json(evaluate(dataset, ways))))  # type: ignore[no-any-return]


def test_tables_say_what_was_measured(page: ModuleType) -> None:
    result = made(page)
    versus = result["fused_versus_best_part"]["ndcg@10"]  # type: ignore[index]
    assert versus["part"] == "dense" and versus["interval"][1] < 0
    shown = page.tables([result])
    row = next(line for line in shown.splitlines() if line.startswith("| ko-world"))
    assert "| .631 <sub>.631–.631</sub> | **1.000** <sub>1.000–1.000</sub> |" in row
    assert "**below** (dense)" in row and "−.3" in row
    assert "### Time of one search" in shown
    assert all(line.count("|") > 3 for line in shown.splitlines() if line.startswith("|"))


def test_page_shows_the_stored_results(page: ModuleType) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    inside = text.split(page.BEGIN)[1].split(page.END)[0]
    assert inside.strip() == page.tables(page.stored()).strip()


def test_built_in_set_is_whole(page: ModuleType) -> None:
    dataset = page.built_in()
    assert len(dataset.judged()) == len(dataset.documents) == 120
