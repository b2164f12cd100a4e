"""The door: a path in, documents out."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import stat
from dataclasses import replace
from pathlib import Path

from silmari.errors import UnreadableError
from silmari.model import DateSource, Document
from silmari.reading.content import Content
from silmari.reading.dates import date_in_name
from silmari.reading.detect import Kind, detect
from silmari.reading.discover import on_disk, written
from silmari.reading.limits import Limits

_PIECE = 1 << 20
_CHANGED = "changed while it was read; add it again"


def read(path: Path, limits: Limits | None = None) -> list[Document]:
    """Read one file.

    The file is taken into memory once, and everything (its hash, its type, its content) comes from
    those bytes, so that a file that is being written gives one consistent version or an error.

    Args:
        path: The file, in whatever normal form of Unicode its name was typed.
        limits: Bounds; the defaults of `Limits` if None.

    Returns:
        One document; for a file of records one for each record, with ``PATH#ID`` as uri.

    Raises:
        SkippedError: The file is fine but nothing in it can be read: an image, an unknown type.
        UnreadableError: It is empty, encrypted, damaged, too large, or vanished or changed meanwhile.
    """
    limits = limits or Limits()
    data, modified = _bytes(path, limits)
    uri = uri_of(path)
    name = os.path.basename(uri)
    kind = detect(data, name)
    if kind == "records":
        try:
            return _records(data, name, uri)
        except UnreadableError as error:
            # Lines of other JSON are text all the same; the note says why they are no records.
            content = replace(_content("text", data, name, limits), notes=(f"Read as plain text: {error}.",))
    else:
        content = _content(kind, data, name, limits)
    date, source = _date(content, name, modified)
    return [
        Document(
            uri=uri,
            category=content.category,
            title=content.title,
            date=date,
            date_source=source,
            sha256=hashlib.sha256(data).hexdigest(),
            sections=content.sections,
            notes=content.notes,
        )
    ]


def uri_of(path: str | Path) -> str:
    """The uri of a file: its absolute path, NFC; bytes of its name that are no UTF-8 are written out."""
    return written(os.path.abspath(path))


def _bytes(path: Path, limits: Limits) -> tuple[bytes, float]:
    """The file's bytes and the time of its last change, in seconds since 1970."""
    try:
        real = on_disk(path) or path
        before = os.stat(real)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableError("is no regular file")
        _check_size(before.st_size, limits)
        with open(real, "rb") as file:
            pieces, size = [], 0
            while piece := file.read(_PIECE):
                size += len(piece)
                _check_size(size, limits)
                pieces.append(piece)
        after = os.stat(real)
    except FileNotFoundError as error:
        raise UnreadableError("does not exist any more; add its folder again") from error
    except PermissionError as error:
        raise UnreadableError("may not be read: give yourself the right to open it") from error
    except OSError as error:
        raise UnreadableError(f"cannot be opened: {error.strerror or error}") from error
    same = (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)
    if not same or size != after.st_size:
        raise UnreadableError(_CHANGED)
    return b"".join(pieces), after.st_mtime


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.max_file_bytes:
        raise UnreadableError(
            f"is larger than {limits.max_file_bytes / (1 << 20):,.4g} MB; raise max_file_mb to read it, or split it"
        )


def _content(kind: Kind, data: bytes, name: str, limits: Limits) -> Content:
    # Each reader brings its own library, which is loaded when the first such file comes.
    if kind == "pdf":
        from silmari.reading import pdf

        return pdf.read(data, name, limits)
    if kind == "workbook":
        from silmari.reading import excel

        return excel.read(data, name, limits)
    if kind == "delimited":
        from silmari.reading import delimited

        return delimited.read(data, name, limits)
    if kind == "markup":
        from silmari.reading import markup

        return markup.read(data, name, limits)
    from silmari.reading import text

    return text.read(data, name, limits)


def _records(data: bytes, name: str, uri: str) -> list[Document]:
    from silmari.reading import records

    found = records.read(data, name)
    documents = [record.document(f"{uri}#{record.id}") for record in found.records]
    notes = (*found.problems, *found.notes)
    if notes:
        documents[0] = replace(documents[0], notes=notes)
    return documents


def _date(content: Content, name: str, modified: float) -> tuple[str | None, DateSource | None]:
    if content.date:
        return content.date, content.date_source
    if named := date_in_name(name):
        return named, "name"
    try:
        return dt.date.fromtimestamp(modified).isoformat(), "file-time"
    except (ValueError, OverflowError, OSError):  # a clock that was far off
        return None, None
