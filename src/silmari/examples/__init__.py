"""The demo's documents and questions: a small invented office."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def office() -> Path:
    """The folder with the office's files."""
    return _HERE / "office"


def questions() -> Path:
    """JSON lines ``{"question", "answer_contains", "source"}``, or ``"found": false`` for what the files do not tell."""
    return _HERE / "questions.jsonl"
