"""Relations and entities: what they share, how they go, where they come from, and what the log says of them."""

from __future__ import annotations

from typing import Any

import pytest
from catalog_samples import FINGERPRINTS, dump, embed, mirror, numbers, passage, put, read, vector_of
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from silmari.catalog import schema
from silmari.catalog.catalog import Catalog
from silmari.catalog.vector_cache import text_hash
from silmari.catalog.words import AnalysedPassage, EntityRow, ReadDocument, Stated
from silmari.model import Entity, Passage, Relation, RelationMode, Triplet

EMBEDDER = FINGERPRINTS["embedder"]
FOUNDED = Triplet("㈜한빛", "설립자", "오인환")
BORN = Triplet("오인환은", "출생지", "Basel")


def named(text: str, names: str) -> AnalysedPassage:
    one = passage(text)
    return AnalysedPassage(one.passage, one.tokens, names=names)


def record(uri: str, *triplets: Triplet, texts: tuple[Any, ...] = (), wish: RelationMode | None = None) -> ReadDocument:
    found = read(uri, *(texts or (uri,)), category="record", triplets=triplets, name_title="")
    return ReadDocument(found.document, found.passages, relations=wish)


def add(catalog: Catalog, *documents: ReadDocument) -> None:
    catalog.put_records(documents)


def entities(catalog: Catalog) -> dict[str, str]:
    """Names by key."""
    return catalog.all_facts(lambda epoch, seq, rows, stated: {row.key: row.name for row in rows})


def relations(catalog: Catalog) -> dict[str, tuple[int, ...]]:
    """Passages by text."""
    ids = catalog.all_facts(lambda epoch, seq, rows, stated: [row.id for row in stated])
    return {one.text: one.passages for one in catalog.relations(ids).values()}


def given(catalog: Catalog) -> list[str]:
    return catalog.all_names(lambda epoch, seq, rows: [row.given for row in rows])


def ids_of(catalog: Catalog, *uris: str) -> list[int]:
    found = [catalog.document(uri) for uri in uris]
    return [one.id for one in found if one is not None]


def test_spellings_of_one_key_are_one_entity(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED, BORN, Triplet("(주) 한빛", "위치", "Basel")))
    ids = catalog.entity_ids(["한빛", "오인환", "basel", "none"])
    assert sorted(ids) == ["basel", "오인환", "한빛"]
    (number,) = numbers(catalog, "record:1")
    found = catalog.relations([3, 99, 1])
    assert list(found) == [3, 1]
    assert found[1] == Relation(1, "㈜한빛", "설립자", "오인환", ids["한빛"], ids["오인환"], (number,))
    assert found[3].subject == "(주) 한빛"
    assert catalog.entities([ids["basel"], 99]) == {ids["basel"]: Entity(ids["basel"], "basel", "Basel")}
    assert given(catalog) == ["basel 오인환 한빛"]


def test_the_name_is_the_most_used_spelling_and_of_equal_ones_the_least(catalog: Catalog) -> None:
    add(catalog, record("record:1", Triplet("EULER", "p", "x1"), Triplet("Euler", "p", "x2")))
    assert entities(catalog)["euler"] == "EULER"
    add(catalog, record("record:2", Triplet("Euler", "p", "x3")))
    assert entities(catalog)["euler"] == "Euler"
    add(catalog, record("record:3", Triplet("Euler", "p", "x3")))  # the same relation once more
    catalog.remove(["record:2"])
    assert entities(catalog)["euler"] == "Euler"
    catalog.remove(["record:3"])
    assert entities(catalog)["euler"] == "EULER"


def test_what_others_state_stays(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED, BORN), record("record:2", FOUNDED))
    (first,), (second,) = numbers(catalog, "record:1"), numbers(catalog, "record:2")
    assert relations(catalog) == {"㈜한빛 설립자 오인환": (first, second), "오인환은 출생지 Basel": (first,)}
    catalog.remove(["record:1"])
    assert relations(catalog) == {"㈜한빛 설립자 오인환": (second,)}
    assert entities(catalog) == {"한빛": "㈜한빛", "오인환": "오인환"}
    catalog.remove(["record:2"])
    assert (relations(catalog), entities(catalog)) == ({}, {})
    assert [rows for rows in dump(catalog).values() if rows] == []


def test_a_triplet_goes_to_the_passage_that_names_it(catalog: Catalog) -> None:
    texts = (named("a", "basel"), named("b", "오인환 한빛"))
    add(catalog, record("record:1", FOUNDED, BORN, texts=texts))
    assert [one.split() for one in given(catalog)] == [["basel", "오인환"], ["오인환", "한빛"]]
    add(catalog, record("record:2", Triplet("none", "of", "these"), texts=texts))
    assert given(catalog)[2:] == ["none these", ""]


@pytest.mark.parametrize("bad", ["", "·", "\ud800", "가" * 201, " \u200b"])
def test_names_that_name_nothing_are_not_stored(catalog: Catalog, bad: str) -> None:
    add(catalog, record("record:1", FOUNDED))
    catalog.attach_triplets("record:1", [Triplet(bad, "p", "Basel"), BORN, Triplet("Basel", "p", bad)])
    assert len(relations(catalog)) == 2
    assert sorted(entities(catalog)) == ["basel", "오인환", "한빛"]


def test_where_relations_come_from(catalog: Catalog) -> None:
    texts = ("a", "b")
    add(
        catalog,
        record("record:plain"),
        record("record:given", FOUNDED),
        record("record:unused", BORN, wish="sentences"),
        record("record:model", BORN, texts=texts, wish="triplets"),
    )
    assert {one.uri[7:]: one.relations for one in catalog.documents()} == {
        "plain": "sentences",
        "given": "given",
        "unused": "sentences",
        "model": "triplets",
    }
    assert len(relations(catalog)) == 2
    assert [(context, text) for _, context, text in catalog.pending_extractions(9)] == [("", "a"), ("", "b")]
    catalog.want_relations("given", ids_of(catalog, "record:unused", "record:model"))
    assert relations(catalog)["오인환은 출생지 Basel"] == (
        *numbers(catalog, "record:unused"),
        numbers(catalog, "record:model")[0],
    )
    assert catalog.count_extractions() == (0, 0)
    catalog.want_relations("sentences")
    assert (relations(catalog), entities(catalog)) == ({}, {})
    catalog.want_relations(None)
    assert {one.uri[7:]: one.relations for one in catalog.documents()} == {
        "plain": "sentences",
        "given": "given",
        "unused": "given",
        "model": "given",
    }


def test_a_wish_holds_for_later_versions_and_ends_with_the_source(catalog: Catalog) -> None:
    add(catalog, record("record:1", wish="triplets"))
    add(catalog, record("record:1", texts=("new",)))
    assert catalog.documents()[0].relations == "triplets"
    assert [text for _, _, text in catalog.pending_extractions(9)] == ["new"]
    add(catalog, record("record:2", texts=("new",), wish="given"))  # a copy; the strongest wish holds
    assert catalog.documents()[0].relations == "triplets"
    catalog.remove(["record:1"])
    assert catalog.documents()[0].relations == "given"
    assert catalog.pending_extractions(9) == []
    catalog.remove(["record:2"])
    add(catalog, record("record:1"))
    assert catalog.documents()[0].relations == "sentences"


def test_extraction_by_a_model(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED, texts=("a", "b", "c"), wish="triplets"))
    put(catalog, read("/table.csv", "t", category="csv"))
    catalog.want_relations("triplets", ids_of(catalog, "/table.csv"))
    first, second, third = numbers(catalog, "record:1")
    (row,) = numbers(catalog, "/table.csv")
    assert [number for number, _, _ in catalog.pending_extractions(9)] == [row, first, second, third]
    assert [number for number, _, _ in catalog.pending_extractions(2)] == [row, first]
    catalog.store_extractions({first: [FOUNDED, BORN], second: [], row: [BORN], 999: [BORN]})
    catalog.note_extraction_failures({third: "no JSON in the reply", second: "done already", 999: "gone"})
    assert catalog.count_extractions() == (0, 1)
    assert catalog.statistics().failed_extractions == 1
    assert catalog.extraction_failures() == [(third, "no JSON in the reply")]
    assert relations(catalog) == {"㈜한빛 설립자 오인환": (first,), "오인환은 출생지 Basel": (first, row)}
    catalog.want_relations("given", ids_of(catalog, "record:1"))
    assert relations(catalog) == {"㈜한빛 설립자 오인환": (first,), "오인환은 출생지 Basel": (row,)}
    assert catalog.extraction_failures() == []
    catalog.want_relations("triplets")  # nothing is read twice, but for what failed
    assert [number for number, _, _ in catalog.pending_extractions(9)] == [third]
    assert relations(catalog)["오인환은 출생지 Basel"] == (first, row)
    catalog.note_extraction_failures({third: "again"})
    catalog.want_relations("triplets", ids_of(catalog, "record:1"))
    assert catalog.count_extractions() == (1, 0)
    assert catalog.statistics().pending["relations"] == 1
    catalog.store_extractions({first: []})  # read once more
    assert relations(catalog)["오인환은 출생지 Basel"] == (row,)
    catalog.remove(["record:1", "/table.csv"])
    assert (relations(catalog), catalog.count_extractions()) == ({}, (0, 0))


def test_attached_triplets_stay_with_the_uri(catalog: Catalog) -> None:
    put(catalog, read("/a.txt", "가"))
    assert not catalog.attach_triplets("/other.txt", [FOUNDED])
    assert catalog.attach_many({"/a.txt": [FOUNDED], "/b.txt": [BORN]}) == ["/a.txt"]
    assert catalog.attach_triplets("/a.txt", [BORN, FOUNDED])
    assert catalog.documents()[0].relations == "given"
    assert len(relations(catalog)) == 2
    put(catalog, read("/a.txt", "가 새것"))
    assert set(relations(catalog).values()) == {tuple(numbers(catalog, "/a.txt"))}
    catalog.want_relations("sentences")
    assert catalog.attach_triplets("/a.txt", [Triplet("a b", "c", "d e")])
    assert relations(catalog) == {}
    catalog.want_relations(None)
    assert len(relations(catalog)) == 3
    put(catalog, read("/copy.txt", "가 새것"))
    catalog.remove(["/a.txt"])
    assert catalog.documents()[0].relations == "sentences"
    assert relations(catalog) == {}
    put(catalog, read("/a.txt", "가"))
    assert relations(catalog) == {}


def test_vectors_of_relations_and_entities_come_after_those_of_passages(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED, texts=("한빛은 조선소다.",)))
    add(catalog, record("record:2", texts=("오인환",)))  # a text that is also a name
    waiting = [text for _, text in catalog.pending_vectors(EMBEDDER, 9)]
    assert waiting == ["한빛은 조선소다.", "오인환", "㈜한빛 설립자 오인환", "㈜한빛"]
    assert catalog.count_pending() == 5
    assert embed(catalog, 2) == 3  # the name is embedded with the passage of that text
    assert catalog.counts() == (2, 0, 1, 1, 2, 1)
    assert embed(catalog) == 2
    catalog.remove(["record:2"])
    assert catalog.count_pending() == 0
    catalog.remove(["record:1"])
    assert dump(catalog)["vectors"] == []


def test_what_is_embedded_is_cleaned_as_the_embedder_cleans_it(catalog: Catalog) -> None:
    add(catalog, record("record:1", Triplet("㈜한빛", "has", "ﬁre")))
    assert text_hash("(주)한빛 has fire") in dict(catalog.pending_vectors(EMBEDDER, 9))


def test_another_embedder_embeds_all_three_kinds(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED))
    embed(catalog)
    before = dump(catalog)
    catalog.change_embedder("big/1")
    assert catalog.count_pending() == 4
    wide = vector_of(b"x").repeat(2) / 2**0.5
    catalog.store_vectors("big/1", {key: wide for key, _ in catalog.pending_vectors("big/1", 3)})
    assert catalog.counts() == (1, 0, 1, 0, 2, 1)
    catalog.change_embedder(EMBEDDER)
    assert catalog.count_pending() == 0
    catalog.forget_vectors("big/1")
    assert dump(catalog) == before
    catalog.forget_vectors(EMBEDDER)
    assert catalog.count_pending() == 4


def test_another_analyser_places_triplets_anew(catalog: Catalog) -> None:
    add(catalog, record("record:1", BORN, texts=("a", "b")))
    first, second = numbers(catalog, "record:1")
    assert set(relations(catalog).values()) == {(first,)}
    embed(catalog)
    found = {first: "", second: "basel"}
    catalog.retokenise("kiwi/2", lambda one: (one.text, found[one.id]), str)
    assert set(relations(catalog).values()) == {(second,)}
    assert catalog.count_pending() == 0


def test_other_keys_make_other_entities(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    add(catalog, record("record:1", FOUNDED, BORN))
    embed(catalog)
    from silmari.catalog import stating

    monkeypatch.setattr(stating, "key", lambda name: name.lower())

    def same(one: Passage) -> tuple[str, str]:
        return one.text, ""

    catalog.retokenise("kiwi/2", same, str)
    assert sorted(entities(catalog)) == ["basel", "㈜한빛", "오인환", "오인환은"]
    assert catalog.count_pending() == 1
    assert embed(catalog) == 1
    monkeypatch.undo()
    catalog.retokenise("kiwi/3", same, str)
    assert sorted(entities(catalog)) == ["basel", "오인환", "한빛"]
    fresh = {row["text_hash"] for name in ("passages", "relations", "entities") for row in dump(catalog)[name]}
    assert {row["text_hash"] for row in dump(catalog)["vectors"]} == fresh


def test_the_log_names_what_came_changed_and_went(catalog: Catalog) -> None:
    epoch = catalog.identity()[1]
    add(catalog, record("record:1", FOUNDED))
    (first,) = numbers(catalog, "record:1")
    change = catalog.facts_since(epoch, 0, 9)
    assert change is not None
    assert change.relations == (Stated(1, 1, 2, (first,)),)
    assert change.entities == (EntityRow(1, "한빛", "㈜한빛"), EntityRow(2, "오인환", "오인환"))
    assert catalog.facts_since(epoch, 0, 2) is None
    assert catalog.facts_since("another", 0, 9) is None
    add(catalog, record("record:2", FOUNDED))
    (second,) = numbers(catalog, "record:2")
    after = change.seq
    change = catalog.facts_since(epoch, after, 9)
    assert change is not None
    assert (change.touched_entities, change.relations) == ((), (Stated(1, 1, 2, (first, second)),))
    names = catalog.names_since(epoch, after, 9)
    assert names is not None
    assert (names.seq, names.touched) == (change.seq, (second,))
    embed(catalog)
    after = catalog.last_seq()
    catalog.remove(["record:1", "record:2"])
    change = catalog.facts_since(epoch, after, 9)
    assert change is not None
    assert (change.touched_entities, change.touched_relations) == ((1, 2), (1,))
    assert (change.entities, change.relations) == ((), ())
    log = catalog.changes(after, 99)
    assert {(one.kind, one.aspect) for one in log} == {
        (kind, aspect) for kind in ("passage", "relation", "entity") for aspect in ("text", "vector")
    }
    assert all(one.record is None for one in log)


def test_statements_that_come_later_change_the_names_of_their_passages(catalog: Catalog) -> None:
    put(catalog, read("/a.txt", "가"))
    epoch, after = catalog.identity()[1], catalog.last_seq()
    catalog.attach_triplets("/a.txt", [FOUNDED])
    change = catalog.names_since(epoch, after, 9)
    assert change is not None
    assert [one.given for one in change.found] == ["오인환 한빛"]


def test_records_for_engines(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED))
    engine: dict[tuple[str, int], Any] = {}
    after = mirror(catalog, engine, 0)
    assert engine["relation", 1] == engine["entity", 1] == (("", 0, "", None), None)
    embed(catalog)
    mirror(catalog, engine, after)
    for kind, text in (("relation", "(주)한빛 설립자 오인환"), ("entity", "(주)한빛")):
        vector, day = engine[kind, 1][1]
        assert (vector, day) == (vector_of(text_hash(text)).tobytes(), None)


def test_verdicts_about_aliases(catalog: Catalog) -> None:
    add(catalog, record("record:1", FOUNDED))
    epoch, after = catalog.identity()[1], catalog.last_seq()
    catalog.set_alias("한빛", "none", True)
    catalog.set_alias("a", "b", True)
    catalog.set_alias("b", "a", False)
    assert catalog.alias_verdicts() == [("a", "b", False), ("none", "한빛", True)]
    change = catalog.facts_since(epoch, after, 9)
    assert change is not None
    assert [row.key for row in change.entities] == ["한빛"]
    catalog.remove(["record:1"])
    catalog.drop_alias("none", "한빛")
    assert catalog.alias_verdicts() == [("a", "b", False)]


def test_a_hub_costs_a_document_no_more_than_its_own(catalog: Catalog) -> None:
    add(catalog, record("record:hub", *(Triplet("중심", "관계", f"이름 {at}") for at in range(3_000))))
    add(catalog, record("record:1", Triplet("중심", "관계", "하나")))
    counted: list[str] = []
    from sqlalchemy import event

    def count(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        counted.append(statement)

    event.listen(catalog._store._engine, "before_cursor_execute", count)
    catalog.remove(["record:1"])
    alone = len(counted)
    counted.clear()
    catalog.remove(["record:hub"])
    event.remove(catalog._store._engine, "before_cursor_execute", count)
    assert alone < 60
    assert len(counted) < 200  # by chunks of 900, not by rows
    assert catalog.counts() == (0,) * 6


def test_a_cycle_and_a_relation_of_something_to_itself(catalog: Catalog) -> None:
    add(catalog, record("record:1", Triplet("a1", "p", "b1"), Triplet("b1", "p", "a1"), Triplet("a1", "p", "A1")))
    assert len(relations(catalog)) == 3
    assert entities(catalog) == {"a1": "a1", "b1": "b1"}
    catalog.remove(["record:1"])
    assert entities(catalog) == {}


def test_the_tables_are_portable() -> None:
    for table in schema.metadata.sorted_tables:
        assert str(CreateTable(table).compile(dialect=postgresql.dialect()))
        for index in table.indexes:
            assert str(CreateIndex(index).compile(dialect=postgresql.dialect()))
