"""What a file is, from its bytes; its name only decides where the bytes leave it open."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal

from silmari.errors import SkippedError, UnreadableError
from silmari.reading import ole, zipped
from silmari.reading.delimited import find_delimiter, looks_delimited
from silmari.reading.encoding import decode, utf16_without_mark

Kind = Literal["pdf", "workbook", "delimited", "markup", "records", "text"]

WORKBOOK_SUFFIXES = frozenset((".xls", ".xlsx", ".xlsm", ".xlsb", ".xlt", ".xltx", ".xltm", ".ods", ".et"))
_DELIMITED_SUFFIXES = frozenset((".csv", ".tsv", ".tab"))
_RECORD_SUFFIXES = frozenset((".jsonl", ".ndjson"))
_MAYBE_DELIMITED = frozenset(("", ".txt", ".dat", ".asc", *WORKBOOK_SUFFIXES))
_HEAD = 64 * 1024

_IMAGES = (
    (b"\x89PNG\r\n", 0), (b"\xff\xd8\xff", 0), (b"GIF8", 0), (b"II*\0", 0), (b"MM\0*", 0), (b"WEBP", 8),
    (b"\0\0\1\0", 0), (b"ftypheic", 4), (b"ftypheix", 4), (b"ftypmif1", 4), (b"ftypavif", 4),
    (b"8BPS", 0), (b"\0\0\0\x0cjP  ", 0),
)  # fmt: skip
_OTHERS = (
    (b"\x1f\x8b", 0, "a gzip archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7-Zip archive; unpack it first"),
    (b"Rar!\x1a", 0, "a RAR archive; unpack it first"),
    (b"ustar", 257, "a tar archive; unpack it first"),
    (b"BZh", 0, "a bzip2 archive; unpack it first"),
    (b"\xfd7zXZ\0", 0, "an xz archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", 0, "a zstd archive; unpack it first"),
    (b"SQLite format 3\0", 0, "an SQLite database, which is not read"),
    (b"PAR1", 0, "a Parquet file, which is not read"),
    (b"\x7fELF", 0, "a program, which is not read"),
    (b"ID3", 0, "a sound file, which is not read"),
    (b"OggS", 0, "a sound file, which is not read"),
    (b"fLaC", 0, "a sound file, which is not read"),
    (b"WAVE", 8, "a sound file, which is not read"),
    (b"AVI ", 8, "a film, which is not read"),
    (b"ftyp", 4, "a film or sound file, which is not read"),
    (b"\x1aE\xdf\xa3", 0, "a film, which is not read"),
    (b"wOFF", 0, "a font, which is not read"),
    (b"\0\1\0\0\0", 0, "a font, which is not read"),
    (b"OTTO", 0, "a font, which is not read"),
    (b"HWP Document File V", 0, "an old Hangul (HWP) document; save it as PDF to add it"),
    (b"{\\rtf", 0, "a rich text (RTF) document; save it as PDF or text to add it"),
)
_SAVE_AS_PDF = "; save it as PDF to add it"
_MARKUP = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|table|meta|style|title|div|center)\b",
    re.IGNORECASE | re.DOTALL,
)
_XML_WORKBOOK = re.compile(
    r"<\?mso-application\s+progid=.Excel\.Sheet|<(?:\w+:)?Workbook[^>]*office:spreadsheet", re.IGNORECASE
)


def detect(data: bytes, name: str) -> Kind:
    """Tell what reads these bytes.

    Args:
        data: The whole file.
        name: The file's name; its suffix is a hint only.

    Raises:
        SkippedError: It is of a type that is not read; the message names the type.
        UnreadableError: It is empty, encrypted, or claims by its name to be what it is not.
    """
    suffix = PurePath(name).suffix.lower()
    if not data:
        raise UnreadableError("is empty")
    if name.startswith("~$") and len(data) < 1024:
        raise SkippedError("is only the mark that an Office program leaves beside a file that it has open")
    pdf = data.find(b"%PDF-", 0, 1024)
    if pdf == 0 or (pdf > 0 and not data.lstrip()[:1] == b"<"):
        return "pdf"
    if data.startswith(ole.MAGIC):
        return _compound(data)
    if data.startswith((zipped.MAGIC, b"PK\5\6", b"PK\7\x08")):
        return _zip(data, suffix)
    _refuse_known(data)
    if not _is_text(data[:_HEAD], suffix):
        raise _unknown(suffix)
    return _text_kind(data, suffix)


def _compound(data: bytes) -> Kind:
    try:
        names = ole.CompoundFile(data).names
    except (ole.DamagedFileError, ValueError):
        return "workbook"  # its reader says what is wrong
    lower = {name.lower() for name in names}
    if "encryptedpackage" in lower:
        raise UnreadableError("is protected by a password; save a copy without it")
    if "workbook" in lower or "book" in lower:
        return "workbook"
    if "worddocument" in lower:
        raise SkippedError(f"is an old Word document{_SAVE_AS_PDF}")
    if "powerpoint document" in lower:
        raise SkippedError(f"is an old PowerPoint file{_SAVE_AS_PDF}")
    if "fileheader" in lower and "docinfo" in lower:
        raise SkippedError(f"is a Hangul (HWP) document{_SAVE_AS_PDF}")
    if "__properties_version1.0" in lower:
        raise SkippedError(f"is an Outlook message{_SAVE_AS_PDF}")
    raise SkippedError("is an Office file of a type that is not read")


def _zip(data: bytes, suffix: str) -> Kind:
    try:
        parts = zipped.members(data)
    except UnreadableError:
        if suffix in WORKBOOK_SUFFIXES or suffix in (".docx", ".pptx", ".hwpx", ".zip"):
            raise UnreadableError("is damaged or was cut short; copy it again or save it anew") from None
        raise
    mimetype = data[38:100] if data[30:38] == b"mimetype" else b""
    names = {name.replace("\\", "/").lower() for name in parts}
    folders = {name.partition("/")[0] for name in names}
    if "xl/workbook.xml" in names or "xl/workbook.bin" in names or b"opendocument.spreadsheet" in mimetype:
        return "workbook"
    if "word" in folders and "[content_types].xml" in names:
        raise SkippedError(f"is a Word document{_SAVE_AS_PDF}")
    if "ppt" in folders and "[content_types].xml" in names:
        raise SkippedError(f"is a PowerPoint file{_SAVE_AS_PDF}")
    if b"hwp" in mimetype or "contents/content.hpf" in names:
        raise SkippedError(f"is a Hangul (HWPX) document{_SAVE_AS_PDF}")
    if b"opendocument" in mimetype:
        raise SkippedError(f"is an OpenDocument file other than a spreadsheet{_SAVE_AS_PDF}")
    if b"epub" in mimetype:
        raise SkippedError(f"is an e-book (EPUB){_SAVE_AS_PDF}")
    if suffix in WORKBOOK_SUFFIXES:
        raise UnreadableError("is no workbook although its name says so: it is a zip archive without sheets")
    raise SkippedError("is a zip archive; unpack it first")


def _refuse_known(data: bytes) -> None:
    if any(data.startswith(magic, at) for magic, at in _IMAGES) or (data.startswith(b"BM") and data[6:10] == bytes(4)):
        raise SkippedError("is an image and needs OCR, which is not built in; add a text or PDF version")
    for magic, at, words in _OTHERS:
        if data.startswith(magic, at):
            raise SkippedError(f"is {words}")
    if data.startswith(b"MZ") and b"\0" in data[:64]:
        raise SkippedError("is a program, which is not read")


def _is_text(head: bytes, suffix: str) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")) or utf16_without_mark(head):
        return True
    zeros = head.count(0)
    control = sum(map(head.count, map(_byte, (*range(1, 9), *range(14, 27), *range(28, 32)))))
    # Some exports pad with NUL: where the name says text, many are forgiven.
    most_zeros = 0.5 if suffix in _DELIMITED_SUFFIXES or suffix == ".txt" else 0.02
    return zeros <= most_zeros * len(head) and control <= 0.02 * len(head)


def _byte(number: int) -> bytes:
    return bytes((number,))


def _unknown(suffix: str) -> UnreadableError:
    if suffix == ".pdf":
        return UnreadableError(
            "is no PDF although its name says so; open it in the program that made it and save it anew"
        )
    if suffix in WORKBOOK_SUFFIXES:
        return UnreadableError(
            "is no workbook although its name says so; open it in the program that made it and save it anew"
        )
    return SkippedError("is of a type that is not read; PDF, Excel, CSV, text and JSONL are")


def _text_kind(data: bytes, suffix: str) -> Kind:
    head = decode(data[:_HEAD] if len(data) <= _HEAD else data[: data.rfind(b"\n", 1, _HEAD) + 1] or data[:_HEAD])
    if not head.strip():
        if len(data) <= _HEAD:
            raise UnreadableError("is empty: it holds only blanks")
        return "text"
    if _XML_WORKBOOK.search(head[:2000]) or _MARKUP.match(head):
        return "markup"
    if suffix in (".html", ".htm", ".xhtml") and "<" in head:
        return "markup"
    if head.startswith("MIME-Version:") and (suffix in WORKBOOK_SUFFIXES or suffix in (".mht", ".mhtml")):
        raise SkippedError("is a web archive (MHTML); save it as xlsx or PDF to add it")
    if suffix in _RECORD_SUFFIXES:
        return "records"
    if suffix in _DELIMITED_SUFFIXES:
        return "delimited"
    if head.lstrip()[:1] in ("{", "["):
        from silmari.reading.records import looks_like_records

        if looks_like_records(head):
            return "records"
    if suffix in _MAYBE_DELIMITED and looks_delimited(head):
        return "delimited"
    if suffix in WORKBOOK_SUFFIXES and find_delimiter(head):
        return "delimited"
    return "text"
