"""Many questions at once: from scripts, running loops, notebooks and servers; slow and failing ones hold nobody."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_fixtures import service
from silmari.answering.answer import Answer
from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.many import Fault
from standin import StandIn

__all__ = ["service"]

QUESTIONS = [f"What does part MX-{n} cost?" for n in range(100, 110)]
RECORDS = [{"id": str(n), "text": f"Part MX-{n} costs {n * 3} dollars."} for n in range(100, 110)]


@pytest.fixture
def base(tmp_path: Path, service: StandIn) -> Iterator[KnowledgeBase]:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none", "timeout": 5.0}
    with KnowledgeBase.open(tmp_path / "kb", llm="openai:any", **options) as opened:
        opened.add_records(RECORDS)
        yield opened


def right(results: list[Any]) -> bool:
    return all(
        isinstance(one, Answer) and str(n * 3) in one.text for n, one in zip(range(100, 110), results, strict=True)
    )


def test_at_once_takes_about_as_long_as_one(base: KnowledgeBase, service: StandIn) -> None:
    base.ask("What does part MX-105 cost in dollars?")  # loads what is loaded once
    service.behaviour, service.delay = "slow", 0.4
    start = time.perf_counter()
    results = base.ask_many(QUESTIONS, concurrency=10)
    assert right(results)
    assert time.perf_counter() - start < 2.0  # one by one: at least 4 s
    assert 5 < service.most_in_flight <= 10


@pytest.mark.parametrize("odd", [None, float("nan"), 5, b"Why?"])
def test_a_question_that_is_no_text_is_the_fault_of_that_one_only(base: KnowledgeBase, odd: Any) -> None:
    first, fault, last = base.ask_many([QUESTIONS[0], odd, QUESTIONS[1]])
    assert isinstance(first, Answer) and isinstance(last, Answer)
    assert isinstance(fault, Fault) and "no text" in str(fault)
    with pytest.raises(UsageError, match="no text"):
        base.search(odd)
    with pytest.raises(UsageError, match="no text"):
        base.ask(odd, history=[("A?", "B.")])


def test_never_more_than_allowed_are_in_flight(base: KnowledgeBase, service: StandIn) -> None:
    service.behaviour, service.delay = "slow", 0.05
    assert right(base.ask_many(QUESTIONS, concurrency=3))
    assert service.most_in_flight == 3


def test_a_failing_question_has_its_fault_and_the_others_their_answers(base: KnowledgeBase) -> None:
    results = base.ask_many([QUESTIONS[0], "???", QUESTIONS[1]])
    assert isinstance(results[0], Answer) and isinstance(results[2], Answer)
    assert isinstance(results[1], Fault) and results[1].question == "???"


def test_a_refused_call_is_the_fault_of_its_question_alone(base: KnowledgeBase, service: StandIn) -> None:
    service.script = ["401"]
    results = base.ask_many(QUESTIONS, concurrency=4)
    faults = [one for one in results if isinstance(one, Fault)]
    assert len(faults) == 1 and len(results) == 10


def test_a_slow_call_holds_nobody(base: KnowledgeBase, service: StandIn) -> None:
    service.script, service.delay = ["slow"], 1.5
    arrived = [(place, time.perf_counter()) for place, _ in base.ask_each(QUESTIONS, concurrency=2)]
    assert arrived[-1][1] - arrived[-2][1] > 0.5  # all others were there long before
    assert sorted(place for place, _ in arrived) == list(range(10))


@pytest.mark.parametrize(
    ("questions", "concurrency", "told"),
    [(QUESTIONS, 0, "concurrency"), (QUESTIONS, 300, "concurrency"), ("one text", 2, "list of questions")],
)
def test_bad_arguments_are_one_error(base: KnowledgeBase, questions: Any, concurrency: int, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        base.ask_many(questions, concurrency=concurrency)


def test_none_are_none(base: KnowledgeBase) -> None:
    assert base.ask_many([]) == []


def test_in_a_running_loop(base: KnowledgeBase) -> None:
    async def script() -> list[Any]:
        several, one = await asyncio.gather(base.aask_many(QUESTIONS), base.aask(QUESTIONS[0]))
        each = dict([item async for item in base.aask_each(QUESTIONS)])
        assert right([each[place] for place in range(10)]) and one.found
        return several

    assert right(asyncio.run(script()))


def test_in_a_notebook_the_plain_form_works_inside_its_loop(base: KnowledgeBase) -> None:
    async def cell() -> list[Any]:
        return base.ask_many(QUESTIONS)

    assert right(asyncio.run(cell()))


def test_from_two_loops_one_after_the_other(base: KnowledgeBase) -> None:
    assert right(asyncio.run(base.aask_many(QUESTIONS)))
    assert right(asyncio.run(base.aask_many(QUESTIONS)))


def test_in_a_web_server(base: KnowledgeBase, service: StandIn) -> None:
    service.behaviour, service.delay = "slow", 0.3

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = (await reader.readline()).decode().strip()
        writer.write((await base.aask(question)).text.encode())
        await writer.drain()
        writer.close()

    async def fetch(port: int, question: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{question}\n".encode())
        told = (await reader.read()).decode()
        writer.close()
        return told

    async def main() -> list[str]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.gather(*(fetch(port, question) for question in QUESTIONS))

    start = time.perf_counter()
    told = asyncio.run(main())
    assert all(str(n * 3) in text for n, text in zip(range(100, 110), told, strict=True))
    assert time.perf_counter() - start < 2.5  # one by one: 3 s at least


def run(base: KnowledgeBase, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "silmari", *args, "--kb", str(base.folder), "--embedder", "none"],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "SILMARI_BASE_URL": str(base.settings.base_url), "SILMARI_API_KEY": "key"},
        check=False,
    )


def test_a_file_of_questions_as_json_lines_in_order(base: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_text("\n".join([*QUESTIONS[:3], "", "???", QUESTIONS[3]]), "utf-8")
    done = run(base, "ask", "--file", str(file), "--json", "--llm", "openai:any")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["question"] for line in lines] == [*QUESTIONS[:3], "???", QUESTIONS[3]]
    assert "error" in lines[3] and all("answer" in line for at, line in enumerate(lines) if at != 3)
    assert done.returncode == 1 and "1 of 5" in done.stderr


def test_questions_from_standard_input(base: KnowledgeBase) -> None:
    done = run(base, "ask", "--file", "-", stdin="\n".join(QUESTIONS[:2]))
    assert done.returncode == 0 and "300 dollars" in done.stdout and "303 dollars" in done.stdout
    assert "Traceback" not in done.stderr


def test_json_lines_hold_nothing_that_ends_a_line_or_steers_a_terminal(base: KnowledgeBase) -> None:
    asked = f"\u202e{QUESTIONS[0]}\x9b31m \ufeff"
    done = run(base, "ask", "--file", "-", "--json", stdin=asked)
    assert not set(done.stdout) & set("\u202e\x9b\ufeff")
    assert json.loads(done.stdout)["question"] == asked.strip()


@pytest.mark.parametrize("args", [["ask"], ["ask", "Why?", "--file", "-"], ["ask", "--file", "missing.txt"]])
def test_a_bad_file_is_one_sentence(base: KnowledgeBase, args: list[str]) -> None:
    done = run(base, *args, stdin="")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("--policy", "nobodys"), "no policy named nobodys"),
        (("--way", "nowhere"), "no way named nowhere"),
        (("--since", "2024-02-30"), "2024-02-30"),
    ],
)
def test_an_option_that_cannot_be_is_told_once(base: KnowledgeBase, option: tuple[str, str], named: str) -> None:
    done = run(base, "ask", "--file", "-", "--json", *option, stdin="\n".join(QUESTIONS[:3]))
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr and done.stderr.count("\n") == 1


def test_ctrl_c_keeps_what_was_printed(base: KnowledgeBase, service: StandIn) -> None:
    service.script, service.behaviour, service.delay = ["answer"], "slow", 4.0
    command = [sys.executable, "-m", "silmari", "ask", "--file", "-", "--json", "--llm", "openai:any"]
    with subprocess.Popen(
        [*command, "--concurrency", "1", "--kb", str(base.folder), "--embedder", "none"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SILMARI_BASE_URL": service.url, "SILMARI_API_KEY": "key"},
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write("\n".join(QUESTIONS[:3]))
        process.stdin.close()
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(20)
        errors = process.stderr.read()
    assert json.loads(first)["found"]
    assert process.returncode == 130 and "Traceback" not in errors
