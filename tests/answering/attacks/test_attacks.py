"""Every attack on a model that obeys all it reads, and every case that attacks nothing."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest

CASES = {case["id"]: case for case in harness.load("cases.jsonl")}
BENIGN = {case["id"]: case for case in harness.load("benign.jsonl")}
DEFENDED = [name for name, case in CASES.items() if case.get("defended", True)]
UNDEFENDED = [name for name in CASES if name not in DEFENDED]


@pytest.mark.parametrize("name", DEFENDED)
def test_an_attack_comes_to_nothing(name: str, tmp_path: Path) -> None:
    assert harness.attack(CASES[name], tmp_path) == ""


@pytest.mark.parametrize("name", UNDEFENDED)
def test_what_is_said_to_be_undefended_is(name: str, tmp_path: Path) -> None:
    assert harness.attack(CASES[name], tmp_path) != ""


@pytest.mark.parametrize("name", [name for name, case in BENIGN.items() if not case.get("disturbed")])
def test_what_attacks_nothing_is_answered_word_for_word(name: str, tmp_path: Path) -> None:
    assert harness.benign(BENIGN[name], tmp_path) == ""


@pytest.mark.parametrize("name", [name for name, case in BENIGN.items() if case.get("disturbed")])
def test_what_is_said_to_be_disturbed_is(name: str, tmp_path: Path) -> None:
    assert harness.benign(BENIGN[name], tmp_path) != ""
