"""What the user decided of two spellings: that they name the same, or that they do not."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from silmari.catalog.changes import log
from silmari.catalog.schema import aliases, entities


def read(connection: Connection) -> list[tuple[str, str, bool]]:
    """All of them, as (lesser key, greater key, whether they name the same), sorted."""
    rows = connection.execute(select(aliases)).all()
    return sorted((row.key_a, row.key_b, bool(row.same)) for row in rows)


def decide(connection: Connection, key_a: str, key_b: str, same: bool | None) -> None:
    """Write a verdict in place of the former; None takes it back.

    Both entities are logged, so that whoever follows them reads the verdicts again.
    """
    first, second = sorted((key_a, key_b))
    connection.execute(delete(aliases).where(aliases.c.key_a == first, aliases.c.key_b == second))
    if same is not None:
        connection.execute(insert(aliases).values(key_a=first, key_b=second, same=same))
    found = select(entities.c.id).where(entities.c.key.in_([first, second])).order_by(entities.c.id)
    log(connection, "entity", connection.execute(found).scalars().all(), "text")
