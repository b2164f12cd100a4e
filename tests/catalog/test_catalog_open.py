from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from catalog_samples import FINGERPRINTS, dump, embed, put, read
from sqlalchemy import Connection, event, inspect, select

from silmari.catalog import migrations, schema
from silmari.catalog.catalog import Catalog
from silmari.catalog.sqlite import FILE_NAME, SqliteStore
from silmari.errors import BusyError, KnowledgeBaseError


def test_a_base_keeps_what_was_put_and_who_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "새 폴더?#%20" / "kb"
    with Catalog.open(folder, FINGERPRINTS) as catalog:
        put(catalog, read("/a", "가"))
        identity, content = catalog.identity(), dump(catalog)
        assert catalog.fingerprints() == FINGERPRINTS
    with Catalog.open(folder, FINGERPRINTS, create=False) as catalog:
        assert (catalog.identity(), dump(catalog)) == (identity, content)
    with Catalog.open(tmp_path / "other", FINGERPRINTS) as other:
        assert other.identity()[0] != identity[0]


def test_the_database_is_set_up_to_lose_nothing(tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog, catalog._store.write() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_no_base_and_none_wanted(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"There is no knowledge base in .*silmari add"):
        Catalog.open(tmp_path / "kb", FINGERPRINTS, create=False)
    with pytest.raises(KnowledgeBaseError, match="There is no knowledge base"):
        Catalog.open(tmp_path / "kb", FINGERPRINTS, readonly=True)
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [("embedder", "silmari reindex --embedder NAME"), ("analyser", "silmari reindex"), ("splitter", "silmari reindex")],
)
def test_another_fingerprint_is_refused_with_the_command(tmp_path: Path, url: str, name: str, command: str) -> None:
    Catalog.open(tmp_path, FINGERPRINTS, url=url).close()
    with pytest.raises(KnowledgeBaseError) as caught:
        Catalog.open(tmp_path, FINGERPRINTS | {name: "other/2"}, url=url)
    message = str(caught.value)
    assert message.endswith(command)
    assert all(part in message for part in (name, FINGERPRINTS[name], "other/2"))
    Catalog.open(tmp_path, {}, url=url).close()


def test_an_embedder_may_be_named_later(tmp_path: Path, url: str) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS | {"embedder": None}, url=url) as catalog:
        put(catalog, read("/a", "가"))
        assert "embedder" not in catalog.fingerprints()
        assert catalog.count_pending() == 1
        catalog.set_fingerprint("embedder", "e5/1")
        catalog.set_fingerprint("embedder", "e5/1")
        assert embed(catalog) == 1
        with pytest.raises(KnowledgeBaseError, match="'e5/1', but is opened with 'e5/2'"):
            catalog.set_fingerprint("embedder", "e5/2")
    Catalog.open(tmp_path, FINGERPRINTS | {"embedder": None}, url=url).close()
    with pytest.raises(KnowledgeBaseError, match="embedder"):
        Catalog.open(tmp_path, FINGERPRINTS | {"embedder": "e5/2"}, url=url)


def test_a_newer_schema_is_refused(tmp_path: Path, url: str) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=url) as catalog, catalog._store.write() as connection:
        schema.set_meta(connection, "schema_version", "7")
    with pytest.raises(KnowledgeBaseError) as caught:
        Catalog.open(tmp_path, FINGERPRINTS, url=url)
    known = f"was written by a newer Silmari (schema 7, this one knows {migrations.VERSION})"
    assert f"{known}; upgrade with pip install -U silmari" in str(caught.value)


def test_migrations_run_in_order_and_all_or_nothing(catalog: Catalog) -> None:
    def add_column(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE replies ADD COLUMN cost INTEGER")

    def fail(connection: Connection) -> None:
        connection.exec_driver_sql("UPDATE replies SET cost = 1")
        raise ValueError("no")

    def state() -> tuple[int, list[str]]:
        with catalog._store.read() as connection:
            columns = [column["name"] for column in inspect(connection).get_columns("replies")]
            return migrations.version(connection, 9), columns

    before = state()
    assert before[0] == migrations.VERSION
    done = list(migrations.MIGRATIONS)
    with pytest.raises(ValueError, match="no"), catalog._store.write() as connection:
        migrations.migrate(connection, [*done, add_column, fail])
    assert state() == before
    with catalog._store.write() as connection:
        migrations.migrate(connection, [*done, add_column])
    assert state() == (before[0] + 1, [*before[1], "cost"])
    with catalog._store.write() as connection:
        migrations.migrate(connection, [*done, fail, lambda connection: None])
    assert state()[0] == before[0] + 2
    with catalog._store.read() as connection, pytest.raises(migrations.UnknownSchemaError):
        migrations.version(connection, before[0] + 1)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes("이것은 데이터베이스가 아니다. ".encode() * 100)
    with pytest.raises(KnowledgeBaseError, match="is not a knowledge base"):
        Catalog.open(tmp_path, FINGERPRINTS)


def test_the_database_of_another_program(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    with pytest.raises(KnowledgeBaseError, match="is the database of another program"):
        Catalog.open(tmp_path, FINGERPRINTS)


def test_a_damaged_database_says_so(tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        put(catalog, read("/a", *(f"글 {n}" for n in range(500))))
    file = tmp_path / FILE_NAME
    other = sqlite3.connect(file)
    (begin,) = other.execute("SELECT 4096 * max(rootpage) FROM sqlite_master").fetchone()
    other.close()
    content = bytearray(file.read_bytes())
    content[begin:] = b"\xee" * (len(content) - begin)
    file.write_bytes(content)
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        assert "is damaged" in (catalog.check() or "")
    with pytest.raises(KnowledgeBaseError, match=r"is damaged \(database disk image is malformed\)"):
        with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
            catalog.statistics()
            catalog.passages(range(500))


def test_a_small_damage_is_found_by_the_check(tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        put(catalog, read("/a", *(f"글 {n}" for n in range(3000))))
    other = sqlite3.connect(tmp_path / FILE_NAME)
    (page,) = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_passages_document'").fetchone()
    other.close()
    content = bytearray((tmp_path / FILE_NAME).read_bytes())
    content[4096 * (page - 1) + 12 : 4096 * page] = b"\xee" * (4096 - 12)
    (tmp_path / FILE_NAME).write_bytes(content)
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        assert "is damaged" in (catalog.check() or "")


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "kb").write_text("x", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match=r"cannot be used \(File exists\)"):
        Catalog.open(tmp_path / "kb", FINGERPRINTS)
    with pytest.raises(KnowledgeBaseError, match="There is no knowledge base"):
        Catalog.open(tmp_path / "kb", FINGERPRINTS, create=False)


AS_NOBODY = """
import os, sys
from pathlib import Path
from silmari.catalog.catalog import Catalog
from silmari.errors import KnowledgeBaseError
folder, warm, *modes = map(Path, sys.argv[1:])
with Catalog.open(warm, {}) as catalog:  # loads all modules while they can be read
    catalog.documents()
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for mode in map(str, modes):
    try:
        with Catalog.open(folder, {}, readonly=mode == "read") as catalog:
            if mode == "write": catalog.new_epoch()
            print([document.uri for document in catalog.documents()])
    except KnowledgeBaseError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights by POSIX modes")
def test_a_folder_without_rights() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "kb")
        os.chmod(name, 0o755)

        def run(*modes: str) -> list[str]:
            done = subprocess.run(
                [sys.executable, "-c", AS_NOBODY, str(folder), str(Path(name, "warm")), *modes],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.stderr == ""
            return done.stdout.splitlines()

        with Catalog.open(folder, FINGERPRINTS) as catalog:
            put(catalog, read("/가", "글"))
        os.chmod(folder / FILE_NAME, 0o444)
        os.chmod(folder, 0o555)
        shown, refused = run("read", "write")
        assert shown == "['/가']"
        assert refused.startswith(f"The knowledge base {folder} cannot be opened or written")
        os.chmod(folder, 0o000)
        unseen, refused = run("read", "write")
        assert "rights" in unseen
        assert "rights" in refused
        os.chmod(folder, 0o755)


def test_reading_only(tmp_path: Path, url: str) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=url) as writer:
        with Catalog.open(tmp_path, FINGERPRINTS, readonly=True, url=url) as reader:
            put(writer, read("/가", "글"))
            assert [one.uri for one in reader.documents()] == ["/가"]
            with pytest.raises(KnowledgeBaseError, match="reading only"):
                put(reader, read("/나", "글"))
    with Catalog.open(tmp_path, FINGERPRINTS, readonly=True, url=url) as reader:
        assert [one.uri for one in reader.documents()] == ["/가"]
        assert reader.check() is None


def test_a_full_disk_keeps_what_was_done(tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        put(catalog, read("/1", "가" * 100))
        embed(catalog)
        before = dump(catalog)

        def full(connection: Connection) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        event.listen(catalog._store._engine, "begin", full)
        with pytest.raises(KnowledgeBaseError, match="is full; everything that was reported done is kept"):
            put(catalog, read("/2", *("나" * 1000 + str(n) for n in range(100))))
        assert dump(catalog) == before
        event.remove(catalog._store._engine, "begin", full)
        with catalog._store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        assert put(catalog, read("/2", *("나" * 1000 + str(n) for n in range(100)))) == "added"
        with catalog._store.read() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from catalog_samples import FINGERPRINTS, put, read
from silmari.catalog.catalog import Catalog
from silmari.errors import KnowledgeBaseError
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
catalog = Catalog.open(Path(sys.argv[1]), FINGERPRINTS)
try:
    for n in range(1000):
        put(catalog, read(f"/{n}", f"{n} " + "가" * 3000))
        print(n, flush=True)
except KnowledgeBaseError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits by POSIX")
def test_a_disk_that_refuses_to_write(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    *acknowledged, message = done.stdout.splitlines()
    assert done.stderr == ""
    assert "everything that was reported done is kept" in message
    with Catalog.open(tmp_path, FINGERPRINTS) as catalog:
        assert sorted(int(one.uri[1:]) for one in catalog.documents()) == list(range(len(acknowledged)))


def test_a_writer_that_takes_too_long(tmp_path: Path) -> None:
    Catalog.open(tmp_path, FINGERPRINTS).close()
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(tmp_path, create=False, readonly=False, busy_seconds=0.05)
    with store.read() as connection:
        assert connection.execute(select(schema.meta)).all()
    with pytest.raises(BusyError, match=r"more than 0\.05 seconds; wait until it is done"), store.write():
        pass
    other.execute("ROLLBACK")
    other.close()
    with store.write():
        pass
    store.close()
