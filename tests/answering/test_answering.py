"""When an answer is tried at all, with and without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from answering_hits import hit, tokens, weigh

from silmari.answering.answer import Answer
from silmari.answering.answering import Answering
from silmari.model import Hit
from silmari.retrieval.trace import Trace


def ask(
    question: str,
    *hits: Hit,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
    min_relevance: float = 0.25,
) -> Answer:
    answering = Answering(None, tokens, min_relevance, similarity)

    async def last() -> Any:
        async for piece in answering.pieces(question, hits, weigh(question), Trace()):
            answer = piece
        return answer

    answer = asyncio.run(last())
    assert isinstance(answer, Answer)
    return answer


def test_a_near_topic_without_the_words_is_no_answer() -> None:
    near = replace(hit("점심시간은 한 시간으로 한다. 토요일은 오후 한 시까지 일한다."), similarity=0.8, relevance=0.29)
    declined = ask("구내식당의 금요일 메뉴는 무엇인가요?", near)
    assert not declined.found and "찾지 못했습니다" in declined.text and not declined.sources
    stage = declined.trace["stages"][-1]
    assert stage["support"] < stage["needed"] == 0.25 and stage["used"] == 0
    assert ask("점심시간은 얼마인가요?", replace(near, relevance=0.4)).found


def test_words_cannot_meet_across_languages_so_the_cosine_decides() -> None:
    near = replace(hit("점심시간은 한 시간으로 한다."), similarity=0.8, relevance=0.29)
    assert ask("How long is the lunch break?", near).found
    assert not ask("How long is the lunch break?", replace(near, relevance=0.2)).found


def test_a_passage_without_a_vector_is_judged_by_its_words() -> None:
    waiting = replace(hit("점심시간은 한 시간으로 한다."), similarity=None, relevance=0.9)
    assert ask("점심시간은 얼마인가요?", waiting).found
    assert not ask("구내식당의 금요일 메뉴는 무엇인가요?", waiting).found


def test_hits_that_prove_nothing_are_not_quoted() -> None:
    good = replace(hit("점심시간은 한 시간으로 한다."), similarity=0.9, relevance=0.5)
    bad = replace(hit("창고 열쇠는 총무과에 있다."), similarity=0.76, relevance=0.05)
    answer = ask("점심시간은 얼마인가요?", good, bad)
    assert answer.trace["stages"][-1]["used"] == 1
    assert all("열쇠" not in cited.quote for cited in answer.sources)


MANY_THINGS = (
    "Kestrel delivers brass rod. The price is fixed. Payment is due after invoice. Either party may terminate. "
    "Disputes go to arbitration in Singapore. Nothing else was agreed. Both parties signed."
)


def nearest_to(word: str) -> Callable[[str, Sequence[str]], Sequence[float]]:
    return lambda _, texts: [0.86 if word in text else 0.75 for text in texts]


def test_one_sentence_can_answer_though_its_passage_is_far() -> None:
    far = replace(hit(MANY_THINGS), similarity=0.76, relevance=0.06)
    where = "Where are quarrels settled?"
    assert not ask(where, far).found
    answer = ask(where, far, similarity=nearest_to("Singapore"))
    assert "Disputes go to arbitration in Singapore. [1]" in answer.text
    # Near alone is not enough: it must show what is sought, and who asks for more gets more.
    assert not ask(where, far, similarity=nearest_to("Payment")).found
    assert not ask(where, far, similarity=nearest_to("Singapore"), min_relevance=0.5).found
    assert not ask("Are quarrels settled?", far, similarity=nearest_to("Singapore")).found
