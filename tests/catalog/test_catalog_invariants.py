from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from catalog_samples import FINGERPRINTS, dump, embed, mirror, passage, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postgres_server
from silmari.catalog.catalog import Catalog
from silmari.catalog.words import FileInfo, ReadDocument

# Few texts and paths, so that contents meet at several paths and texts in several documents.
TEXTS = ("서울은 수도다.", "부산은 항구다.", "revenue grew", "비용")
PATHS = ("/가.txt", "/나.txt", "/b.csv", "/r.jsonl")

contents = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)
content_dates = st.sampled_from([None, None, "2020-02-02"])
places = st.sampled_from([(None, None), ("2024-01-01", "name"), ("2023-01-01", "name"), ("2026-01-01", "file-time")])
files = st.tuples(st.sampled_from(PATHS), st.lists(contents, min_size=1, max_size=3), places)
steps = st.lists(
    st.one_of(
        files.map(lambda file: ("put", file)),
        st.sampled_from(PATHS).map(lambda path: ("remove", path)),
        st.integers(1, 3).map(lambda limit: ("embed", limit)),
        st.integers(1, 5).map(lambda limit: ("follow", limit)),
    ),
    max_size=12,
)


def documents(file: tuple[str, list[list[str]], tuple[Any, Any]]) -> Iterator[ReadDocument]:
    path, bodies, (date, date_source) = file
    if path != "/r.jsonl":
        category = "csv" if path.endswith(".csv") else "text"
        yield read(path, *bodies[0], category=category, date=date, date_source=date_source)
        return
    for number, body in enumerate(bodies):
        rows = [passage(text, date="2021-01-01") for text in body]
        yield read(f"{path}#{number}", *rows, category="record", date=date, date_source=date_source, name_title="")


def store(catalog: Catalog, file: Any) -> None:
    catalog.put_file(FileInfo(file[0], 1, 1, repr(file)), documents(file))


def embedded(found: dict[str, Any]) -> set[bytes]:
    """Hashes of the texts that have a vector, according to what has the texts."""
    rows = [row for table in ("passages", "relations", "entities") for row in found[table]]
    ready = {row["text_hash"] for row in rows if row["waiting"] is None}
    assert not ready & {row["text_hash"] for row in rows if row["waiting"] is not None}
    return ready


@contextmanager
def fresh(url: str) -> Iterator[Catalog]:
    place = url if url == "sqlite" else postgres_server.new_schema()
    with tempfile.TemporaryDirectory() as folder, Catalog.open(Path(folder), FINGERPRINTS, url=place) as catalog:
        yield catalog
    postgres_server.drop(place)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_what_is_stored_depends_on_the_files_alone(done: list[tuple[str, Any]]) -> None:
    check("sqlite", done)


@pytest.mark.usefixtures("postgres")
@settings(max_examples=8, deadline=None, suppress_health_check=[*HealthCheck])
@given(steps)
def test_what_is_stored_depends_on_the_files_alone_in_postgresql(done: list[tuple[str, Any]]) -> None:
    check("postgresql", done)


def check(url: str, done: list[tuple[str, Any]]) -> None:
    """A + B - B equals A, in any order, with vectors made in between; and an engine that follows the log agrees."""
    standing: dict[str, Any] = {}
    engine: dict[int, Any] = {}
    after = 0
    with fresh(url) as catalog, fresh("sqlite") as reference:
        for step, what in done:
            if step == "put":
                store(catalog, what)
                standing[what[0]] = what
            elif step == "remove":
                assert catalog.remove([what]) == ([what] if what in standing else [])
                standing.pop(what, None)
            elif step == "embed":
                embed(catalog, what)
            else:
                after = mirror(catalog, engine, after, what)
            found = dump(catalog)
            assert {row["text_hash"] for row in found["vectors"]} == embedded(found)
        for path in sorted(standing):
            store(reference, standing[path])
        embed(catalog)
        embed(reference)
        assert dump(catalog) == dump(reference)

        after = mirror(catalog, engine, after)
        anew: dict[int, Any] = {}
        assert mirror(catalog, anew, 0) == after == catalog.last_seq()
        assert engine == anew
        assert len(engine) == catalog.statistics().passages
        catalog.new_epoch()
        restarted: dict[int, Any] = {}
        mirror(catalog, restarted, 0)
        assert restarted == anew
