"""Bases of older versions become ones of today's; `version_2.sql` is a dump of one that version 2 wrote."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from catalog_samples import FINGERPRINTS, dump, embed, mirror

from silmari.catalog.catalog import Catalog
from silmari.catalog.sqlite import FILE_NAME

VERSION_2 = (Path(__file__).parent / "version_2.sql").read_text("utf-8")


def old_base(folder: Path, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    with sqlite3.connect(folder / FILE_NAME) as old:
        old.executescript(VERSION_2 + more)
    old.close()
    return folder


def schema_of(folder: Path) -> dict[str, Any]:
    """Columns, keys and indexes of all tables."""
    found: dict[str, Any] = {}
    opened = sqlite3.connect(folder / FILE_NAME)
    for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = sorted(row[1:] for row in opened.execute(f"PRAGMA table_info('{table}')"))
        keys = sorted(row[2:5] for row in opened.execute(f"PRAGMA foreign_key_list('{table}')"))
        indexes = sorted(
            (*row[2:], *(one[2] for one in opened.execute(f"PRAGMA index_info('{row[1]}')")))
            for row in opened.execute(f"PRAGMA index_list('{table}')")
        )
        found[table] = columns, keys, indexes
    opened.close()
    return found


def test_a_migrated_base_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    Catalog.open(old_base(tmp_path / "old"), FINGERPRINTS).close()
    Catalog.open(tmp_path / "new", FINGERPRINTS).close()
    migrated, new = schema_of(tmp_path / "old"), schema_of(tmp_path / "new")
    assert migrated.keys() == new.keys()
    for table, described in new.items():
        assert migrated[table][1:] == described[1:]
        # What ALTER TABLE adds stands last; affinities, not names of types, count in SQLite.
        assert [(one[0], one[2], one[4]) for one in migrated[table][0]] == [
            (one[0], one[2], one[4]) for one in described[0]
        ]


def test_version_2_gets_the_relations_of_its_triplets(tmp_path: Path) -> None:
    with Catalog.open(old_base(tmp_path), FINGERPRINTS) as catalog:
        assert [(one.uri, one.relations) for one in catalog.documents()] == [
            ("/r.jsonl#1", "given"),
            ("/r.jsonl#2", "given"),
            ("/글.txt", "sentences"),
        ]
        ids = catalog.entity_ids(["오일러", "요한베르누이", "바젤", "danielbernoulli", "x", "·"])
        assert sorted(ids) == ["danielbernoulli", "바젤", "오일러", "요한베르누이"]
        assert catalog.entities([ids["오일러"]])[ids["오일러"]].name == "오일러"
        found = {one.text: one.passages for one in catalog.relations(range(9)).values()}
        assert found == {
            "오일러 스승 요한 베르누이": (2,),
            "오일러는 출생지 바젤": (2,),
            "Daniel Bernoulli father 요한 베르누이": (4,),
        }
        assert catalog.all_names(lambda epoch, seq, rows: [row.given for row in rows]) == [
            "",
            "바젤 오일러 요한베르누이",
            "",
            "danielbernoulli 요한베르누이",
        ]
        assert catalog.counts() == (4, 2, 3, 3, 4, 4)
        assert embed(catalog) == 9
        engine: dict[Any, Any] = {}
        mirror(catalog, engine, 0)
        assert {kind for kind, _ in engine} == {"passage", "relation", "entity"}
        again = dump(catalog)
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        assert dump(catalog) == again


def test_version_1_gets_names_by_reindex_and_its_triplets_their_passages(tmp_path: Path) -> None:
    drops = "".join(f"ALTER TABLE {table} DROP COLUMN names;" for table in ("passages", "staged_tokens"))
    old_base(tmp_path, f"{drops} UPDATE meta SET value = '1' WHERE key = 'schema_version';")
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        assert catalog.all_names(lambda epoch, seq, rows: {row.names for row in rows}) == {""}
        named = {3: "오일러 요한베르누이"}
        catalog.retokenise("kiwi/2", lambda passage: (passage.text, named.get(passage.id, "")), str)
        assert catalog.all_names(lambda epoch, seq, rows: [row.names for row in rows])[2] == named[3]
        found = {one.predicate: one.passages for one in catalog.relations(range(9)).values()}
        assert found == {"스승": (3,), "출생지": (3,), "father": (4,)}
