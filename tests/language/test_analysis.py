import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from silmari.errors import UsageError
from silmari.language.analysis import BIGRAM, Analyser

ANALYSER = Analyser()
MARKS = "서울은에서환자ㅋㆍ漢字ひらがなภาษา aBé.,-'/&#+%12₩①\u200b\ud800\x00\n\t"
TEXT = st.text(st.characters(), max_size=40) | st.text(st.sampled_from(MARKS), max_size=40)


@settings(deadline=None, max_examples=60)
@example("\u00a8")
@given(TEXT)
def test_tokens_hold_no_blank_and_are_short(text: str) -> None:
    tokens = ANALYSER.tokens(text)
    for token in tokens:
        assert token
        assert token.split() == [token]
        assert len(token) <= 65
        token.encode("utf-8")
    assert ANALYSER.tokens(text) == tokens
    assert ANALYSER.tokens(unicodedata.normalize("NFD", text)) == tokens


@settings(deadline=None, max_examples=60)
@given(TEXT)
def test_question_meets_its_own_text(text: str) -> None:
    tokens, question = set(ANALYSER.tokens(text)), ANALYSER.query(text)
    assert question.keys() <= tokens
    assert bool(question) == bool(tokens)
    assert all(weight > 0 for weight in question.values())


@settings(deadline=None, max_examples=20)
@given(st.lists(TEXT | st.sampled_from(["서울은 크다", "plain", ""]), max_size=6))
def test_many_equal_one_by_one(texts: list[str]) -> None:
    assert ANALYSER.tokens_many(texts) == [ANALYSER.tokens(text) for text in texts]


@pytest.mark.parametrize("text", ["환자", "서울 부산", "에어팟", "한국어 Kubernetes 漢字 42", "ㅋㅋㅋ", "가"])
def test_every_word_leaves_a_token(text: str) -> None:
    for word in text.split():
        assert ANALYSER.tokens(word)


def content(text: str) -> set[str]:
    return {token for token in ANALYSER.tokens(text) if not token.startswith(BIGRAM)}


@pytest.mark.parametrize(
    ("stem", "forms"),
    [
        ("서울", ["서울", "서울은", "서울에서", "서울의", "서울까지", unicodedata.normalize("NFD", "서울에서는")]),
        ("환자", ["환자", "환자는", "환자은", "환자에게"]),
        ("에어팟", ["에어팟", "에어팟을", "에어팟이"]),
        ("먹다", ["먹었다", "먹는다", "먹고"]),
        ("반도체", ["AI반도체", "반도체를", "AI 반도체"]),
        ("연구", ["연구ㆍ개발", "연구·개발", "연구개발", "연구하였다"]),
        ("kubernet", ["Kubernetes를", "kubernetes", "KUBERNETES"]),
        ("run", ["running", "runs", "Run"]),
        ("compani", ["company's", "companies", "Company’s"]),
        ("1000", ["1,000", "1000", "1,000원"]),
        ("3.5", ["3.5kg", "3.5 kg", "３.５㎏"]),
        ("12", ["12%", "12 %"]),
        ("0263", ["KS C 0263", "KS-C-0263", "ksc0263"]),
        ("iso9001", ["ISO-9001", "iso9001", "ISO_9001"]),
        ("covid", ["COVID-19", "covid19", "Covid 19"]),
        ("v2.1.3", ["v2.1.3", "V2.1.3"]),
        ("2.1.3", ["v2.1.3", "2.1.3"]),
        ("beyonc", ["Beyoncé", "beyonce", "Beyonce’s"]),
        ("us", ["U.S.", "US"]),
        ("c++", ["C++", "c++로"]),
        ("東京", ["東京都", "東京"]),
        ("2분기", ["2분기 매출", "2분기에"]),
        ("brien", ["O'Brien", "O’Brien's"]),
        ("they", ["they're", "They’ll"]),
        ("हिन्दी", ["हिन्दी भाषा"]),
        ("iphon", ["iPhone", "IPHONE", "아이폰 iPhone은"]),
    ],
)
def test_spellings_meet(stem: str, forms: list[str]) -> None:
    for form in forms:
        assert stem in content(form), form
        assert ANALYSER.query(form)[stem] > 0, form


def test_compounds_whole_and_split() -> None:
    assert {"대한민국", "헌법", "재판소", "대한민국헌법재판소"} <= content("대한민국헌법재판소에서는")


def test_bigrams_never_meet_words() -> None:
    assert "#환자" in ANALYSER.tokens("환자")
    assert not any(token.startswith(BIGRAM) for token in ANALYSER.tokens("#ai ##tag C# #9 F#"))


@pytest.mark.parametrize(
    ("question", "gone", "kept"),
    [
        ("Why doesn't it run?", {"doesnt", "doesn", "whi"}, {"run"}),
        ("서울의 인구는 얼마인가요?", {"얼마", "얼마인가요", "#얼마"}, {"서울", "인구"}),
        ("누가 에어팟을 만들었는지 알려줘", {"누구", "알리다", "알려줘"}, {"에어팟", "만들다"}),
        ("What is the capital of France?", {"what", "is", "the", "of"}, {"capit", "franc"}),
        ("Who wrote it, 그리고 언제?", {"who", "언제", "그리고"}, {"wrote"}),
    ],
)
def test_question_words_are_left_out(question: str, gone: set[str], kept: set[str]) -> None:
    weights = ANALYSER.query(question)
    assert not gone & weights.keys()
    assert kept <= weights.keys()


@pytest.mark.parametrize("question", ["무엇인가요?", "The Who", "누구", "to be or not to be", "이 그 저"])
def test_question_of_stop_words_alone_still_asks(question: str) -> None:
    assert ANALYSER.query(question)


@pytest.mark.parametrize("question", ["", "   ", "?!…", "\x00\u200b"])
def test_empty_question(question: str) -> None:
    assert ANALYSER.query(question) == {}
    assert ANALYSER.tokens(question) == []


def test_long_question_is_cut() -> None:
    assert len(ANALYSER.query("서울의 병원 " * 20_000 + "끝말잇기")) < 20


def test_hostile_lengths() -> None:
    for text in ("가" * 10_000, "a" * 50_000, "1." * 20_000, "a-" * 20_000, "漢" * 20_000, "é" * 5_000):
        assert all(len(token) <= 65 for token in ANALYSER.tokens(text))


def test_threads_agree() -> None:
    texts = [f"제{n}조 서울에서 환자는 {n}분기에 Kubernetes를 배웠다. running {n}" for n in range(40)]
    fresh = Analyser()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fresh.tokens, texts)) == ANALYSER.tokens_many(texts)


def test_user_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("# 우리 회사 말\n뤼튼새빛\tNNP\t5\n새빛 클라우드\nAI닥터\n", encoding="utf-8")
    taught = Analyser(path)
    assert "뤼튼새빛" in taught.tokens("뤼튼새빛은")
    assert "새빛클라우드" in taught.tokens("새빛 클라우드는 빠르다")
    assert "ai닥터" in taught.tokens("AI닥터가")
    assert taught.fingerprint != ANALYSER.fingerprint
    assert Analyser(path).fingerprint == taught.fingerprint


@pytest.mark.parametrize("line", ["단어\tXYZ", "단어\tNNP\t높음", "\tNNP", "단어\tNNP\tnan"])
def test_faulty_user_dictionary(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text("서울\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        Analyser(path)


def test_absent_user_dictionary(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="user_dictionary"):
        Analyser(tmp_path / "none.txt")


def test_kiwi_is_loaded_for_hangul_only() -> None:
    code = (
        "import sys; from silmari.language.analysis import Analyser; a = Analyser(); "
        "a.tokens('plain English'); a.query('漢字'); a.tokens_many(['x']); assert 'kiwipiepy' not in sys.modules; "
        "a.tokens('한글'); assert 'kiwipiepy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
