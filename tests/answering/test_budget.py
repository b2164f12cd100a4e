from __future__ import annotations

from answering_hits import hit, tokens
from hypothesis import given
from hypothesis import strategies as st

from silmari.answering.budget import estimate_tokens, fit


def test_estimates_are_near_what_tokenizers_count() -> None:
    # Counts of common vocabularies: 10 to 14 and 12 to 22.
    assert 9 <= estimate_tokens("The revenue of the company grew by 12 percent.") <= 18
    assert 12 <= estimate_tokens("회사의 매출은 작년보다 12퍼센트 늘었습니다.") <= 26
    assert estimate_tokens("") == 0


def test_all_that_fits_is_kept_whole() -> None:
    hits = [hit("첫 문장이다. 둘째 문장이다.", rank=1), hit("Another one. And more.", rank=2)]
    fitted = fit(hits, 4000)
    assert [piece.text for piece in fitted.pieces] == [each.passage.content for each in hits]
    assert not fitted.left_out
    assert not any(piece.cut for piece in fitted.pieces)


def test_long_ones_are_cut_at_sentences_and_said() -> None:
    long = " ".join(f"이것은 {number}번째 문장이고 특별한 내용은 없다." for number in range(100))
    fitted = fit([hit(long, rank=1), hit("짧은 문장이다.", rank=2)], 600)
    assert [piece.cut for piece in fitted.pieces] == [True, False]
    assert fitted.pieces[0].text.removesuffix(" …").endswith("없다.")
    assert fitted.left_out[0]["passage_id"] == 101
    assert fitted.left_out[0]["tokens"] > 0


def test_the_worthiest_sentences_stay() -> None:
    long = " ".join(f"{number}번째 문장은 평범하다." for number in range(200)) + " 정답은 마흔둘이다. 끝."
    asked = set(tokens("정답은?"))
    fitted = fit([hit(long)], 300, worth=lambda text: len(asked & set(tokens(text))))
    assert "정답은 마흔둘이다." in fitted.pieces[0].text


def test_rows_stay_whole() -> None:
    rows = "\n".join(f"이름: 사람{number} | 부서: 영업{number}팀" for number in range(200))
    fitted = fit([hit(rows, rows=True)], 400)
    shown = fitted.pieces[0].text.removesuffix(" …").split("\n")
    assert shown == rows.split("\n")[: len(shown)]


@given(st.lists(st.text(alphabet="가나다 abc.\n1", max_size=300), max_size=8), st.integers(0, 900))
def test_the_budget_holds_and_nothing_vanishes_silently(texts: list[str], budget: int) -> None:
    hits = [hit(text, rank=rank) for rank, text in enumerate(texts, start=1)]
    fitted = fit(hits, budget)
    assert fitted.tokens <= max(budget, 0) or not fitted.pieces
    told = {entry["passage_id"] for entry in fitted.left_out}
    whole = {piece.hit.passage.id for piece in fitted.pieces if not piece.cut}
    assert told | whole == {each.passage.id for each in hits}
    assert [piece.n for piece in fitted.pieces] == list(range(1, len(fitted.pieces) + 1))
