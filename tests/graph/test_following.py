"""The graph follows the catalog: what is added, renamed, removed, and a log that begins anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from silmari.catalog.words import NamesChange
from silmari.graph import follow
from silmari.graph.follow import Following
from silmari.graph.links import Links
from silmari.knowledge_base import KnowledgeBase

TEXTS = {"pump": "The MB-300 stands in Vienna.", "MB-300": "Manual of a device.", "빈": "빈은 도나우 강가에 있다."}


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.txt"
    path.write_text(text, "utf-8")
    return path


def linked(base: KnowledgeBase, graph: Following) -> dict[str, dict[str, str]]:
    """For each document, which ones it leads to and how."""
    titles: dict[int, str] = {}
    for document in base.documents():
        titles.update(dict.fromkeys((passage.id for passage, _ in base.show(document.uri)), Path(document.uri).stem))
    return {
        title: {titles[target]: link.kind for target, link in graph.spread([(item, 1.0)]).items()}
        for item, title in titles.items()
    }


def fresh(base: KnowledgeBase) -> dict[str, dict[str, str]]:
    return linked(base, Following(base.catalog))


def test_follows_what_is_added_renamed_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    for name, text in TEXTS.items():
        write(folder, name, text)
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        base.sync(folder)
        graph = Following(base.catalog)
        before = linked(base, graph)
        assert before["pump"] == {"MB-300": "title"}
        late = write(folder, "Vienna", "A city.")
        base.sync(folder)
        assert linked(base, graph) == fresh(base)
        assert linked(base, graph)["pump"] == {"MB-300": "title", "Vienna": "title"}
        late.rename(folder / "Graz.txt")
        base.sync(folder)
        assert linked(base, graph) == fresh(base)
        assert linked(base, graph)["pump"] == {"MB-300": "title"}
        (folder / "Graz.txt").unlink()
        base.sync(folder)
        assert linked(base, graph) == fresh(base) == before
        base.reindex()
        assert linked(base, graph) == before


def test_reads_all_anew_only_when_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        built: list[int] = []

        class Counted(Links):
            def __init__(self, *rows: object) -> None:
                built.append(1)
                super().__init__(*rows)  # type: ignore[arg-type]

        monkeypatch.setattr(follow, "Links", Counted)
        graph = Following(base.catalog)
        for at in range(3):
            base.add_records([{"id": str(at), "title": f"Note {at}", "text": "Text."}])
            graph.spread([])
        assert len(built) == 1
        monkeypatch.setattr(follow, "_MOST", 2)
        base.add_records([{"id": f"m{at}", "title": f"More {at}", "text": "Text."} for at in range(5)])
        graph.spread([])
        assert len(built) == 2
        assert base.catalog.names_since("another epoch", 0, 99) is None
        epoch, seq = base.catalog.identity()[1], base.catalog.last_seq()
        assert base.catalog.names_since(epoch, seq, 99) == NamesChange(seq, (), ())
