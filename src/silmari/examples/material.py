"""Where the demo's files lie."""

from __future__ import annotations

from pathlib import Path


def office() -> Path:
    """The folder of the invented office's documents, as it was installed."""
    return Path(__file__).parent / "office"


def questions() -> Path:
    """A JSONL file of questions with known answers, outside of the folder that is added.

    Each line has ``question`` and either ``answer_contains``, strings that stand in a right answer, with ``source``,
    the name of the file that has it, or ``"found": false`` where no file has an answer.
    """
    return Path(__file__).parent / "questions.jsonl"
