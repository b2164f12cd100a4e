"""Metrics against trec_eval's values, and what a bootstrap must keep to."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.evaluation.metrics import (
    METRICS,
    RESAMPLES,
    interval,
    measure,
    paired_difference,
    resampled_means,
    resampled_quantile,
)

TREC_NAMES = {
    "recall@1": "recall_1",
    "recall@2": "recall_2",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "ndcg@10": "ndcg_cut_10",
    "mrr@10": "recip_rank",
}
# pytrec_eval-terrier 0.5.11 on the ten cases below, mean of each measure; recip_rank on the first ten documents.
TREC_MEANS = {
    "recall@1": 0.05353535353535353,
    "recall@2": 0.10802308802308802,
    "recall@5": 0.17398268398268396,
    "recall@10": 0.3051875901875902,
    "ndcg@10": 0.250531205199947,
    "mrr@10": 0.5458333333333333,
}
TREC_NDCG = [
    0.4929744767618113,
    0.0,
    0.10184982976196423,
    0.19529954328780968,
    0.20371439460418844,
    0.2754386924817547,
    0.4377514666823567,
    0.2166465230442271,
    0.0,
    0.5816371253753574,
]


def cases() -> list[tuple[list[str], dict[str, int]]]:
    """Ten rankings of 25 documents, gains from -1 to 3, some relevant ones never found."""
    dice = random.Random(1967)
    made = []
    for _ in range(10):
        documents = [f"d{number}" for number in range(40)]
        dice.shuffle(documents)
        ranking = documents[:25]
        gains = {f"d{number}": dice.choice((-1, 0, 0, 0, 1, 1, 2, 3)) for number in dice.sample(range(40), 16)}
        made.append((ranking, gains))
    return made


def test_means_equal_trec_evals() -> None:
    values = [measure(ranking, gains) for ranking, gains in cases()]
    for metric, expected in TREC_MEANS.items():
        assert np.mean([value[metric] for value in values]) == pytest.approx(expected, abs=1e-12)
    assert [value["ndcg@10"] for value in values] == pytest.approx(TREC_NDCG, abs=1e-12)


rankings = st.lists(st.integers(0, 30), unique=True, max_size=25).map(lambda ids: [f"d{number}" for number in ids])
judgements = st.dictionaries(st.integers(0, 30).map("d{}".format), st.integers(-1, 4), min_size=1).filter(
    lambda gains: any(gain > 0 for gain in gains.values())
)


@settings(max_examples=200, deadline=None)
@given(rankings, judgements)
def test_each_value_equals_trec_evals(ranking: list[str], gains: dict[str, int]) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    run = {document: float(len(ranking) - at) for at, document in enumerate(ranking)}
    theirs = {}
    for measures, scored in (
        ({"recall.1,2,5,10", "ndcg_cut.10"}, run),
        ({"recip_rank"}, {document: run[document] for document in ranking[:10]}),
    ):
        theirs |= pytrec_eval.RelevanceEvaluator({"q": gains}, measures).evaluate({"q": scored}).get("q", {})
    ours = measure(ranking, gains)
    assert list(ours) == list(METRICS)
    for metric, name in TREC_NAMES.items():
        assert ours[metric] == pytest.approx(theirs.get(name, 0.0), abs=1e-12)


def test_a_worked_example() -> None:
    values = measure(["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1, "x": 0})
    assert values["recall@1"] == 0
    assert values["recall@2"] == pytest.approx(1 / 3)
    assert values["recall@5"] == values["recall@10"] == pytest.approx(2 / 3)
    assert values["mrr@10"] == 0.5
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert values["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_first_ten_only_and_nothing_relevant() -> None:
    late = measure([f"x{number}" for number in range(10)] + ["a"], {"a": 1})
    assert set(late.values()) == {0.0}
    assert set(measure([], {"a": 1}).values()) == {0.0}
    assert set(measure(["a"], {"a": 3}).values()) == {1.0}
    with pytest.raises(ValueError, match="above 0"):
        measure(["a"], {"a": 0})


def test_interval_of_means_agrees_with_the_normal_one() -> None:
    values = np.random.default_rng(5).beta(2, 1, (400, 3))
    resampled = resampled_means(values)
    assert resampled.shape == (RESAMPLES, 3)
    for column in range(3):
        low, high = interval(resampled[:, column])
        half = 1.96 * values[:, column].std(ddof=1) / math.sqrt(400)
        assert low == pytest.approx(values[:, column].mean() - half, abs=0.004)
        assert high == pytest.approx(values[:, column].mean() + half, abs=0.004)


def test_the_same_seed_gives_the_same_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).random((50, 2))
    once = resampled_means(values)
    assert np.array_equal(once, resampled_means(values))
    assert not np.array_equal(once, resampled_means(values, seed=3))
    monkeypatch.setattr("silmari.evaluation.metrics._BLOCK", 130)  # two samples a block
    assert np.allclose(once, resampled_means(values))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_intervals_lie_within_the_values(numbers: list[float]) -> None:
    values = np.array(numbers)
    for resampled in (resampled_means(values[:, None], 100)[:, 0], resampled_quantile(values, 0.95, 100)):
        low, high = interval(resampled)
        assert values.min() - 1e-12 <= low <= high <= values.max() + 1e-12


def test_quantile_interval_covers_the_quantile() -> None:
    values = np.random.default_rng(2).exponential(10, 500)
    low, high = interval(resampled_quantile(values, 0.5))
    assert low < np.median(values) < high
    assert high - low < 4


def test_a_clear_difference_is_clear_and_none_is_none() -> None:
    generator = np.random.default_rng(8)
    first = generator.random(200)
    better = paired_difference(first + 0.05 + generator.normal(0, 0.1, 200), first)
    assert better.low > 0
    assert better.p < 0.01
    worse = paired_difference(first, first + 0.05 + generator.normal(0, 0.1, 200))
    assert worse.high < 0
    assert worse.p < 0.01
    same = paired_difference(first, first)
    assert (same.mean, same.low, same.high, same.p) == (0, 0, 0, 1)
    assert paired_difference(generator.random(200), first).p > 0.05


def test_pairing_sees_what_the_two_intervals_cannot() -> None:
    hard = np.linspace(0, 1, 100)
    difference = paired_difference(hard + 0.02, hard)
    assert difference.low == pytest.approx(0.02)
    assert difference.p == pytest.approx(2 / (RESAMPLES + 1))


def test_p_is_honest_when_there_is_no_difference() -> None:
    """Of 400 pairs of equal ways about 5 % may be called different; binomially between 2 % and 9 %."""
    generator = np.random.default_rng(4)
    called = [paired_difference(generator.random(60), generator.random(60), resamples=400).p < 0.05 for _ in range(400)]
    assert 0.02 < np.mean(called) < 0.09


def test_no_question_is_refused() -> None:
    with pytest.raises(ValueError, match="no question"):
        resampled_means(np.zeros((0, 2)))
