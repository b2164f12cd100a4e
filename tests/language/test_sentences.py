import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.language.sentences import sentences

MARKS = "다가나다 요까.!?…。「」“”\"'()\n\r\t 12aB,:|-•\u2028\u3000"
TEXT = st.text(max_size=80) | st.text(st.sampled_from(MARKS), max_size=80)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@given(TEXT)
def test_spans_cover_all_but_blanks_in_order(text: str) -> None:
    last = 0
    for start, end in sentences(text):
        assert last <= start < end <= len(text)
        assert not text[last:start].strip()
        assert text[start:end] == text[start:end].strip()
        last = end
    assert not text[last:].strip()


@given(TEXT, TEXT)
def test_blank_line_always_splits(first: str, second: str) -> None:
    border = len(first)
    for start, end in sentences(first + "\n\n" + second):
        assert end <= border or start >= border


KOREAN = [
    ["안녕하세요.", "저는 철수입니다.", "원주율은 3.14이다.", "어디 가요?", "몰라!", "네."],
    ["제1조(목적) 이 법은 2024. 1. 31. 시행한다.", "다만 부칙은 2024. 2. 1. 시행한다."],
    ["그는 “나는 간다. 잘 있어라.”라고 말했다.", "그리고 떠났다."],
    ['그는 "나는 간다. 잘 있어라." 라고 말했다.', "그리고 떠났다."],
    ["보고서 작성함.", "검토 완료됨.", "내일 제출할 예정임."],
    ["글쎄… 잘 모르겠다.", "그렇다...", "그래서 갔다."],
    ["자료는 https://example.org/a.b?c=1.2 에 있다.", "확인 바람."],
    ["(비가 왔다. 눈도 왔다.)", "그래도 갔다.", "「책이다. 아니다.」를 읽었다."],
    ["매출은 1,234.5억 원이었다.", "전년보다 12.3% 늘었다."],
]
ENGLISH = [
    ["Mr. Smith went to the U.S. in 1990.", "He met J. K. Rowling."],
    ["No. 5 is alive, e.g. Bob.", "See Fig. 3 and pp. 4-5.", "It grew by 3.5 percent."],
    ['"Really?" she said.', '"Yes."', "Then he left."],
    ["Apple Inc. announced it at 5 p.m. on Monday.", "The U.S. market fell."],
    ["We found it (see Smith et al. 2004).", "However, others did not."],
    ["He said no.", "Then he left!", "Why?"],
    ["Visit www.example.com.", "Write to a.b@c.org."],
]
OTHER = [["我来了。", "他走了！", "「真的。」と言った。", "はい。"], ["これは本です。", "本当？"]]


@pytest.mark.parametrize("expected", KOREAN + ENGLISH)
def test_sentences(expected: list[str]) -> None:
    assert split(" ".join(expected)) == expected


@pytest.mark.parametrize("expected", OTHER)
def test_stops_without_blanks(expected: list[str]) -> None:
    assert split("".join(expected)) == expected


@pytest.mark.parametrize(
    "lines",
    [
        ["1. 첫째 항목", "2. 둘째 항목", "가. 넷째", "- 다섯째"],
        ["이름\t부서", "홍길동\t총무"],
        ["| a | b |", "| 1 | 2 |"],
        ["이름: 홍길동", "전화: 010-1234-5678"],
        [
            "제1조(목적)",
            "이 법은 국민의 안전을 보호하고 그 권리를 보장함을 목적으로 한다.",
            "제2조(정의) 뜻은 다음과 같다.",
        ],
        ["# Heading", "Text that follows the heading goes on here"],
    ],
)
def test_lines_that_stand_for_themselves(lines: list[str]) -> None:
    assert split("\n".join(lines)) == lines
    assert split("\r\n".join(lines)) == lines


def test_wrapped_prose_holds_together() -> None:
    text = "The committee met on Monday and decided\nto postpone the vote. It will meet again\nin the week after."
    assert split(text) == [
        "The committee met on Monday and decided\nto postpone the vote.",
        "It will meet again\nin the week after.",
    ]


def test_forgotten_blank() -> None:
    assert split("그는 갔다.그러나 다시 왔다.") == ["그는 갔다.", "그러나 다시 왔다."]


@pytest.mark.parametrize("unit", ["가", ". ", "(", '"', "“a. ", "a: b\n", "\n", " ", ".", "「가.", "1. "])
def test_time_grows_with_length_only(unit: str) -> None:
    text = unit * 20_000
    begun = time.process_time()
    sentences(text)
    assert time.process_time() - begun < 2
