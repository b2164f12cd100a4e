from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.model import Prose
from silmari.reading.cleaning import clean
from silmari.reading.content import Content
from silmari.reading.limits import Limits
from silmari.reading.text import read

MANUAL = """---
title: "설비 점검 안내"
date: 2024-03-05
tags:
  - pump
---
머리말이다.

# 개요

점검은 해마다 한다.

## 준비

| 부품 | 수량 |
|---|---|
| 펌프 | 2 |

### 도구 (tools)

```sh
# this is no heading
run --all
```

## 순서
# 기록 #
"""


def markdown(text: str) -> Content:
    return read(text.encode(), "a.md", Limits())


def plain(text: str) -> Content:
    return read(text.encode(), "a.txt", Limits())


def prose(content: Content) -> list[Prose]:
    return [section for section in content.sections if isinstance(section, Prose)]


def test_markdown_sections_have_their_headings() -> None:
    content = markdown(MANUAL)
    assert (content.title, content.date, content.date_source) == ("설비 점검 안내", "2024-03-05", "content")
    assert [(section.heading, section.text.split("\n")[0]) for section in prose(content)] == [
        ("", "머리말이다."),
        ("개요", "점검은 해마다 한다."),
        ("개요 > 준비", "| 부품 | 수량 |"),
        ("개요 > 준비 > 도구 (tools)", "```sh"),
        ("개요", "## 순서"),
        ("", "# 기록 #"),
    ]
    assert "# this is no heading\nrun --all" in prose(content)[3].text


def test_markdown_sections_are_slices_of_the_file() -> None:
    text = clean(MANUAL)
    for section in prose(markdown(MANUAL)):
        start, end = section.locator["chars"]
        assert text[start:end] == section.text


def test_the_first_top_heading_is_the_title() -> None:
    content = markdown("intro\n\n## Small\n\nx\n\n# The **big** [one](http://example.org) {#top}\n\ny\n")
    assert content.title == "The big one"
    assert [section.heading for section in prose(content)] == ["", "Small", "The big one"]


def test_underlined_headings_and_rules() -> None:
    content = markdown("큰 제목\n=====\n\n본문이다.\n\n작은 제목\n---\n\n더 있다.\n\n---\n\n끝\n\n- item\n---\n")
    assert content.title == "큰 제목"
    assert [section.heading for section in prose(content)] == ["큰 제목", "큰 제목 > 작은 제목"]


def test_an_unclosed_fence_and_front_matter_stay_text() -> None:
    content = markdown("---\ntitle: x\n\n```\n# code\n")
    assert content.title == ""
    assert len(content.sections) == 1


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("분기 회의록\n\n참석자가 모두 모였다.", "분기 회의록"),
        ("Minutes of the board\n\nAll were present.", "Minutes of the board"),
        ("2024년 사업 계획\n\n본문", "2024년 사업 계획"),
        ("모두 모였다.\n\n다음에 보자.", ""),
        ("Minutes\nof the board\n\nx", ""),
        ("2024-01-31\n\n본문", ""),
        ("작성일: 2024-01-31\n\n본문", ""),
        ("From: someone\n\nHello", ""),
        ("- item\n\nmore", ""),
        ("x" * 90 + "\n\nmore", ""),
        ("Alone", ""),
    ],
)
def test_a_plain_title_is_only_a_clear_one(text: str, title: str) -> None:
    assert plain(text).title == title


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("회의록\n\n작성일: 2024-01-31\n본문", "2024-01-31"),
        ("회의록\n작성일자 : 2024. 1. 31.\n본문", "2024-01-31"),
        ("공지\n2024년 1월 31일\n본문", "2024-01-31"),
        ("공지\n(2024.01.31)\n본문", "2024-01-31"),
        ("Subject: x\nDate: January 31, 2024\nbody", "2024-01-31"),
        ("Date: Wed, 31 Jan 2024 10:00:00 +0900\nbody", "2024-01-31"),
        ("**Last updated:** 31 January 2024\nbody", "2024-01-31"),
        ("등록일: 2024-01-31 (수)  조회 35\n본문", "2024-01-31"),
        ("회의는 2024년 1월 31일에 열렸다.", None),
        ("줄\n" * 20 + "작성일: 2024-01-31", None),
        ("작성일: 곧\n본문", None),
        ("1\n2\n3\n4\n5\n2024-01-31\n", None),
    ],
)
def test_dates_in_the_head_of_a_text(text: str, date: str | None) -> None:
    content = plain(text)
    assert (content.date, content.date_source) == (date, "content" if date else None)


def test_old_encodings_and_decomposed_hangul() -> None:
    content = read("제목이다\r\n\r\n한글 본문입니다. 잘 보입니다.\r\n".encode("cp949"), "a.txt", Limits())
    assert content.title == "제목이다"
    assert prose(content)[0].text == "제목이다\n\n한글 본문입니다. 잘 보입니다.\n"
    assert plain(unicodedata.normalize("NFD", "실마리\n\n본문")).title == "실마리"


@given(st.text(alphabet=st.sampled_from("# \n-=`~가a|x:.1"), max_size=120))
def test_all_text_of_any_markdown_is_in_a_section_or_a_heading(body: str) -> None:
    content = markdown(body)
    text = clean(body)
    end = 0
    for section in prose(content):
        start, stop = section.locator["chars"]
        assert text[start:stop] == section.text
        assert section.text.strip()
        assert start >= end
        end = stop
    shown = "".join(section.text + section.heading for section in prose(content))
    assert {char for char in text if char.isalnum()} <= set(shown)
