"""Where the demo's files lie and which questions they answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question whose answer is known.

    Attributes:
        question: In Korean or English.
        answer_contains: Strings that stand in a right answer; empty when nothing in the office answers it.
        source: Name of the file that has the answer; empty when none has.
    """

    question: str
    answer_contains: tuple[str, ...] = ()
    source: str = ""

    @property
    def found(self) -> bool:
        """Whether the office has an answer."""
        return bool(self.source)


def office_folder() -> Path:
    """The folder of the invented office's documents, as it was installed."""
    return Path(__file__).parent / "office"


def demo_questions() -> list[DemoQuestion]:
    """The questions that the demo asks, in its order."""
    lines = (Path(__file__).parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [
        DemoQuestion(record["question"], tuple(record.get("answer_contains", ())), record.get("source", ""))
        for record in records
    ]
