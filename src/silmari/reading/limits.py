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
        password: For encrypted PDF files.
    """

    max_file_bytes: int = 200 * 1024 * 1024
    max_pages: int = 2000
    max_cells: int = 5_000_000
    max_cell_chars: int = 32_767
    password: str | None = None
