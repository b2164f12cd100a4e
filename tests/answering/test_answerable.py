"""When an answer is given: relevance and words together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.answering.answerable import FIRST, Passage, standing_out, support

WEIGHTS = {"연차": 3.0, "휴가": 2.0, "며칠": 1.0}


def answerable(weights: dict[str, float], found: list[Passage], least: float) -> bool:
    return support(weights, found) >= least


tokens = st.lists(st.sampled_from([*WEIGHTS, "예산", "회의"]))
passages = st.tuples(st.none() | st.floats(0, 1), tokens)


@pytest.mark.parametrize(
    ("relevance", "words", "expected"),
    [
        (0.5, [], 0.2),
        (0.5, ["연차", "휴가", "며칠"], 0.7),
        (0.5, ["휴가", "며칠"], 0.45),
        (None, ["연차"], 0.5),
        (None, ["예산"], 0.0),
        (0.4, None, 0.4),
    ],
)
def test_words_raise_or_lower_the_relevance(relevance: float | None, words: list[str] | None, expected: float) -> None:
    assert support(WEIGHTS, [(relevance, words)]) == pytest.approx(expected)


def test_a_near_passage_without_the_words_is_declined_and_a_farther_one_with_them_is_not() -> None:
    assert not answerable(WEIGHTS, [(0.5, ["예산"])], 0.25)
    assert answerable(WEIGHTS, [(0.4, ["연차", "휴가"])], 0.25)


def test_words_of_different_passages_are_not_added_up() -> None:
    assert not answerable(WEIGHTS, [(0.25, ["연차"]), (0.25, ["휴가"])], 0.25)


def test_nothing_found_and_no_weights() -> None:
    assert not answerable(WEIGHTS, [], 0.25)
    assert answerable({}, [(0.3, [])], 0.25)
    assert not answerable({}, [(0.2, ["연차"])], 0.25)


def test_only_the_first_passages_count() -> None:
    good = (0.9, ["연차", "휴가", "며칠"])
    assert not answerable(WEIGHTS, [(0.1, [])] * FIRST + [good], 0.25)
    assert answerable(WEIGHTS, [(0.1, [])] * (FIRST - 1) + [good], 0.25)


@given(st.lists(passages, max_size=FIRST - 1), passages)
def test_the_best_passage_decides(
    found: list[tuple[float | None, list[str]]], more: tuple[float | None, list[str]]
) -> None:
    assert support(WEIGHTS, [*found, more]) == max(support(WEIGHTS, [one]) for one in [*found, more])


@given(st.floats(0, 1), tokens, st.sampled_from(sorted(WEIGHTS)))
def test_one_more_word_never_hurts(relevance: float, words: list[str], word: str) -> None:
    assert support(WEIGHTS, [(relevance, [*words, word])]) >= support(WEIGHTS, [(relevance, words)])


def test_one_sentence_that_is_far_nearer_than_all_others_stands_out() -> None:
    assert standing_out([0.75, 0.76, 0.74, 0.75, 0.86, 0.75]) == pytest.approx(0.11 / 0.25 - 0.05)
    assert standing_out([0.86] * 6) == 0.0
    assert standing_out([0.75, 0.86, 0.75]) == 0.0  # too few to tell
