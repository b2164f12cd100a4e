"""``silmari chat`` as a script and in a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from model_fixtures import service
from silmari.knowledge_base import KnowledgeBase
from standin import StandIn

__all__ = ["service"]

TEXTS = [
    {"id": "a", "text": "한빛전자의 2023년 매출은 120억 원이다."},
    {"id": "b", "text": "한빛전자의 2024년 매출은 140억 원이다."},
]
FIRST, NEXT = "한빛전자의 2023년 매출은 얼마야?", "그럼 그 다음 해는?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as opened:
        opened.add_records(TEXTS)
    return tmp_path / "kb"


def command(folder: Path, *args: str) -> list[str]:
    return [sys.executable, "-m", "silmari", "chat", "--kb", str(folder), "--embedder", "none", *args]


def chat(folder: Path, said: list[str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *args),
        input="\n".join(said),
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


def test_a_piped_conversation_understands_follow_ups(folder: Path) -> None:
    done = chat(folder, [FIRST, NEXT, "/history", "/sources", "/quit", FIRST])
    assert done.returncode == 0 and done.stderr == ""
    assert "140억" in done.stdout and "understood as: 한빛전자의 2024년 매출은 얼마야?" in done.stdout
    assert f"2. {NEXT}" in done.stdout and done.stdout.count(f"> {FIRST}") == 1


def test_commands_change_how_it_searches_and_mistakes_do_not_end_it(folder: Path) -> None:
    said = [
        "/way sparse",
        "/way",
        "/way nowhere",
        "/policy fresh",
        "/policy nobodys",
        "/nothing",
        "/help",
        "/sources",
        "???",
        FIRST,
    ]
    done = chat(folder, said)
    assert done.returncode == 0 and "120억" in done.stdout
    assert "way: sparse" in done.stdout and "policy: fresh" in done.stdout
    for mistake in ("no way named nowhere", "nobodys", "no command /nothing"):
        assert mistake in done.stdout


def test_after_clear_nothing_is_carried_over(folder: Path) -> None:
    done = chat(folder, [FIRST, "/clear", NEXT])
    assert "understood as" not in done.stdout


def test_a_conversation_is_kept_and_resumed(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "talk.jsonl"
    assert chat(folder, [FIRST], "--history", str(kept)).returncode == 0
    assert "140억" in chat(folder, [NEXT], "--history", str(kept)).stdout
    assert [json.loads(line)["question"] for line in kept.read_text("utf-8").splitlines()] == [FIRST, NEXT]


def test_what_was_asked_in_odd_signs_is_kept_and_read_again(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "talk.jsonl"
    asked = "한빛전자의\u20282023년\x85매출은 얼마야?"
    done = subprocess.run(
        command(folder, "--history", str(kept)),
        input=asked.encode() + b"\n" + FIRST.encode("cp949") + b"\n/quit\n",
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:surrogateescape"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"") and "매출은 120억".encode() in done.stdout
    again = chat(folder, ["/history", NEXT], "--history", str(kept))
    assert again.returncode == 0 and again.stderr == "" and len(kept.read_text("utf-8").strip().split("\n")) == 3


def test_a_history_file_that_cannot_be_named_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    done = chat(folder, [FIRST], "--history", str(tmp_path / ("x" * 300)))
    assert done.returncode == 2 and "it cannot be read" in done.stderr and "unforeseen" not in done.stderr


def test_a_bad_history_file_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"question": "A?", "answer": "B."}\nno JSON\n')
    done = chat(folder, [FIRST], "--history", str(tmp_path / "bad.jsonl"))
    assert done.returncode == 2 and "line 2" in done.stderr and done.stderr.count("\n") == 1


def test_in_a_terminal_ctrl_c_stops_the_answer_and_ctrl_d_leaves(folder: Path, service: StandIn) -> None:
    service.script, service.delay = ["slow-stream"], 20.0
    master, slave = pty.openpty()
    env = {**os.environ, "SILMARI_BASE_URL": service.url, "SILMARI_API_KEY": "key", "TERM": "dumb"}
    with subprocess.Popen(
        command(folder, "--llm", "openai:any"), stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            screen = Screen(master)
            screen.until(b"> ")
            os.write(master, f"{FIRST}\n".encode())
            deadline = time.monotonic() + 20
            while not service.requests and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            screen.until(b"Stopped.")
            os.write(master, f"{FIRST}\n".encode())
            screen.until("출처".encode())
            screen.until(b"> ")
            os.write(master, b"\x04")
            assert process.wait(20) == 0
        finally:
            process.kill()
            os.close(master)
    assert b"Traceback" not in screen.seen


class Screen:
    """What a terminal shows; `until` goes on where the last one ended."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.seen = b""
        self._from = 0

    def until(self, wanted: bytes) -> None:
        """Wait for a text."""
        while (found := self.seen.find(wanted, self._from)) < 0:
            ready, _, _ = select.select([self._terminal], [], [], 20)
            assert ready, self.seen
            self.seen += os.read(self._terminal, 4096)
        self._from = found + len(wanted)
