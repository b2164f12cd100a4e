"""``silmari compare`` and what ``search`` shows of paths, as they are typed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_fixtures import service
from silmari.cli import app
from silmari.cli.paths import tree
from silmari.knowledge_base import KnowledgeBase
from standin import StandIn

__all__ = ["service"]

Run = Callable[..., tuple[int, str, str]]
RECORDS: list[dict[str, Any]] = [
    {
        "id": "다리",
        "title": "[다리]",
        "text": "달맞이다리는 서문경이 설계하였다.",
        "triplets": [["달맞이다리", "설계자", "서문경"]],
    },
    {"id": "사람", "text": "그는 나루골 사람이다.", "triplets": [["서문경", "출생지", "나루골"]]},
    {"id": "town", "text": "A town by the river.", "triplets": [["Naru", "lies by", "the river"]]},
]
QUESTION = "달맞이다리를 설계한 사람은 어디에서 태어났나요?"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], service: StandIn) -> Run:
    monkeypatch.setenv("SILMARI_KB", str(tmp_path / "kb"))
    monkeypatch.setenv("SILMARI_BASE_URL", service.url)
    monkeypatch.setenv("SILMARI_API_KEY", "key")
    monkeypatch.setenv("SILMARI_EMBEDDER", "openai:pairs")
    monkeypatch.setenv("COLUMNS", "120")
    with KnowledgeBase.open() as base:
        base.add_records(RECORDS)

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return called


def test_a_table_says_which_way_found_what_at_which_rank(run: Run) -> None:
    code, out, err = run("compare", QUESTION, "-k", 2)
    assert code == 0 and not err
    head = next(line for line in out.splitlines() if "Passage" in line)
    assert head.split() == ["Passage", "dense", "cascade", "expansion", "graph", "fused"]
    row = next(line for line in out.splitlines() if "[다리]: 달맞이다리는" in line)
    assert row.split()[-5:] == ["1"] * 5
    for way in ("dense", "cascade", "expansion", "graph", "fused"):
        assert f"\n{way}\n" in out


def test_chosen_ways_without_answers_and_as_json(run: Run, service: StandIn) -> None:
    code, out, _ = run("compare", QUESTION, "--ways", "expansion, sparse", "--no-answers")
    assert code == 0 and "sparse" in out and "fused" not in out and "출처" not in out
    code, out, _ = run("compare", QUESTION, "--ways", "expansion", "--json", "--degree", 2, "--llm", "openai:any")
    found = json.loads(out)
    assert code == 0 and set(found) == {"question", "k", "ways"}
    (way,) = found["ways"]
    assert set(way) == {"way", "hits", "answer", "fault", "trace"} and way["hits"][0]["evidence"]["path"]
    assert way["answer"]["question"] == QUESTION and any(stage["stage"] == "rerank" for stage in way["trace"]["stages"])


def test_a_way_that_cannot_run_says_why_beside_the_others(run: Run) -> None:
    code, out, err = run("compare", QUESTION, "--embedder", "none")
    assert code == 0 and not err and "The way dense needs an embedder" in out and "[다리]" in out
    code, out, err = run("compare", QUESTION, "--ways", "best")
    assert code == 2 and "no way named best" in err and not out


def test_paths_are_shown_as_trees_and_in_json(run: Run) -> None:
    code, out, _ = run("search", QUESTION, "--way", "expansion", "-k", 3, "--explain", "--entities", "달맞이다리")
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    first = lines.index("달맞이다리")
    assert lines[first + 1].startswith("└── 달맞이다리 설계자 서문경  (passage ")
    assert "└── 서문경 출생지 나루골" in out and "└── this passage" in out
    code, out, _ = run("search", QUESTION, "--way", "expansion", "--json", "--expansion", "top_k=1")
    assert json.loads(out)["hits"][0]["evidence"]["path"][0]["entity"] == "달맞이다리"
    for wrong in ("top_k", "depth=1", "top_k=many"):
        code, out, err = run("search", QUESTION, "--way", "expansion", "--expansion", wrong)
        assert code == 2 and not out and err.count("\n") == 1


def test_whatever_stands_on_a_path_is_shown() -> None:
    from rich.console import Console

    start = {"passage_id": 1, "uri": "/a.pdf", "title": "A", "locator": {"page": 3}}
    console = Console(width=100)
    with console.capture() as caught:
        console.print(tree([start, {"entity": "한강", "link": "title", "gain": 0.2}, {"passage_id": 2}]))
        console.print(tree([start, {"link": "alias", "score": 0.9}, {"entity": "B", "id": 3}, {"passage_id": 2}]))
        console.print(tree([{"passage_id": 2}]))
    shown = [line.strip(" └─") for line in caught.get().splitlines()]
    assert shown == [
        "A, p. 3",
        "한강  (the title of this passage)",
        "this passage",
        "A, p. 3",
        "link alias, score 0.9",
        "B",
        "this passage",
        "this passage",
    ]
