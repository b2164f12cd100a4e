"""What every table reader does to single cells, and the count of what was left out."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from silmari.reading.cleaning import clean
from silmari.reading.limits import Limits

MAX_COLUMNS = 16_384  # as many as a spreadsheet has


@dataclass(slots=True)
class Budget:
    """Counts cells against the limits while one file is read, and says in the end what was cut."""

    limits: Limits
    cells: int = 0
    cut_cells: int = 0
    cut_rows: bool = False
    notes: list[str] = field(default_factory=list)

    def clean(self, text: str) -> str:
        """One cell's text: NFC, without NUL and outer blanks, not longer than allowed."""
        text = text.strip()
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        if not text.isprintable():  # line ends, NUL, marks that are never seen
            text = clean(text).strip()
        if len(text) > self.limits.max_cell_chars:
            self.cut_cells += 1
            text = text[: self.limits.max_cell_chars]
        return text

    def take(self, count: int) -> bool:
        """Whether a row of that many cells still fits; once it does not, nothing more is read."""
        if self.cut_rows or self.cells + count > self.limits.max_cells:
            self.cut_rows = True
            return False
        self.cells += count
        return True

    def all_notes(self) -> tuple[str, ...]:
        """Sentences about what was left out."""
        notes = list(dict.fromkeys(self.notes))
        if self.cut_rows:
            notes.append(
                f"Only the first {self.cells:,} cells were read (limit {self.limits.max_cells:,}); "
                "raise max_cells to read all of them."
            )
        if self.cut_cells:
            notes.append(
                f"{self.cut_cells:,} cells were cut to {self.limits.max_cell_chars:,} characters; "
                "raise max_cell_chars to keep more."
            )
        return tuple(notes)
