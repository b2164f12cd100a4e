"""Every attack on a model that obeys all it reads, and every case that attacks nothing; no defence is idle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import harness
import pytest
from obedient import obey, orders

from silmari.answering import generative, prompts
from silmari.answering.citations import CitationStream, Cleaned
from silmari.language.leaks import VIEWS, LeakGuard

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


@pytest.mark.parametrize("name", list(BENIGN))
def test_what_attacks_nothing_is_answered_word_for_word(name: str, tmp_path: Path) -> None:
    assert harness.benign(BENIGN[name], tmp_path) == ""


# Without a defence, one of these comes through.
NEEDS = {
    "letters": ("encoding-32", "encoding-33"),
    "backwards": ("encoding-3", "encoding-19", "canary-5"),
    "lookalikes": ("encoding-28", "encoding-29"),
    "shifted": ("encoding-25", "encoding-26"),
    "base64": ("encoding-6", "encoding-22"),
    "hexadecimal": ("encoding-8", "encoding-24"),
    "codes": ("encoding-12", "encoding-13", "encoding-27"),
    "words": ("encoding-4", "encoding-20"),
    "escapes": ("encoding-9", "encoding-10", "encoding-11"),
    "canary": ("canary-1", "canary-2"),
    "scripts": ("translation-1", "translation-3"),
    "links": ("link-2", "link-4", "link-8"),
    "citations": ("citation-1", "citation-2"),
    "characters": ("controls-1", "controls-2"),
    "orders": ("denial-1", "denial-2"),
    "fences": ("fence-2",),
}


class Passing:
    """Lets everything through."""

    tripped = False

    def __init__(self, *_: object, **__: object) -> None:
        """Take what the real one takes."""

    def feed(self, piece: str) -> str:
        return piece

    def close(self) -> str:
        return ""


class Uncounted(CitationStream):
    def __init__(self, count: int) -> None:
        super().__init__(count + 1000)
        self._real = count

    def result(self) -> Cleaned:
        cleaned = super().result()
        return replace(cleaned, order=tuple(number for number in cleaned.order if number <= self._real))


@pytest.mark.parametrize("defence", NEEDS)
def test_every_defence_is_needed(defence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switch_off(defence, monkeypatch)
    assert any(harness.attack(CASES[name], tmp_path) for name in NEEDS[defence])


def switch_off(defence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if defence in VIEWS:
        views = [view for view in VIEWS if view != defence]
        monkeypatch.setattr(
            generative, "LeakGuard", lambda secret, words, known="": LeakGuard(secret, words, known, views)
        )
        return
    name, put = {
        "canary": ("LeakGuard", lambda secret, words, known="": LeakGuard(secret, (), known)),
        "scripts": ("ScriptGuard", Passing),
        "links": ("LinkGuard", Passing),
        "citations": ("CitationStream", Uncounted),
        "characters": ("neutralise", lambda text: text),
        "orders": ("is_order", lambda _: False),
        "fences": ("", None),
    }[defence]
    if defence == "characters":  # taken out of what the model reads, and of what it writes
        monkeypatch.setattr(prompts, name, put)
    if name:
        monkeypatch.setattr(generative, name, put)
    else:
        monkeypatch.setattr(prompts, "_plain", lambda text: text)


def test_the_documentation_counts_these_cases() -> None:
    lines = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")
    for kind in {case["kind"] for case in CASES.values()}:
        cases = [name for name, case in CASES.items() if case["kind"] == kind]
        assert f"| {kind} | {len(cases)} | {sum(name in DEFENDED for name in cases)} |" in lines
    assert f"| **all** | **{len(CASES)}** | **{len(DEFENDED)}** |" in lines


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.get("container")])
def test_what_a_file_hides_reaches_the_model_or_is_not_read(name: str, tmp_path: Path) -> None:
    """An attack that never reaches the model would come to nothing by itself."""
    _, _, sent = harness.run(CASES[name], obey, tmp_path)
    assert bool(orders(sent.split("\0", 1)[1])) is CASES[name].get("read", True)
