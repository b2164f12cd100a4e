"""Metrics of one ranking, as trec_eval defines them, and the bootstrap that says how sure their means are.

Recall@k is the share of the relevant documents that the first k hold. nDCG@10 is Järvelin and Kekäläinen's (TOIS
2002) with the gain as it is judged and the discount log2(rank + 1), against the best order of all judged documents.
MRR@10 is one over the rank of the first relevant document, 0 beyond rank 10. A document is relevant if its gain is
above 0. `tests/evaluation` holds all of them against pytrec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RECALL_DEPTHS = (1, 2, 5, 10)
DEPTH = 10
METRICS = (*(f"recall@{k}" for k in RECALL_DEPTHS), "ndcg@10", "mrr@10")

RESAMPLES = 2000
SEED = 20_260_101
_BLOCK = 500_000  # drawn numbers held at once


def measure(ranking: Sequence[str], gains: Mapping[str, int]) -> dict[str, float]:
    """All of `METRICS` for one question.

    Args:
        ranking: Document ids, best first, each once.
        gains: Gain of each judged document; at least one above 0.

    Raises:
        ValueError: No document is relevant, so that nothing can be measured.
    """
    relevant = {document for document, gain in gains.items() if gain > 0}
    if not relevant:
        raise ValueError("no judged document has a gain above 0")
    first = ranking[:DEPTH]
    values = {f"recall@{k}": len(relevant.intersection(first[:k])) / len(relevant) for k in RECALL_DEPTHS}
    best = sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:DEPTH]
    values["ndcg@10"] = _dcg([max(0, gains.get(document, 0)) for document in first]) / _dcg(best)
    values["mrr@10"] = next((1 / rank for rank, document in enumerate(first, start=1) if document in relevant), 0.0)
    return values


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the mean of one way lies above that of the first, over the same questions.

    Attributes:
        mean: The difference of the means.
        low: Lower end of its 95 % interval.
        high: Upper end of it.
        p: Two-sided: how often resampling puts the difference on the other side of 0, doubled, at most 1.
    """

    mean: float
    low: float
    high: float
    p: float

    def as_json(self) -> dict[str, object]:
        """The shape inside ``versus_first``."""
        return {"difference": self.mean, "interval": [self.low, self.high], "p": self.p}


def resampled_means(values: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = SEED) -> NDArray[np.float64]:
    """Means of `resamples` samples of the questions, drawn with replacement, the same draws for every column.

    Args:
        values: Shape (questions, columns).
        resamples: How many samples are drawn.
        seed: Of the random numbers.

    Returns:
        Shape (resamples, columns). For the same number of questions the draws are the same in every call.
    """
    drawn = _draws(len(values), resamples, seed)
    return np.concatenate([values[block].mean(axis=1) for block in drawn])


def interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % percentile interval of resampled values, shape (resamples,)."""
    low, high = np.percentile(resampled, (2.5, 97.5))
    return float(low), float(high)


def resampled_quantile(
    values: NDArray[np.float64], quantile: float, resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """Quantiles (0 to 1) of resampled `values`, shape (questions,), as `resampled_means` draws them."""
    drawn = _draws(len(values), resamples, seed)
    return np.concatenate([np.quantile(values[block], quantile, axis=1) for block in drawn])


def paired_difference(
    values: NDArray[np.float64], first: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """Paired bootstrap of `values` against `first`, both of shape (questions,) in the same order of questions."""
    gaps = values - first
    means = resampled_means(gaps[:, None], resamples, seed)[:, 0]
    low, high = interval(means)
    # The observed sample counts as one more, so that p is never 0.
    tail = min(int((means <= 0).sum()), int((means >= 0).sum())) + 1
    return Difference(float(gaps.mean()), low, high, min(1.0, 2 * tail / (resamples + 1)))


def _draws(questions: int, resamples: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Indices of shape (some resamples, questions), in blocks that stay small in memory."""
    if not questions:
        raise ValueError("there is no question to draw from")
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK // questions)
    for start in range(0, resamples, block):
        yield generator.integers(0, questions, (min(block, resamples - start), questions), dtype=np.intp)
