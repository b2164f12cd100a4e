"""Several processes at one catalog in PostgreSQL: the order of changes, shared work, the lease."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from catalog_samples import FINGERPRINTS, embed, mirror, put, read, vector_of

from postgres_server import execute, schema_of
from silmari.catalog.catalog import Catalog
from silmari.engine.base import Change
from silmari.engine.local import LocalEngine
from silmari.engine.mirror import Mirror

pytest.importorskip("psycopg")
EMBEDDER = FINGERPRINTS["embedder"]


@pytest.fixture
def two(postgres: str, tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two who use one catalog, each with connections of its own."""
    with (
        Catalog.open(tmp_path / "a", FINGERPRINTS, url=postgres) as one,
        Catalog.open(tmp_path / "b", FINGERPRINTS, url=postgres) as other,
    ):
        yield one, other


class Follower:
    """Reads the log as an engine does: only what comes after the last change that it saw."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self.mark, self.seen = catalog, 0, []

    def look(self) -> None:
        for change in self._catalog.changes(self.mark, 1000):
            self.seen.append(change.id)
            self.mark = change.seq


def test_a_change_with_a_lesser_number_never_comes_later(two: tuple[Catalog, Catalog]) -> None:
    """Commits of two connections are interleaved in every way that the locks let through; a follower reads between."""
    one, other = two
    follower = Follower(one)
    for turn in range(6):
        started, hurry = threading.Event(), threading.Event()

        def later(started: threading.Event = started, hurry: threading.Event = hurry, turn: int = turn) -> None:
            started.set()
            put(other, read(f"/later/{turn}", "나", f"나 {turn}"))
            hurry.set()

        thread = threading.Thread(target=later)
        with one._store.write() as connection:
            from silmari.catalog import changes, filing, writing

            filing.begin(connection, f"/first/{turn}")
            writing.put(connection, f"/first/{turn}", [read(f"/first/{turn}", "가", f"가 {turn}")])
            mine = changes.last_seq(connection)
            follower.look()
            if turn % 2:
                thread.start()
                started.wait()
                # The second has no number before the first is committed.
                assert not hurry.wait(0.2)
                follower.look()
                assert follower.mark < mine
        if turn % 3:
            follower.look()
        if not turn % 2:
            thread.start()
        thread.join()
        follower.look()
    everything = [change.id for change in one.changes(0, 1000)]
    assert follower.seen == everything
    assert len(everything) == 6 * 4


def test_what_a_sequence_of_the_database_would_have_done(postgres: str) -> None:
    """Why there is a lock: the control of the test above."""
    import psycopg

    schema = schema_of(postgres)
    execute(postgres, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.log (seq BIGSERIAL, item TEXT)")
    server = postgres.partition("?")[0]
    with (
        psycopg.connect(server) as slow,
        psycopg.connect(server) as quick,
        psycopg.connect(server, autocommit=True) as eye,
    ):
        slow.execute(f"INSERT INTO {schema}.log (item) VALUES ('slow')")
        quick.execute(f"INSERT INTO {schema}.log (item) VALUES ('quick')")
        quick.commit()
        (mark,) = eye.execute(f"SELECT max(seq) FROM {schema}.log").fetchone() or (0,)
        slow.commit()
        assert eye.execute(f"SELECT item FROM {schema}.log WHERE seq > {mark}").fetchall() == []


def test_claims_do_not_overlap_and_cover_everything(two: tuple[Catalog, Catalog]) -> None:
    one, other = two
    put(one, read("/a", *(f"글 {n}" for n in range(300))))
    first, second = one.claim_vectors(EMBEDDER, 64), other.claim_vectors(EMBEDDER, 64)
    assert [text for _, text in first.items] == [text for _, text in one.pending_vectors(EMBEDDER, 64)]
    assert len(second.items) == 64
    assert not {key for key, _ in first.items} & {key for key, _ in second.items}
    assert second.others and not first.others
    rest = [other.claim_vectors(EMBEDDER, 300), one.claim_vectors(EMBEDDER, 300)]
    assert rest[1].items == () and rest[1].others
    # Writers of what is claimed do not wait for those who claimed it.
    begun = time.monotonic()
    put(one, read("/b", "글 0", "neu"))
    assert time.monotonic() - begun < 5
    first.release()
    again = other.claim_vectors(EMBEDDER, 64)
    assert {key for key, _ in first.items} <= {key for key, _ in again.items}
    for claim in (first, second, *rest, again):
        claim.release()
        claim.release()
    done: set[bytes] = set()
    for catalog in [one, other] * 20:
        with catalog.claim_vectors(EMBEDDER, 40) as claim:
            keys = {key for key, _ in claim.items}
            assert not keys & done
            catalog.store_vectors(EMBEDDER, {key: vector_of(key) for key in keys})
            done |= keys
    assert len(done) == 301 and not one.count_pending()
    with one.claim_vectors(EMBEDDER, 9) as claim:
        assert (claim.items, claim.others) == ((), False)


def test_what_others_have_just_done_is_not_claimed(
    two: tuple[Catalog, Catalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    put(one, read("/a", *(f"글 {n}" for n in range(50))))
    taken = one._store.shares

    def late(queue: str) -> Any:
        shares = taken(queue)
        take = shares.take

        def finished(numbers: Any) -> set[int]:  # between reading the queue and taking a part of it
            embed(other)
            return take(numbers)

        monkeypatch.setattr(shares, "take", finished)
        return shares

    monkeypatch.setattr(one._store, "shares", late)
    with one.claim_vectors(EMBEDDER, 64) as claim:
        assert (claim.items, claim.others) == ((), False)


HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from catalog_samples import *
catalog = Catalog.open(Path(sys.argv[1]), FINGERPRINTS, url=sys.argv[2])
claim = catalog.claim_vectors(FINGERPRINTS["embedder"], 1000)
lease = catalog.try_lease("engine")
print(len(claim.items), lease.held(), flush=True)
sys.stdin.read()
"""


def test_a_process_that_dies_gives_everything_back_at_once(
    two: tuple[Catalog, Catalog], postgres: str, tmp_path: Path
) -> None:
    one, _ = two
    put(one, read("/a", *(f"글 {n}" for n in range(80))))
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "c"), postgres, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().split() == ["80", "True"]
        with one.claim_vectors(EMBEDDER, 9) as claim:
            assert (claim.items, claim.others) == ((), True)
        assert one.try_lease("engine") is None
        holder.kill()
        holder.wait()
    lease = one.try_lease("engine", 10.0)
    assert lease is not None and lease.held()
    lease.release()
    deadline = time.monotonic() + 10
    while not (claim := one.claim_vectors(EMBEDDER, 1000)).items and time.monotonic() < deadline:
        claim.release()
    assert len(claim.items) == 80
    claim.release()


def test_extractions_are_claimed(two: tuple[Catalog, Catalog]) -> None:
    one, other = two
    put(one, read("/a", *(f"글 {n}" for n in range(40))))
    one.want_relations("triplets")
    with one.claim_extractions(10) as first, other.claim_extractions(100) as second:
        assert [number for number, _, _ in first.items] == [number for number, _, _ in one.pending_extractions(10)]
        assert len(second.items) == 30 and second.others
        one.store_extractions({number: [] for number, _, _ in first.items})
    with other.claim_extractions(100) as third:
        assert {number for number, _, _ in third.items} == {number for number, _, _ in second.items}


def test_one_lease_over_all_machines(two: tuple[Catalog, Catalog], postgres: str) -> None:
    one, other = two
    lease = one.try_lease("engine")
    assert lease is not None and lease.held()
    begun = time.monotonic()
    assert other.try_lease("engine", 0.3) is None
    assert 0.25 < time.monotonic() - begun < 5
    moving = other.try_lease("moving")
    assert moving is not None
    moving.release()
    lease.release()
    lease.release()
    again = other.try_lease("engine")
    assert again is not None
    # Its connection breaks off: it is lost, and somebody else may have it.
    execute(
        postgres,
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
    )
    assert not again.held()
    third = one.try_lease("engine", 5.0)
    assert third is not None and third.held()
    third.release()
    again.release()


def test_a_lost_lease_is_noticed_before_the_next_changes_are_applied(
    two: tuple[Catalog, Catalog], postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two
    put(one, read("/a", *(f"글 {n}" for n in range(5))))
    monkeypatch.setattr("silmari.engine.mirror.BATCH", 2)
    applied: list[int] = []

    class Losing(LocalEngine):
        def apply(self, changes: Sequence[Change]) -> None:
            super().apply(changes)
            applied.append(changes[-1].seq)
            if len(applied) == 1:
                execute(
                    postgres,
                    "SELECT pg_terminate_backend(pid) FROM pg_locks "
                    "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
                )

    opened = Mirror(
        one, lambda wait: one.try_lease("engine", wait), lambda url: Losing(tmp_path / "engine", writable=False)
    )
    assert opened.follow() > 0
    assert len(applied) == 1
    assert "was lost" in (opened.problem or "")
    assert opened.follow() == 0
    assert opened.problem is None
    assert applied == sorted(set(applied))
    opened.close()


def test_both_follow_the_same_log(two: tuple[Catalog, Catalog]) -> None:
    one, other = two
    engines: list[dict[Any, Any]] = [{}, {}]
    marks = [0, 0]
    for turn in range(12):
        put((one, other)[turn % 2], read(f"/{turn % 5}", f"글 {turn}", "gleich"))
        embed((other, one)[turn % 2], 1)
        marks[turn % 2] = mirror((one, other)[turn % 2], engines[turn % 2], marks[turn % 2], 3)
    embed(one)
    for place, catalog in enumerate(two):
        mirror(catalog, engines[place], marks[place])
    assert engines[0] == engines[1]
    assert len(engines[0]) == one.counts().passages
