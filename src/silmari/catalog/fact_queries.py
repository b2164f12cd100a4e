"""What is asked of relations and entities without changing them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, func, select

from silmari.catalog.changes import last_seq, touched_since
from silmari.catalog.rules import chunks
from silmari.catalog.schema import entities, get_meta, relations, statements
from silmari.catalog.words import EntityRow, FactsChange, Stated
from silmari.model import Entity, Relation

T = TypeVar("T")
_READ_AHEAD = 5_000


def relations_by_id(connection: Connection, ids: Collection[int]) -> dict[int, Relation]:
    """Relations in the order of `ids`; ids that are gone are left out."""
    found: dict[int, Relation] = {}
    for chunk in chunks(dict.fromkeys(ids)):
        stated = {one.id: one.passages for one in _stated(connection, [_of_ids(chunk)])}
        for row in connection.execute(select(relations).where(relations.c.id.in_(chunk))):
            found[row.id] = Relation(
                row.id, row.subject, row.predicate, row.object, row.subject_id, row.object_id, stated[row.id]
            )
    return {number: found[number] for number in ids if number in found}


def relations_of(connection: Connection, passage_ids: Collection[int]) -> dict[int, tuple[Relation, ...]]:
    """The relations that passages state, by passage; those that state none are left out."""
    stated: dict[int, dict[int, None]] = {}
    for chunk in chunks(dict.fromkeys(passage_ids)):
        rows = connection.execute(
            select(statements.c.passage_id, statements.c.relation_id)
            .where(statements.c.passage_id.in_(chunk))
            .order_by(statements.c.passage_id, statements.c.relation_id)
        )
        for passage, relation in rows:
            stated.setdefault(passage, {})[relation] = None
    found = relations_by_id(connection, [relation for held in stated.values() for relation in held])
    return {passage: tuple(found[relation] for relation in held) for passage, held in stated.items()}


def entities_by_id(connection: Connection, ids: Collection[int]) -> dict[int, Entity]:
    """Entities in the order of `ids`; ids that are gone are left out."""
    found = {row.id: Entity(*row) for chunk in chunks(dict.fromkeys(ids)) for row in _entities(connection, chunk)}
    return {number: found[number] for number in ids if number in found}


def entity_ids(connection: Connection, keys: Iterable[str]) -> dict[str, int]:
    """The entities that have these keys; keys of none are left out."""
    return {
        row.key: row.id
        for chunk in chunks(dict.fromkeys(keys))
        for row in connection.execute(select(entities.c.key, entities.c.id).where(entities.c.key.in_(chunk)))
    }


def all_facts(connection: Connection, use: Callable[[str, int, Iterator[EntityRow], Iterator[Stated]], T]) -> T:
    """What `use` makes of the log's epoch, the newest change's number, all entities and all relations, by id."""
    epoch, seq = get_meta(connection)["epoch"], last_seq(connection)
    return use(epoch, seq, _all_entities(connection), _stated(connection, [_STATED]))


def facts_since(connection: Connection, epoch: str, seq: int, limit: int) -> FactsChange | None:
    """What became of entities and relations after a change's number, or None if all must be read anew."""
    found = touched_since(connection, epoch, seq, limit, ("entity", "relation"))
    if found is None:
        return None
    now, touched = found
    named = [EntityRow(*row) for chunk in chunks(touched["entity"]) for row in _entities(connection, chunk)]
    stated = _stated(connection, [_of_ids(chunk) for chunk in chunks(touched["relation"])])
    return FactsChange(now, touched["entity"], tuple(named), touched["relation"], tuple(stated))


def count(connection: Connection) -> tuple[int, int]:
    """How many relations and entities there are."""
    held = [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (relations, entities)]
    return held[0], held[1]


_ENTITIES = select(entities.c.id, entities.c.key, entities.c.name)
_STATED = (
    select(relations.c.id, relations.c.subject_id, relations.c.object_id, statements.c.passage_id)
    .join(statements, statements.c.relation_id == relations.c.id)
    .order_by(relations.c.id, statements.c.passage_id)
)


def _entities(connection: Connection, ids: Collection[int]) -> Iterable[Any]:
    return connection.execute(_ENTITIES.where(entities.c.id.in_(ids)).order_by(entities.c.id))


def _all_entities(connection: Connection) -> Iterator[EntityRow]:
    # Closed also when it is not read to its end: a server keeps it open otherwise.
    with connection.execute(_ENTITIES.order_by(entities.c.id).execution_options(yield_per=_READ_AHEAD)) as rows:
        yield from (EntityRow(*row) for row in rows)


def _of_ids(ids: Collection[int]) -> Select[Any]:
    return _STATED.where(relations.c.id.in_(ids))


def _stated(connection: Connection, parts: Iterable[Select[Any]]) -> Iterator[Stated]:
    for part in parts:
        with connection.execute(part.execution_options(yield_per=_READ_AHEAD)) as rows:
            for (number, subject, object_), group in groupby(rows, key=lambda row: row[:3]):
                # A passage may state a relation twice: as its user gave it, and as a model read it.
                yield Stated(number, subject, object_, tuple(dict.fromkeys(row[3] for row in group)))
