from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import pytest
from answering_hits import hit, tokens, weigh
from hypothesis import given
from hypothesis import strategies as st

from silmari.answering.answer import Answer
from silmari.answering.extractive import extract
from silmari.answering.wording import NOT_FOUND, language_of
from silmari.model import Hit


def ask(question: str, *hits: Hit, **options: object) -> Answer:
    return extract(question, hits, weigh=weigh, tokens=tokens, **options)  # type: ignore[arg-type]


BRIDGE = (
    "새여울대교는 1974년 11월 개통한 길이 612m의 강교다. 그 다리는 서정길이 감독했다. 다리 옆에는 작은 공원이 있다. "
    "해마다 봄이면 공원에서 꽃 축제가 열린다."
)


def test_the_sentence_that_answers_is_quoted_with_its_source() -> None:
    answer = ask("새여울대교는 언제 개통했나요?", hit(BRIDGE, title="새여울대교"))
    assert answer.found
    assert answer.text.startswith("새여울대교는 1974년 11월 개통한 길이 612m의 강교다. [1]")
    assert "꽃 축제" not in answer.text
    assert [cited.n for cited in answer.sources] == [1]
    assert answer.sources[0].passage_id == 101
    assert answer.as_json()["sources"][0] == {
        "n": 1,
        "uri": "/문서/보고서.pdf",
        "title": "새여울대교",
        "category": "pdf",
        "date": None,
        "locator": {"page": 1},
        "quote": answer.sources[0].quote,
    }
    assert set(answer.as_json()) == {"question", "answer", "found", "sources", "trace"}


def test_a_sentence_that_leans_on_the_one_before_brings_it() -> None:
    answer = ask("누가 감독했나요?", hit(BRIDGE, title="새여울대교"))
    assert answer.text == ("새여울대교는 1974년 11월 개통한 길이 612m의 강교다. [1] 그 다리는 서정길이 감독했다. [1]")
    assert answer.sources[0].quote == BRIDGE[: BRIDGE.index(" 다리 옆")]
    english = ask(
        "Who designed the tower?",
        hit("The tower stands in Arden since 1902. It was designed by Ada Finch. Tickets cost five marks."),
    )
    assert english.text == "The tower stands in Arden since 1902. [1] It was designed by Ada Finch. [1]"


def test_a_short_korean_sentence_is_an_answer() -> None:
    text = "두레베어링은 1986년 기계공들이 만든 협동조합 기업이다. 초대 조합장은 홍기표였다. 볼베어링까지 깎아 낸다."
    assert "초대 조합장은 홍기표였다. [1]" in ask("두레베어링의 초대 조합장은 누구였나?", hit(text)).text


def test_a_heading_brings_what_it_is_about() -> None:
    answer = ask("연차휴가는 며칠인가요?", hit("연차휴가\n\n일 년을 일한 사원에게 십칠 일을 준다.\n\n다른 것은 없다."))
    assert "일 년을 일한 사원에게 십칠 일을 준다. [1]" in answer.text


ROWS = (
    "사번: M1 | 이름: 채유담 | 부서: 영업1팀 | 입사일: 2018-04-02\n"
    "사번: M2 | 이름: 노은채 | 부서: 기술연구소 | 입사일: 2011-03-02\n"
    "사번: M3 | 이름: 배도현 | 부서: 부산지점 | 입사일: 2008-04-14"
)


def test_of_a_table_the_row_is_quoted() -> None:
    answer = ask("노은채의 입사일은 언제인가요?", hit(ROWS, rows=True))
    assert answer.text == ROWS.split("\n")[1] + " [1]"
    assert answer.sources[0].quote == ROWS.split("\n")[1]


def test_a_very_long_row_is_cut_at_cell_borders() -> None:
    cells = [f"항목{number}: 값{number} 그리고 설명이 조금 붙는다" for number in range(80)]
    cells[40] = "보증 기간: 24개월"
    row = " | ".join(cells)
    answer = ask("보증 기간은 얼마인가요?", hit(row, rows=True))
    quote = answer.sources[0].quote
    assert "보증 기간: 24개월" in quote
    assert len(quote) <= 320
    assert quote in row
    assert all(cell in cells for cell in quote.split(" | "))


def test_what_comes_from_one_passage_stays_together_best_first() -> None:
    one = hit("수달은 강에 산다. 수달은 물고기를 먹는다.", rank=2, relevance=0.7, uri="/a.txt")
    two = hit("수달의 먹이는 주로 물고기와 게다. 수달의 수명은 16년이다.", rank=1, relevance=0.9, uri="/b.txt")
    answer = ask("수달의 먹이와 수명은?", two, one)
    assert answer.text.splitlines()[0] == "수달의 먹이는 주로 물고기와 게다. [1] 수달의 수명은 16년이다. [1]"


def test_nothing_is_said_twice() -> None:
    text = "The pump weighs 38 kilograms and is made in Arden."
    answer = ask("How much does the pump weigh?", hit(text, rank=1), hit(text, rank=2, uri="/copy.txt"))
    assert answer.text == f"{text} [1]"


def test_semantic_similarity_decides_between_equal_words() -> None:
    asked: list[Sequence[str]] = []

    def similarity(question: str, texts: Sequence[str]) -> list[float]:
        asked.append(texts)
        return [0.9 if "closes" in text else 0.7 for text in texts]

    text = " ".join(f"The shop number {number} is on the market square." for number in range(8))
    answer = ask("Until when is the shop open?", hit(text + " The shop closes at nine."), similarity=similarity)
    assert answer.text.startswith("The shop closes at nine. [1]")
    assert len(asked) == 1
    assert len(asked[0]) <= 12


@pytest.mark.parametrize("question", ["구내식당 메뉴는 무엇인가요?", "What is on the menu?"])
def test_nothing_relevant_is_said_in_the_language_of_the_question(question: str) -> None:
    answer = ask(question)
    assert not answer.found
    assert answer.text == NOT_FOUND[language_of(question)]
    assert not answer.sources
    assert "not_found" in answer.trace


def test_another_code_or_year_is_no_answer() -> None:
    price = hit("The price of the MX-300 is 120 euros in 2024.", title="Price list")
    assert ask("What is the price of the MX-300?", price).found
    assert ask("What is the price of the mx 300?", price).found
    assert not ask("What is the price of the MX-500?", price).found
    assert not ask("What was the price of the MX-300 in 2019?", price).found


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("AutoRAG가 뭐야?", "ko"),
        ("What is 한빛에너지솔루션?", "en"),
        ("GPT-4o mini API 가격 얼마", "ko"),
        (unicodedata.normalize("NFD", "매출은 얼마인가요?"), "ko"),
        ("Quel est le prix?", "en"),
        ("2024?", "en"),
    ],
)
def test_language(question: str, language: str) -> None:
    assert language_of(question) == language


@pytest.mark.parametrize("question", ["", "   ", "?!…", "수" * 100_000, "why " * 25_000, "\x00\ud800"])
def test_any_question_is_survived(question: str) -> None:
    assert isinstance(ask(question, hit(BRIDGE)), Answer)


def test_control_characters_are_not_quoted() -> None:
    answer = ask("When did the pump fail?", hit("The pump failed\x1b[31m on 3 May 2024\u202e at noon in the hall."))
    assert answer.found
    assert not re.search("[\x00-\x08\x1b\u202e]", answer.text + answer.sources[0].quote)


WORDS = st.sampled_from(
    ["수달", "수달은", "강", "물고기를", "먹는다.", "산다.", "The", "otter", "eats", "fish.", "It",
     "그는", "2024년", "MX-300",
     "\n", "\n\n", " | ", "이름: ", "값: 3", "[7]", "?", "“", "”", "\u202e", "\x1b", "e\u0301", "…", "1.", "가."]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=60).map(" ".join)


@given(
    st.lists(st.tuples(TEXTS, st.booleans(), st.floats(0, 1)), max_size=6), st.lists(WORDS, max_size=8).map(" ".join)
)
def test_every_quote_is_in_its_passage(found: list[tuple[str, bool, float]], question: str) -> None:
    hits = [
        hit(text, rank=rank, rows=rows, relevance=relevance, uri=f"/{rank}.txt")
        for rank, (text, rows, relevance) in enumerate(found, start=1)
    ]
    answer = ask(question, *hits)
    contents = {each.passage.id: each.passage.content for each in hits}
    if not answer.found:
        assert not answer.sources
        assert answer.text == NOT_FOUND[language_of(question)]
        return
    assert [cited.n for cited in answer.sources] == list(range(1, len(answer.sources) + 1))
    for cited in answer.sources:
        assert cited.quote
        assert cited.quote in contents[cited.passage_id]
    # Taken apart at its marks, the text is nothing but pieces of its sources.
    rest = answer.text
    for cited in answer.sources:
        part, rest = re.split(rf"(?<= \[{cited.n}\])(?!.* \[{cited.n}\])", rest, maxsplit=1, flags=re.S)
        for piece in part.split(f" [{cited.n}]"):
            assert piece.strip() in contents[cited.passage_id]
    assert not rest
