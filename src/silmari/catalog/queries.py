"""What is asked of the catalog without changing it."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, Integer, and_, cast, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from silmari.catalog import extractions, vectors
from silmari.catalog.rules import chunks
from silmari.catalog.schema import documents, files, passages, sources
from silmari.catalog.words import Counts, FileState, Statistics, StoredDocument, storable
from silmari.model import Filter, Passage, Source, day_number

_PASSAGE = (
    passages.c.id,
    passages.c.document_id,
    passages.c.text,
    passages.c.content,
    passages.c.context,
    passages.c.locator,
    passages.c.date,
)


def file_state(connection: Connection, path: str) -> FileState | None:
    """What is remembered of a file, or None."""
    row = connection.execute(select(files).where(files.c.path == storable(path))).one_or_none()
    return None if row is None else _file_state(row)


def file_paths(connection: Connection) -> list[str]:
    """The paths of all files, sorted."""
    return sorted(connection.execute(select(files.c.path)).scalars())


def files_under(connection: Connection, folder: str) -> list[str]:
    """The paths of all files under a folder, also of those that were skipped or failed, sorted."""
    rows = connection.execute(select(files.c.path).where(_under(files.c.path, _folder(storable(folder)))))
    return sorted(rows.scalars())


def passages_by_id(connection: Connection, ids: Collection[int]) -> dict[int, tuple[Passage, Source]]:
    """Passages with where they stand, in the order of `ids`; ids that are gone are left out."""
    found: dict[int, tuple[Passage, Source]] = {}
    for chunk in chunks(dict.fromkeys(ids)):
        rows = connection.execute(
            select(
                *_PASSAGE,
                documents.c.uri,
                documents.c.title,
                documents.c.category,
                documents.c.date.label("document_date"),
                documents.c.date_source,
            )
            .join(documents, documents.c.id == passages.c.document_id)
            .where(passages.c.id.in_(chunk))
        ).all()
        uris = _uris(connection, {row.document_id for row in rows})
        for row in rows:
            passage = _passage(row)
            source = Source(
                uri=row.uri,
                title=row.title,
                category=row.category,
                date=row.date or row.document_date,
                date_source="content" if row.date else row.date_source,
                locator=passage.locator,
                also=tuple(uri for uri in uris[row.document_id] if uri != row.uri),
            )
            found[row.id] = (passage, source)
    return {number: found[number] for number in ids if number in found}


def tokens(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """The tokens of passages, joined by blanks, without those of their documents' names."""
    found: dict[int, str] = {}
    for chunk in chunks(dict.fromkeys(ids)):
        rows = connection.execute(select(passages.c.id, passages.c.tokens).where(passages.c.id.in_(chunk)))
        found.update((row.id, row.tokens) for row in rows)
    return found


def allowed(connection: Connection, ids: Collection[int], where: Filter) -> set[int]:
    """Those passages that a filter lets through: by their own date, else their document's."""
    day = func.coalesce(cast(func.replace(passages.c.date, "-", ""), Integer), documents.c.day)
    conditions: list[ColumnElement[bool]] = []
    if where.categories is not None:
        conditions.append(documents.c.category.in_(sorted(where.categories)))
    if where.since is not None:
        conditions.append(day >= day_number(where.since))
    if where.until is not None:
        conditions.append(day <= day_number(where.until))
    if where.undated:
        conditions.append(day.is_(None))
    found: set[int] = set()
    for chunk in chunks(dict.fromkeys(ids)):
        rows = connection.execute(
            select(passages.c.id, passages.c.document_id)
            .join(documents, documents.c.id == passages.c.document_id)
            .where(passages.c.id.in_(chunk), *conditions)
        )
        found.update(row.id for row in rows if where.documents is None or row.document_id in where.documents)
    return found


def passages_of(connection: Connection, document_id: int) -> list[Passage]:
    """All passages of a document, in reading order."""
    rows = connection.execute(
        select(*_PASSAGE).where(passages.c.document_id == document_id).order_by(passages.c.position)
    )
    return [_passage(row) for row in rows]


def neighbours(connection: Connection, passage_id: int) -> tuple[Passage | None, Passage | None]:
    """The passages before and after one in its document."""
    here = select(passages.c.document_id, passages.c.position).where(passages.c.id == passage_id).subquery()
    rows = connection.execute(
        select(*_PASSAGE, (passages.c.position - here.c.position).label("step")).join(
            here,
            and_(
                passages.c.document_id == here.c.document_id,
                passages.c.position.in_([here.c.position - 1, here.c.position + 1]),
            ),
        )
    )
    found = {row.step: _passage(row) for row in rows}
    return found.get(-1), found.get(1)


def places(connection: Connection) -> list[tuple[str, str | None, int]]:
    """Where documents stand: uri, path and the document's number."""
    return [tuple(row) for row in connection.execute(select(sources.c.uri, sources.c.path, sources.c.document_id))]


def list_documents(connection: Connection, condition: ColumnElement[bool]) -> list[StoredDocument]:
    """Documents with their counts, by uri."""
    counted = (
        select(
            passages.c.document_id,
            func.count().label("passages"),
            func.count(passages.c.waiting).label("pending"),
        )
        .group_by(passages.c.document_id)
        .subquery()
    )
    rows = connection.execute(
        select(
            documents.c.id,
            documents.c.uri,
            documents.c.title,
            documents.c.category,
            documents.c.date,
            documents.c.date_source,
            documents.c.notes,
            documents.c.relations,
            func.coalesce(counted.c.passages, 0).label("passages"),
            func.coalesce(counted.c.pending, 0).label("pending"),
        )
        .outerjoin(counted, counted.c.document_id == documents.c.id)
        .where(condition)
    ).all()
    uris = _uris(connection, [row.id for row in rows])
    listed = [
        StoredDocument(
            id=row.id,
            uri=row.uri,
            title=row.title,
            category=row.category,
            date=row.date,
            date_source=row.date_source,
            passages=row.passages,
            pending=row.pending,
            notes=tuple(json.loads(row.notes)),
            also=tuple(uri for uri in uris[row.id] if uri != row.uri),
            relations=row.relations,
        )
        for row in rows
    ]
    return sorted(listed, key=lambda one: one.uri)


def filtered(where: Filter) -> ColumnElement[bool]:
    """Categories and dates of a filter as a condition on documents (not on passages' own dates)."""
    conditions: list[ColumnElement[bool]] = [documents.c.id.is_not(None)]
    if where.categories is not None:
        conditions.append(documents.c.category.in_(sorted(where.categories)))
    if where.since is not None:
        conditions.append(documents.c.day >= day_number(where.since))
    if where.until is not None:
        conditions.append(documents.c.day <= day_number(where.until))
    if where.undated:
        conditions.append(documents.c.day.is_(None))
    return and_(*conditions)


def of_uri(uri: str) -> ColumnElement[bool]:
    """The document that stands at exactly this uri."""
    return documents.c.id.in_(select(sources.c.document_id).where(sources.c.uri == storable(uri)))


def document_ids(connection: Connection, patterns: Iterable[str]) -> frozenset[int]:
    """The documents at uris, in files or folders, or at uris that match a glob.

    What exists is meant literally: a path as it is given, then the same seen from the working folder, and
    only what is neither is a glob. One such as ``*.pdf`` that does not start at the root matches at the end
    of a path; ``*`` also matches slashes. A mere name is that of a file in any folder.
    """
    found: set[int] = set()
    for pattern in patterns:
        for literal in _literals(pattern):
            matches = set(
                connection.execute(
                    select(sources.c.document_id).where(
                        or_(
                            sources.c.uri == literal,
                            sources.c.path == literal,
                            _under(sources.c.uri, _folder(literal)),
                        )
                    )
                ).scalars()
            )
            if matches:
                break
        else:
            rows = connection.execute(select(sources.c.uri, sources.c.document_id)).all()
            known = {row.uri for row in rows}
            fitting = _fitting(pattern, known) or _named(pattern, known)
            matches = {row.document_id for row in rows if row.uri in fitting}
        found |= matches
    return frozenset(found)


def uris(connection: Connection, patterns: Iterable[str]) -> list[str]:
    """The files and records that paths, folders, globs and uris name, sorted; see `document_ids`.

    Files that were skipped or failed are among them.
    """
    found: set[str] = set()
    known = set(connection.execute(select(files.c.path)).scalars())
    # A record of a file goes by its own uri; everything else by its file.
    known.update(connection.execute(select(sources.c.uri)).scalars())
    for pattern in patterns:
        for literal in _literals(pattern):
            folder = _folder(literal)
            matches = {uri for uri in known if uri == literal or uri.startswith(folder)}
            if matches:
                break
        else:
            matches = _fitting(pattern, known)
        found |= matches
    return sorted(found)


def _literals(pattern: str) -> tuple[str, ...]:
    """What a pattern is if it is a path or uri: as it is, and seen from the working folder."""
    if not pattern.strip():
        return ()
    return storable(pattern), storable(os.path.abspath(os.path.expanduser(pattern)))


def _fitting(pattern: str, known: Collection[str]) -> set[str]:
    """Those uris that a glob matches: as a whole, seen from the working folder, or at their end."""
    if not re.search(r"[*?\[]", pattern):
        return set()
    given, absolute = _literals(pattern)
    globs = dict.fromkeys((given, absolute) if pattern.startswith((".", "~")) else (given, f"*[/\\\\]{given}"))
    compiled = [re.compile(fnmatch.translate(glob)) for glob in globs]
    return {uri for uri in known if any(glob.match(uri) for glob in compiled)}


def _named(name: str, known: Collection[str]) -> set[str]:
    """Those uris of files, or of records in files, that have this name."""
    name = storable(name)
    if not name.strip() or "/" in name or "\\" in name:
        return set()
    return {uri for uri in known if name in (_last(uri), _last(uri.partition("#")[0]))}


def _last(uri: str) -> str:
    return re.split(r"[/\\]", uri)[-1]


def categories(connection: Connection) -> frozenset[str]:
    """The categories of the documents."""
    return frozenset(connection.execute(select(documents.c.category).distinct()).scalars())


def undated_count(connection: Connection) -> int:
    """How many passages have no date, neither their own nor their document's."""
    return connection.execute(
        select(func.count())
        .select_from(passages)
        .join(documents, documents.c.id == passages.c.document_id)
        .where(passages.c.date.is_(None), documents.c.day.is_(None))
    ).scalar_one()


def counts(connection: Connection) -> Counts:
    """How many items of each kind there are, and how many of them wait for a vector."""
    held: list[int] = []
    for kind, table in vectors.EMBEDDED.items():
        held.append(connection.execute(select(func.count()).select_from(table)).scalar_one())
        held.append(vectors.count_pending(connection, kind))
    return Counts(*held)


def statistics(connection: Connection) -> Statistics:
    """Counts, and the files that are not in."""
    problems = [
        _file_state(row)
        for row in connection.execute(select(files).where(files.c.status != "ok").order_by(files.c.path))
    ]
    by_category = connection.execute(
        select(documents.c.category, func.count()).group_by(documents.c.category).order_by(documents.c.category)
    )
    counted = counts(connection)
    unextracted, failed = extractions.count(connection)
    return Statistics(
        documents=connection.execute(select(func.count()).select_from(documents)).scalar_one(),
        passages=counted.passages,
        pending={
            "vectors": counted.pending + counted.relations_pending + counted.entities_pending,
            "relations": unextracted,
        },
        categories={category: count for category, count in by_category},
        failed=tuple(state for state in problems if state.status == "failed"),
        skipped=tuple(state for state in problems if state.status == "skipped"),
        relations=counted.relations,
        entities=counted.entities,
        failed_extractions=failed,
    )


def _folder(path: str) -> str:
    """The path with exactly one separator at its end: that of the system which it comes from."""
    separator = "\\" if "\\" in path and "/" not in path else "/"
    return path.rstrip("/\\") + separator


def _under(column: ColumnElement[Any], folder: str) -> ColumnElement[bool]:
    # Not LIKE: it is case-blind in SQLite, and '%' and '_' may stand in a path.
    return func.substr(column, 1, len(folder)) == folder


def _uris(connection: Connection, numbers: Collection[int]) -> dict[int, list[str]]:
    found = defaultdict(list)
    for chunk in chunks(numbers):
        for row in connection.execute(
            select(sources.c.document_id, sources.c.uri).where(sources.c.document_id.in_(chunk))
        ):
            found[row.document_id].append(row.uri)
    return {number: sorted(uris) for number, uris in found.items()}


def _passage(row: Any) -> Passage:
    return Passage(
        text=row.text,
        content=row.text if row.content is None else row.content,
        context=row.context,
        locator=json.loads(row.locator),
        date=row.date,
        id=row.id,
        document_id=row.document_id,
    )


def _file_state(row: Any) -> FileState:
    return FileState(
        row.path, row.size, row.mtime_ns, row.sha256, row.status, row.reason, tuple(json.loads(row.notes)), row.added_at
    )
