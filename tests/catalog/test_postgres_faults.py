"""What goes wrong with a server is told in one plain sentence, without the password; and what is there stays."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from catalog_samples import FINGERPRINTS, dump, embed, put, read

import postgres_server
from postgres_server import execute, schema_of
from silmari.catalog.catalog import Catalog
from silmari.errors import BusyError, KnowledgeBaseError, MissingBaseError, UsageError
from silmari.settings import Settings

pytest.importorskip("psycopg")

from silmari.catalog.postgres import PostgresStore
from silmari.catalog.postgres_address import parse

SECRET = "geheim-비밀%40"


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., str]:
    """Opens a catalog that cannot be opened and returns what is said."""

    def said(url: str, **options: bool) -> str:
        with pytest.raises(KnowledgeBaseError) as caught:
            Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url, **options).close()
        message = str(caught.value)
        assert "geheim" not in message
        assert message.endswith((".", "NAME", '"', ")")) or "createdb" in message, message
        assert "\n" not in message
        return message

    return said


@pytest.fixture
def role(postgres: str) -> Iterator[str]:
    """The URL of the same schema for another user, who has a password and no rights."""
    name = f"user_{schema_of(postgres)}"
    execute(postgres, f"CREATE ROLE {name} LOGIN PASSWORD 'geheim-비밀@'")
    yield postgres.replace("postgres@", f"{name}:{SECRET}@")
    execute(postgres, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


def test_urls() -> None:
    whole = parse("postgresql://u:s%40cret@db.example:5433/지식?schema=팀_1&sslmode=require&password=other")
    assert whole.schema == "팀_1"
    assert whole.parameters["sslmode"] == "require"
    assert whole.parameters["dbname"] == "지식"
    assert whole.shown == "postgresql://u@db.example:5433/%EC%A7%80%EC%8B%9D?schema=팀_1"
    assert "cret" not in whole.shown + repr(whole) and "other" not in whole.shown + repr(whole)
    assert parse("postgresql:///kb").shown == "postgresql:///kb"
    assert parse("postgres://h/kb").schema == "silmari"
    two = parse("postgresql://u:p@a:1,b:2/kb?target_session_attrs=read-write")
    assert (two.parameters["host"], two.parameters["port"]) == ("a,b", "1,2")
    assert two.shown == "postgresql://u@a:1,b:2/kb"
    assert parse("postgresql:///kb?host=/var/run/x").parameters["host"] == "/var/run/x"


@pytest.mark.parametrize("schema", ["", "pg_x", 'a"b', "a b", "a" * 64, "가" * 22, "1a", "a;b"])
def test_schemas_that_are_none(schema: str) -> None:
    with pytest.raises(UsageError, match="is no name for one"):
        parse(f"postgresql://h/kb?schema={schema}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:geheim@h:x1/kb",
        "postgresql://u:geheim@h/kb?what=1",
        "postgresql://u:ge%zzheim@h/kb",
        "postgresql://u:ge@heim@h/kb",
        "postgresql://u:12/heim@h/kb",
    ],
)
def test_urls_that_are_none_are_not_repeated(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Catalog.open(tmp_path, {}, url=url)
    assert "heim" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_other_databases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes sqlite or postgresql://") as caught:
        Catalog.open(tmp_path, {}, url="mysql://u:geheim@h/x")
    assert "geheim" not in str(caught.value)


def test_the_password_is_not_in_the_settings_shown() -> None:
    settings = Settings.load(catalog=f"postgresql://u:{SECRET}@h/kb")
    assert "geheim" not in repr(settings) + str(settings)


def test_a_server_that_is_not_there(told: Callable[..., str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert re.search(
        r"cannot be reached \(Connection refused\); start it", told(f"postgresql://u:{SECRET}@127.0.0.1:{port}/x")
    )
    assert "cannot be reached" in told(f"postgresql://u:{SECRET}@no-such-host.invalid/x")


def test_users_and_passwords(told: Callable[..., str], role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = role.replace(SECRET, "geheim")
    assert "does not let this user in (password authentication failed" in told(wrong)
    assert "does not let this user in" in told(role.replace("user_", "nobody_"))
    bare = role.replace(f":{SECRET}", "")
    assert "asks for a password; set it in PGPASSWORD" in told(bare)
    monkeypatch.setenv("PGPASSWORD", "geheim-비밀@")
    assert "may not make a schema" in told(bare)


def test_parameters_that_the_server_does_not_take(told: Callable[..., str], postgres: str) -> None:
    for parameter in ("sslmode=require", "sslmode=always", "options=-c%20nothing%3D1", "connect_timeout=soon"):
        message = told(f"{postgres}&{parameter}".replace("postgres@", "postgres:geheim@"))
        assert "cannot be connected to in this way (" in message
        assert "check the parameters of the URL" in message


def test_a_database_that_is_not_there(told: Callable[..., str], postgres: str) -> None:
    message = told(re.sub(r"/\w+\?", "/nowhere?", postgres))
    port = parse(postgres).parameters["port"]
    assert "There is no database nowhere for the catalog" in message
    assert message.endswith(f"createdb -h 127.0.0.1 -p {port} -U postgres nowhere")


def test_no_base_and_none_wanted(told: Callable[..., str], postgres: str, tmp_path: Path) -> None:
    with pytest.raises(MissingBaseError, match=r"There is no knowledge base in postgresql://.*silmari add"):
        Catalog.open(tmp_path / "kb", FINGERPRINTS, url=postgres, create=False)
    assert not (tmp_path / "kb").exists()
    assert execute(postgres, f"SELECT * FROM pg_namespace WHERE nspname = '{schema_of(postgres)}'") == []


def test_rights(told: Callable[..., str], role: str, postgres: str, tmp_path: Path) -> None:
    schema, name = schema_of(postgres), parse(role).parameters["user"]
    assert f'CREATE SCHEMA "{schema}" AUTHORIZATION "{name}"' in told(role)
    execute(postgres, f"CREATE SCHEMA {schema}")
    assert f'GRANT USAGE ON SCHEMA "{schema}" TO "{name}"' in told(role)
    execute(postgres, f"GRANT USAGE ON SCHEMA {schema} TO {name}")
    assert f'GRANT CREATE ON SCHEMA "{schema}" TO "{name}"' in told(role)
    with Catalog.open(tmp_path / "a", FINGERPRINTS, url=postgres) as owner:
        put(owner, read("/가", "글"))
        execute(postgres, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {name}")
        with Catalog.open(tmp_path / "b", FINGERPRINTS, url=role, create=False) as reader:
            assert reader.readonly
            assert [one.uri for one in reader.documents()] == ["/가"]
            with pytest.raises(KnowledgeBaseError, match="can only be read by this user"):
                put(reader, read("/나", "글"))


def test_a_schema_in_which_one_may_make_tables_is_enough(role: str, postgres: str, tmp_path: Path) -> None:
    name = parse(role).parameters["user"]
    execute(postgres, f"CREATE SCHEMA {schema_of(postgres)} AUTHORIZATION {name}")
    with Catalog.open(tmp_path, FINGERPRINTS, url=role) as catalog:
        assert put(catalog, read("/가", "글")) == "added"


def test_a_schema_of_another_program_is_refused_and_left_alone(told: Callable[..., str], postgres: str) -> None:
    schema = schema_of(postgres)
    execute(postgres, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.meta (title TEXT)")
    assert "is the database of another program; name another schema with ?schema=NAME" in told(postgres)
    assert execute(postgres, f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'") == [
        ("meta",)
    ]


def test_several_bases_in_one_database(postgres: str, tmp_path: Path) -> None:
    second = postgres_server.new_schema()
    with (
        Catalog.open(tmp_path / "a", FINGERPRINTS, url=postgres) as one,
        Catalog.open(tmp_path / "b", FINGERPRINTS, url=second) as other,
    ):
        put(one, read("/가", "글"))
        with one._store.write():  # nor do their writers wait for each other
            put(other, read("/나", "글"))
        assert [[entry.uri for entry in base.documents()] for base in (one, other)] == [["/가"], ["/나"]]
        assert one.identity()[0] != other.identity()[0]
        assert execute(postgres, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
    postgres_server.drop(second)


def test_a_database_without_korean_letters(told: Callable[..., str], postgres: str) -> None:
    name = f"latin_{schema_of(postgres)}"
    execute(postgres, f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "has the encoding LATIN1" in told(re.sub(r"/\w+\?", f"/{name}?", postgres))
    execute(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def test_order_does_not_depend_on_the_database(postgres: str, tmp_path: Path) -> None:
    name = f"icu_{schema_of(postgres)}"
    try:
        execute(postgres, f"CREATE DATABASE {name} LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C' TEMPLATE template0")
    except Exception as error:
        pytest.skip(f"this server has no ICU: {error}")
    paths = ["/a", "/B", "/나", "/가", "/_", "/Z", "/é"]
    with Catalog.open(tmp_path, FINGERPRINTS, url=re.sub(r"/\w+\?", f"/{name}?", postgres)) as catalog:
        for path in paths:
            catalog.note_problem(path, 1, 1, "failed", "why")
        assert [one.path for one in catalog.statistics().failed] == sorted(paths)
    execute(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_writer_that_takes_too_long(postgres: str, tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog:
        hasty = PostgresStore(postgres, tmp_path, readonly=False, busy_seconds=0.05)
        with catalog._store.write():
            with pytest.raises(BusyError, match=r"more than 0\.05 seconds; wait until it is done"), hasty.write():
                pass
            with hasty.read():
                pass
        with hasty.write():
            pass
        hasty.close()


def test_a_server_that_ends_long_statements(postgres: str, tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog, catalog._store.write():
        with Catalog.open(tmp_path, FINGERPRINTS, url=f"{postgres}&options=-c%20statement_timeout%3D100") as hasty:
            with pytest.raises(KnowledgeBaseError, match=r"ended a statement \(.*\); everything .* statement_timeout"):
                put(hasty, read("/가", "글"))


def test_a_server_that_only_reads(postgres: str, tmp_path: Path) -> None:
    Catalog.open(tmp_path, FINGERPRINTS, url=postgres).close()
    only = f"{postgres}&options=-c%20default_transaction_read_only%3Don"
    with Catalog.open(tmp_path, FINGERPRINTS, url=only) as catalog:
        assert catalog.documents() == []
        with pytest.raises(KnowledgeBaseError, match="can only be read"):
            put(catalog, read("/가", "글"))


def test_too_many_connections(told: Callable[..., str], role: str, postgres: str) -> None:
    execute(postgres, f"ALTER ROLE {parse(role).parameters['user']} CONNECTION LIMIT 0")
    assert "takes no more connections" in told(role)


def test_a_full_disk_keeps_what_was_done(postgres: str, tmp_path: Path) -> None:
    schema = schema_of(postgres)
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog:
        put(catalog, read("/1", "가"))
        embed(catalog)
        before = dump(catalog)
        execute(
            postgres,
            f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$",
            f"CREATE TRIGGER no_space BEFORE INSERT ON {schema}.changes EXECUTE FUNCTION {schema}.full()",
        )
        with pytest.raises(KnowledgeBaseError, match="is full; everything that was reported done is kept"):
            put(catalog, read("/2", "나"))
        assert dump(catalog) == before
        execute(postgres, f"DROP TRIGGER no_space ON {schema}.changes")
        assert put(catalog, read("/2", "나")) == "added"


def test_tables_that_are_gone(postgres: str, tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog:
        execute(postgres, f"DROP TABLE {schema_of(postgres)}.replies")
        with pytest.raises(KnowledgeBaseError, match="is damaged"):
            catalog.reply("m", "k")
        assert "is damaged" in (catalog.check() or "")


def backends(url: str) -> None:
    """Break off all connections of the catalog."""
    execute(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'silmari'")


def test_connections_that_break_off(postgres: str, tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog:
        put(catalog, read("/1", "가"))
        # While they are idle, several of them: the next call takes new ones.
        threads = [threading.Thread(target=catalog.documents) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        backends(postgres)
        assert [one.uri for one in catalog.documents()] == ["/1"]
        backends(postgres)
        assert put(catalog, read("/2", "나")) == "added"
        before = dump(catalog)
        # In the middle of a transaction: nothing of it is kept, and the next call works.
        with pytest.raises(KnowledgeBaseError, match=r"was lost \(.*\); everything that was reported done is kept"):
            with catalog._store.write() as connection:
                connection.exec_driver_sql("DELETE FROM changes")
                backends(postgres)
                connection.exec_driver_sql("DELETE FROM meta")
        assert dump(catalog) == before
        assert put(catalog, read("/3", "다")) == "added"


def test_the_folder_points_to_the_catalog(postgres: str, tmp_path: Path) -> None:
    url = postgres.replace("postgres@", f"postgres:{SECRET}@")
    Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url).close()
    with pytest.raises(KnowledgeBaseError, match=r"postgresql://postgres@.* Name that with SILMARI_CATALOG") as caught:
        Catalog.open(tmp_path / "kb", FINGERPRINTS)
    assert "geheim" not in str(caught.value)
    Catalog.open(tmp_path / "other", FINGERPRINTS).close()
    with pytest.raises(KnowledgeBaseError, match="holds a knowledge base with its own catalog in SQLite"):
        Catalog.open(tmp_path / "other", FINGERPRINTS, url=url)


def test_reading_is_one_snapshot(postgres: str, tmp_path: Path) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=postgres) as catalog:
        put(catalog, read("/1", "가"))
        with catalog._store.read() as connection:
            first = connection.exec_driver_sql("SELECT count(*) FROM passages").scalar()
            put(catalog, read("/2", "나"))
            assert connection.exec_driver_sql("SELECT count(*) FROM passages").scalar() == first == 1
        assert catalog.counts().passages == 2
