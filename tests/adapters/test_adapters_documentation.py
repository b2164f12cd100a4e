"""The snippets of docs/adapters.md run as they stand, in order, on the office's files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from model_fixtures import service
from silmari.examples import office
from standin import StandIn

__all__ = ["service"]

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def test_the_snippets_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], service: StandIn
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    service.said = "In the spring."
    shutil.copytree(office(), "docs")
    # Without an embedder; all else as written.
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    exec(compile(code.replace('way="cascade"', 'way="sparse"'), str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert "In the spring." in shown
    assert "<source-" in shown and "[1]" in shown
    assert len(service.requests) == 1
