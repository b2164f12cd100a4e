"""What a reader module makes of one file's bytes, before the door adds path, hash and file time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from silmari.model import Section


@dataclass(frozen=True, slots=True)
class Content:
    """One file's content, as its reader saw it.

    Attributes:
        category: One of `silmari.model.CATEGORIES`.
        title: From the content itself, else ``""``.
        sections: What was read, in reading order.
        date: ISO ``YYYY-MM-DD`` if the content or its metadata states one.
        date_source: Which of both it was; None exactly when `date` is None.
        notes: One sentence for each thing that was left out.
    """

    category: str
    title: str
    sections: tuple[Section, ...]
    date: str | None = None
    date_source: Literal["content", "metadata"] | None = None
    notes: tuple[str, ...] = ()
