"""PDF files: text by page, in reading order."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from silmari.errors import SkippedError, UnreadableError
from silmari.model import Prose
from silmari.reading.cleaning import clean
from silmari.reading.content import Content
from silmari.reading.limits import Limits
from silmari.reading.pdf_glyphs import runs
from silmari.reading.pdf_layout import Line, lines
from silmari.reading.pdf_paragraphs import compose
from silmari.reading.pdf_tables import fold, rulings, walls

if TYPE_CHECKING:
    import pypdfium2

# pdfium keeps global state: two threads in it at once crash the process.
_PDFIUM = threading.Lock()

_CREATED = re.compile(r"D?:?\s*(\d{4})(\d{2})?(\d{2})?")
_EXPORTED = re.compile(r"^Microsoft (?:Office )?(?:Word|Excel|PowerPoint)\s*-\s*", re.IGNORECASE)
_FILE_NAME = re.compile(
    r"\S.*\.(?:pdf|docx?|xlsx?|pptx?|hwpx?|od[tsp]|rtf|txt|csv|html?|tex|dvi|ps|indd|qxd|pages|numbers|key|wpd|tmp)",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(
    r"(?:untitled|무제|제목 ?없음|無題|document|문서|presentation|프레젠테이션|powerpoint (?:presentation|프레젠테이션)"
    r"|slide|book|sheet|통합 문서|새 문서|title|no title|none|null|unknown|about:blank|print|scan|image|new document"
    r"|template|cover|layout|[\W\d_]*)[\s\-_\d()]*",
    re.IGNORECASE,
)


def read(data: bytes, name: str, limits: Limits) -> Content:
    """Read a PDF file's text.

    Running headers, footers and page numbers are dropped; columns are read one after the other, table rows
    across. Files whose owner forbids copying are read all the same: the copy that Silmari makes is for the user
    who has the file.

    Args:
        data: The file.
        name: Its name, to tell a title from a file name.
        limits: `Limits.max_pages` and `Limits.password` count.

    Returns:
        Category ``pdf``, one `Prose` for each page with text, at ``{"page": N}`` (from 1); title and creation
        date from the metadata where they are meaningful.

    Raises:
        UnreadableError: The file is encrypted, damaged, or no PDF.
        SkippedError: No page has text.
    """
    with _PDFIUM:
        document = _opened(data, limits.password)
        try:
            return _content(document, name, limits)
        finally:
            document.close()


def _opened(data: bytes, password: str | None) -> pypdfium2.PdfDocument:
    import pypdfium2

    if not data:
        raise UnreadableError("is empty (0 bytes): there is nothing to read")
    # Some files open with an empty password only if one is given at all.
    reason = ""
    for each in dict.fromkeys((password, None, "")):
        try:
            return pypdfium2.PdfDocument(data, password=each)
        except pypdfium2.PdfiumError as error:
            reason = str(error)
    if "password" in reason.lower():
        given = "the given one does not open it" if password else "give it with the setting password"
        raise UnreadableError(f"is protected by a password; {given}")
    if "security" in reason.lower():
        raise UnreadableError("is encrypted in an unknown way; save it without protection and add it again")
    if b"%PDF" not in data[:1024]:
        raise UnreadableError("is not a PDF file although its name or type says so; check what it is")
    raise UnreadableError("is damaged: no page can be found in it; open and save it again with a PDF program")


def _content(document: Any, name: str, limits: Limits) -> Content:
    total = len(document)
    if not total:
        raise UnreadableError("is damaged: it has no pages; open and save it again with a PDF program")
    pages: list[list[Line]] = []
    faulty: list[int] = []
    for index in range(min(total, limits.max_pages)):
        found = _page(document, index)
        if found is None:
            faulty.append(index + 1)
        pages.append(found or [])
    texts = compose(pages)
    sections = tuple(Prose(text, {"page": number}) for number, text in enumerate(texts, 1) if text)
    notes = list(_notes(texts, faulty, total))
    if not sections:
        if len(faulty) == len(pages):
            raise UnreadableError("is damaged: no page of it can be read; open and save it again with a PDF program")
        which = f"none of its {len(texts)} pages has" if len(texts) > 1 else "its only page has no"
        raise SkippedError(f"needs OCR: {which}{' a' if len(texts) > 1 else ''} text layer")
    date = _created(document)
    return Content("pdf", _title(document, name), sections, date, "metadata" if date else None, tuple(notes))


def _page(document: Any, index: int) -> list[Line] | None:
    """The lines of one page; None if the page itself is faulty."""
    import pypdfium2

    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return None
    try:
        _widen(page)
        textpage = page.get_textpage()
        try:
            _, bottom, _, top = page.get_bbox()
            drawn = rulings(page)
            found = runs(textpage, lambda turn: walls(drawn.seen_from(turn)))
            return lines(found, bottom, top, lambda group, turn: fold(group, drawn.seen_from(turn)))
        finally:
            textpage.close()
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _widen(page: Any) -> None:
    """Let pdfium see vertical text whose font is neither in the file nor on this machine.

    It passes over text without width, and takes a line of glyphs that it cannot draw for such. A slant of
    a thousandth gives it one.
    """
    import ctypes

    import pypdfium2.raw as pdfium

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(pdfium.FPDFPage_CountObjects(page.raw)):
        item = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_TEXT:
            continue
        pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top)
        if right.value - left.value < 0.01 and top.value - bottom.value > 1:
            pdfium.FPDFPageObj_Transform(item, 1, 0, 0.001, 1, -0.001 * bottom.value, 0)


def _notes(texts: Sequence[str], faulty: Sequence[int], total: int) -> list[str]:
    notes = []
    empty = [number for number, text in enumerate(texts, 1) if not text and number not in faulty]
    if empty and len(empty) < len(texts):
        notes.append(f"{_pages(empty)} without a text layer; reading them needs OCR.")
    if faulty:
        notes.append(f"{_pages(faulty)} damaged and could not be read.")
    if len(texts) < total:
        notes.append(f"Only the first {len(texts)} of {total} pages were read (setting max_pages).")
    return notes


def _pages(numbers: Sequence[int]) -> str:
    """``Pages 3 to 5 and 8 are``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = [f"{low}" if low == high else f"{low}{',' if high == low + 1 else ' to'} {high}" for low, high in ranges]
    if len(shown) > 8:
        shown = [*shown[:8], "others"]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"Page {listed} is" if len(numbers) == 1 else f"Pages {listed} are"


def _title(document: Any, name: str) -> str:
    """The metadata's title if it says something: no file name, no program's placeholder."""
    title = " ".join(clean(document.get_metadata_value("Title")).split())
    title = _EXPORTED.sub("", title)
    stem = name.rsplit(".", 1)[0].casefold()
    if title.casefold() in (stem, name.casefold()) or _FILE_NAME.fullmatch(title) or _NO_TITLE.fullmatch(title):
        return ""
    # A name with neither blank nor Hangul, such as insurance_biz or MEDRPT-2024-PAT, was a file's.
    numbered = title.isascii() and any(map(str.isdigit, title))
    if " " not in title and (numbered or any(mark in title for mark in "_/\\")):
        return ""
    return title if any(map(str.isalpha, title)) and "\ufffd" not in title else ""


def _created(document: Any) -> str | None:
    """The creation date, if the metadata states a day that exists."""
    import datetime as dt

    found = _CREATED.match(document.get_metadata_value("CreationDate").strip())
    if not found or not (found[2] and found[3]):
        return None
    try:
        day = dt.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None
    return day.isoformat() if 1980 <= day.year <= 2999 else None
