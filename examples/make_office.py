"""Makes the demo's office again: PDFs, the workbook and the CP949 list, from what examples/office_source holds.

    python examples/make_office.py [FOLDER] [--fonts /usr/share/fonts/truetype/nanum]

The office's Markdown, text, JSONL and UTF-8 CSV files are written by hand and have no other source. The rest is
made here: every ``*.txt`` in ``office_source`` becomes a PDF, every ``*.csv`` a CP949 file, and the workbook is
built from the tables below. Needs fpdf2, openpyxl and the Nanum fonts (Debian: fonts-nanum; SIL Open Font License
1.1), of which the PDFs embed only the glyphs that they use. The same versions of both packages give the same bytes.
"""

from __future__ import annotations

import argparse
import logging
import re
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fpdf import FPDF, FontFace
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

HERE = Path(__file__).parent
SOURCE = HERE / "office_source"
OFFICE = HERE.parent / "src" / "silmari" / "examples" / "office"
FONTS = Path("/usr/share/fonts/truetype/nanum")
FACES = {"gothic": "NanumGothic", "myeongjo": "NanumMyeongjo"}
WORKBOOK = "2025_계약과_예산.xlsx"
WORKBOOK_DAY = datetime(2026, 1, 12, 9, 0, 0)

# Quarter, number, client, start, end, net and tax in thousand won, person, branch.
CONTRACTS = [
    ("1분기", "C-2025-003", "은하천 관리사무소", "2025-02-03", "2025-11-28", 412_000, 41_200, "윤서진", "대전본사"),
    ("1분기", "C-2025-007", "솔밭군 상수도팀", "2025-03-17", "2026-03-16", 188_500, 18_850, "우다온", "대전본사"),
    ("2분기", "C-2025-011", "갈밭천 펌프장", "2025-04-14", "2025-08-29", 96_400, 9_640, "제갈민", "인천지점"),
    ("2분기", "C-2025-014", "달재시 하수처리장", "2025-05-26", "2026-05-25", 327_000, 32_700, "명지후", "광주지점"),
    ("2분기", "C-2025-016", "오름리조트", "2025-06-09", "2025-09-30", 54_900, 5_490, "국예린", "제주지점"),
    ("3분기", "C-2025-019", "해람항만공사", "2025-08-11", "2035-08-10", 2_940_000, 294_000, "채유담", "부산지점"),
    ("3분기", "C-2025-022", "영도 배수지", "2025-09-01", "2026-02-27", 141_200, 14_120, "채유담", "부산지점"),
    ("4분기", "C-2025-025", "설봉댐 관리단", "2025-10-20", "2026-10-19", 263_800, 26_380, "표선경", "강릉지점"),
    ("4분기", "C-2025-028", "은하천 관리사무소", "2025-12-01", "2026-11-30", 438_000, 43_800, "윤서진", "대전본사"),
]
ASSETS = [
    ("A-1017", "Flow calibration rig", "Mulbora", "2009-06-15", 312_000_000, "Daejeon", "2026-04-08"),
    ("A-1142", "Climate chamber -40 to 120 °C", "Brandt & Söhne", "2018-03-22", 87_400_000, "Daejeon", "2026-01-27"),
    ("A-1203", "Pressure standard 7 MPa", "Ostermann", "2021-11-05", 41_250_000, "Daejeon", "2025-09-16"),
    ("A-1219", "Inspection van", "Miru Motors", "2022-08-30", 46_800_000, "Gwangju", None),
    ("A-1235", "Gas detector, four gases", "Sentero", "2024-02-14", 3_960_000, "Jeju", "2026-08-11"),
    ("A-1248", "Laser welding cell", "Fabrica Torino", "2025-12-09", 538_000_000, "Daejeon", None),
]
# Branch, then the four quarters in million won, then the head count that is planned.
BUDGET = [
    ("대전본사", 2_140, 2_260, 2_310, 2_480, 153),
    ("부산지점", 420, 435, 460, 480, 23),
    ("광주지점", 210, 215, 215, 230, 13),
    ("강릉지점", 150, 155, 162, 214, 9),
    ("인천지점", 245, 250, 255, 260, 15),
    ("제주지점", 96, 104, 112, 98, 7),
]


def make_pdf(source: Path, target: Path, fonts: Path) -> None:
    """Sets one marked-up text as a PDF: ``# `` and ``## `` headings, ``| `` table rows, ``---`` a new page."""
    head, body = source.read_text(encoding="utf-8").split("===\n", 1)
    info = dict(line.split(": ", 1) for line in head.splitlines())
    pdf = FPDF(format="A4")
    pdf.set_margin(24)
    pdf.set_auto_page_break(auto=True, margin=24)
    pdf.set_title(info["title"])
    pdf.set_author(info["author"])
    pdf.set_creation_date(datetime.fromisoformat(info["date"]).replace(hour=9, tzinfo=UTC))
    face = FACES[info["face"]]
    pdf.add_font("body", "", fonts / f"{face}.ttf")
    pdf.add_font("body", "B", fonts / f"{face}Bold.ttf")
    for page in body.split("---\n"):
        pdf.add_page()
        lines = page.strip().splitlines()
        for number, line in enumerate(lines):
            if line.startswith("| "):
                if not lines[number - 1].startswith("| "):
                    rows = [one.strip("| ").split(" | ") for one in lines[number:] if one.startswith("| ")]
                    _set_table(pdf, rows)
            else:
                _set_line(pdf, line)
    pdf.output(str(target))


def _set_line(pdf: FPDF, line: str) -> None:
    if not line:
        pdf.ln(3)
        return
    level = len(line) - len(line.lstrip("#"))
    style, size = {0: ("", 10.5), 1: ("B", 17), 2: ("B", 12)}[level]
    pdf.set_font("body", style, size)
    pdf.multi_cell(0, size * 0.62, line.lstrip("# "), align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.ln(1.2)


def _set_table(pdf: FPDF, rows: list[list[str]]) -> None:
    pdf.set_font("body", "", 9.5)
    widths = (2, *[1] * (len(rows[0]) - 1)) if len(rows[0]) > 3 else None
    with pdf.table(
        line_height=6.5,
        col_widths=widths,
        text_align="LEFT",
        headings_style=FontFace(emphasis="BOLD", fill_color=(232, 238, 243)),
    ) as table:
        for cells in rows:
            table.row(cells)


def make_workbook(target: Path) -> None:
    """Three sheets as offices write them: titles over the table, merged headers of two rows, merged groups, dates."""
    book = Workbook()
    contracts = book.worksheets[0]
    contracts.title = "계약대장"
    _fill_contracts(contracts)
    _fill_assets(book.create_sheet("Assets"))
    _fill_budget(book.create_sheet("2026 예산"))
    for sheet in book:
        for column in "ABCDEFGHI":
            sheet.column_dimensions[column].width = 18
    book.properties.title = "2025년 계약 대장과 2026년 예산"
    book.properties.creator = "물보라계측(주) 재무팀"
    book.properties.created = WORKBOOK_DAY
    book.save(target)
    _fix_times(target)


def _day_or_same(cell: str | int | None) -> date | str | int | None:
    return date.fromisoformat(cell) if isinstance(cell, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", cell) else cell


def _header(sheet: Worksheet, *areas: str) -> None:
    for area in areas:
        if ":" in area:
            sheet.merge_cells(area)
        cell = sheet[area.split(":")[0]]
        cell.font = Font(bold=True)
        cell.fill = PatternFill("solid", fgColor="DCE6EE")
        cell.alignment = Alignment(horizontal="center", vertical="center")


def _fill_contracts(sheet: Worksheet) -> None:
    sheet.append(["2025년 계약 대장"])
    sheet.append(["작성: 재무팀 옥보름, 기준일 2025-12-31, 금액 단위: 천 원"])
    sheet.append(["분기", "계약번호", "발주처", "계약 기간", None, "금액", None, "담당자", "지점"])
    sheet.append([None, None, None, "시작일", "종료일", "공급가액", "부가세", None, None])
    _header(sheet, "A1:I1", "A3:A4", "B3:B4", "C3:C4", "D3:E3", "F3:G3", "H3:H4", "I3:I4", "D4", "E4", "F4", "G4")
    sheet.merge_cells("A2:I2")
    first = 5
    for number, contract in enumerate(CONTRACTS, start=first):
        sheet.append([_day_or_same(cell) for cell in contract])
        for column in "DE":
            sheet[f"{column}{number}"].number_format = "yyyy-mm-dd"
        for column in "FG":
            sheet[f"{column}{number}"].number_format = "#,##0"
    for quarter in dict.fromkeys(contract[0] for contract in CONTRACTS):
        rows = [first + at for at, contract in enumerate(CONTRACTS) if contract[0] == quarter]
        sheet.merge_cells(f"A{rows[0]}:A{rows[-1]}")
    sheet.freeze_panes = "C5"


def _fill_assets(sheet: Worksheet) -> None:
    sheet.append(["Asset no.", "Item", "Maker", "Purchased", "Cost (KRW)", "Location", "Last calibration"])
    _header(sheet, *(f"{column}1" for column in "ABCDEFG"))
    for number, asset in enumerate(ASSETS, start=2):
        sheet.append([_day_or_same(cell) for cell in asset])
        for column in "DG":
            sheet[f"{column}{number}"].number_format = "d mmm yyyy"
        sheet[f"E{number}"].number_format = "#,##0"


def _fill_budget(sheet: Worksheet) -> None:
    sheet.append(["2026년 지점별 운영 예산 (백만 원)"])
    sheet.append(["지점", "상반기", None, "하반기", None, "합계", "인원"])
    sheet.append([None, "1분기", "2분기", "3분기", "4분기", None, None])
    _header(sheet, "A1:G1", "A2:A3", "B2:C2", "D2:E2", "F2:F3", "G2:G3", "B3", "C3", "D3", "E3")
    for name, *quarters, people in BUDGET:
        sheet.append([name, *quarters, sum(quarters), people])
    sheet.append(["비고: 강릉지점 4분기 예산에는 이전 준비금 5천만 원이 들어 있음"])
    sheet.merge_cells("A10:G10")


def _fix_times(path: Path) -> None:
    """Writes the archive again with one fixed time, since openpyxl stamps the moment of saving."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    stamp = WORKBOOK_DAY.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    core = "docProps/core.xml"
    parts[core] = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + stamp, parts[core])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in parts.items():
            entry = zipfile.ZipInfo(name, WORKBOOK_DAY.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, data)


def main() -> None:
    """Reads the arguments and makes all files."""
    parser = argparse.ArgumentParser(description="Makes the files of the demo's office again.")
    parser.add_argument("folder", nargs="?", type=Path, default=OFFICE, help="where the files go")
    parser.add_argument("--fonts", type=Path, default=FONTS, help="folder of the Nanum fonts")
    options = parser.parse_args()
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it reports every table that a subset leaves out
    options.folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(SOURCE.glob("*.txt")):
        make_pdf(source, options.folder / f"{source.stem}.pdf", options.fonts)
    for source in sorted(SOURCE.glob("*.csv")):
        lines = source.read_text(encoding="utf-8").splitlines()
        (options.folder / source.name).write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp949"))
    make_workbook(options.folder / WORKBOOK)
    for path in sorted(options.folder.iterdir()):
        print(f"{path.stat().st_size:8,}  {path.name}")


if __name__ == "__main__":
    main()
