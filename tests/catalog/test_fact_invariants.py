"""What passages state depends on what stands now: not on what came and went, was wished or was read in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from catalog_samples import dump, embed, mirror, passage, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_catalog_invariants import embedded, fresh

from silmari.catalog.catalog import Catalog
from silmari.catalog.words import AnalysedPassage, EntityRow, FileInfo, ReadDocument, Stated
from silmari.model import RELATION_MODES, RelationMode, Triplet

PATH = "/r.jsonl"
# Few names in several spellings, so that they meet; the last one names nothing.
NAMES = ("한빛", "한빛은", "㈜한빛", "Euler", "EULER", "Basel", "·")
TEXTS = {"한빛 Basel": "한빛 basel", "Euler": "=euler euler", "비용": ""}
FAILING = "비용"

Content = tuple[list[str], tuple[Triplet, ...], RelationMode | None]

names = st.sampled_from(NAMES)
triplets = st.lists(st.builds(Triplet, names, st.sampled_from(("p", "q")), names), max_size=3).map(tuple)
modes = st.sampled_from((None, *RELATION_MODES))
record = st.tuples(st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=3), triplets, modes)
numbers = st.sampled_from("0123")
steps = st.lists(
    st.one_of(
        st.dictionaries(numbers, record, min_size=1, max_size=3).map(lambda records: ("file", records)),
        st.tuples(st.sampled_from(("record:a", "record:b")), record).map(lambda one: ("record", one)),
        st.sampled_from((PATH, f"{PATH}#0", f"{PATH}#1", "record:a", "record:b")).map(lambda uri: ("remove", uri)),
        st.tuples(st.sampled_from((f"{PATH}#0", f"{PATH}#2", "record:a", "record:b")), triplets).map(
            lambda one: ("attach", one)
        ),
        st.tuples(modes, st.none() | st.sampled_from((f"{PATH}#1", "record:a"))).map(lambda one: ("want", one)),
        st.integers(1, 4).map(lambda limit: ("extract", limit)),
        st.integers(1, 5).map(lambda limit: ("embed", limit)),
        st.integers(1, 9).map(lambda limit: ("follow", limit)),
    ),
    max_size=10,
)


def document(uri: str, content: Content) -> ReadDocument:
    texts, brought, wish = content
    rows = [AnalysedPassage(one.passage, one.tokens, names=TEXTS[one.passage.text]) for one in map(passage, texts)]
    read_ = read(uri, *rows, category="record", triplets=brought, name_title="")
    return ReadDocument(read_.document, rows, relations=wish)


def put(catalog: Catalog, standing: Mapping[str, Content]) -> None:
    """Store one file's records, or records of the API."""
    documents = [document(uri, content) for uri, content in standing.items()]
    if all(uri.startswith(PATH) for uri in standing):
        catalog.put_file(FileInfo(PATH, 1, 1, "ab"), documents)
    else:
        catalog.put_records(documents)


def extract(catalog: Catalog, limit: int = 99) -> None:
    waiting = {number: text for number, _, text in catalog.pending_extractions(limit)}
    catalog.note_extraction_failures({number: "no" for number, text in waiting.items() if text == FAILING})
    catalog.store_extractions(
        {
            number: [Triplet("한빛", text, "Basel"), Triplet("EULER", "p", "한빛은")]
            for number, text in waiting.items()
            if text != FAILING
        }
    )


class Follower:
    """Entities, relations and names, kept up by what the log names."""

    def __init__(self, catalog: Catalog) -> None:
        self.entities: dict[int, EntityRow] = {}
        self.relations: dict[int, Stated] = {}
        self.names: dict[int, str] = {}
        self._catalog = catalog
        self._seq = catalog.all_facts(self._start)
        catalog.all_names(lambda epoch, seq, rows: self.names.update((row.id, row.given) for row in rows))

    def _start(self, epoch: str, seq: int, named: Iterator[EntityRow], stated: Iterator[Stated]) -> int:
        self.entities = {row.id: row for row in named}
        self.relations = {row.id: row for row in stated}
        return seq

    def follow(self) -> None:
        epoch = self._catalog.identity()[1]
        facts = self._catalog.facts_since(epoch, self._seq, 10_000)
        change = self._catalog.names_since(epoch, self._seq, 10_000)
        assert facts is not None and change is not None and facts.seq == change.seq
        for held, touched, now in (
            (self.entities, facts.touched_entities, facts.entities),
            (self.relations, facts.touched_relations, facts.relations),
        ):
            for number in touched:
                held.pop(number, None)
            held.update((row.id, row) for row in now)  # type: ignore[attr-defined]
        for number in change.touched:
            self.names.pop(number, None)
        self.names.update((row.id, row.given) for row in change.found)
        self._seq = facts.seq

    def state(self) -> tuple[Any, ...]:
        return self.entities, self.relations, self.names


def comparable(catalog: Catalog) -> dict[str, Any]:
    """All content, but for what was extracted for documents that do not want it any more."""
    found = dump(catalog)
    wanted = {row["content_key"] for row in found["documents"] if row["relations"] == "triplets"}
    del found["files"]  # one that has lost a record is known as incomplete
    return found | {"extracted": [row for row in found["extracted"] if row["passage_id"][0] in wanted]}


class Told:
    """A catalog, and what it was told, as far as that still holds."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.standing: dict[str, Content] = {}
        self.attached: dict[str, dict[Triplet, None]] = {}
        self.engine: dict[tuple[str, int], Any] = {}
        self.after = 0
        self._follower = Follower(catalog)

    def file(self, records: dict[str, Content]) -> None:
        named = {f"{PATH}#{number}": content for number, content in records.items()}
        put(self.catalog, named)
        self._forget(uri for uri in [*self.standing] if uri.startswith(PATH) and uri not in named)
        self._stand(named)

    def record(self, what: tuple[str, Content]) -> None:
        put(self.catalog, dict([what]))
        self._stand(dict([what]))

    def remove(self, uri: str) -> None:
        self.catalog.remove([uri])
        self._forget(one for one in [*self.standing] if one == uri or one.startswith(f"{uri}#"))

    def attach(self, what: tuple[str, tuple[Triplet, ...]]) -> None:
        uri, more = what
        assert self.catalog.attach_triplets(uri, more) == (uri in self.standing)
        if uri in self.standing and more:
            self.attached.setdefault(uri, {}).update(dict.fromkeys(more))

    def want(self, what: tuple[Any, str | None]) -> None:
        mode, uri = what
        places = [*self.standing]
        numbers = None
        if uri is not None:
            one = self.catalog.document(uri)
            places = [one.uri, *one.also] if one else []
            numbers = [one.id] if one else []
        self.catalog.want_relations(mode, numbers)
        for place in places:
            self.standing[place] = (*self.standing[place][:2], mode)

    def extract(self, limit: int) -> None:
        extract(self.catalog, limit)

    def embed(self, limit: int) -> None:
        embed(self.catalog, limit)

    def follow(self, limit: int) -> None:
        self.after = mirror(self.catalog, self.engine, self.after, limit)
        self._follower.follow()
        assert self._follower.state() == Follower(self.catalog).state()

    def _stand(self, told: dict[str, Content]) -> None:
        for uri, (texts, brought, wish) in told.items():
            self.standing[uri] = texts, brought, wish or (self.standing[uri][2] if uri in self.standing else None)

    def _forget(self, uris: Iterable[str]) -> None:
        for uri in uris:
            del self.standing[uri]
            self.attached.pop(uri, None)


def rebuilt(told: Told, reference: Catalog) -> None:
    """Tell another catalog what still holds."""
    records = {uri: content for uri, content in sorted(told.standing.items()) if uri.startswith(PATH)}
    if records:
        put(reference, records)
    for uri in sorted(told.standing.keys() - records.keys()):
        put(reference, {uri: told.standing[uri]})
    for uri, triplets_ in told.attached.items():
        reference.attach_triplets(uri, list(triplets_))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_statements_depend_on_what_stands_alone(done: list[tuple[str, Any]]) -> None:
    check("sqlite", done)


@pytest.mark.usefixtures("postgres")
@settings(max_examples=8, deadline=None, suppress_health_check=[*HealthCheck])
@given(steps)
def test_statements_depend_on_what_stands_alone_in_postgresql(done: list[tuple[str, Any]]) -> None:
    check("postgresql", done)


def check(url: str, done: list[tuple[str, Any]]) -> None:
    with fresh(url) as catalog, fresh("sqlite") as reference:
        told = Told(catalog)
        for step, what in done:
            getattr(told, step)(what)
            found = dump(catalog)
            assert {row["text_hash"] for row in found["vectors"]} == embedded(found)
        rebuilt(told, reference)
        for one in (catalog, reference):
            extract(one)
            embed(one)
            assert one.count_extractions() == (0, len(one.extraction_failures()))
            assert not one.count_pending()
        assert comparable(catalog) == comparable(reference)

        told.follow(100)
        anew: dict[tuple[str, int], Any] = {}
        assert mirror(catalog, anew, 0) == told.after
        assert told.engine == anew
        counts = catalog.counts()
        assert len(anew) == counts.passages + counts.relations + counts.entities
        catalog.new_epoch()
        restarted: dict[tuple[str, int], Any] = {}
        mirror(catalog, restarted, 0)
        assert restarted == anew
