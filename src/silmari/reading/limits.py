"""How much of one file is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file, so that a huge or hostile one cannot take the memory of the others.

    The defaults are those of `silmari.settings.Settings`.

    Attributes:
        max_file_bytes: Largest file that is read; a larger one is unreadable.
        max_pages: PDF pages that are read; the rest is cut and a note says so.
        max_cells: Cells of a table file that are read; the rest is cut and a note says so.
        max_cell_chars: Characters of one cell that are kept; a cut cell is noted.
        max_inflated_bytes: What a zipped workbook may inflate to, all its parts together.
        max_inflation: How many times larger than its packed form one big part may become.
        password: For encrypted PDF files.
    """

    max_file_bytes: int = 200 * 1024 * 1024
    max_pages: int = 5000
    max_cells: int = 5_000_000
    max_cell_chars: int = 32_767
    max_inflated_bytes: int = 1024 * 1024 * 1024
    max_inflation: int = 400
    password: str | None = None
