"""Quoted answers to the questions of an office: rows by conditions, versions of rules, reasons, totals."""

from __future__ import annotations

from answering_hits import hit, tokens, weigh

from silmari.answering.answer import Answer
from silmari.answering.extractive import extract
from silmari.model import Hit

BUDGET = "\n".join(
    (
        "부서: 영업부 | 상반기/배정액: 120000 | 하반기/배정액: 130000 | 합계: 250000",
        "부서: 연구소 | 상반기/배정액: 310000 | 하반기/배정액: 290000 | 합계: 600000",
        "부서: 총무부 | 상반기/배정액: 45000 | 하반기/배정액: 47000 | 합계: 92000",
        "부서: 총계 | 상반기/배정액: 475000 | 하반기/배정액: 467000 | 합계: 942000",
    )
)
STOCK = "\n".join(
    (
        "SKU: PS-700 | Name: Pressure switch | Site: Ansan | On hand: 510",
        "SKU: PS-700 | Name: Pressure switch | Site: Gimhae | On hand: 75",
        "SKU: TS-300 | Name: Temperature sensor | Site: Gimhae | On hand: 1320",
    )
)
PHONES = "\n".join(
    (
        "성명: 강도윤 | 직급: 부장 | 부서: 총무부 | 휴대전화: 010-3321-0098",
        "성명: 배수민 | 직급: 대리 | 부서: 총무부 | 휴대전화: 010-7711-4412",
        "성명: 오세라 | 직급: 차장 | 부서: 연구소 | 휴대전화: 010-2900-5567",
    )
)


def ask(question: str, *hits: Hit) -> Answer:
    answer = extract(question, hits, weigh=weigh, tokens=tokens)
    contents = [each.passage.content for each in hits]
    assert all(any(cited.quote in content for content in contents) for cited in answer.sources)
    return answer


def lines(answer: Answer) -> list[str]:
    return [line.rpartition(" [")[0] for line in answer.text.split("\n")]


def test_a_row_is_chosen_by_all_conditions_of_the_question() -> None:
    assert lines(ask("연구소의 하반기 배정액은 얼마인가요?", hit(BUDGET, rows=True))) == [BUDGET.split("\n")[1]]
    assert lines(ask("How many PS-700 are on hand in Gimhae?", hit(STOCK, rows=True))) == [STOCK.split("\n")[1]]


def test_all_rows_that_meet_the_conditions_alike_are_shown() -> None:
    assert lines(ask("총무부 직원들의 휴대전화 번호는?", hit(PHONES, rows=True))) == PHONES.split("\n")[:2]


def test_a_question_for_the_whole_gets_the_row_that_sums_up() -> None:
    assert lines(ask("전체 부서의 하반기 배정액 합계는?", hit(BUDGET, rows=True))) == [BUDGET.split("\n")[3]]
    assert lines(ask("총무부의 합계는?", hit(BUDGET, rows=True))) == [BUDGET.split("\n")[2]]


def test_rows_that_only_have_the_column_do_not_answer() -> None:
    answer = ask("대표이사의 휴대전화 번호는?", hit(PHONES, rows=True))
    assert not answer.found
    assert "no row" in answer.trace["not_found"]
    # The largest of all is asked for, not one row: they are shown.
    assert ask("직급이 가장 높은 직원의 휴대전화는?", hit(PHONES, rows=True)).found


def test_a_telephone_number_is_shown_before_what_merely_names_the_same() -> None:
    staff = hit("이름: 배도현 | 부서: 부산지점 | 직급: 지점장 | 근무지: 부산지점", rows=True)
    branch = hit("branch: 부산지점 | phone: 051-555-0171", rank=2, rows=True, uri="/문서/지점.csv")
    answer = ask("부산지점의 전화번호는 무엇인가요?", staff, branch)
    assert lines(answer) == ["branch: 부산지점 | phone: 051-555-0171"]


def test_no_address_is_no_answer_to_a_question_for_an_address() -> None:
    text = "총무부는 본관 2층에 있다. 문의는 총무부 배수민 대리가 받는다."
    assert not ask("총무부의 이메일 주소는?", hit(text)).found
    assert ask("총무부의 이메일 주소는?", hit(f"{text} 총무부의 주소는 ga@example.com이다.")).found


OLD = "제2조 (일비) 국내 출장의 일비는 1일 25,000원으로 한다."
NEW = "제2조 (일비) 국내 출장의 일비는 1일 35,000원으로 한다."


def versions() -> tuple[Hit, Hit]:
    return (
        hit(OLD, uri="/규정/여비_2021.txt", date="2021-04-01"),
        hit(NEW, rank=2, relevance=0.79, uri="/규정/여비_2025.txt", date="2025-01-01"),
    )


def test_of_two_versions_of_a_rule_the_newer_one_comes_first() -> None:
    assert ask("국내 출장 일비는 얼마인가요?", *versions()).text == f"{NEW} [1]\n{OLD} [2]"


def test_a_question_about_another_time_does_not_prefer_the_newer_version() -> None:
    assert ask("개정 전에 국내 출장 일비는 얼마였나요?", *versions()).text.startswith(OLD)
    assert ask("2021년에 국내 출장 일비는 얼마였나요?", *versions()).text == f"{OLD} [1]"


def test_a_sentence_that_points_back_counts_with_the_one_before() -> None:
    text = (
        "Dasan Vina started production in Bac Ninh on 14 May 2023. It employs 212 people and makes switches. "
        "Turnover remains high at 28 per cent a year."
    )
    assert "It employs 212 people" in ask("How many people work at Dasan Vina?", hit(text)).text


def test_a_question_why_gets_the_reason() -> None:
    text = (
        "A customer asked why 300 units of PS-700 were late. "
        "The shipment left Busan on 18 January because of a customs inspection. A discount was offered."
    )
    assert "because of a customs inspection" in ask("Why was the PS-700 shipment late?", hit(text)).text


def test_a_heading_is_no_neighbour() -> None:
    text = "1. 개요\n이 보고서는 2024년 9월 3일 발생한 화재의 원인을 정리한 것이다.\n조사는 나흘 걸렸다."
    assert ask("화재는 언제 발생했나요?", hit(text)).text.startswith("이 보고서는 2024년 9월 3일")
    minutes = "참석: 권오상, 강도윤\n불참: 임재원(출장)\n1. ERP 교체\n후보를 정했다."
    assert ask("임재원은 왜 불참했나요?", hit(minutes)).text == "불참: 임재원(출장) [1]"


def test_a_row_drawn_with_bars_is_quoted_below_its_columns() -> None:
    text = (
        "재택근무는 주 2일까지 할 수 있다.\n\n| 구분 | 통신비 지원 | 식대 |\n|---|---|---|\n"
        "| 주 1일 | 월 10,000원 | 없음 |\n| 주 2일 | 월 20,000원 | 1일 9,000원 |\n"
    )
    answer = ask("주 2일이면 통신비 지원은 얼마인가요?", hit(text))
    assert "| 구분 | 통신비 지원 | 식대 | [1]\n| 주 2일 | 월 20,000원 | 1일 9,000원 | [1]" in answer.text
