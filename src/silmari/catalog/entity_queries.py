"""Entities as they are listed: found by a part of their name, with spellings and counts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, or_, select, true, union_all

from silmari.catalog.rules import chunks
from silmari.catalog.schema import entities, relations, spellings, statements
from silmari.catalog.words import EntityEntry
from silmari.language.normalise import key, normalise

_ESCAPE = "\\"


def listed(connection: Connection, pattern: str, limit: int, offset: int) -> tuple[int, list[EntityEntry]]:
    """How many entities a pattern names, and some of them.

    Args:
        connection: In a read transaction.
        pattern: A part of a name in any spelling, or a glob (``*``, ``?``) of all of it; empty for all.
        limit: How many at most.
        offset: How many are passed over.

    Returns:
        First the one that has the pattern's key, then those whose ends are the most.
    """
    chosen = _named(pattern)
    total = connection.execute(select(func.count()).select_from(entities).where(chosen)).scalar_one()
    uses = (
        select(func.coalesce(func.sum(spellings.c.uses), 0))
        .where(spellings.c.entity_id == entities.c.id)
        .scalar_subquery()
    )
    first = case((entities.c.key == key(pattern), 0), else_=1)
    rows = connection.execute(
        select(entities.c.id).where(chosen).order_by(first, uses.desc(), entities.c.id).limit(limit).offset(offset)
    )
    return int(total), entries(connection, rows.scalars().all())


def entries(connection: Connection, ids: Collection[int]) -> list[EntityEntry]:
    """Entities with their spellings, the most used first, and their counts, in the order of `ids`."""
    found: dict[int, EntityEntry] = {}
    for chunk in chunks(dict.fromkeys(ids)):
        spelled: dict[int, dict[str, int]] = {}
        for row in connection.execute(
            select(spellings)
            .where(spellings.c.entity_id.in_(chunk))
            .order_by(spellings.c.uses.desc(), spellings.c.name)
        ):
            spelled.setdefault(row.entity_id, {})[row.name] = row.uses
        counts = {row.entity: (row.relations, row.passages) for row in connection.execute(_counts(chunk))}
        for row in connection.execute(
            select(entities.c.id, entities.c.key, entities.c.name).where(entities.c.id.in_(chunk))
        ):
            found[row.id] = EntityEntry(row.id, row.key, row.name, spelled.get(row.id, {}), *counts.get(row.id, (0, 0)))
    return [found[number] for number in ids if number in found]


def _counts(ids: Collection[int]) -> Any:
    ends = union_all(
        *(
            select(end.label("entity"), relations.c.id.label("relation")).where(end.in_(ids))
            for end in (relations.c.subject_id, relations.c.object_id)
        )
    ).subquery()
    return (
        select(
            ends.c.entity,
            func.count(ends.c.relation.distinct()).label("relations"),
            func.count(statements.c.passage_id.distinct()).label("passages"),
        )
        .join(statements, statements.c.relation_id == ends.c.relation)
        .group_by(ends.c.entity)
    )


def _named(pattern: str) -> ColumnElement[bool]:
    shown = pattern.strip()
    if not shown:
        return true()
    if "*" in shown or "?" in shown:
        like = _like(shown)
        spelled = select(spellings.c.entity_id).where(func.lower(spellings.c.name).like(like, escape=_ESCAPE))
        return or_(
            entities.c.key.like(_like("".join(normalise(shown).split())), escape=_ESCAPE), entities.c.id.in_(spelled)
        )
    return or_(
        entities.c.key.contains(key(shown), autoescape=True),
        entities.c.key.contains("".join(normalise(shown).split()), autoescape=True),
    )


def _like(glob: str) -> str:
    for sign in (_ESCAPE, "%", "_"):
        glob = glob.replace(sign, _ESCAPE + sign)
    return normalise(glob).replace("*", "%").replace("?", "_")
