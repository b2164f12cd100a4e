"""How documents come in and go: set-wise, inside the caller's transaction, exact.

A document is its content; a source is a place where it stands. A document lives as long as it has a
source, and a vector as long as a passage has its text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from silmari.catalog.changes import log, log_new
from silmari.catalog.effective import Content, Effective, SourceRow, content_key, content_of, effective, source_of, turn
from silmari.catalog.facts import NO_TRIPLETS, attached_to, lists, restate, withdraw
from silmari.catalog.rules import Rules, chunks, to_json
from silmari.catalog.schema import attached, documents, passages, sources, take_numbers
from silmari.catalog.store import Store
from silmari.catalog.vectors import forget_unused, with_vector
from silmari.catalog.words import Outcome, ReadDocument, storable
from silmari.errors import UnreadableError

DOCUMENTS_A_TRANSACTION = 500
_LINES = 5_000
_SOURCE = [sources.c[name] for name in SourceRow._fields]


@contextmanager
def written(store: Store) -> Iterator[Connection]:
    """A write transaction for texts that come from outside.

    Raises:
        UnreadableError: A text holds half a surrogate pair, which no database takes.
    """
    try:
        with store.write() as connection:
            yield connection
    except UnicodeEncodeError as error:
        raise UnreadableError(
            "The text holds half of a character (a lone surrogate); save the file as UTF-8 and add it again."
        ) from error


def put(connection: Connection, path: str | None, batch: Sequence[ReadDocument]) -> dict[str, Outcome]:
    """Store documents under their uris, in place of what stood there; the last of equal uris counts.

    Args:
        connection: In a write transaction.
        batch: What was read.
        path: The file they were read from, or None for records of the API.
    """
    rules = Rules.read(connection)
    wanted = {storable(read.document.uri): read for read in batch}
    keys = {uri: content_key(read, is_record=uri != path, splitter=rules.splitter) for uri, read in wanted.items()}
    former = {row.uri: row for chunk in chunks(wanted) for row in _sources(connection, sources.c.uri.in_(chunk))}
    ids = dict(
        (row.content_key, row.id)
        for chunk in chunks(dict.fromkeys(keys.values()))
        for row in connection.execute(
            select(documents.c.content_key, documents.c.id).where(documents.c.content_key.in_(chunk))
        )
    )
    fresh = {key: wanted[uri] for uri, key in keys.items() if key not in ids}
    ids.update(zip(fresh, take_numbers(connection, "document", len(fresh)), strict=True))
    rows = {uri: _kept(former.get(uri), source_of(read, uri, path, ids[keys[uri]])) for uri, read in wanted.items()}
    placed = defaultdict(list)
    for row in rows.values():
        placed[row.document_id].append(row)

    extra = attached_to(connection, wanted)
    modes = _insert_documents(
        connection,
        rules,
        {key: (ids[key], read, placed[ids[key]]) for key, read in fresh.items()},
        {row.document_id for uri, row in rows.items() if uri in extra},
    )
    changed = [row for uri, row in rows.items() if former.get(uri) != row]
    for chunk in chunks(row.uri for row in changed if row.uri in former):
        connection.execute(delete(sources).where(sources.c.uri.in_(chunk)))
    if changed:
        connection.execute(insert(sources), [row._asdict() for row in changed])
    restate(connection, rules, [number for number, mode in modes.items() if mode != "sentences"], fresh=True)
    touched = {row.document_id for row in changed}
    touched |= {former[row.uri].document_id for row in changed if row.uri in former}
    settle(connection, rules, touched - {ids[key] for key in fresh})
    return {uri: _outcome(former.get(uri), row) for uri, row in rows.items()}


def take_away(connection: Connection, uris: Iterable[str]) -> None:
    """Remove sources, and what nothing else holds any more."""
    touched: set[int] = set()
    for chunk in chunks(uris):
        touched |= {row.document_id for row in _sources(connection, sources.c.uri.in_(chunk))}
        connection.execute(delete(sources).where(sources.c.uri.in_(chunk)))
        connection.execute(delete(attached).where(attached.c.uri.in_(chunk)))
    settle(connection, Rules.read(connection), touched)


def settle(connection: Connection, rules: Rules, touched: Iterable[int]) -> None:
    """Bring documents in line with their sources; those without any are removed.

    Passages whose date, name tokens or title changed are logged again, since engines and the graph go by them.
    """
    dead: list[int] = []
    stating: list[int] = []
    for chunk in chunks(sorted(touched)):
        standing = defaultdict(list)
        for row in _sources(connection, sources.c.document_id.in_(chunk)):
            standing[row.document_id].append(row)
        extra = attached_to(connection, [row.uri for rows in standing.values() for row in rows])
        dead.extend(number for number in chunk if number not in standing)
        again = []
        lines: list[dict[str, Any]] = []
        for stored in connection.execute(select(documents).where(documents.c.id.in_(list(standing)))).all():
            content = Content(stored.content_title, stored.content_date, stored.content_date_source)
            places = standing[stored.id]
            brings = stored.triplets != NO_TRIPLETS or any(row.uri in extra for row in places)
            now = effective(content, places, rules.file_time_dates, brings)
            before = Effective(**{name: getattr(stored, name) for name in Effective._fields})
            if {before.relations, now.relations} != {"sentences"}:
                stating.append(stored.id)
            if now == before:
                continue
            lines.append({"number": stored.id, **{f"new_{name}": value for name, value in now._asdict().items()}})
            if now.day != before.day:
                connection.execute(
                    update(passages)
                    .where(passages.c.document_id == stored.id, passages.c.waiting.is_not(None))
                    .values(waiting=turn(stored.category, now.day))
                )
            if (now.day, now.name_tokens, now.title) != (before.day, before.name_tokens, before.title):
                again.append(stored.id)
        if lines:
            connection.execute(
                update(documents)
                .where(documents.c.id == bindparam("number"))
                .values({name: bindparam(f"new_{name}") for name in Effective._fields}),
                lines,
            )
        _log_again(connection, again)
    restate(connection, rules, stating)
    _remove_documents(connection, rules, dead)


def _sources(connection: Connection, condition: Any) -> list[SourceRow]:
    return [SourceRow(*row) for row in connection.execute(select(*_SOURCE).where(condition))]


def _kept(former: SourceRow | None, row: SourceRow) -> SourceRow:
    """The row of a source, with what was asked for its relations before if nothing is asked now."""
    return row if former is None or row.relations else row._replace(relations=former.relations)


def _outcome(former: SourceRow | None, now: SourceRow) -> Outcome:
    if former is None:
        return "added"
    return "unchanged" if former.document_id == now.document_id else "updated"


def _insert_documents(
    connection: Connection,
    rules: Rules,
    fresh: Mapping[str, tuple[int, ReadDocument, list[SourceRow]]],
    enriched: Collection[int],
) -> dict[int, str]:
    """Store new documents with their passages; returns where the relations of each come from.

    Args:
        connection: In a write transaction.
        rules: Of the base.
        fresh: Number, content and places of each, by content key.
        enriched: Those that have triplets attached.
    """
    if not fresh:
        return {}
    rows: list[dict[str, Any]] = []
    waiting: dict[int, int] = {}
    for key, (number, read, places) in fresh.items():
        content, document = content_of(read), read.document
        now = effective(content, places, rules.file_time_dates, bool(document.triplets) or number in enriched)
        rows.append(
            {
                "id": number,
                "content_key": key,
                "category": document.category,
                "content_title": content.title,
                "content_date": content.date,
                "content_date_source": content.date_source,
                "triplets": to_json(lists(document.triplets)),
                "notes": to_json(document.notes),
                **now._asdict(),
            }
        )
        waiting[number] = turn(document.category, now.day)
    connection.execute(insert(documents), rows)
    reads = {number: read for number, read, _ in fresh.values()}
    numbers = take_numbers(connection, "passage", sum(len(read.passages) for read in reads.values()))
    embedded = with_vector(
        connection, rules, {analysed.text_hash for read in reads.values() for analysed in read.passages}
    )
    ready: list[int] = []
    # In pieces: a file may have a million rows.
    for lines in chunks(_lines(reads, waiting, embedded, numbers), _LINES):
        connection.execute(insert(passages), lines)
        ready.extend(line["id"] for line in lines if line["waiting"] is None)
    log_new(connection, "passage", numbers, "text")
    log_new(connection, "passage", ready, "vector")
    return {row["id"]: row["relations"] for row in rows}


def _lines(
    reads: Mapping[int, ReadDocument], waiting: Mapping[int, int], embedded: set[bytes], numbers: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """The rows of the passages of documents, by number."""
    given = iter(numbers)
    for number, read in reads.items():
        for position, analysed in enumerate(read.passages):
            passage = analysed.passage
            yield {
                "id": next(given),
                "document_id": number,
                "position": position,
                "text": passage.text,
                "content": None if passage.content == passage.text else passage.content,
                "context": passage.context,
                "locator": to_json(dict(passage.locator)),
                "date": passage.date,
                "tokens": analysed.tokens,
                "names": analysed.names,
                "text_hash": analysed.text_hash,
                "waiting": None if analysed.text_hash in embedded else waiting[number],
            }


def _log_again(connection: Connection, numbers: Sequence[int]) -> None:
    for chunk in chunks(numbers):
        rows = connection.execute(
            select(passages.c.id, passages.c.waiting).where(passages.c.document_id.in_(chunk)).order_by(passages.c.id)
        ).all()
        log(connection, "passage", [row.id for row in rows], "text")
        log(connection, "passage", [row.id for row in rows if row.waiting is None], "vector")


def _remove_documents(connection: Connection, rules: Rules, numbers: Sequence[int]) -> None:
    if not numbers:
        return
    withdraw(connection, rules, numbers)
    hashes: dict[bytes, None] = {}
    for chunk in chunks(numbers):
        rows = connection.execute(
            select(passages.c.id, passages.c.text_hash, passages.c.waiting)
            .where(passages.c.document_id.in_(chunk))
            .order_by(passages.c.id)
        ).all()
        connection.execute(delete(passages).where(passages.c.document_id.in_(chunk)))
        connection.execute(delete(documents).where(documents.c.id.in_(chunk)))
        log(connection, "passage", [row.id for row in rows], "text")
        log(connection, "passage", [row.id for row in rows if row.waiting is None], "vector")
        hashes.update(dict.fromkeys(row.text_hash for row in rows))
    forget_unused(connection, hashes)
