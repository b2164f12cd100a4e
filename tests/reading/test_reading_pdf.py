from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from fpdf import FPDF
from pdf_maker import korean_pdf

from silmari.errors import SkippedError, UnreadableError
from silmari.reading.content import Content
from silmari.reading.limits import Limits
from silmari.reading.pdf import read

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2].parent / "shared")) / "data" / "messy" / "pdf"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared sample files are not here")

LEFT = (
    "The harbour opened at six and the first boats came in with",
    "herring, mackerel and a little cod. The auctioneer was al-",
    "ready waiting on the quay, and by seven the market was full",
    "of buyers from the towns along the coast who had travelled",
    "through the night to be there when the bell was rung at last.",
)
RIGHT = (
    "Further inland the mills were turning since before sunrise,",
    "because the water stood high after a week of heavy rain and",
    "nobody wanted to waste it. Flour was cheap that autumn, and",
    "bakers ordered more than they could store in their cellars,",
    "hoping that the price would rise again before the new year.",
)


def text_of(content: Content) -> str:
    return "\n".join(section.text for section in content.sections)  # type: ignore[union-attr]


def document() -> FPDF:
    pdf = FPDF(format="A4")
    pdf.set_auto_page_break(False)
    pdf.set_font("Helvetica", size=9)
    pdf.add_page()
    return pdf


def read_fpdf(pdf: FPDF, limits: Limits | None = None) -> Content:
    return read(bytes(pdf.output()), "test.pdf", limits or Limits())


def sample(name: str, password: str | None = None) -> Content:
    return read((SHARED / name).read_bytes(), name, Limits(password=password))


@pytest.mark.parametrize("by_row", [True, False], ids=["painted line by line", "painted column by column"])
def test_columns_are_read_one_after_the_other(by_row: bool) -> None:
    pdf = document()
    pdf.text(60, 20, "A day in two places, told from the coast and from the hills")
    places = (
        [(15.0, 30 + 4 * n, line) for n, line in enumerate(LEFT * 3)],
        [(110.0, 30 + 4 * n, line) for n, line in enumerate(RIGHT * 3)],
    )
    order = [place for pair in zip(*places, strict=True) for place in pair] if by_row else places[0] + places[1]
    for x, y, line in order:
        pdf.text(x, y, line)
    text = text_of(read_fpdf(pdf))
    assert "came in with herring, mackerel" in text
    assert "was already waiting on the quay" in text, "the broken word is whole again"
    assert text.index("new year") > text.rindex("rung at last") > text.index("A day in two places")


def test_rows_of_a_table_without_lines_keep_their_cells_together() -> None:
    pdf = document()
    for number in range(12):
        y = 20 + 5 * number
        pdf.text(15, y, f"Payee {number} of Lisbon")
        pdf.text(80, y, f"Repair of pump {number}")
        pdf.text(160, y, f"{number},100.50")
    lines = text_of(read_fpdf(pdf)).split("\n")
    assert [line.split("\t") for line in lines if line] == [
        [f"Payee {number} of Lisbon", f"Repair of pump {number}", f"{number},100.50"] for number in range(12)
    ]


def test_a_ruled_table_keeps_wrapped_cells_whole_and_repeats_merged_ones() -> None:
    # Columns at 50, 150, 350; the first cell spans two rows.
    rules = [
        "0.5 w 50 700 m 350 700 l S 150 660 m 350 660 l S 50 620 m 350 620 l S 50 720 m 350 720 l S",
        "50 620 m 50 720 l S 150 620 m 150 720 l S 350 620 m 350 720 l S",
    ]
    words = [
        (60.0, 706.0, "구분"),
        (160.0, 706.0, "내용"),
        (60.0, 655.0, "제26조"),
        (160.0, 684.0, "유니폼 내 착용하는 장비는"),
        (160.0, 670.0, "사전에 신고한다"),
        (160.0, 636.0, "무전기 사용을 허용한다"),
    ]
    text = text_of(read(korean_pdf([words], rules=rules), "표.pdf", Limits()))
    assert text.split("\n") == [
        "구분 | 내용",
        "제26조 | 유니폼 내 착용하는 장비는 사전에 신고한다",
        "제26조 | 무전기 사용을 허용한다",
    ]


def test_korean_words_that_go_over_the_line_are_joined_where_the_document_marks_word_ends() -> None:
    lines = [
        "회사는 보험금 지급사유가 발생한 때에 ",
        "보험수익자에게 약정한 보험금을 지급하",
        "며 그 기간은 접수일부터 삼십 일 이내 ",
        "로 정하고 사유가 있으면 연장할 수 있",
        "습니다 그리고 계약자는 이를 확인하여 ",
        "야 합니다 이상의 내용은 약관을 따른다 ",
    ]
    words = [(60.0, 700.0 - 14 * number, line) for number, line in enumerate(lines)]
    text = text_of(read(korean_pdf([words]), "약관.pdf", Limits()))
    assert "발생한 때에 보험수익자에게 약정한 보험금을 지급하며 그 기간은" in text
    assert "연장할 수 있습니다" in text


def test_korean_lines_are_joined_with_a_blank_where_nothing_says_otherwise() -> None:
    lines = [
        "이 계약에서 사용하는 용어의 정의는 다음과",
        "같습니다 회사는 보험금을 지급할 의무를",
        "지며 계약자는 보험료를 납입할 의무가 있다",
    ]
    words = [(60.0, 700.0 - 14 * number, line) for number, line in enumerate(lines)]
    text = text_of(read(korean_pdf([words]), "약관.pdf", Limits()))
    assert "정의는 다음과 같습니다 회사는 보험금을 지급할 의무를 지며" in text
    assert "  " not in text


def test_no_blanks_within_korean_words_that_are_set_apart() -> None:
    spread = [(60.0 + 10.9 * number, 700.0, char) for number, char in enumerate("대한민국정부의공식발표")]
    assert text_of(read(korean_pdf([spread]), "a.pdf", Limits())) == "대한민국정부의공식발표"


def test_decomposed_hangul_is_composed() -> None:
    import unicodedata

    word = unicodedata.normalize("NFD", "실마리")
    content = read(korean_pdf([[(60.0, 700.0, "실마리를 찾다")]]), word + ".pdf", Limits())
    assert text_of(content) == "실마리를 찾다"


def test_vertical_korean_lines_are_read_from_right_to_left() -> None:
    columns = ["가나다라마바사아자", "차카타파하거너더러", "머버서어저처커터퍼"]
    words = [
        (400.0 - 20 * number, 700.0 - 10 * place, char)
        for number, column in enumerate(columns)
        for place, char in enumerate(column)
    ]
    text = text_of(read(korean_pdf([words]), "a.pdf", Limits()))
    assert "".join(text.split()) == "".join(columns)


def test_ligatures_and_invisible_marks_are_repaired() -> None:
    words = [(60.0, 700.0, "of\ufb01ce \ufb02oor")]
    assert text_of(read(korean_pdf([words]), "a.pdf", Limits())) == "office floor"


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_turned_text_is_read_like_upright_text(angle: int) -> None:
    pdf = document()
    with pdf.rotation(angle, 105, 148):
        for number, line in enumerate(LEFT):
            pdf.text(50, 120 + 4 * number, line)
    text = text_of(read_fpdf(pdf))
    assert "came in with herring, mackerel and a little cod. The auctioneer was already waiting" in text


def test_running_headers_and_page_numbers_are_dropped() -> None:
    pdf = FPDF(format="A4")
    pdf.set_auto_page_break(False)
    pdf.set_font("Helvetica", size=9)
    for number in range(1, 7):
        pdf.add_page()
        pdf.text(15, 10, "Annual report of the harbour board")
        pdf.text(100, 290, f"- {number} -")
        for at, line in enumerate(LEFT):
            pdf.text(15, 40 + 4 * at, line)
        pdf.text(15, 80, f"Chapter {number} ends here.")
    content = read_fpdf(pdf)
    for number, section in enumerate(content.sections, 1):
        text = section.text  # type: ignore[union-attr]
        assert ("Annual report" in text) is (number == 1), "it may be the title"
        assert f"- {number} -" not in text
        assert f"Chapter {number} ends here." in text


def test_repeated_lines_stay_where_they_are_content() -> None:
    pdf = FPDF(format="A4")
    pdf.set_font("Helvetica", size=9)
    for number in range(6):
        pdf.add_page()
        pdf.text(15, 10, f"Invoice No {70310 + 7 * number}")
        for at in range(6):
            pdf.text(15, 40 + 4 * at, f"Line {at} of the invoice for month {number}")
    texts = [section.text for section in read_fpdf(pdf).sections]  # type: ignore[union-attr]
    assert all(f"Invoice No {70310 + 7 * number}" in text for number, text in enumerate(texts))
    pdf = FPDF(format="A4")
    pdf.set_font("Helvetica", size=9)
    for number in range(6):
        pdf.add_page()
        pdf.text(15, 10, f"Potato {number}")
    assert text_of(read_fpdf(pdf)).split("\n") == [f"Potato {number}" for number in range(6)]


def test_compound_words_keep_their_hyphen_at_the_end_of_a_line() -> None:
    pdf = document()
    for number, line in enumerate(
        (
            "It is a well-known fact that the harbour has been full for",
            "a very long time already, and nobody doubts this well-",
            "known story any more, as far as the people of the town say",
        )
    ):
        pdf.text(15, 30 + 4 * number, line)
    assert "doubts this well-known story" in text_of(read_fpdf(pdf))


def test_title_and_date_come_from_the_metadata() -> None:
    info = (
        "/Title <feff" + "2024년 하천 정비 계획".encode("utf-16-be").hex() + "> /CreationDate (D:20240131093000+09'00')"
    )
    content = read(korean_pdf([[(60.0, 700.0, "본문이다")]], info=info), "a.pdf", Limits())
    assert (content.title, content.date, content.date_source) == ("2024년 하천 정비 계획", "2024-01-31", "metadata")
    assert (content.category, dict(content.sections[0].locator)) == ("pdf", {"page": 1})  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Microsoft Word - Letter to the board.docx", ""),
        ("Microsoft Word - Letter to the board", "Letter to the board"),
        ("untitled", ""),
        ("Untitled-1", ""),
        ("report_final.pdf", ""),
        ("test", ""),
        ("insurance_biz", ""),
        ("PowerPoint Presentation", ""),
        ("The Waste Land", "The Waste Land"),
        ("Ulysses", "Ulysses"),
    ],
)
def test_titles_that_say_nothing_are_passed_over(given: str, shown: str) -> None:
    pdf = document()
    pdf.set_title(given)
    pdf.text(15, 20, "Some words")
    assert read_fpdf(pdf).title == shown


@pytest.mark.parametrize("created", ["D:20241301", "D:2024", "yesterday", "D:00000000000000Z", "D:19040101000000"])
def test_impossible_creation_dates_are_none(created: str) -> None:
    content = read(korean_pdf([[(60.0, 700.0, "본문")]], info=f"/CreationDate ({created})"), "a.pdf", Limits())
    assert (content.date, content.date_source) == (None, None)


def test_passwords() -> None:
    def encrypted(user: str) -> bytes:
        pdf = document()
        pdf.set_encryption(owner_password="boss", user_password=user)
        pdf.text(15, 20, "Locked words")
        return bytes(pdf.output())

    with pytest.raises(UnreadableError, match="protected by a password; give it"):
        read(encrypted("key"), "a.pdf", Limits())
    with pytest.raises(UnreadableError, match="protected by a password; the given one"):
        read(encrypted("key"), "a.pdf", Limits(password="wrong"))
    for data, password in (
        (encrypted("key"), "key"),
        (encrypted("key"), "boss"),
        (encrypted(""), None),
        (encrypted(""), "x"),
    ):
        assert text_of(read(data, "a.pdf", Limits(password=password))) == "Locked words"


def test_copying_may_be_forbidden() -> None:
    from fpdf.enums import AccessPermission

    pdf = document()
    pdf.set_encryption(owner_password="boss", permissions=AccessPermission.PRINT_LOW_RES)
    pdf.text(15, 20, "Do not copy")
    assert text_of(read_fpdf(pdf)) == "Do not copy"


def test_pages_without_text() -> None:
    pdf = document()
    pdf.add_page()
    with pytest.raises(SkippedError, match="needs OCR: none of its 2 pages has a text layer"):
        read_fpdf(pdf)
    pdf = document()
    pdf.add_page()
    pdf.add_page()
    pdf.text(15, 20, "Third page")
    content = read_fpdf(pdf)
    assert [dict(section.locator) for section in content.sections] == [{"page": 3}]  # type: ignore[union-attr]
    assert content.notes == ("Pages 1, 2 are without a text layer; reading them needs OCR.",)


def test_more_pages_than_the_limit_are_cut_and_noted() -> None:
    pdf = document()
    for number in range(5):
        pdf.text(15, 20, f"Word {number}")
        pdf.add_page()
    content = read_fpdf(pdf, Limits(max_pages=2))
    assert len(content.sections) == 2
    assert content.notes == ("Only the first 2 of 6 pages were read (setting max_pages).",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"just some words", "is not a PDF file"),
        (b"%PDF-1.7\n" + bytes(200), "is damaged"),
        (b"PK\x03\x04" + bytes(100), "is not a PDF file"),
    ],
)
def test_what_is_no_pdf_is_refused_in_plain_words(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(data, "a.pdf", Limits())


def test_a_truncated_file_is_read_or_refused() -> None:
    data = korean_pdf([[(60.0, 700.0, "본문이다")]] * 20)
    for length in range(0, len(data), 997):
        try:
            read(data[:length], "a.pdf", Limits())
        except UnreadableError as error:
            assert str(error).startswith(("is ", "needs OCR"))


def test_threads_may_read_at_the_same_time() -> None:
    data = korean_pdf([[(60.0, 700.0 - 14 * n, "여러 스레드가 함께 읽는다") for n in range(20)]] * 5)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(text_of(read(data, "a.pdf", Limits())))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


EXPECTED = {
    "bad-linearization.pdf": ["Potato 0", "Potato 29"],
    "cjk-fpdf2.pdf": ["日本語 テキスト"],
    "content-stream-errors.pdf": ["Potato\nPotato\nPotato\nPotato"],
    "copy-protected.pdf": ["This represents a major gap", "complicate the easy reuse of important innovations"],
    "corrupt-zlib.pdf": ["Mai 30, 18 13:27\tzen_of_python.txt", "Beautiful is better than ugly."],
    "enc-r6-owner-only.pdf": ["pdf encryption test"],
    "federal-register-3col.pdf": [
        "computer (FCC) software, revising the existing Airplane Flight Manual (AFM) to incorporate",
        "reference a specific portion of the",
        "jbell on DSKJLSW7X2PROD",
    ],
    "japanese-simple.pdf": ["あいうえお", "Hello", "World"],
    "japanese-vertical-poem.pdf": ["わたくしといふ現象は\n假定された有機交流電燈の\nひとつの青い照明です"],
    "korean-table-and-text.pdf": [
        "제21조 주·야간경기",
        "3월 | 17:00 | 14:00 | 18:30",
        "9회까지 경기속행",
        "서스펜디드",
    ],
    "korean-table-only.pdf": [
        "2024년 KBO 리그 규정 변경 요약사항",
        "구분 | 변경 전 | 변경 후",
        "KBO 피치클락 규정 | - | 경기장 내 카운트다운 타이머(피치클락)를 이용해 경기진행 속도를 향상",
    ],
    "korean-text-two-page.pdf": ["【보통약관】\n제1관", "보험회사(이하 ‘회사’라 합니다) 사이에 피보험자의 상해에 대한"],
    "malformed-from-issue-932.pdf": ["2021\t3\t31"],
    "mixed-rotation-pages.pdf": ["The movie opens with a news report"],
    "multilang.pdf": ["مرحبا بالعالم", "Привет, мир", "你好世界", "สวัสดีชาวโลก"],
    "nics-table.pdf": ["Alabama | 18,870 | 23,022 | 22,650"],
    "nics-table-rotated.pdf": ["Alabama | 18,870 | 23,022 | 22,650"],
    "ocr-layer-vicksburg.pdf": ["it became too conspicuous and dangerous for use", "mortar shells"],
    "polish-invoice-identity-cmap.pdf": ["Termin płatności: 2021-05-03", "2 | Dokumentacja - żółw | szt. | 2 | 44,00"],
    "senate-expenditures.pdf": ["BAIN, J MATTHEW\tDISTRICT DIRECTOR\t37,499.96"],
    "tagged-hello.pdf": ["Hello World"],
    "two-column-subfig.pdf": ["diam nonumy eirmod tempor invidunt", "(a) South American coati\t(b) Brown bear"],
}


@shared
@pytest.mark.parametrize("name", EXPECTED)
def test_shared_samples(name: str) -> None:
    text = text_of(sample(name))
    for words in EXPECTED[name]:
        assert words in text
    assert not set(text) & set("\x00\u00ad\ufffe\uffff\x02\x1e")


@shared
def test_shared_samples_that_are_turned_read_the_same() -> None:
    pages = [section.text for section in sample("mixed-rotation-pages.pdf").sections]  # type: ignore[union-attr]
    assert len(set(pages)) == 1
    assert text_of(sample("nics-table.pdf")) == text_of(sample("nics-table-rotated.pdf"))


@shared
@pytest.mark.parametrize("name", ["cyclic-outline.pdf", "ko-scan-image-only.DERIVED.pdf", "scan-medical-report.pdf"])
def test_shared_scans_need_ocr(name: str) -> None:
    with pytest.raises(SkippedError, match="needs OCR"):
        sample(name)


@shared
@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("enc-r2-user.pdf", "asdfzxcv"),
        ("enc-r3-user.pdf", "asdfzxcv"),
        ("enc-r4aes-user.pdf", "asdfzxcv"),
        ("password-example.pdf", "test"),
    ],
)
def test_shared_passwords(name: str, password: str) -> None:
    with pytest.raises(UnreadableError, match="protected by a password"):
        sample(name)
    assert len(text_of(sample(name, password))) > 10
