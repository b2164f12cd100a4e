from __future__ import annotations

import numpy as np
import pytest
from catalog_samples import DIM, FINGERPRINTS, embed, numbers, passage, put, read, vector_of

from silmari.catalog.catalog import Catalog
from silmari.catalog.vector_cache import text_hash
from silmari.catalog.words import AnalysedPassage
from silmari.errors import KnowledgeBaseError, ProviderError
from silmari.model import Passage

EMBEDDER = FINGERPRINTS["embedder"]


def test_tables_first_then_the_newest_then_the_order_of_reading(catalog: Catalog) -> None:
    put(catalog, read("/old.txt", "old 1", "old 2", date="2020-01-01"))
    put(catalog, read("/undated.txt", "undated"))
    put(catalog, read("/copied.txt", "copied", date="2026-01-01", date_source="file-time"))
    put(catalog, read("/new.txt", "new", "old 2", date="2024-01-01"))
    put(catalog, read("/old.csv", "table, old", category="csv", date="2019-01-01"))
    put(catalog, read("/new.xlsx", "table, new", category="excel", date="2023-01-01"))
    expected = ["table, new", "table, old", "new", "old 2", "old 1", "undated", "copied"]
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 100)] == expected
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 3)] == expected[:3]
    assert catalog.count_pending() == 8
    assert embed(catalog, 4) == 5
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 100)] == expected[4:]


def test_a_better_date_moves_a_document_in_the_queue(catalog: Catalog) -> None:
    put(catalog, read("/a", "가"))
    put(catalog, read("/b", "나", date="2024-01-01"))
    put(catalog, read("/copy", "가", date="2025-01-01"))
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 9)] == ["가", "나"]
    catalog.remove(["/copy"])
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 9)] == ["나", "가"]


def test_what_is_embedded_is_context_and_text(catalog: Catalog) -> None:
    put(catalog, read("/a", passage("본문", context="제목 > 절", content="다른 것"), passage("본문")))
    assert dict(catalog.pending_vectors(EMBEDDER, 10)) == {
        text_hash("제목 > 절\n본문"): "제목 > 절\n본문",
        text_hash("본문"): "본문",
    }


def test_many_passages_of_one_text_are_one_text(catalog: Catalog) -> None:
    put(catalog, read("/a", *["같은 글"] * 1200, "다른 글"))
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 2)] == ["같은 글", "다른 글"]
    assert embed(catalog, 1) == 1200
    assert catalog.count_pending() == 1


def test_vectors_come_back_as_they_were_stored(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나"))
    first, second = numbers(catalog, "/a")
    catalog.store_vectors(EMBEDDER, {text_hash("나"): vector_of(text_hash("나"))})
    found = catalog.vectors([first, second, 999])
    assert list(found) == [second]
    assert found[second].dtype == np.float16
    assert found[second].tolist() == vector_of(text_hash("나")).tolist()


def test_a_text_is_never_embedded_twice(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나", "다"))
    assert embed(catalog) == 3
    put(catalog, read("/a", "가", "나", "라"))
    put(catalog, read("/b", "다시", "나"))
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 10)] == ["라", "다시"]
    assert len(catalog.vectors(numbers(catalog, "/a"))) == 2


def test_a_vector_lives_as_long_as_a_passage_has_its_text(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나"))
    put(catalog, read("/b", "나"))
    embed(catalog)
    catalog.remove(["/a"])
    put(catalog, read("/c", "가", "나"))
    assert [text for _, text in catalog.pending_vectors(EMBEDDER, 10)] == ["가"]


def test_vectors_for_texts_that_are_gone_are_passed_over(catalog: Catalog) -> None:
    put(catalog, read("/a", "가"))
    waiting = catalog.pending_vectors(EMBEDDER, 10)
    catalog.remove(["/a"])
    assert catalog.store_vectors(EMBEDDER, {key: vector_of(key) for key, _ in waiting}) == 0
    put(catalog, read("/a", "가"))
    assert catalog.count_pending() == 1


def test_storing_twice_changes_nothing(catalog: Catalog) -> None:
    put(catalog, read("/a", "가"))
    key = text_hash("가")
    assert catalog.store_vectors(EMBEDDER, {key: vector_of(key)}) == 1
    last = catalog.last_seq()
    assert catalog.store_vectors(EMBEDDER, {key: vector_of(text_hash("다른 것"))}) == 0
    assert catalog.last_seq() == last
    assert next(iter(catalog.vectors(numbers(catalog, "/a")).values())).tolist() == vector_of(key).tolist()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full(DIM, np.nan), "length nan"),
        (np.array([np.inf, 0, 0, 0]), "length inf"),
        (np.ones(DIM), "length 2"),
        (np.eye(1, DIM + 1)[0], "5 numbers where this knowledge base has 4"),
        (np.zeros((1, DIM)), "shape"),
        (np.array([]), "shape"),
    ],
)
def test_a_bad_vector_is_refused_and_none_of_its_batch_is_stored(
    catalog: Catalog, bad: np.ndarray, message: str
) -> None:
    put(catalog, read("/a", "가", "나", "다"))
    embed(catalog, 1)
    with pytest.raises(ProviderError, match=message):
        catalog.store_vectors(EMBEDDER, {text_hash("나"): vector_of(b"x"), text_hash("다"): bad})
    assert catalog.count_pending() == 2


def test_another_embedder_is_refused(catalog: Catalog) -> None:
    with pytest.raises(KnowledgeBaseError, match="'e5/1', not 'other'; rebuild it with: silmari reindex --embedder"):
        catalog.pending_vectors("other", 1)
    with pytest.raises(KnowledgeBaseError, match="silmari reindex"):
        catalog.store_vectors("other", {})


def test_a_given_hash_is_kept() -> None:
    assert AnalysedPassage(Passage("가", "가", "", {}), "가", b"0" * 16).text_hash == b"0" * 16
    assert AnalysedPassage(Passage("가", "가", "", {}), "가").text_hash == text_hash("가")
