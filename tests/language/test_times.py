"""Times in questions: what is one, which days it has, and what only looks like one."""

from __future__ import annotations

import datetime as dt
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.language.times import times_in, without

TODAY = dt.date(2026, 11, 30)  # a Monday

# Question, first day, last day (empty: open), and whether it bounds the documents.
KOREAN = [
    ("오늘 회의", "2026-11-30", "2026-11-30", True),
    ("어제 올라온 공지", "2026-11-29", "2026-11-29", True),
    ("그제 회의록", "2026-11-28", "2026-11-28", True),
    ("내일 일정", "2026-12-01", "2026-12-01", False),
    ("모레의 일정", "2026-12-02", "2026-12-02", False),
    ("이번 주 회의록", "2026-11-30", "2026-12-06", True),
    ("지난주에 나온 공지", "2026-11-23", "2026-11-29", True),
    ("지지난 주 보고", "2026-11-16", "2026-11-22", True),
    ("다음 주 일정", "2026-12-07", "2026-12-13", False),
    ("지난주 금요일 회의", "2026-11-27", "2026-11-27", True),
    ("지난 월요일 회의", "2026-11-23", "2026-11-23", True),
    ("이번 달 매출", "2026-11-01", "2026-11-30", True),
    ("지난달 매출은 얼마인가요?", "2026-10-01", "2026-10-31", True),
    ("저번 달 매출", "2026-10-01", "2026-10-31", True),
    ("지지난달 매출", "2026-09-01", "2026-09-30", True),
    ("다음 달 계획", "2026-12-01", "2026-12-31", False),
    ("지난 분기 실적", "2026-07-01", "2026-09-30", True),
    ("이번 분기 목표", "2026-10-01", "2026-12-31", True),
    ("올해 예산", "2026-01-01", "2026-12-31", True),
    ("작년 매출", "2025-01-01", "2025-12-31", True),
    ("지난해 매출", "2025-01-01", "2025-12-31", True),
    ("재작년 여름 행사", "2024-06-01", "2024-08-31", True),
    ("내년 계획", "2027-01-01", "2027-12-31", False),
    ("지난 여름 행사", "2026-06-01", "2026-08-31", True),
    ("작년 3분기 실적", "2025-07-01", "2025-09-30", True),
    ("올해 상반기 실적", "2026-01-01", "2026-06-30", True),
    ("작년 12월 회의", "2025-12-01", "2025-12-31", True),
    ("하반기 채용", "2026-07-01", "2026-12-31", False),
    ("3분기 매출", "2026-07-01", "2026-09-30", False),
    ("지난 3월 판매량", "2026-03-01", "2026-03-31", True),
    ("12월 회의록", "2025-12-01", "2025-12-31", False),
    ("최근 3년 재해 건수", "2023-11-30", "2026-11-30", True),
    ("지난 10년간 추이", "2016-11-30", "2026-11-30", True),
    ("최근 6개월 동안의 문의", "2026-05-30", "2026-11-30", True),
    ("최근 두 달 매출", "2026-09-30", "2026-11-30", True),
    ("최근 일주일 문의", "2026-11-23", "2026-11-30", True),
    ("최근 반년간 변화", "2026-05-30", "2026-11-30", True),
    ("지난 보름 동안의 사고", "2026-11-15", "2026-11-30", True),
    ("사흘 전 공지", "2026-11-27", "2026-11-27", False),
    ("3개월 전 공지", "2026-08-01", "2026-08-31", False),
    ("2023년 이후 개정된 규정", "2023-01-01", "", True),
    ("2023년부터 바뀐 것", "2023-01-01", "", True),
    ("2023년 5월 이래", "2023-05-01", "", True),
    ("2023년 이전 규정", "", "2023-12-31", False),
    ("2023년 전에 나온 규정", "", "2022-12-31", False),
    ("2023년까지의 규정", "", "2023-12-31", False),
    ("2020년부터 2022년까지 매출", "2020-01-01", "2022-12-31", False),
    ("2020~2022년 매출", "2020-01-01", "2022-12-31", False),
    ("2020년과 2022년 사이", "2020-01-01", "2022-12-31", False),
    ("2023년 11월부터 2월까지", "2023-11-01", "2024-02-29", False),
    ("지난달부터 어제까지", "2026-10-01", "2026-11-29", True),
    ("2019년 보고서", "2019-01-01", "2019-12-31", False),
    ("2023년도 예산", "2023-01-01", "2023-12-31", False),
    ("2023년 3분기 실적", "2023-07-01", "2023-09-30", False),
    ("2023년 하반기 실적", "2023-07-01", "2023-12-31", False),
    ("24년 9월 구매 품의서", "2024-09-01", "2024-09-30", False),
    ("'97년 외환위기", "1997-01-01", "1997-12-31", False),
    ("2024년 2월 29일 회의", "2024-02-29", "2024-02-29", False),
    ("2024.03.05 회의", "2024-03-05", "2024-03-05", False),
    ("1990년대 건물", "1990-01-01", "1999-12-31", False),
    ("90년대 초반", "1990-01-01", "1993-12-31", False),
    ("1980년대 후반의 정책", "1986-01-01", "1989-12-31", False),
    ("20세기 문학", "1901-01-01", "2000-12-31", False),
    ("2020년과 2022년에 각각 무엇이 변했나", "2020-01-01", "2022-12-31", False),
]
ENGLISH = [
    ("today's minutes", "2026-11-30", "2026-11-30", True),
    ("what was announced yesterday", "2026-11-29", "2026-11-29", True),
    ("last week", "2026-11-23", "2026-11-29", True),
    ("this month's sales", "2026-11-01", "2026-11-30", True),
    ("sales last quarter", "2026-07-01", "2026-09-30", True),
    ("next year's plan", "2027-01-01", "2027-12-31", False),
    ("the previous year", "2025-01-01", "2025-12-31", True),
    ("the past year", "2025-11-30", "2026-11-30", True),
    ("in the last 5 years", "2021-11-30", "2026-11-30", True),
    ("over the past three months", "2026-08-30", "2026-11-30", True),
    ("the past decade", "2016-11-30", "2026-11-30", True),
    ("five years ago", "2021-01-01", "2021-12-31", False),
    ("last Friday", "2026-11-27", "2026-11-27", True),
    ("last summer", "2026-06-01", "2026-08-31", False),
    ("reports since March 2024", "2024-03-01", "", True),
    ("changes since 2019", "2019-01-01", "", True),
    ("from 2020 onwards", "2020-01-01", "", True),
    ("after 2019", "2020-01-01", "", True),
    ("before 2010", "", "2009-12-31", False),
    ("until June 2021", "", "2021-06-30", False),
    ("population in 2019", "2019-01-01", "2019-12-31", False),
    ("between 2001 and 2003", "2001-01-01", "2003-12-31", False),
    ("from 2001 to 2003", "2001-01-01", "2003-12-31", False),
    ("released between March and May 2024", "2024-03-01", "2024-05-31", False),
    ("the 1980s", "1980-01-01", "1989-12-31", False),
    ("music of the late 1980s", "1986-01-01", "1989-12-31", False),
    ("in the '90s", "1990-01-01", "1999-12-31", False),
    ("19th century poems", "1801-01-01", "1900-12-31", False),
    ("Q3 2024 revenue", "2024-07-01", "2024-09-30", False),
    ("the third quarter of 2023", "2023-07-01", "2023-09-30", False),
    ("the first half of 2023", "2023-01-01", "2023-06-30", False),
    ("FY2023 revenue", "2023-01-01", "2023-12-31", False),
    ("the meeting of 5 March 2024", "2024-03-05", "2024-03-05", False),
    ("on October 27, 1999", "1999-10-27", "1999-10-27", False),
    ("in May", "2026-05-01", "2026-05-31", False),
    ("2024-01-31 minutes", "2024-01-31", "2024-01-31", False),
]
NONE = [
    "2002 월드컵 개최국은?",
    "이번 주제는 무엇인가",
    "오늘날 한국의 인구",
    "10년 이상 근속한 직원",
    "시험 10일 전까지 신청해야 하나요?",
    "2023년생 직원",
    "2023년식 자동차",
    "전월세 계약",
    "전월 대비 증감률",
    "20대 직원 수",
    "내일배움카드 신청",
    "3년간 근무한 사람",
    "010-2001-2003으로 전화하면?",
    "버전 3.2024.1의 변경점",
    "1,990원짜리 상품",
    "the 1998 Nobel prize in physics",
    "Windows 95 release",
    "Who directed Blade Runner 2049?",
    "the last year of his life",
    "may I take leave?",
    "a genome of 2140 base pairs",
    "part number 2019-4471",
    "how many years of service are needed",
    "",
]
IMPOSSIBLE = [
    "2024-02-30 공지",
    "2024년 2월 30일 공지",
    "2023년 5분기 실적",
    "2024년 13월 보고서",
    "minutes of February 30, 2024",
    "the report of 31 June 2023",
    "2024.13.01 회의",
    "2월 30일 회의",
]


@pytest.mark.parametrize(("question", "since", "until", "firm"), KOREAN + ENGLISH)
def test_days_of_a_time(question: str, since: str, until: str, firm: bool) -> None:
    times = times_in(question, TODAY)
    assert times.found and not times.problems
    assert times.bounds == (since or None, until or None)
    assert times.firm == firm
    for time in times.found:
        assert without(question, [time]) != question and "→" in str(time)


@pytest.mark.parametrize("question", NONE)
def test_what_is_no_time(question: str) -> None:
    times = times_in(question, TODAY)
    assert not times.found and not times.problems


@pytest.mark.parametrize("question", IMPOSSIBLE)
def test_impossible_dates_are_told(question: str) -> None:
    times = times_in(question, TODAY)
    assert not times.found
    (problem,) = times.problems
    assert "no date of the calendar" in problem


def test_a_range_that_ends_before_it_begins_is_turned_round() -> None:
    times = times_in("2022년부터 2020년까지 매출", TODAY)
    assert times.bounds == ("2020-01-01", "2022-12-31") and "other way round" in times.problems[0]


def test_decomposed_and_wide_forms_are_the_same() -> None:
    for question in ("지난달 매출", "2023년 이후 규정", "최근 3년"):
        expected = times_in(question, TODAY).bounds
        assert times_in(unicodedata.normalize("NFD", question), TODAY).bounds == expected
    assert times_in("２０２３년 이후", TODAY).bounds == ("2023-01-01", None)


def test_the_sentence_shows_the_days() -> None:
    (time,) = times_in("지난달 매출", TODAY).found
    assert str(time) == "지난달 → 2026-10-01 … 2026-10-31"
    (time,) = times_in("since March 2024", TODAY).found
    assert str(time) == "since March 2024 → 2024-03-01 …"


@pytest.mark.parametrize("today", [dt.date.min, dt.date.max, dt.date(2024, 2, 29), dt.date(2023, 3, 1)])
def test_any_day_may_be_today(today: dt.date) -> None:
    for question, *_ in KOREAN + ENGLISH:
        for time in times_in(question, today).found:
            assert time.since is None or time.until is None or time.since <= time.until


PIECES = (
    [question for question, *_ in KOREAN + ENGLISH] + NONE + IMPOSSIBLE + ["~", "부터", "까지", " and ", "between "]
)


@given(st.lists(st.sampled_from(PIECES), max_size=5).map(" ".join) | st.text(max_size=60))
def test_times_stand_in_order_and_never_overlap(question: str) -> None:
    end = 0
    for time in times_in(question, TODAY).found:
        assert end <= time.start < time.end <= len(unicodedata.normalize("NFKC", question))
        end = time.end
        assert time.since or time.until
