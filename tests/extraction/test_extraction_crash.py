"""Processes that are killed or interrupted while a model reads: nothing is lost, and nothing is paid for twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from extraction_scripts import reply

from silmari.extraction.prompting import SCHEMA
from silmari.knowledge_base import KnowledgeBase
from standin import StandIn

COUNT = 30
IN_FLIGHT = 4


def start(kb: Path, url: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", "import extraction_worker; extraction_worker.main()", str(kb), url, str(COUNT)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop_after(process: subprocess.Popen[str], passages: int, how: signal.Signals) -> bool:
    """End a process once it has read so many passages; False if it came to its end before."""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            stage, done, _ = line.split()
            if stage == "end":
                return False
            if stage == "triplets" and int(done) >= passages:
                process.send_signal(how)
                process.communicate(timeout=60)
                return True
    raise AssertionError("the process ended without a word")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_resumed(tmp_path: Path, service: StandIn, how: signal.Signals) -> None:
    service.replier, service.behaviour, service.delay = reply, "slow", 0.05
    kills = 0
    for passages in (5, 8):
        process = start(tmp_path / "kb", service.url)
        kills += stop_after(process, passages, how)
    assert kills == 2
    with KnowledgeBase.open(
        tmp_path / "kb", llm="openai:any", base_url=service.url, api_key="key", embedder="none"
    ) as base:
        base.build()
        assert base.catalog.count_extractions() == (0, 0)
        assert base.status().relations == COUNT
    # A request that a kill has cut off is empty.
    bodies = [request.body for request in service.requests if request.body]
    assert len({body["messages"][-1]["content"] for body in bodies}) == COUNT
    # Only what was under way in the moment of a kill is asked for again.
    assert len(bodies) - COUNT <= kills * IN_FLIGHT
    assert all(body["response_format"]["json_schema"]["schema"] == SCHEMA for body in bodies)


def test_an_interrupted_run_stores_what_it_has_read(tmp_path: Path, service: StandIn) -> None:
    service.replier, service.behaviour, service.delay = reply, "slow", 0.1
    assert stop_after(start(tmp_path / "kb", service.url), 3, signal.SIGINT)
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        assert base.status().relations >= 3
        assert base.status().usage["openai:any"].calls >= 3
