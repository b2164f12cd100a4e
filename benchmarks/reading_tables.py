"""Reading a workbook of 50,000 rows: Silmari's reader beside openpyxl, both in one run.

Run: ``python benchmarks/reading_tables.py``. Silmari's time includes what openpyxl leaves to its
caller: the check against zip bombs, headers, merged cells, dates and the text of every cell.
"""

from __future__ import annotations

import datetime as dt
import io
import statistics
import time
from collections.abc import Callable
from typing import Any

ROWS = 50_000
REPEATS = 3


def workbook(rows: int = ROWS) -> bytes:
    """A sheet of eight columns: text in Korean and English, numbers, a date."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("거래")
    sheet.append(["거래일", "지점", "품목", "수량", "단가", "금액", "담당", "remark"])
    start = dt.date(2015, 1, 1)
    towns = ("서울", "부산", "대구", "인천", "광주")
    for number in range(rows):
        amount, price = number % 97 + 1, (number * 37 % 1000 + 1) * 10
        sheet.append(
            [
                start + dt.timedelta(days=number % 3650),
                f"{towns[number % 5]} {number % 40}호점",
                f"품목 {number % 700}",
                amount,
                price,
                amount * price * 1.1,
                f"담당자 {number % 120}",
                f"order {number} delivered",
            ]
        )
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def run(rows: int = ROWS) -> list[dict[str, Any]]:
    """Read the same bytes with each reader, in turn; medians of three.

    Returns:
        One entry a reader: its name, seconds (median), rows that it saw, rows a second.
    """
    data = workbook(rows)
    readers: dict[str, Callable[[bytes], int]] = {
        "silmari": _silmari,
        "openpyxl, read-only": _openpyxl_read_only,
        "openpyxl": _openpyxl,
    }
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    seen: dict[str, int] = {}
    for _ in range(REPEATS):
        for name, reader in readers.items():
            start = time.perf_counter()
            seen[name] = reader(data)
            seconds[name].append(time.perf_counter() - start)
    return [
        {
            "reader": name,
            "seconds": round(statistics.median(times), 3),
            "rows": seen[name],
            "rows_per_second": round(seen[name] / statistics.median(times)),
        }
        for name, times in seconds.items()
    ]


def _silmari(data: bytes) -> int:
    from silmari.model import Table
    from silmari.reading.excel import read
    from silmari.reading.limits import Limits

    content = read(data, "rows.xlsx", Limits())
    return sum(len(section.rows) for section in content.sections if isinstance(section, Table))


def _openpyxl_read_only(data: bytes) -> int:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    count = sum(1 for sheet in book.worksheets for _ in sheet.iter_rows(values_only=True)) - 1
    book.close()
    return count


def _openpyxl(data: bytes) -> int:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    return sum(1 for sheet in book.worksheets for _ in sheet.iter_rows(values_only=True)) - 1


def main() -> None:
    results = run()
    base = results[0]["seconds"]
    print(f"{'reader':22} {'seconds':>8} {'rows/s':>9} {'times silmari':>14}")
    for result in results:
        print(
            f"{result['reader']:22} {result['seconds']:8.2f} {result['rows_per_second']:9,} "
            f"{result['seconds'] / base:13.1f}x"
        )


if __name__ == "__main__":
    main()
