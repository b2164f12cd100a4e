from silmari.model import Table
from silmari.reading.tabular import GridRow, tables, unique_names


def grid(text: str, first: int = 1) -> list[GridRow]:
    """Rows of a drawing: cells between ``|``, blank lines are blank rows."""
    lines = [[cell.strip() for cell in line.split("|")] for line in text.strip("\n").split("\n")]
    width = max(map(len, lines))
    return [GridRow(first + at, line + [""] * (width - len(line))) for at, line in enumerate(lines)]


def only(text: str) -> Table:
    found = tables("", grid(text))
    assert len(found) == 1
    return found[0]


def test_a_plain_table() -> None:
    table = only("이름|나이|도시\n김철수|20|서울\n이영희|31|부산")
    assert table.columns == ("이름", "나이", "도시")
    assert [row.number for row in table.rows] == [2, 3]


def test_all_text_has_its_header_too() -> None:
    assert only("Name|City\nKim|Seoul\nLee|Busan").columns == ("Name", "City")


def test_no_header_at_all() -> None:
    table = only("1|2|3\n4|5|6")
    assert table.columns == ("column 1", "column 2", "column 3")
    assert len(table.rows) == 2
    assert only("서울|강남구\n부산|해운대구\n" + "서울|송파구\n부산|수영구\n" * 4).columns[0] == "column 1"
    assert only("2024-01-01|서울|3\n2024-01-02|부산|4").columns[0] == "column 1"


def test_years_days_and_dates_may_be_names() -> None:
    assert only("구분|2019|2020|2021\n서울|10|12|9\n부산|7|3|8").columns == ("구분", "2019", "2020", "2021")
    assert only("구분|2021|2020|2019\n서울|10|12|9").columns[1] == "2021"
    assert only("이름|1|2|3|4\n김|x||x|x\n이||x|x|").columns[1:] == ("1", "2", "3", "4")
    assert only("구분|2024-01-01|2024-01-02\n서울|1|5").columns[1] == "2024-01-01"
    assert only("시도|2024\n서울|93\n부산|33").columns == ("시도", "2024")
    assert only("서울|10|20|31\n부산|7|3|8").columns[0] == "column 1"


def test_notes_above_the_header() -> None:
    table = only("주유소 가격|||\n|||(단위: 원)\n\n상호|상표|휘발유|경유\n가나|SK|1548|1345\n다라|GS|1565|1365")
    assert table.columns == ("상호", "상표", "휘발유", "경유")
    assert table.notes == "주유소 가격\n(단위: 원)"
    assert table.rows[0].number == 5


def test_header_rows_with_blank_group_labels_are_joined() -> None:
    table = only("구분|인구|||세대\n|계|남|여|\n서울|30|10|20|5\n부산|3|1|2|1")
    assert table.columns == ("구분", "인구/계", "인구/남", "인구/여", "세대")
    assert len(table.rows) == 2


def test_header_rows_with_repeated_labels_are_joined() -> None:
    table = only("기간|인구|인구|세대\n기간|남|여|세대\n2017.1/4|10|20|5\n2017.1/4|1|2|1")
    assert table.columns == ("기간", "인구/남", "인구/여", "세대")
    assert table.rows[0].date == "2017-01-01"


def test_years_below_group_labels_belong_to_the_header() -> None:
    table = only("구분|매출||비용|\n|2023|2024|2023|2024\n서울|10,000|20,000|5,000|7,000\n부산|1,000|2,000|500|700")
    assert table.columns == ("구분", "매출/2023", "매출/2024", "비용/2023", "비용/2024")


def test_a_second_table_after_a_blank_row() -> None:
    found = tables("S", grid("품목|수량\n사과|3\n배|4\n\n직원 명단|\n이름|급여\n김|100\n이|200"))
    assert [table.columns for table in found] == [("품목", "수량"), ("이름", "급여")]
    assert found[1].notes == "직원 명단"
    assert [row.number for row in found[1].rows] == [7, 8]
    assert {table.name for table in found} == {"S"}


def test_blank_rows_within_one_table_do_not_cut_it() -> None:
    table = only("품목|수량|값\n사과|3|10\n\n배|4|20\n\n합계|7|30\n\n※ 자료: 통계||")
    assert [row.number for row in table.rows] == [2, 4, 6, 8]


def test_a_form_has_no_header() -> None:
    table = only("회사명|실마리\n대표|홍길동\n설립일|2020-01-02\n매출|1,000\n주소|서울 강남구")
    assert table.columns == ("column 1", "column 2")
    assert len(table.rows) == 5


def test_a_word_among_numbers_makes_no_form() -> None:
    assert only("이름|점수\n김|90\n이|결석\n박|#N/A\n최|80").columns == ("이름", "점수")


def test_a_single_row_is_content() -> None:
    assert only("이름|나이").rows[0].cells == ("이름", "나이")


def test_lines_of_text_are_rows() -> None:
    table = only("안녕하세요\n\n반갑습니다")
    assert [row.cells for row in table.rows] == [("안녕하세요",), ("반갑습니다",)]


def test_nothing_gives_nothing() -> None:
    assert tables("", []) == []
    assert tables("", [GridRow(1, ["", ""])]) == []


def test_names_are_made_unique() -> None:
    assert unique_names(("a", "", "a", "a (2)", " a ")) == ("a", "column 2", "a (2)", "a (2) (2)", "a (3)")


def test_a_header_printed_again_stays_a_row() -> None:
    table = only("이름|나이\n김|20\n이름|나이\n이|30")
    assert table.columns == ("이름", "나이")
    assert len(table.rows) == 3
