"""Relations and aliases follow the catalog, and come from the disk in the next process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from silmari.graph import follow
from silmari.graph.follow import Following
from silmari.graph.snapshot import Saved, Snapshots
from silmari.knowledge_base import KnowledgeBase

RECORDS = [
    {
        "id": "euler",
        "title": "오일러",
        "text": "레온하르트 오일러는 요한 베르누이의 제자였다.",
        "triplets": [["레온하르트 오일러", "제자", "요한 베르누이"]],
    },
    {
        "id": "daniel",
        "title": "Daniel",
        "text": "Daniel Bernoulli was the son of Johann Bernoulli and wrote Hydrodynamica.",
        "triplets": [
            ["Daniel Bernoulli", "was the son of", "요한 베르누이"],
            ["Daniel Bernoulli", "wrote", "Hydrodynamica"],
        ],
    },
]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as opened:
        opened.add_records(RECORDS)
        yield opened


def shown(base: KnowledgeBase, graph: Following) -> object:
    """All relations with their passages, and the walk from each entity."""
    facts = graph.facts()
    ids = facts.relations_of(range(1, 50))
    walks = [facts.walk({item: 1.0}, {}) for item in range(1, 50)]
    links = [graph.spread([(item, 1.0)]) for item in range(1, 20)]
    return len(facts), ids, facts.ends(ids), facts.passages_of(ids), walks, links, graph.edges_of(range(1, 50))


def test_relations_come_and_go(base: KnowledgeBase) -> None:
    graph = Following(base.catalog)
    facts = graph.facts()
    assert len(facts) == 3
    johann = facts.entity_of("요한베르누이")
    assert johann is not None
    assert facts.mentions("요한 베르누이의 아들은?") == [(johann, 0, 7)]
    assert len(facts.relations_of([johann])) == 2
    before = shown(base, graph)
    base.add_records([{"id": "x", "text": "Basel.", "triplets": [["레온하르트 오일러", "born in", "Basel"]]}])
    assert len(graph.facts()) == 4
    assert shown(base, graph) == shown(base, Following(base.catalog))
    base.remove("record:x")
    assert shown(base, graph) == shown(base, Following(base.catalog)) == before
    assert graph.facts().entity_of("basel") is None


def test_the_next_process_reads_the_disk_and_what_changed_since(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_SLOW", -1.0)
    kept = Snapshots(tmp_path / "graph")
    before = shown(base, Following(base.catalog, kept, base._mirror.writing))
    assert {path.suffix for path in (tmp_path / "graph").iterdir()} == {".json", ".bin"}
    with monkeypatch.context() as patched:
        for name in ("all_names", "all_facts"):
            patched.setattr(base.catalog, name, None)
        assert shown(base, Following(base.catalog, kept)) == before
        base.add_records([{"id": "x", "text": "Basel.", "triplets": [["레온하르트 오일러", "born in", "Basel"]]}])
        late = shown(base, Following(base.catalog, kept))
    assert late == shown(base, Following(base.catalog)) != before
    for path in (tmp_path / "graph").glob("*.bin"):
        path.write_bytes(b"damaged")
    assert shown(base, Following(base.catalog, kept)) == late


def test_what_is_ahead_of_the_catalog_is_not_read(base: KnowledgeBase, tmp_path: Path) -> None:
    kept = Snapshots(tmp_path / "graph")
    epoch, seq = base.catalog.identity()[1], base.catalog.last_seq()
    arrays = Following(base.catalog).facts().arrays()
    base.remove("record:daniel")
    assert kept.save("facts", Saved(epoch, base.catalog.last_seq() + 1, arrays))
    assert len(Following(base.catalog, kept).facts()) == 1
    assert kept.save("facts", Saved("another", seq, arrays))
    assert len(Following(base.catalog, kept).facts()) == 1


def test_only_whoever_may_write_keeps_a_graph(base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_SLOW", -1.0)
    with (
        KnowledgeBase.open(base.folder, embedder="none") as other,
        base._mirror.writing() as mine,
    ):
        assert mine
        other.search("오일러", way="graph")
        assert not (base.folder / "graph").exists()
    base.search("오일러", way="graph")
    assert (base.folder / "graph" / "links.json").exists()


def test_a_small_graph_is_kept_when_the_base_is_closed_after_many_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_MANY", 2)
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        base.add_records(RECORDS[:1])
        base.search("오일러", way="graph")
        base.add_records(RECORDS[1:])
        base.search("오일러", way="graph")
        assert not (base.folder / "graph").exists()
    assert (tmp_path / "kb" / "graph" / "links.json").exists()
