"""Names: what is one, what it is called, and what a passage is about."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from silmari.language.analysis import Analyser
from silmari.language.names import MARKED, TITLE, latin_names, title_keys

ANALYSER = Analyser()


def names(text: str, context: str = "") -> list[str]:
    return ANALYSER.passages_many([(context, text)])[0].names.split()


def about(text: str, context: str = "") -> list[str]:
    return [name for name in names(text, context) if name[0] in (TITLE, MARKED)]


def test_english_runs_of_capitals_and_their_parts() -> None:
    found = latin_names("The teacher of Leonhard Euler's son met J. R. R. Tolkien in Vienna. However, Dr. Who left.")
    assert found == ["leonhardeuler", "j.r.r.tolkieninvienna", "j.r.r.tolkien", "vienna", "dr.who"]
    assert "universityofgöttingen" in latin_names("She left the University of Göttingen and Oxford.")


@pytest.mark.parametrize("text", ["It is. They were. What is the answer?", "12 345, 7.5 %", "", "()-- ''"])
def test_words_that_begin_sentences_and_numbers_are_no_names(text: str) -> None:
    assert names(text) == []


def test_korean_names_lose_their_particles_and_meet_across_spellings() -> None:
    written = names("오인환이 ㈜한빛 중공업을 세웠다. 한빛중공업의 사장은 서지형이다.")
    assert {"오인환", "한빛중공업", "서지형"} <= set(written)
    assert "앨버트아인슈타인" in names("앨버트 아인슈타인을 만났다.")


def test_decomposed_hangul_gives_the_same_names() -> None:
    text = "여울철공소는 오만석이 새여울에 차린 대장간이다."
    assert names(unicodedata.normalize("NFD", text)) == names(text)


def test_quoted_terms_are_names() -> None:
    assert {"붉은바다", "thelongway"} <= set(names("소설 「붉은 바다」와 “the long way”를 읽었다."))


def test_titles_and_headings_are_what_a_passage_is_about() -> None:
    assert title_keys("The Mahasona (film)") == ["themahasona(film)", "themahasona", "mahasona(film)", "mahasona"]
    assert title_keys("MB-300_datasheet") == ["mb-300datasheet"]
    assert about("Text.", "Mahasona (film) > Early life") == ["=mahasona(film)", "=mahasona", "=earlylife"]


def test_the_first_sentence_marks_a_topic_in_both_languages() -> None:
    assert about("앨버트 아인슈타인(Albert Einstein, 1879년)은 물리학자이다.") == ["~앨버트아인슈타인"]
    assert about("한빛중공업은 청라포시에 있다. 서지형은 사장이다.") == ["~한빛중공업"]
    assert about("The Seolbong Bridge (1932) is 214 metres long.") == ["~seolbongbridge"]
    assert about("Jakob Bernoulli (1654–1705): Jakob was older.") == ["~jakobbernoulli"]
    assert about("There is a bridge.") == about("We saw it. Vienna is old.") == []
    assert about("St. Louis is a city.") == ["~st.louis"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_text_gives_names_without_blanks_each_once(context: str, text: str) -> None:
    found = names(text, context)
    assert len(found) == len(set(found))
    for name in found:
        bare = name[1:] if name[0] in (TITLE, MARKED) else name
        assert len(bare) > 1 and any(char.isalpha() for char in bare)
        assert name[0] in (TITLE, MARKED) or name[0].isalnum()


def test_tokens_are_those_of_the_text_with_its_context_twice() -> None:
    context, text = "한빛중공업 > Overview", "오인환이 세웠다. Founded in 1968."
    both = f"{context}\n{context}\n{text}"
    assert ANALYSER.passages_many([(context, text)])[0].tokens.split() == ANALYSER.tokens(both)
