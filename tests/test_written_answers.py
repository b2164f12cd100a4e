"""Answers written by a model behind real HTTP, through the knowledge base and the command line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_fixtures import service
from silmari.answering.answer import Answer
from silmari.errors import ProviderError
from silmari.knowledge_base import KnowledgeBase
from standin import StandIn

__all__ = ["service"]

QUESTION = "연차휴가는 며칠인가요?"
TEXT = "연차휴가는 해마다 15일이다. 남은 휴가는 이듬해 3월까지 쓸 수 있다."


@pytest.fixture
def base(tmp_path: Path, service: StandIn) -> Iterator[KnowledgeBase]:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none"}
    with KnowledgeBase.open(tmp_path / "kb", llm="openai:any", **options) as opened:
        opened.add_records([{"id": "rules", "text": TEXT}, {"id": "menu", "text": "점심은 열두 시에 나온다."}])
        yield opened


def test_a_written_answer_cites_and_streams(base: KnowledgeBase, service: StandIn) -> None:
    *pieces, answer = base.stream(QUESTION)
    assert isinstance(answer, Answer) and answer.found
    assert "".join(str(piece) for piece in pieces) == answer.text
    assert "[1]" in answer.text and answer.sources[0].quote in TEXT
    assert answer.trace["model_calls"] == len(service.requests) == 1


def test_citations_of_sources_that_do_not_exist_are_removed(base: KnowledgeBase, service: StandIn) -> None:
    service.behaviour = "mixed"
    answer = base.ask(QUESTION)
    numbers = {cited.n for cited in answer.sources}
    assert numbers == set(range(1, len(numbers) + 1))
    assert all(f"[{n}]" not in answer.text for n in range(len(numbers) + 1, 100))


@pytest.mark.parametrize("fault", ["empty", "nonsense", "uncited", "broken-early", "garbage"])
def test_a_useless_reply_becomes_quotes_with_a_note(base: KnowledgeBase, service: StandIn, fault: str) -> None:
    service.behaviour = fault
    answer = base.ask(QUESTION)
    assert answer.found and "15일" in answer.text and answer.sources[0].quote in TEXT
    assert any("quoted" in note for note in answer.trace["notes"])


def test_the_model_is_not_called_when_nothing_is_relevant(base: KnowledgeBase, service: StandIn) -> None:
    answer = base.ask("Which fuel does the Mars probe burn?")
    assert not answer.found and not service.requests


def test_a_wrong_key_is_told_at_once(base: KnowledgeBase, service: StandIn) -> None:
    service.behaviour = "401"
    with pytest.raises(ProviderError):
        base.ask(QUESTION)
    assert len(service.requests) == 1


def test_rate_limits_are_waited_out(base: KnowledgeBase, service: StandIn) -> None:
    service.script = ["429", "503"]
    assert base.ask(QUESTION).found
    assert len(service.requests) == 3


def test_many_questions_are_answered_at_once(base: KnowledgeBase, service: StandIn) -> None:
    base.ask(QUESTION)  # loads Korean analysis and the model's client, which takes longer than a reply
    service.behaviour, service.delay = "slow", 1.0

    async def ask_all() -> list[Answer]:
        return await asyncio.gather(*(base.aask(f"{QUESTION} {number}") for number in range(8)))

    start = time.monotonic()
    answers = asyncio.run(ask_all())
    assert all(answer.found for answer in answers)
    assert service.most_in_flight == 8
    assert time.monotonic() - start < 6  # one by one: 8 seconds and more
    # The same client goes on from ordinary code after that loop has ended.
    assert base.ask(QUESTION).found


def test_the_command_line_writes_with_any_compatible_service(base: KnowledgeBase, service: StandIn) -> None:
    env = {**os.environ, "SILMARI_BASE_URL": service.url, "SILMARI_API_KEY": "key", "SILMARI_EMBEDDER": "none"}
    call = [sys.executable, "-m", "silmari", "ask", QUESTION, "--kb", str(base.folder), "--llm", "openai:any"]
    shown = subprocess.run(call, env=env, capture_output=True, text=True, check=True, timeout=100)
    assert "15일" in shown.stdout and "[1]" in shown.stdout and "출처" in shown.stdout
    found = subprocess.run([*call, "--json"], env=env, capture_output=True, text=True, check=True, timeout=100)
    answer = json.loads(found.stdout)
    assert set(answer) == {"question", "answer", "found", "sources", "trace"}
    assert answer["sources"][0]["quote"] in TEXT
    service.behaviour = "401"
    refused = subprocess.run([*call, "--no-such"], env=env, capture_output=True, text=True, timeout=100)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
