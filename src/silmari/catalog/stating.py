"""Which relations stand in which passages: set-wise, inside the caller's transaction, exact.

A relation lives as long as a passage states it, an entity as long as a relation ties it, a spelling as long as
an end of a relation is spelled so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from silmari.catalog.changes import log, log_new
from silmari.catalog.rules import Rules, chunks, to_json
from silmari.catalog.schema import entities, relations, spellings, statements, take_numbers
from silmari.catalog.vector_cache import text_hash
from silmari.catalog.vectors import forget_unused, with_vector
from silmari.extraction.given import sound
from silmari.language.normalise import clean, key
from silmari.model import Triplet, relation_text

Origin = Literal["given", "model"]
# Of an entity, by spelling: how many ends of relations came (or, below zero, went).
_Uses = dict[int, Counter[str]]

_LINES = 5_000
# Relations and entities are embedded in the order of their numbers.
TURN = 0


class _Keys(dict[str, str]):
    """Keys of names, each made once."""

    def __missing__(self, name: str) -> str:
        self[name] = found = key(name)
        return found


def state(
    connection: Connection,
    rules: Rules,
    origin: Origin,
    scope: Collection[int],
    wanted: Iterable[tuple[int, Triplet]],
    *,
    fresh: bool = False,
) -> None:
    """Let some passages state exactly these triplets of one origin; those that are not sound are passed over.

    Args:
        connection: In a write transaction.
        rules: Of the base.
        origin: Statements of the other one stay as they are.
        scope: The passages.
        wanted: Pairs of passage and triplet.
        fresh: Whether the passages are new: they state nothing yet and are in the log already.
    """
    keys = _Keys()
    named: dict[bytes, Triplet] = {}
    pairs: dict[tuple[bytes, int], None] = {}
    for passage, given in wanted:
        triplet = sound(given, keys.__getitem__)
        if triplet is not None:
            identity = _identity(triplet)
            named[identity] = triplet
            pairs[identity, passage] = None
    standing = {} if fresh else _standing(connection, origin, scope)
    new = [pair for pair in pairs if pair not in standing]
    gone = [pair for pair in standing if pair not in pairs]
    if not new and not gone:
        return
    known = _known_relations(connection, dict.fromkeys(identity for identity, _ in new))
    made, uses = _make_relations(connection, rules, {one: named[one] for one, _ in new if one not in known}, keys)
    numbers = known | made
    for lines in chunks(new, _LINES):
        rows = [{"relation_id": numbers[one], "passage_id": passage, "origin": origin} for one, passage in lines]
        connection.execute(insert(statements), rows)
    _withdraw(connection, origin, [(standing[pair], pair[1]) for pair in gone], everything=len(gone) == len(standing))
    dead, hashes = _drop_relations(connection, {standing[pair] for pair in gone}, uses)
    hashes |= _settle_entities(connection, rules, uses)
    touched = {numbers[one] for one, _ in new} | {standing[pair] for pair in gone}
    log(connection, "relation", sorted(touched - dead - set(made.values())), "text")
    if not fresh:
        log(connection, "passage", sorted({passage for _, passage in [*new, *gone]}), "text")
    forget_unused(connection, hashes)


def forget_all(connection: Connection) -> None:
    """Delete all statements, relations and entities, without a word in the log; vectors stay."""
    for table in (statements, relations, spellings, entities):
        connection.execute(delete(table))


def has_other_keys(connection: Connection) -> bool:
    """Whether today's `key` gives an entity's spelling another key than it was stored with."""
    rows = connection.execute(
        select(spellings.c.name, entities.c.key).join(entities, entities.c.id == spellings.c.entity_id)
    )
    return any(key(row.name) != row.key for row in rows)


def _identity(triplet: Triplet) -> bytes:
    return text_hash(to_json([triplet.subject, triplet.predicate, triplet.object]))


def _standing(connection: Connection, origin: Origin, scope: Collection[int]) -> dict[tuple[bytes, int], int]:
    """Relations by their identity and the passage that states them."""
    return {
        (row.identity, row.passage_id): row.relation_id
        for chunk in chunks(scope)
        for row in connection.execute(
            select(relations.c.identity, statements.c.passage_id, statements.c.relation_id)
            .join(relations, relations.c.id == statements.c.relation_id)
            .where(statements.c.passage_id.in_(chunk), statements.c.origin == origin)
        )
    }


def _known_relations(connection: Connection, identities: Iterable[bytes]) -> dict[bytes, int]:
    return {
        row.identity: row.id
        for chunk in chunks(identities)
        for row in connection.execute(
            select(relations.c.identity, relations.c.id).where(relations.c.identity.in_(chunk))
        )
    }


def _make_relations(
    connection: Connection, rules: Rules, named: Mapping[bytes, Triplet], keys: Mapping[str, str]
) -> tuple[dict[bytes, int], _Uses]:
    """Store new relations, and the entities that they are the first to tie.

    Returns:
        The relations' numbers, and what they mean for entities that were there before.
    """
    ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for triplet in named.values():
        for spelled in (triplet.subject, triplet.object):
            ends[keys[spelled]][spelled] += 1
    known = {
        row.key: row.id
        for chunk in chunks(ends)
        for row in connection.execute(select(entities.c.id, entities.c.key).where(entities.c.key.in_(chunk)))
    }
    uses: _Uses = {number: ends[one] for one, number in known.items()}
    numbers = known | _make_entities(connection, rules, {one: held for one, held in ends.items() if one not in known})
    hashes = {one: text_hash(clean(relation_text(*_parts(triplet)))) for one, triplet in named.items()}
    ready = with_vector(connection, rules, set(hashes.values()))
    made = dict(zip(named, take_numbers(connection, "relation", len(named)), strict=True))
    for lines in chunks(named.items(), _LINES):
        rows = [
            {
                "id": made[identity],
                "identity": identity,
                "subject_id": numbers[keys[triplet.subject]],
                "object_id": numbers[keys[triplet.object]],
                "subject": triplet.subject,
                "predicate": triplet.predicate,
                "object": triplet.object,
                "text_hash": hashes[identity],
                "waiting": None if hashes[identity] in ready else TURN,
            }
            for identity, triplet in lines
        ]
        connection.execute(insert(relations), rows)
    log_new(connection, "relation", list(made.values()), "text")
    log_new(connection, "relation", [made[one] for one in named if hashes[one] in ready], "vector")
    return made, uses


def _make_entities(connection: Connection, rules: Rules, ends: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Store new entities with their spellings; returns their numbers by key."""
    numbers = dict(zip(ends, take_numbers(connection, "entity", len(ends)), strict=True))
    names = {one: _name(uses) for one, uses in ends.items()}
    hashes = {one: text_hash(clean(name)) for one, name in names.items()}
    ready = with_vector(connection, rules, set(hashes.values()))
    for lines in chunks(ends, _LINES):
        rows = [
            {
                "id": numbers[one],
                "key": one,
                "name": names[one],
                "text_hash": hashes[one],
                "waiting": None if hashes[one] in ready else TURN,
            }
            for one in lines
        ]
        connection.execute(insert(entities), rows)
        spelled = [
            {"entity_id": numbers[one], "name": name, "uses": uses} for one in lines for name, uses in ends[one].items()
        ]
        connection.execute(insert(spellings), spelled)
    log_new(connection, "entity", list(numbers.values()), "text")
    log_new(connection, "entity", [numbers[one] for one in ends if hashes[one] in ready], "vector")
    return numbers


def _withdraw(connection: Connection, origin: Origin, gone: Collection[tuple[int, int]], *, everything: bool) -> None:
    """Delete statements of passages; `everything`: all that they state by this origin."""
    if everything:
        for chunk in chunks(dict.fromkeys(passage for _, passage in gone)):
            connection.execute(
                delete(statements).where(statements.c.passage_id.in_(chunk), statements.c.origin == origin)
            )
        return
    one = delete(statements).where(
        statements.c.relation_id == bindparam("relation"),
        statements.c.passage_id == bindparam("passage"),
        statements.c.origin == origin,
    )
    for lines in chunks(gone, _LINES):
        connection.execute(one, [{"relation": relation, "passage": passage} for relation, passage in lines])


def _drop_relations(connection: Connection, numbers: Collection[int], uses: _Uses) -> tuple[set[int], set[bytes]]:
    """Delete those relations that no passage states any more, and take their ends from `uses`.

    Returns:
        Which they were, and the hashes of their texts.
    """
    dead: set[int] = set()
    hashes: set[bytes] = set()
    for chunk in chunks(sorted(numbers)):
        stated = connection.execute(
            select(statements.c.relation_id).where(statements.c.relation_id.in_(chunk)).distinct()
        ).scalars()
        unstated = sorted(set(chunk).difference(stated))
        rows = connection.execute(select(relations).where(relations.c.id.in_(unstated)).order_by(relations.c.id)).all()
        for row in rows:
            uses.setdefault(row.subject_id, Counter())[row.subject] -= 1
            uses.setdefault(row.object_id, Counter())[row.object] -= 1
        connection.execute(delete(relations).where(relations.c.id.in_(unstated)))
        log(connection, "relation", unstated, "text")
        log(connection, "relation", [row.id for row in rows if row.waiting is None], "vector")
        dead.update(unstated)
        hashes.update(row.text_hash for row in rows)
    return dead, hashes


def _settle_entities(connection: Connection, rules: Rules, uses: _Uses) -> set[bytes]:
    """Count spellings, give entities the names that follow, and delete those that nothing ties any more.

    Returns:
        The hashes of names that they no longer have.
    """
    hashes: set[bytes] = set()
    for chunk in chunks(sorted(uses)):
        held: dict[int, Counter[str]] = {number: Counter() for number in chunk}
        for row in connection.execute(select(spellings).where(spellings.c.entity_id.in_(chunk))):
            held[row.entity_id][row.name] = row.uses
        _count_spellings(connection, held, {number: uses[number] for number in chunk})
        former = connection.execute(select(entities).where(entities.c.id.in_(chunk)).order_by(entities.c.id)).all()
        dead = [row for row in former if not held[row.id]]
        connection.execute(delete(entities).where(entities.c.id.in_([row.id for row in dead])))
        renamed = [row for row in former if held[row.id] and _name(held[row.id]) != row.name]
        hashes.update(row.text_hash for row in [*dead, *renamed])
        vectors = {row.id for row in [*dead, *renamed] if row.waiting is None}
        vectors |= _rename(connection, rules, {row.id: _name(held[row.id]) for row in renamed})
        log(connection, "entity", [row.id for row in [*dead, *renamed]], "text")
        log(connection, "entity", sorted(vectors), "vector")
    return hashes


def _count_spellings(connection: Connection, held: Mapping[int, Counter[str]], uses: _Uses) -> None:
    """Add uses to those that are `held`, there and in the table."""
    fresh: list[dict[str, Any]] = []
    more: list[dict[str, Any]] = []
    none: list[dict[str, Any]] = []
    for number, counted in uses.items():
        for name, by in counted.items():
            before, now = held[number][name], held[number][name] + by
            if not now:
                none.append({"entity": number, "spelled": name})
                del held[number][name]
                continue
            held[number][name] = now
            if not before:
                fresh.append({"entity_id": number, "name": name, "uses": now})
            elif by:
                more.append({"entity": number, "spelled": name, "now": now})
    this = (spellings.c.entity_id == bindparam("entity"), spellings.c.name == bindparam("spelled"))
    if none:
        connection.execute(delete(spellings).where(*this), none)
    if more:
        connection.execute(update(spellings).where(*this).values(uses=bindparam("now")), more)
    if fresh:
        connection.execute(insert(spellings), fresh)


def _rename(connection: Connection, rules: Rules, names: Mapping[int, str]) -> set[int]:
    """Give entities names; returns those that have a vector."""
    if not names:
        return set()
    hashes = {number: text_hash(clean(name)) for number, name in names.items()}
    known = with_vector(connection, rules, set(hashes.values()))
    connection.execute(
        update(entities)
        .where(entities.c.id == bindparam("entity"))
        .values(name=bindparam("called"), text_hash=bindparam("hash"), waiting=bindparam("turn")),
        [
            {
                "entity": number,
                "called": name,
                "hash": hashes[number],
                "turn": None if hashes[number] in known else TURN,
            }
            for number, name in names.items()
        ],
    )
    return {number for number, one in hashes.items() if one in known}


def _name(uses: Counter[str]) -> str:
    """The most used spelling, of equal ones the least string."""
    return min(uses, key=lambda name: (-uses[name], name))


def _parts(triplet: Triplet) -> tuple[str, str, str]:
    return triplet.subject, triplet.predicate, triplet.object
