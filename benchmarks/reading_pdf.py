"""The PDF reader beside pdfplumber, on one generated file of 200 pages: seconds, and pages a second."""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from typing import Any

PAGES = 200
ROUNDS = 3

_WORDS = (
    "the harbour board met in spring and agreed to repair the old pier before winter because the storms of last year "
    "had broken several of its beams and merchants complained that larger ships could not be unloaded any more"
).split()


def make_file(pages: int = PAGES) -> bytes:
    """A report: running headers, two columns of text on most pages, a ruled table on every fourth."""
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.set_auto_page_break(False)
    for number in range(pages):
        pdf.add_page()
        pdf.set_font("Helvetica", size=9)
        pdf.text(15, 12, "Report of the harbour board")
        pdf.text(190, 287, str(number + 1))
        if number % 4 == 3:
            pdf.set_xy(15, 25)
            with pdf.table(first_row_as_headings=True, line_height=5) as table:
                for row in range(45):
                    cells = table.row()
                    for column in range(5):
                        cells.cell(f"pier {row}" if column == 0 else f"{row * (column + number) % 977:,}.50")
            continue
        for left in (15, 110):
            for line in range(58):
                start = (number * 7 + left + line * 11) % len(_WORDS)
                words = [_WORDS[(start + place) % len(_WORDS)] for place in range(12)]
                pdf.text(left, 25 + 4.4 * line, " ".join(words)[:58])
    return bytes(pdf.output())


def _silmari(data: bytes) -> int:
    from silmari.reading.limits import Limits
    from silmari.reading.pdf import read

    return sum(len(section.text) for section in read(data, "report.pdf", Limits()).sections)  # type: ignore[union-attr]


def _pdfplumber(data: bytes) -> int:
    import pdfplumber

    characters = 0
    with pdfplumber.open(io.BytesIO(data)) as pdf:
        for page in pdf.pages:
            characters += len(page.extract_text())
            # What it has read of a page stays in memory otherwise.
            page.close()
    return characters


def run(pages: int = PAGES, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Time both readers in turn on the same bytes.

    Returns:
        One row a reader: its name, the median seconds, pages a second, and the characters that it gave.
    """
    data = make_file(pages)
    sides: dict[str, Callable[[bytes], int]] = {"silmari": _silmari, "pdfplumber": _pdfplumber}
    times: dict[str, list[float]] = {name: [] for name in sides}
    characters = {name: side(make_file(2)) for name, side in sides.items()}  # imports are not timed
    for _ in range(rounds):
        for name, side in sides.items():
            start = time.perf_counter()
            characters[name] = side(data)
            times[name].append(time.perf_counter() - start)
    return [
        {
            "reader": name,
            "pages": pages,
            "seconds": round(statistics.median(each), 3),
            "pages_per_second": round(pages / statistics.median(each), 1),
            "characters": characters[name],
        }
        for name, each in times.items()
    ]


if __name__ == "__main__":
    for row in run():
        print(row)
