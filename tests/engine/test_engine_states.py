"""Random histories: an engine is always what plain Python makes of the same changes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from engine_openers import OPENERS, SLOW
from engine_reference import DIM, Reference, assert_top, changes, record
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from silmari.engine.base import Change, Engine, Record
from silmari.model import Filter, Kind

WORDS = ["서울", "부산", "예산", "안전", "budget", "seoul", "the", "2024"]
KINDS: list[Kind] = ["passage", "relation"]
DAYS = [None, 20230101, 20230615, 20240101]

ids = st.integers(1, 12)
records = st.builds(
    record,
    ids,
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    seed=st.none() | st.integers(0, 6),
    document=st.integers(1, 3),
    category=st.sampled_from(["pdf", "엑셀"]),
    day=st.sampled_from(DAYS),
)
filters = st.builds(
    Filter,
    categories=st.none() | st.frozensets(st.sampled_from(["pdf", "엑셀", "csv"])),
    since=st.sampled_from([None, "2023-01-02", "2024-01-01"]),
    until=st.sampled_from([None, "2023-06-15", "2024-06-01"]),
    documents=st.none() | st.frozensets(st.integers(1, 4)),
)
queries = st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=4)


class History(RuleBasedStateMachine):
    """One engine and one reference that live through the same changes."""

    open: Callable[[Path], Engine]

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.engine = type(self).open(Path(self.folder.name))
        self.start_anew()

    def start_anew(self) -> None:
        self.engine.reset("base", "epoch")
        self.truth = Reference()
        self.log: list[Change] = []

    @rule(items=st.lists(records | ids, min_size=1, max_size=8), kind=st.sampled_from(KINDS))
    def change(self, items: list[Record | int], kind: Kind) -> None:
        given = changes(items, start=len(self.log) + 1, kind=kind)
        self.engine.apply(given)
        self.truth.apply(given)
        self.log += given

    @rule(count=st.integers(1, 30))
    def apply_again(self, count: int) -> None:
        self.engine.apply(self.log[-count:])

    @rule()
    def reopen(self) -> None:
        self.engine.close()
        self.engine = type(self).open(Path(self.folder.name))

    @rule()
    def rebuild(self) -> None:
        """A+B−B is A: a fresh engine that only ever saw the final records finds the same."""
        kept = {kind: self.truth.of(kind) for kind in KINDS}
        self.start_anew()
        for kind, items in kept.items():
            self.change(items or [1], kind)

    @rule(where=filters, tokens=queries, k=st.integers(1, 12))
    def sparse(self, where: Filter, tokens: dict[str, float], k: int) -> None:
        scores = self.truth.sparse(tokens, where)
        found = self.engine.sparse(tokens, 100, where)
        assert {id for id, _ in found} == set(scores)
        if compact := getattr(self.engine, "compact", None):
            # Until then, deleted passages still count in the statistics.
            compact()
            assert_top(self.engine.sparse(tokens, k, where), scores, k, 1e-4)

    @rule(where=filters, kind=st.sampled_from(KINDS), seed=st.integers(0, 99), k=st.integers(1, 12))
    def dense(self, where: Filter, kind: Kind, seed: int, k: int) -> None:
        vector = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
        scores = self.truth.dense(kind, vector, where)
        assert_top(self.engine.dense(kind, vector, k, where), scores, k, 2e-6)
        everyone = self.truth.dense(kind, vector)
        found = self.engine.similarity(kind, vector, range(1, 13))
        assert found == pytest.approx(everyone, abs=2e-6)

    @invariant()
    def counts_and_watermark(self) -> None:
        if not hasattr(self, "log"):
            return
        vectors = sum(item.vector is not None for kind in KINDS for item in self.truth.of(kind))
        assert self.engine.counts() == {"texts": len(self.truth.of("passage")), "vectors": vectors}
        mark = self.engine.watermark()
        assert mark is not None
        assert mark.seq == len(self.log)

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
            self.folder.cleanup()


def _run(opener: Callable[[Path], Engine], examples: int) -> None:
    machine = type("OneHistory", (History,), {"open": staticmethod(opener)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


@pytest.mark.parametrize("name", sorted(OPENERS))
def test_histories(name: str) -> None:
    _run(OPENERS[name], 6)


def test_histories_with_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with graphs and rewriting from the first rows on (a graph of so few rows is exact)."""
    from silmari.engine import local

    monkeypatch.setattr(local, "EXACT_ROWS", 2)
    monkeypatch.setattr(local, "_GROW_ROWS", 2)
    monkeypatch.setattr(local, "_DEAD_ENTRIES", 4)
    _run(OPENERS["local"], 4)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(OPENERS))
def test_many_histories(name: str) -> None:
    _run(OPENERS[name], 150 if name == "local" else 75)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_few_histories(name: str) -> None:
    _run(SLOW[name], 2)
