"""What users say of documents' relations: triplets that they attach, and where relations shall come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select, update

from silmari.catalog import extractions, facts
from silmari.catalog.rules import Rules, chunks, to_json
from silmari.catalog.schema import attached, extraction_failures, passages, sources
from silmari.catalog.words import storable
from silmari.catalog.writing import settle
from silmari.extraction.given import tidied
from silmari.model import RelationMode, Triplet


def attach(connection: Connection, given: Mapping[str, Sequence[Triplet]]) -> list[str]:
    """Attach triplets to uris, after those that are attached already; none twice.

    Returns:
        Those uris at which a document stands; the others are passed over.
    """
    wanted = {storable(uri): triplets for uri, triplets in given.items()}
    there = {
        row.uri: row.document_id
        for chunk in chunks(wanted)
        for row in connection.execute(select(sources.c.uri, sources.c.document_id).where(sources.c.uri.in_(chunk)))
    }
    before = facts.attached_to(connection, there)
    now = {uri: list(dict.fromkeys([*before.get(uri, []), *map(tidied, wanted[uri])])) for uri in there}
    changed = {uri: triplets for uri, triplets in now.items() if triplets != before.get(uri, [])}
    for chunk in chunks(changed):
        connection.execute(delete(attached).where(attached.c.uri.in_(chunk)))
    if changed:
        rows = [{"uri": uri, "triplets": to_json(facts.lists(triplets))} for uri, triplets in changed.items()]
        connection.execute(insert(attached), rows)
        settle(connection, Rules.read(connection), {there[uri] for uri in changed})
    return [uri for uri in given if storable(uri) in there]


def want(connection: Connection, mode: RelationMode | None, numbers: Collection[int] | None) -> None:
    """Let relations of documents, of all if `numbers` is None, come from somewhere else.

    Passages whose relations no model could give wait for another try.
    """
    if numbers is None:
        numbers = connection.execute(select(sources.c.document_id).distinct()).scalars().all()
    half: list[int] = []
    for chunk in chunks(numbers):
        connection.execute(update(sources).where(sources.c.document_id.in_(chunk)).values(relations=mode))
        here = select(passages.c.id).where(passages.c.document_id.in_(chunk))
        half += connection.execute(
            select(extraction_failures.c.passage_id).where(extraction_failures.c.passage_id.in_(here))
        ).scalars()
        connection.execute(delete(extraction_failures).where(extraction_failures.c.passage_id.in_(here)))
    settle(connection, Rules.read(connection), set(numbers))
    extractions.put_back(connection, half)
