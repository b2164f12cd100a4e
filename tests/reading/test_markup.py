from hypothesis import given
from hypothesis import strategies as st

from silmari.model import Prose, Table
from silmari.reading.content import Content
from silmari.reading.limits import Limits
from silmari.reading.markup import read

LIMITS = Limits()
EXPORT = """<html><head><meta http-equiv="Content-Type" content="text/html; charset=euc-kr">
<style>td {color: red}</style></head><body><h2>인구 현황</h2>
<table border=1><tr><th rowspan=2>구분<th colspan=2>인구<th rowspan=2>세대</tr>
<tr><th>남</th><th>여</th></tr>
<tr><td>서울<td align=right>1,000<td>2,000<td>500
<tr><td rowspan="2">부산</td><td>10</td><td>20</td><td>5</td></tr>
<tr><td>11&nbsp;</td><td>A&amp;B</td><td></td></tr></table></body></html>"""


def table(content: Content, index: int = 0) -> Table:
    section = content.sections[index]
    assert isinstance(section, Table)
    return section


def test_an_office_export_under_a_workbook_name() -> None:
    content = read(EXPORT.encode("euc-kr"), "a.xls", LIMITS)
    assert content.category == "excel"
    found = table(content)
    assert found.columns == ("구분", "인구/남", "인구/여", "세대")
    assert found.notes == "인구 현황"
    assert [row.cells for row in found.rows] == [
        ("서울", "1,000", "2,000", "500"),
        ("부산", "10", "20", "5"),
        ("부산", "11", "A&B", ""),
    ]


def test_a_page_keeps_its_headings_and_order() -> None:
    page = """<!doctype html><title>안내 &amp; 규정</title><script>var x = "<p>no</p>"</script>
    <h1>규정</h1><p>첫째   문장.<br>둘째 문장.</p><h2>휴가</h2><ul><li>연차</ul>
    <table><tr><td>종류<td>일수<tr><td>연차<td>15<tr><td>병가<td>30</table><p>끝."""
    content = read(page.encode(), "a.html", LIMITS)
    assert content.category == "text"
    assert content.title == "안내 & 규정"
    first, second, third, last = content.sections
    assert isinstance(first, Prose)
    assert (first.heading, first.text) == ("규정", "첫째 문장.\n둘째 문장.")
    assert isinstance(second, Prose)
    assert (second.heading, second.text) == ("규정 > 휴가", "연차")
    assert isinstance(third, Table)
    assert third.columns == ("종류", "일수")
    assert isinstance(last, Prose)
    assert last.text == "끝."


def test_tables_that_only_lay_out_the_page_are_text() -> None:
    page = "<table><tr><td>왼쪽<td><table><tr><td>a<td>b<tr><td>1<td>2</table></table>"
    (section,) = read(page.encode(), "a.html", LIMITS).sections
    assert isinstance(section, Prose)
    assert "왼쪽" in section.text
    assert "1 2" in section.text


def test_the_xml_spreadsheet() -> None:
    page = """<?xml version="1.0" encoding="UTF-8"?><?mso-application progid="Excel.Sheet"?>
    <Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
    xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
    <Styles><Style ss:ID="s1"><Font/></Style></Styles>
    <Worksheet ss:Name="매출"><Table><Row><Cell><Data ss:Type="String">지점</Data></Cell>
    <Cell ss:MergeAcross="1"><Data ss:Type="String">금액</Data></Cell></Row>
    <Row><Cell/><Cell><Data ss:Type="String">상반기</Data></Cell><Cell><Data ss:Type="String">하반기</Data></Cell></Row>
    <Row><Cell><Data ss:Type="String">서울</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">20</Data></Cell></Row>
    </Table></Worksheet>
    <Worksheet ss:Name="비용"><Table><Row><Cell><Data>a</Data></Cell><Cell><Data>b</Data></Cell></Row>
    <Row><Cell><Data>1</Data></Cell><Cell><Data>2</Data></Cell></Row></Table></Worksheet></Workbook>"""
    content = read(page.encode(), "a.xls", LIMITS)
    assert [table(content, 0).name, table(content, 1).name] == ["매출", "비용"]
    assert table(content).columns == ("지점", "금액/상반기", "금액/하반기")
    assert table(content).rows[0].cells == ("서울", "", "20")


def test_absurd_spans_are_bounded() -> None:
    page = "<table>" + "<tr><td colspan=99999999 rowspan=99999999>x<td>y" * 3 + "</table>"
    content = read(page.encode(), "a.xls", Limits(max_cells=100_000))
    assert len(content.sections) <= 1


@given(
    st.lists(
        st.sampled_from(
            "<table> </table> <tr> </tr> <td> </td> <th_rowspan=3> <td_colspan=2> <h1> </h1> <p> x 가 1 <script> "
            "</script> <!-- --> <".replace("_", "\t").split(" ")
        ),
        max_size=40,
    )
)
def test_any_soup_is_read(parts: list[str]) -> None:
    content = read(" ".join(parts).encode(), "a.html", LIMITS)
    for section in content.sections:
        if isinstance(section, Table):
            assert all(len(row.cells) == len(section.columns) for row in section.rows)
