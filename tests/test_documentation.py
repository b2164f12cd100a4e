"""The documents are true: README commands run, settings and commands are all described."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from silmari.examples import office
from silmari.settings import Settings

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.ko.md")


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README's reader has it: the office's files in ``docs``."""
    made = tmp_path_factory.mktemp("readme")
    shutil.copytree(office(), made / "docs")
    return made


@pytest.mark.parametrize("name", READMES)
def test_readme_commands_run(name: str, folder: Path) -> None:
    """Every ``$ silmari`` line works as written, in order, without vectors to save time."""
    lines = [line[2:] for block in blocks(name, "console") for line in block.splitlines() if line.startswith("$ ")]
    commands = [shlex.split(line) for line in lines if line.startswith("$ silmari ".strip("$ "))]
    assert len(commands) >= 5
    (records,) = blocks(name, "jsonl")
    (folder / "chain.jsonl").write_text(records, "utf-8")
    shutil.rmtree(folder / "chain.silmari", ignore_errors=True)
    # Also where the sources are run without being installed.
    path = os.pathsep.join(entry for entry in (str(ROOT / "src"), os.environ.get("PYTHONPATH")) if entry)
    env = {**os.environ, "PYTHONPATH": path, "SILMARI_EMBEDDER": "none", "PYTHONIOENCODING": "utf-8"}
    for command in commands:
        arguments = ["sparse" if argument == "cascade" else argument for argument in command[1:]]
        done = subprocess.run(
            [sys.executable, "-m", "silmari", *arguments],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, (command, done.stderr)
        if command[1] == "ask":
            assert "[1]" in done.stdout, (command, done.stdout)


@pytest.mark.parametrize("name", READMES)
def test_readme_python_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    (code,) = blocks(name, "python")
    shutil.rmtree(folder / "office.silmari", ignore_errors=True)
    exec(compile(code, name, "exec"), {})


def test_every_setting_is_described() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    for name, field in Settings.model_fields.items():
        assert f"| `{name}` |" in text, name
        assert field.description and field.description in text, name


def test_every_command_is_in_the_readme() -> None:
    from silmari.cli.app import app

    text = (ROOT / "README.md").read_text("utf-8")
    for command in app.registered_commands:
        assert f"{command.name}" in text, command.name
        assert command.callback is not None and command.callback.__doc__
