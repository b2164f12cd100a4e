"""How a base changes its embedder, analyser or splitter.

Each change takes place at once, in one transaction at the end: until then the base works as before,
and an interrupted rebuild loses nothing but time.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select, update

from silmari.catalog import changes, filing
from silmari.catalog.effective import turn
from silmari.catalog.facts import restate_all
from silmari.catalog.queries import passages_by_id
from silmari.catalog.rules import Rules
from silmari.catalog.schema import documents, get_meta, meta, passages, set_meta, sources, staged_tokens, vectors
from silmari.catalog.stating import TURN
from silmari.catalog.store import Store
from silmari.catalog.vectors import EMBEDDED
from silmari.catalog.writing import settle
from silmari.model import Passage

_BATCH = 1000


def change_embedder(connection: Connection, fingerprint: str) -> None:
    """Let the base have another embedder: all texts wait for its vectors, unless these are stored already."""
    set_meta(connection, "fingerprint.embedder", fingerprint)
    connection.execute(delete(meta).where(meta.c.key == "dimension"))
    known = connection.execute(
        select(func.length(vectors.c.vector)).where(vectors.c.embedder == fingerprint).limit(1)
    ).scalar()
    if known is not None:
        set_meta(connection, "dimension", str(known // 2))
    for table in EMBEDDED.values():
        has_vector = exists().where(vectors.c.text_hash == table.c.text_hash, vectors.c.embedder == fingerprint)
        connection.execute(update(table).where(has_vector).values(waiting=None))
        if table is not passages:
            connection.execute(update(table).where(~has_vector).values(waiting=TURN))
    turns = [
        {"number": row.id, "turn": turn(row.category, row.day)}
        for row in connection.execute(select(documents.c.id, documents.c.category, documents.c.day))
    ]
    if turns:
        has_vector = exists().where(vectors.c.text_hash == passages.c.text_hash, vectors.c.embedder == fingerprint)
        statement = update(passages).where(passages.c.document_id == bindparam("number"), ~has_vector)
        connection.execute(statement.values(waiting=bindparam("turn")), turns)
    changes.restart(connection)


def forget_vectors(connection: Connection, embedder: str) -> None:
    """Delete the vectors of an embedder; if it is the base's own, all texts wait for new ones."""
    connection.execute(delete(vectors).where(vectors.c.embedder == embedder))
    if Rules.read(connection).embedder == embedder:
        change_embedder(connection, embedder)


def change_splitter(connection: Connection, fingerprint: str) -> None:
    """Let the base have another splitter: every file will be read again by the next add.

    Until a file was read again, and for files that are gone, the passages of before stay.
    """
    set_meta(connection, "fingerprint.splitter", fingerprint)
    filing.forget_versions(connection)


def date_by_file_time(connection: Connection, allowed: bool) -> None:
    """Let the time of a file count as a date for filters, or not."""
    set_meta(connection, "file_time_dates", str(int(allowed)))
    touched = connection.execute(select(documents.c.id).where(documents.c.date_source == "file-time")).scalars()
    settle(connection, Rules.read(connection), touched.all())


def retokenise(
    store: Store,
    fingerprint: str,
    analyse: Callable[[Passage], tuple[str, str]],
    analyse_name: Callable[[str], str],
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Give every passage the tokens and names, and every title the tokens, of another analyser.

    The tokens are gathered aside, in batches, and take the place of the old ones at once. A call
    that was interrupted goes on where it was.

    Args:
        store: Where the base is; several transactions are needed.
        fingerprint: Of the other analyser.
        analyse: Tokens and names of a passage, each joined by single blanks.
        analyse_name: Tokens of a title that comes from a file's name.
        on_progress: Called with the passages that are done and their total.
    """
    with store.write() as connection:
        if get_meta(connection).get("staged_analyser") != fingerprint:
            connection.execute(delete(staged_tokens))
            set_meta(connection, "staged_analyser", fingerprint)
    names: dict[str, str] = {}
    while True:
        while _stage(store, analyse, on_progress):
            pass
        with store.read() as connection:
            titles = connection.execute(select(sources.c.name_title).distinct()).scalars().all()
        names.update((title, analyse_name(title)) for title in titles if title not in names)
        with store.write() as connection:
            if _swap(connection, fingerprint, names):
                return


def _unstaged(connection: Connection, limit: int) -> list[int]:
    missing = (
        select(passages.c.id)
        .outerjoin(staged_tokens, staged_tokens.c.passage_id == passages.c.id)
        .where(staged_tokens.c.passage_id.is_(None))
        .order_by(passages.c.id)
        .limit(limit)
    )
    return list(connection.execute(missing).scalars())


def _stage(
    store: Store, analyse: Callable[[Passage], tuple[str, str]], on_progress: Callable[[int, int], None] | None
) -> bool:
    with store.read() as connection:
        found = passages_by_id(connection, _unstaged(connection, _BATCH))
    if not found:
        return False
    analysed = {number: analyse(passage) for number, (passage, _) in found.items()}
    with store.write() as connection:
        still = connection.execute(select(passages.c.id).where(passages.c.id.in_(list(analysed)))).scalars()
        rows = [{"passage_id": number, "tokens": analysed[number][0], "names": analysed[number][1]} for number in still]
        if rows:
            connection.execute(insert(staged_tokens), rows)
        done = connection.execute(select(func.count()).select_from(staged_tokens)).scalar_one()
        total = connection.execute(select(func.count()).select_from(passages)).scalar_one()
    if on_progress is not None:
        on_progress(done, total)
    return True


def _swap(connection: Connection, fingerprint: str, names: dict[str, str]) -> bool:
    """Put the staged tokens in place; False if others have added something in between."""
    titles = connection.execute(select(sources.c.name_title).distinct()).scalars().all()
    if _unstaged(connection, 1) or any(title not in names for title in titles):
        return False
    new = {
        column.name: select(column).where(staged_tokens.c.passage_id == passages.c.id).scalar_subquery()
        for column in (staged_tokens.c.tokens, staged_tokens.c.names)
    }
    connection.execute(update(passages).values(**new))
    if titles:
        connection.execute(
            update(sources).where(sources.c.name_title == bindparam("title")).values(name_tokens=bindparam("tokens")),
            [{"title": title, "tokens": names[title]} for title in titles],
        )
    best = select(sources.c.name_tokens).where(sources.c.uri == documents.c.uri).scalar_subquery()
    connection.execute(update(documents).values(name_tokens=best))
    connection.execute(delete(staged_tokens))
    connection.execute(delete(meta).where(meta.c.key == "staged_analyser"))
    set_meta(connection, "fingerprint.analyser", fingerprint)
    restate_all(connection, Rules.read(connection))
    changes.restart(connection)
    return True
