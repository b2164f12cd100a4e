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
from silmari.answering.wording import DEGRADED, NOT_FOUND
from silmari.errors import ProviderError
from silmari.knowledge_base import KnowledgeBase
from silmari.retrieval.policy import Policy, Tier
from standin import StandIn

__all__ = ["service"]

QUESTION = "연차휴가는 며칠인가요?"
TEXT = "연차휴가는 해마다 15일이다. 남은 휴가는 이듬해 3월까지 쓸 수 있다."


@pytest.fixture
def base(tmp_path: Path, service: StandIn) -> Iterator[KnowledgeBase]:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none", "total_timeout": 12}
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


MINE = {"ko": "사내 문서에 없습니다. 총무팀에 물어보세요.", "en": "Not in our documents; ask the office."}


def test_the_fallback_is_ours_or_the_users_and_costs_no_call(
    tmp_path: Path, service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none", "llm": "openai:any"}
    with KnowledgeBase.open(tmp_path / "kb", fallback=MINE, **options) as opened:
        opened.add_records([{"id": "rules", "text": TEXT, "date": "2020-01-01"}])
        answers = [
            opened.ask("화성 탐사선은 어떤 연료를 쓰나요?"),
            opened.ask("Which fuel does the Mars probe burn?"),
            # No tier of the policy yields anything.
            opened.ask(QUESTION, policy=Policy("new", tiers=(Tier(max_age_days=(30,), undated=False),))),
            opened.ask(QUESTION, filters={"category": "pdf"}),
        ]
        *pieces, streamed = opened.stream("Which fuel does the Mars probe burn?")
    assert [answer.text for answer in answers] == [MINE["ko"], MINE["en"], MINE["ko"], MINE["ko"]]
    assert not any(answer.found or answer.sources for answer in answers)
    assert pieces == [MINE["en"]] and isinstance(streamed, Answer) and streamed.text == MINE["en"]
    assert service.requests == []
    # Also from silmari.toml; a language that is left out keeps our sentence.
    monkeypatch.chdir(tmp_path)
    Path("silmari.toml").write_text(f'fallback = {{ko = "{MINE["ko"]}"}}\n', "utf-8")
    with KnowledgeBase.open(tmp_path / "kb", **options) as opened:
        assert opened.ask("화성 탐사선은 어떤 연료를 쓰나요?").text == MINE["ko"]
        assert opened.ask("Which fuel does the Mars probe burn?").text == NOT_FOUND["en"]
    assert service.requests == []


@pytest.mark.parametrize("fault", ["broken-stream", "reset-stream", "cut-stream", "length", "blanks", "sorry"])
def test_half_an_answer_is_never_shown_as_a_whole_one(base: KnowledgeBase, service: StandIn, fault: str) -> None:
    service.behaviour = fault
    answer = base.ask(QUESTION)
    assert answer.found and answer.trace["answer"]["how"] == "extractive" and answer.trace["answer"]["degraded"]
    assert answer.sources[0].quote in TEXT
    *pieces, streamed = base.stream(QUESTION)
    shown = "".join(str(piece) for piece in pieces)
    assert isinstance(streamed, Answer) and streamed.text == answer.text
    assert shown == answer.text or shown.endswith(f"\n\n{DEGRADED['ko']}\n\n{answer.text}")
    assert any("could not be used" in note for note in streamed.trace["notes"])


def test_chat_says_that_a_stream_broke_and_remembers_only_the_quotes(base: KnowledgeBase, service: StandIn) -> None:
    service.behaviour = "reset-stream"
    kept = base.folder.parent / "talk.jsonl"
    env = {**os.environ, "SILMARI_BASE_URL": service.url, "SILMARI_API_KEY": "key", "SILMARI_EMBEDDER": "none"}
    call = [sys.executable, "-m", "silmari", "chat", "--kb", str(base.folder), "--llm", "openai:any"]
    done = subprocess.run(
        [*call, "--history", str(kept)], env=env, input=QUESTION, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "broke off its reply" in " ".join(done.stdout.split()) and "15일" in done.stdout
    remembered = json.loads(kept.read_text("utf-8"))["answer"]
    assert remembered.startswith("연차휴가는 해마다 15일이다. [1]")


def test_the_model_reads_all_columns_of_a_row(tmp_path: Path, service: StandIn) -> None:
    columns = ["품목", *(f"값{number}" for number in range(30)), "보증기간"]
    table = [columns, ["펌프", *(str(number) for number in range(100, 130)), "42"]]
    file = tmp_path / "부품.csv"
    file.write_text("\n".join(",".join(row) for row in table), "utf-8")
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none", "llm": "openai:any"}
    service.said = "펌프의 보증기간은 42개월이다 [1]."
    with KnowledgeBase.open(tmp_path / "kb", **options) as opened:
        opened.add(file)
        (hit,) = opened.search("펌프의 보증기간은 얼마인가요?")
        assert "보증기간: 42" in hit.passage.content and "보증기간: 42" not in hit.passage.text
        answer = opened.ask("펌프의 보증기간은 얼마인가요?")
    assert "보증기간: 42" in str(service.requests[0].body["messages"][-1]["content"])
    assert answer.found and not answer.unsupported and "보증기간: 42" in answer.sources[0].quote
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as opened:
        quoted = opened.ask("펌프의 보증기간은 얼마인가요?")
    assert quoted.found and "보증기간: 42" in quoted.text


@pytest.mark.parametrize(
    ("question", "said", "told"),
    [
        (QUESTION, "Employees have 15 days of annual leave every year, usable until March [1].", True),
        (QUESTION, "연차휴가(annual leave)는 해마다 15일이며 이듬해 3월까지 쓸 수 있습니다 [1].", False),
        (QUESTION, "Annual leave: 15 [1]", False),
        (
            "연차휴가 how many days is it?",
            "연차휴가는 해마다 15일이며 남은 휴가는 이듬해 3월까지 쓸 수 있습니다 [1].",
            True,
        ),
    ],
)
def test_an_answer_in_another_language_than_the_question_is_told(
    base: KnowledgeBase, service: StandIn, question: str, said: str, told: bool
) -> None:
    service.said = said
    answer = base.ask(question)
    assert answer.text == said
    assert any("another language" in note for note in answer.trace["notes"]) == told
    language = "한국어로" if question == QUESTION else "the language of the question"
    assert language in str(service.requests[0].body["messages"][0]["content"])


def test_what_the_prompt_had_no_room_for_is_told(tmp_path: Path, service: StandIn) -> None:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key", "embedder": "none", "llm": "openai:any"}
    with KnowledgeBase.open(tmp_path / "kb", prompt_tokens=1_000, **options) as opened:
        long = " ".join(f"연차휴가 이야기 {number}번째 문장이다." for number in range(40))
        opened.add_records([{"id": "rules", "text": TEXT}, {"id": "long", "title": "긴 글", "text": long}])
        answer = opened.ask(QUESTION)
    assert answer.found and len(service.requests) == 1
    (note,) = [note for note in answer.trace["notes"] if "prompt_tokens (1,000)" in note]
    assert "긴 글 (" in note
    assert answer.trace["answer"]["prompt_tokens"] <= 1_000
    with KnowledgeBase.open(tmp_path / "kb", prompt_tokens=200, **options) as opened:
        answer = opened.ask(QUESTION)
    assert answer.found and answer.trace["answer"]["how"] == "extractive" and len(service.requests) == 1
    assert any("No source fits into prompt_tokens (200)" in note for note in answer.trace["notes"])


def test_what_a_source_does_not_support_is_told_by_its_vector_too(tmp_path: Path, service: StandIn) -> None:
    options: dict[str, Any] = {
        "base_url": service.url,
        "api_key": "key",
        "embedder": "openai:small",
        "min_relevance": 0.1,
    }
    service.said = "연차휴가는 해마다 15일이다 [1]. 공장의 굴뚝은 붉은 벽돌로 쌓아 올렸다 [1]."
    with KnowledgeBase.open(tmp_path / "kb", llm="openai:any", **options) as opened:
        opened.add_records([{"id": "rules", "text": TEXT}])
        answer = opened.ask(QUESTION)
    assert answer.unsupported == ("공장의 굴뚝은 붉은 벽돌로 쌓아 올렸다 [1].",)
    assert "needed 0.78" in answer.trace["answer"]["unsupported"][0]["reason"]
