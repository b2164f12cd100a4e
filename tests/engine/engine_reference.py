"""What an engine must find, worked out in plain Python and numpy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from silmari.engine.base import Change, Record
from silmari.model import Filter, Kind, day_number

DIM = 8
ALL = Filter()


def unit(values: Iterable[float]) -> NDArray[np.float16]:
    vector = np.array(list(values), dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16)


def random_unit(seed: int, dim: int = DIM) -> NDArray[np.float16]:
    return unit(np.random.default_rng(seed).standard_normal(dim))


def record(
    id: int,
    tokens: str = "",
    *,
    seed: int | None = None,
    document: int = 1,
    category: str = "text",
    day: int | None = None,
    dim: int = DIM,
) -> Record:
    vector = None if seed is None else random_unit(seed, dim)
    return Record(id=id, tokens=tokens, vector=vector, document_id=document, category=category, day=day)


def changes(records: Iterable[Record | int], start: int = 1, kind: Kind = "passage") -> list[Change]:
    """Both changes of each record, as the catalog logs them; a bare id is a deletion."""
    found: list[Change] = []
    for item in records:
        if isinstance(item, int):
            found.append(Change(start + len(found), kind, item, "text", None))
            continue
        found.append(Change(start + len(found), kind, item.id, "text", item))
        if item.vector is not None:
            found.append(Change(start + len(found), kind, item.id, "vector", item))
    return found


def allows(where: Filter, item: Record) -> bool:
    if where.categories is not None and item.category not in where.categories:
        return False
    if where.documents is not None and item.document_id not in where.documents:
        return False
    if where.undated and item.day is not None:
        return False
    since, until = day_number(where.since), day_number(where.until)
    if since is None and until is None:
        return True
    return item.day is not None and (since or 0) <= item.day <= (until or 99_999_999)


class Reference:
    """The same records in dictionaries, searched by going through all of them."""

    def __init__(self) -> None:
        self.items: dict[tuple[Kind, int], Record] = {}

    def apply(self, given: Sequence[Change]) -> None:
        for change in given:
            self.items.pop((change.kind, change.id), None)
            if change.record is not None:
                self.items[change.kind, change.id] = change.record

    def of(self, kind: Kind, where: Filter = ALL) -> list[Record]:
        return [item for (its, _), item in self.items.items() if its == kind and allows(where, item)]

    def sparse(self, tokens: Mapping[str, float], where: Filter = ALL) -> dict[int, float]:
        """The score of every passage that has one, by the textbook formula."""
        counted = {item.id: Counter(item.tokens.split()) for item in self.of("passage")}
        if not counted:
            return {}
        mean = sum(sum(count.values()) for count in counted.values()) / len(counted)
        scores: dict[int, float] = {}
        for token, weight in tokens.items():
            holders = sum(token in count for count in counted.values())
            rarity = math.log(1 + (len(counted) - holders + 0.5) / (holders + 0.5))
            for item in self.of("passage", where):
                times = counted[item.id][token]
                if times and weight > 0:
                    length = sum(counted[item.id].values())
                    part = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))
                    scores[item.id] = scores.get(item.id, 0.0) + weight * rarity * part
        return scores

    def dense(self, kind: Kind, vector: NDArray[np.float32], where: Filter = ALL) -> dict[int, float]:
        """The cosine of every item that has a vector."""
        question = np.asarray(vector, dtype=np.float64)
        question /= np.linalg.norm(question)
        scores = {}
        for item in self.of(kind, where):
            if item.vector is not None:
                own = item.vector.astype(np.float64)
                scores[item.id] = float(own @ question / np.linalg.norm(own))
        return scores


def assert_top(found: Sequence[tuple[int, float]], scores: Mapping[int, float], k: int, tolerance: float) -> None:
    """`found` is a best k of `scores`: right values, best first, nothing better left out, ties in any order."""
    assert len(found) == min(k, len(scores))
    assert len({id for id, _ in found}) == len(found)
    for id, score in found:
        assert score == pytest.approx(scores[id], abs=tolerance), id
    values = [score for _, score in found]
    assert values == sorted(values, reverse=True)
    left_out = [score for id, score in scores.items() if id not in dict(found)]
    if found and left_out:
        assert max(left_out) <= min(scores[id] for id, _ in found) + 2 * tolerance
