"""What holds for a document, given its content and all its sources; pure functions.

The same content may stand at several paths, each with a name and a time of its own. What is shown
depends on the set of sources alone, never on the order in which they came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from silmari.catalog.words import ReadDocument, storable
from silmari.model import DATE_SOURCES, RELATION_MODES, day_number

TABLES = frozenset({"csv", "excel"})
_LAST_DAY = 99_999_999
# Behind every other place in a queue.
LAST_TURN = 20 * (_LAST_DAY + 1)


class Content(NamedTuple):
    """What the content itself says."""

    title: str
    date: str | None
    date_source: str | None


class SourceRow(NamedTuple):
    """One row of `sources`."""

    uri: str
    path: str | None
    document_id: int
    name_title: str
    name_tokens: str
    date: str | None
    date_source: str | None
    relations: str | None = None


class Effective(NamedTuple):
    """The columns of `documents` that depend on its sources."""

    uri: str
    title: str
    name_tokens: str
    date: str | None
    date_source: str | None
    day: int | None
    relations: str


def content_of(read: ReadDocument) -> Content:
    """The title and date that belong to the content, not to its name or its file."""
    document = read.document
    if document.date_source in ("content", "metadata"):
        return Content(document.title, document.date, document.date_source)
    return Content(document.title, None, None)


def source_of(read: ReadDocument, uri: str, path: str | None, document_id: int) -> SourceRow:
    """The row of `sources` for a document that was read."""
    document = read.document
    dated = document.date_source in ("name", "file-time")
    return SourceRow(
        uri,
        path,
        document_id,
        storable(read.name_title),
        storable(read.name_tokens),
        document.date if dated else None,
        document.date_source if dated else None,
        read.relations,
    )


def effective(content: Content, sources: Sequence[SourceRow], file_time_dates: bool, brings: bool) -> Effective:
    """The title, date and place that are shown: of the source with the best date, ties by uri.

    Args:
        content: What the content itself says.
        sources: Where it stands.
        file_time_dates: Whether the time of a file counts as a date for filters.
        brings: Whether it brings triplets, or has some attached: they are used unless a source asks for something
            else. Of what several sources ask for the strongest holds.
    """
    best = min(sources, key=lambda source: (_rank(source.date_source), source.uri))
    date, date_source = best.date, best.date_source
    if content.date is not None:
        date, date_source = content.date, content.date_source
    day = None if date_source == "file-time" and not file_time_dates else day_number(date)
    asked = {source.relations for source in sources}
    relations = next((mode for mode in reversed(RELATION_MODES) if mode in asked), "given" if brings else "sentences")
    return Effective(best.uri, content.title or best.name_title, best.name_tokens, date, date_source, day, relations)


def turn(category: str, day: int | None) -> int:
    """The place in the queue for vectors, lowest first: tables before prose, newest before older."""
    return (0 if category in TABLES else 10 * (_LAST_DAY + 1)) + _LAST_DAY - (day or 0)


def content_key(read: ReadDocument, *, is_record: bool, splitter: str) -> str:
    """What makes two documents the same content (hex SHA-256): bytes and category, or a record's fields.

    The splitter belongs to it, so that a file that is read again after a rebuild is split again.
    """
    document = read.document
    if not is_record:
        parts: list[object] = ["file", splitter, document.category, document.sha256]
    else:
        parts = ["record", splitter, document.category, *content_of(read)]
        parts.append([[triplet.subject, triplet.predicate, triplet.object] for triplet in document.triplets])
        parts.extend(
            [passage.text, passage.content, passage.context, dict(passage.locator), passage.date]
            for passage in (analysed.passage for analysed in read.passages)
        )
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _rank(date_source: str | None) -> int:
    return len(DATE_SOURCES) if date_source is None else [*DATE_SOURCES].index(date_source)  # type: ignore[arg-type]
