"""What of a written answer its sources support, by words, vectors and figures."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from answering_hits import hit, tokens
from hypothesis import given
from hypothesis import strategies as st

from silmari.answering.backing import FLOOR, FOREIGN_FLOOR, NEAR, WORDS_FLOOR, Nearness, backed, shared, support
from silmari.answering.budget import fit
from silmari.answering.citations import clean
from silmari.model import Hit

OTTER = hit("수달은 강과 바닷가에 살며 물고기를 먹는다. 겨울잠은 자지 않는다.", rank=1, title="수달")
ENGLISH = hit("The otter lives in rivers and along coasts and eats mostly fish.", rank=2, title="Otters")
PARAPHRASE = "수달이 지내는 곳은 물가이고 먹이는 주로 생선이라고 합니다 [1]."


def doubtful(text: str, hits: Sequence[Hit], nearness: Nearness | None = None) -> list[str]:
    cleaned = clean(text, len(hits))
    found = backed(cleaned.text, cleaned, fit(hits, 10_000), tokens, nearness)
    return [reason for _, reason in found.doubtful]


def test_words_decide_where_they_are_enough() -> None:
    def never(_: str, __: Sequence[int]) -> float:
        pytest.fail("no vector is needed")

    assert doubtful("수달은 강과 바닷가에 살며 물고기를 먹는다 [1].", [OTTER], never) == []


def test_a_paraphrase_needs_the_vector() -> None:
    assert len(doubtful(PARAPHRASE, [OTTER])) == 1
    asked: list[tuple[str, list[int]]] = []

    def near(text: str, ids: Sequence[int]) -> float:
        asked.append((text, list(ids)))
        return 0.9

    share = shared(PARAPHRASE.replace("[1]", ""), [OTTER.passage.content, "수달"], tokens)
    assert doubtful(PARAPHRASE, [OTTER], lambda *_: (FLOOR - share) / NEAR + 0.01) == []
    assert len(doubtful(PARAPHRASE, [OTTER], lambda *_: (FLOOR - share) / NEAR - 0.01)) == 1
    doubtful(PARAPHRASE, [OTTER], near)
    assert asked == [(PARAPHRASE.replace("[1]", ""), [101])]


def test_across_languages_the_vector_decides_alone() -> None:
    said = "수달은 강과 바닷가에 살며 주로 물고기를 먹습니다 [1]."
    assert doubtful(said, [ENGLISH], lambda *_: FOREIGN_FLOOR) == []
    assert doubtful(said, [ENGLISH], lambda *_: FOREIGN_FLOOR - 0.01) == [
        f"its sources say little of it (support {FOREIGN_FLOOR - 0.01:.2f}, needed {FOREIGN_FLOOR})"
    ]
    # With neither words nor vectors nothing can be said, and nothing is.
    assert doubtful(said, [ENGLISH]) == []
    cleaned = clean(said, 1)
    assert backed(said, cleaned, fit([ENGLISH], 1_000), tokens).unjudged == 1
    # Figures are compared in any language.
    assert doubtful("수달은 16년쯤 삽니다 [1].", [ENGLISH]) == ["its sources do not have 16년"]
    # A Korean source among those cited has the words.
    assert doubtful("수달은 강과 바닷가에 살며 물고기를 먹는다 [1][2].", [ENGLISH, OTTER]) == []


def test_several_sources_support_a_sentence_together() -> None:
    one, two = hit("수달은 강에서 산다.", rank=1), hit("여우는 숲에서 토끼를 쫓는다.", rank=2)
    said = "수달은 강에서 살고 여우는 숲에서 토끼를 쫓는다"
    assert doubtful(f"{said} [1][2].", [one, two]) == []
    assert len(doubtful(f"{said} [1].", [one, two])) == 1


def test_the_title_and_the_date_of_a_source_are_known_too() -> None:
    report = hit("임대료는 동결한다.", title="2025년 임대차 계약서", date="2025-03-02", context="제4조 임대료")
    assert doubtful("2025년 임대차 계약서에 따르면 임대료는 동결한다 [1].", [report]) == []
    assert doubtful("2025년 3월 2일의 계약은 임대료를 동결한다 [1].", [report]) == []


@pytest.mark.parametrize("said", ["네 [1].", "Yes [1].", "16년이다 [1].", "# 수달", "요약:", "`x[1]` = 3"])
def test_what_says_little_is_not_judged(said: str) -> None:
    source = hit("수달의 수명은 16년이고 값은 3이다.")
    assert [reason for reason in doubtful(said, [source]) if "little" in reason] == []


def test_an_uncited_sentence_is_told() -> None:
    assert doubtful("수달은 강과 바닷가에 산다 [1]. 날개가 있다.", [OTTER]) == ["it cites no source"]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_support_is_never_less(words: float, near: float, more: float) -> None:
    for one in (None, words):
        low, high = support(one, lambda: near), support(one, lambda: max(near, more))
        assert low and high and (high.enough or not low.enough)
    low, high = support(words, lambda: near), support(max(words, more), lambda: near)
    assert low and high and (high.enough or not low.enough)
    alone = support(words, lambda: None)
    assert alone and alone.enough == (words >= WORDS_FLOOR)
