"""``--relations triplets`` on the command line: what it will cost, the question, the limit, the report."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from model_fixtures import service
from silmari.cli import app, confirming
from silmari.cli.progress import ProgressBars
from silmari.extraction.estimating import Estimate
from standin import StandIn

__all__ = ["service"]

Run = Callable[..., tuple[int, str, str]]
TEXT = "한강은 서울을 지난다."


def reply(body: object) -> str:
    return json.dumps(
        {
            "triplets": [
                {"subject": "한강", "predicate": "지나는 곳", "object": "서울"},
                {"subject": "한강", "predicate": "흘러드는 곳", "object": "서해"},
            ]
        }
    )


@pytest.fixture
def run(tmp_path: Path, service: StandIn, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    service.replier = reply
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    monkeypatch.setenv("SILMARI_BASE_URL", service.url)
    monkeypatch.setenv("SILMARI_API_KEY", "key")
    monkeypatch.setenv("SILMARI_PRICES", '{"openai:any": [1.0, 1.0]}')
    (tmp_path / "강.txt").write_text(TEXT, "utf-8")

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return called


def test_what_was_read_and_what_it_cost_is_told(run: Run) -> None:
    code, out, err = run("add", "강.txt", "--relations", "triplets", "--llm", "openai:any")
    assert code == 0
    assert re.search(r"1 passages for the chat model: 1 calls, about \d+ tokens, about \$0\.00", " ".join(err.split()))
    assert re.search(r"1 relations were read in 1 passages \(1 calls, [\d,]+ tokens, \$0\.0\d+\)", out)
    assert "not taken: 1 names what the passage does not" in out
    status = run("status")[1]
    assert re.search(r"Model +openai:any: 1 calls", status) and "Relations" in status
    assert "한강 · 지나는 곳 · 서울" in run("show", "강.txt")[1] or "지나는 곳" in run("show", "강.txt")[1]


def test_a_limit_leaves_the_rest_for_build(run: Run, service: StandIn) -> None:
    code, out, _ = run("add", "강.txt", "--relations", "triplets", "--llm", "openai:any", "--max-cost", "0", "--json")
    found = json.loads(out)
    assert code == 0 and found["estimate"]["calls"] == 1 and found["extracted"]["passages"] == 0
    assert found["pending"]["relations"] == 1 and "max_cost" in " ".join(found["notes"])
    assert not service.requests
    code, out, _ = run("build", "--llm", "openai:any", "--yes", "--json")
    found = json.loads(out)
    assert code == 0 and found["pending"]["relations"] == 0 and found["extracted"]["triplets"] == 1
    assert found["extracted"]["usage"]["cost"] > 0


def test_a_service_that_fails_is_told_with_an_exit_code(run: Run, service: StandIn) -> None:
    service.behaviour = "401"
    code, out, _ = run("add", "강.txt", "--relations", "triplets", "--llm", "openai:any")
    assert code == 1 and "HTTP 401" in out and "1 passages still wait" in out and "1 added" in out


@pytest.mark.parametrize(
    ("cost", "yes", "person", "asked"),
    [(2.0, False, True, True), (2.0, True, True, False), (2.0, False, False, False), (0.5, False, True, False),
     (None, False, True, False)],
)  # fmt: skip
def test_only_a_person_is_asked_and_only_when_it_is_dear(
    monkeypatch: pytest.MonkeyPatch, cost: float | None, yes: bool, person: bool, asked: bool
) -> None:
    questions: list[str] = []

    def answer(question: str, **_: object) -> bool:
        questions.append(question)
        return False

    monkeypatch.setattr(confirming, "_watched", lambda: person)
    monkeypatch.setattr(confirming.typer, "confirm", answer)
    with ProgressBars(shown=False) as bars:
        agreed = confirming.Confirming(bars, yes=yes)(Estimate(1, 1, 1, 1, cost, 1.0))
    assert agreed is not asked and len(questions) == asked
