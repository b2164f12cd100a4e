"""Fusing: what must hold for any scores, and for a base of which only part has vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.retrieval.fused import WORDS, combine

UNRELATED = 0.7
cosines = st.floats(0.5, 1.0).map(lambda value: round(value, 3))
bm25s = st.floats(0.1, 40.0).map(lambda value: round(value, 2))


def ids(ranked: list[tuple[int, float]]) -> list[int]:
    return [item for item, _ in ranked]


def test_the_score_is_the_sum_of_two_relevances() -> None:
    ranked = combine([1, 2], {2: 8.0}, {1: 0.85, 2: 0.82}, UNRELATED, 0.5)
    assert ids(ranked) == [2, 1]
    assert dict(ranked)[1] == pytest.approx(0.15 / 0.3)
    assert dict(ranked)[2] == pytest.approx(0.12 / 0.3 + WORDS * 0.5)


def test_words_hardly_count_where_even_the_best_hit_has_few_of_them() -> None:
    cosine = {1: 0.90, 2: 0.80}
    assert ids(combine([1, 2], {2: 8.0}, cosine, UNRELATED, 0.9))[0] == 2
    assert ids(combine([1, 2], {2: 8.0}, cosine, UNRELATED, 0.1))[0] == 1


def test_nothing_gives_nothing_and_equal_scores_keep_their_order() -> None:
    assert combine([], {}, {}, UNRELATED, 1.0) == []
    assert ids(combine([3, 1, 2], {}, {1: 0.8, 2: 0.8, 3: 0.8}, UNRELATED, 0.0)) == [3, 1, 2]


@given(st.dictionaries(st.integers(0, 20), st.tuples(cosines, st.none() | bm25s), min_size=1))
def test_the_unit_of_bm25_does_not_matter(found: dict[int, tuple[float, float | None]]) -> None:
    cosine = {item: value for item, (value, _) in found.items()}
    bm25 = {item: value for item, (_, value) in found.items() if value is not None}
    one = combine(list(found), bm25, cosine, UNRELATED, 0.6)
    other = combine(list(found), {item: 4 * value for item, value in bm25.items()}, cosine, UNRELATED, 0.6)
    assert one == other


@given(st.dictionaries(st.integers(0, 20), st.tuples(cosines, bm25s), min_size=2))
def test_who_is_better_both_ways_is_better_fused(found: dict[int, tuple[float, float]]) -> None:
    ranked = combine(
        list(found),
        {item: words for item, (_, words) in found.items()},
        {item: cosine for item, (cosine, _) in found.items()},
        UNRELATED,
        0.6,
    )
    place = {item: at for at, (item, _) in enumerate(ranked)}
    for one in found:
        for other in found:
            if found[one][0] > found[other][0] and found[one][1] >= found[other][1]:
                assert place[one] < place[other]


@given(
    st.dictionaries(st.integers(0, 30), st.tuples(st.none() | cosines, st.none() | bm25s), min_size=1),
    st.floats(0, 1),
)
def test_passages_without_a_vector_stay_and_are_never_placed_beyond_all_reason(
    found: dict[int, tuple[float | None, float | None]], trust: float
) -> None:
    cosine = {item: value for item, (value, _) in found.items() if value is not None}
    bm25 = {item: value for item, (_, value) in found.items() if value is not None}
    ranked = combine(list(found), bm25, cosine, UNRELATED, trust)
    assert sorted(ids(ranked)) == sorted(found)
    assert all(np.isfinite(score) for _, score in ranked)
    assert all(first[1] >= second[1] for first, second in pairwise(ranked))
    top = max(((value - UNRELATED) / (1 - UNRELATED) for value in cosine.values()), default=0.0)
    assert all(score <= top + WORDS * trust + 1e-9 for _, score in ranked)


def test_a_passage_without_a_vector_is_placed_by_its_words() -> None:
    bm25 = {1: 10.0, 2: 6.0, 3: 2.0, 4: 10.0, 5: 2.0}
    cosine = {1: 0.90, 2: 0.85, 3: 0.80}
    ranked = combine([1, 2, 3, 4, 5], bm25, cosine, UNRELATED, 0.5)
    scores = dict(ranked)
    assert scores[4] == pytest.approx(scores[1])
    assert scores[5] == pytest.approx(scores[3])


def test_a_steep_line_through_few_points_places_nothing_above_the_best_cosine() -> None:
    bm25 = {1: 1.0, 2: 1.1, 3: 1.2, 4: 40.0}
    cosine = {1: 0.71, 2: 0.80, 3: 0.89}
    assert dict(combine([1, 2, 3, 4], bm25, cosine, UNRELATED, 0.0))[4] == pytest.approx(0.19 / 0.3)
