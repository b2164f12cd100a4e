from __future__ import annotations

from pathlib import Path

import pytest
from catalog_samples import DIM, FINGERPRINTS, dump, embed, mirror, numbers, put, read, vector_of

from silmari.catalog.catalog import Catalog
from silmari.errors import KnowledgeBaseError
from silmari.model import Passage


def upper(passage: Passage) -> tuple[str, str]:
    return passage.text.upper(), passage.text.title()


def test_another_embedder_starts_over_and_the_way_back_is_free(catalog: Catalog) -> None:
    put(catalog, read("/old", "a", "b", date="2020-01-01"))
    put(catalog, read("/new", "c", "b", date="2024-01-01"))
    embed(catalog)
    before, epoch = dump(catalog), catalog.identity()[1]
    catalog.change_embedder("big/1")
    assert catalog.identity()[1] != epoch
    assert [text for _, text in catalog.pending_vectors("big/1", 9)] == ["c", "b", "a"]
    assert catalog.vectors(numbers(catalog, "/old")) == {}
    assert {change.aspect for change in catalog.changes(0, 99)} == {"text"}
    with pytest.raises(KnowledgeBaseError):
        catalog.pending_vectors("e5/1", 9)
    wide = vector_of(b"x").repeat(2) / 2**0.5
    catalog.store_vectors("big/1", {key: wide for key, _ in catalog.pending_vectors("big/1", 2)})
    assert {vector.size for vector in catalog.vectors(numbers(catalog, "/new")).values()} == {2 * DIM}
    catalog.change_embedder("e5/1")
    assert catalog.count_pending() == 0
    catalog.forget_vectors("big/1")
    assert dump(catalog) == before
    catalog.forget_vectors("e5/1")
    assert catalog.count_pending() == 4
    assert embed(catalog) == 4
    assert dump(catalog) == before


def test_another_analyser_takes_over_at_once(tmp_path: Path, url: str) -> None:
    with Catalog.open(tmp_path, FINGERPRINTS, url=url) as catalog:
        put(catalog, read("/name.txt", *(f"text {n}" for n in range(1500))))
        put(catalog, read("/other.txt", "more"))
        embed(catalog)
        epoch, calls = catalog.identity()[1], []

        def stops(passage: Passage) -> tuple[str, str]:
            calls.append(passage.id)
            if len(calls) > 1200:
                raise KeyboardInterrupt
            return upper(passage)

        with pytest.raises(KeyboardInterrupt):
            catalog.retokenise("kiwi/2", stops, str.upper)
        assert catalog.fingerprints()["analyser"] == "kiwi/1"
        engine: dict = {}
        mirror(catalog, engine, 0)
        assert engine["passage", 1][0][0] == "text 0 name"

        def adds(passage: Passage) -> tuple[str, str]:  # another process adds while the last batch is analysed
            calls.append(passage.id)
            if catalog.document("/late.txt") is None:
                put(catalog, read("/late.txt", "late"))
            return upper(passage)

        calls.clear()
        progress: list[tuple[int, int]] = []
        catalog.retokenise("kiwi/2", adds, str.upper, lambda done, total: progress.append((done, total)))
        assert len(calls) == 1501 + 1 - 1000
        assert progress == [(1501, 1502), (1502, 1502)]
        assert catalog.identity()[1] != epoch
        engine.clear()
        mirror(catalog, engine, 0)
        assert {tokens for (tokens, *_), _ in engine.values()} >= {"TEXT 0 NAME", "MORE OTHER", "LATE LATE"}
        assert all(tokens == tokens.upper() for (tokens, *_), _ in engine.values())
    with pytest.raises(KnowledgeBaseError, match="analyser"):
        Catalog.open(tmp_path, FINGERPRINTS, url=url)
    Catalog.open(tmp_path, FINGERPRINTS | {"analyser": "kiwi/2"}, url=url).close()


def test_a_rebuild_for_yet_another_analyser_forgets_the_interrupted_one(catalog: Catalog) -> None:
    put(catalog, read("/a", *(f"text {n}" for n in range(1100))))

    def stops(passage: Passage) -> tuple[str, str]:
        if passage.id > 1050:
            raise KeyboardInterrupt
        return "wrong", "wrong"

    with pytest.raises(KeyboardInterrupt):
        catalog.retokenise("kiwi/2", stops, str.upper)
    catalog.retokenise("kiwi/3", upper, str.upper)
    assert {change.record.tokens[:4] for change in catalog.changes(0, 9999) if change.record} == {"TEXT"}


def test_removing_while_tokens_are_staged(catalog: Catalog) -> None:
    put(catalog, read("/a", "a"))
    put(catalog, read("/b", "b"))

    def removes(passage: Passage) -> tuple[str, str]:
        catalog.remove(["/a"])
        return upper(passage)

    catalog.retokenise("kiwi/2", removes, str.upper)
    assert [change.record.tokens for change in catalog.changes(0, 99) if change.record] == ["B B"]
    assert catalog.fingerprints()["analyser"] == "kiwi/2"


def test_another_splitter_lets_files_be_read_again(catalog: Catalog) -> None:
    put(catalog, read("/a", "하나 둘 셋", sha256="s"), mtime_ns=5)
    embed(catalog)
    former = numbers(catalog, "/a")
    catalog.change_splitter("100/250")
    assert catalog.passages(former)
    assert catalog.begin_file("/a", 1, 5) is None
    assert catalog.file("/a").sha256 is None  # type: ignore[union-attr]
    assert put(catalog, read("/a", "하나", "둘 셋", sha256="s"), mtime_ns=5) == "updated"
    assert catalog.passages(former) == {}
    assert len(numbers(catalog, "/a")) == 2
    assert put(catalog, read("/a", "하나", "둘 셋", sha256="s"), mtime_ns=5) == "unchanged"
