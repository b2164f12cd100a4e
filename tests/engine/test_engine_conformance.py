"""What the rest of Silmari relies on, whichever engine a knowledge base uses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engine_reference import ALL, DIM, Reference, assert_top, changes, random_unit, record, unit

from silmari.engine.base import Change, Engine, Record, Watermark
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter

COSINE = 2e-6
BM25 = 1e-4

OFFICE = [
    record(11, "서울 본사 예산 2024", seed=1, document=1, category="excel", day=20240131),
    record(12, "부산 지사 예산 예산", seed=2, document=1, category="excel", day=20230630),
    record(13, "safety manual seoul office", seed=3, document=2, category="pdf", day=20220101),
    record(14, "안전 수칙 서울 office", seed=4, document=3, category="pdf"),
    record(15, "budget 예산 report for the seoul office with many more words in it", document=4, category="내 기록"),
    record(2**40, "서울", seed=6, document=2**41, category="text", day=20240229),
]
QUESTION = random_unit(99).astype(np.float32)


@pytest.fixture
def office(engine: Engine) -> Engine:
    engine.apply(changes(OFFICE))
    return engine


@pytest.fixture
def truth() -> Reference:
    reference = Reference()
    reference.apply(changes(OFFICE))
    return reference


def test_a_new_engine_has_no_watermark(open_engine: Callable[[], Engine]) -> None:
    assert open_engine().watermark() is None


def test_reset_leaves_nothing(office: Engine) -> None:
    office.reset("other", "later")
    assert office.watermark() == Watermark("other", "later", 0)
    assert office.counts() == {"texts": 0, "vectors": 0}
    assert office.sparse({"서울": 1.0}, 5, ALL) == []
    assert office.dense("passage", QUESTION, 5, ALL) == []
    assert office.similarity("passage", QUESTION, [11]) == {}


def test_everything_is_found_again_after_reopening(
    open_engine: Callable[[], Engine], office: Engine, truth: Reference
) -> None:
    last = changes(OFFICE)[-1].seq
    again = open_engine()
    assert again.watermark() == Watermark("base", "epoch", last)
    assert again.counts() == {"texts": 6, "vectors": 5}
    assert_top(again.sparse({"서울": 1.0}, 9, ALL), truth.sparse({"서울": 1.0}), 9, BM25)
    assert_top(again.dense("passage", QUESTION, 9, ALL), truth.dense("passage", QUESTION), 9, COSINE)


@pytest.mark.parametrize(
    "tokens",
    [
        {"서울": 1.0},
        {"예산": 1.0, "seoul": 1.0},
        {"예산": 0.25, "office": 2.0, "서울": 1.0},
        {"없다": 1.0, "manual": 1.0},
        {"for": 1.0, "서울": 0.0},
    ],
)
def test_sparse_is_bm25(office: Engine, truth: Reference, tokens: dict[str, float]) -> None:
    for k in (1, 3, 100):
        assert_top(office.sparse(tokens, k, ALL), truth.sparse(tokens), k, BM25)


@pytest.mark.parametrize("tokens", [{}, {"": 1.0}, {"없다": 1.0}, {"서울": 0.0}])
def test_sparse_without_a_match_finds_nothing(office: Engine, tokens: dict[str, float]) -> None:
    assert office.sparse(tokens, 5, ALL) == []


def test_tokens_are_taken_whole(engine: Engine) -> None:
    """Engines split at blanks and change nothing: case, punctuation and length are the analyser's business."""
    long = "가" * 500
    engine.apply(changes([record(1, f"Seoul c++ {long}"), record(2, "seoul c"), record(3, 'a:b"(c) AND OR')]))
    for token, expected in (("Seoul", [1]), ("seoul", [2]), ("c++", [1]), ("c", [2]), (long, [1]), ("AND", [3])):
        assert [id for id, _ in engine.sparse({token: 1.0}, 5, ALL)] == expected, token
    assert [id for id, _ in engine.sparse({'a:b"(c)': 1.0}, 5, ALL)] == [3]


FILTERS = [
    Filter(categories=frozenset({"pdf"})),
    Filter(categories=frozenset({"내 기록", "excel"})),
    Filter(categories=frozenset()),
    Filter(categories=frozenset({"none such"})),
    Filter(since="2023-06-30"),
    Filter(since="2023-07-01"),
    Filter(until="2023-06-30"),
    Filter(since="2022-01-01", until="2024-01-31"),
    Filter(undated=True),
    Filter(undated=True, categories=frozenset({"pdf", "excel", "내 기록"}), documents=frozenset({1, 2, 2**41})),
    Filter(undated=True, since="2022-01-01"),
    Filter(documents=frozenset({1, 2**41})),
    Filter(documents=frozenset()),
    Filter(documents=frozenset(range(1, 40))),
    Filter(categories=frozenset({"pdf", "excel"}), since="2022-06-01", documents=frozenset({1, 2})),
]


@pytest.mark.parametrize("where", FILTERS, ids=repr)
def test_filters_come_before_the_top_k(office: Engine, truth: Reference, where: Filter) -> None:
    tokens = {"서울": 1.0, "seoul": 0.5, "예산": 2.0}
    for k in (1, 2, 100):
        assert_top(office.sparse(tokens, k, where), truth.sparse(tokens, where), k, BM25)
        assert_top(office.dense("passage", QUESTION, k, where), truth.dense("passage", QUESTION, where), k, COSINE)


@pytest.mark.parametrize("day", [None, 10101, 29991231])
def test_all_or_none_may_be_undated(engine: Engine, day: int | None) -> None:
    engine.apply(changes([record(n, "서울", seed=n, day=day) for n in range(1, 4)]))
    for where, found in ((Filter(undated=True), day is None), (Filter(since="0001-01-01"), day is not None)):
        expected = {1, 2, 3} if found else set()
        assert {id for id, _ in engine.sparse({"서울": 1.0}, 9, where)} == expected
        assert {id for id, _ in engine.dense("passage", QUESTION, 9, where)} == expected


def test_similarity_knows_exactly_the_ids_asked_for(office: Engine, truth: Reference) -> None:
    cosines = truth.dense("passage", QUESTION)
    found = office.similarity("passage", QUESTION, [2**40, 13, 15, 999, 11])
    assert set(found) == {2**40, 13, 11}
    assert found == pytest.approx({id: cosines[id] for id in found}, abs=COSINE)
    assert office.similarity("passage", QUESTION, []) == {}
    assert office.similarity("relation", QUESTION, [11]) == {}


def test_similarity_ignores_the_length_of_the_question(office: Engine) -> None:
    once = office.dense("passage", QUESTION, 5, ALL)
    scaled = office.dense("passage", QUESTION * 7, 5, ALL)
    assert [id for id, _ in once] == [id for id, _ in scaled]
    assert dict(once) == pytest.approx(dict(scaled), abs=COSINE)


def test_kinds_do_not_mix(engine: Engine) -> None:
    engine.apply(changes([record(1, "서울", seed=1)]))
    engine.apply(changes([record(1, "관계", seed=2), record(2, "서울", seed=3)], start=10, kind="relation"))
    engine.apply(changes([record(7, "이름", seed=4, dim=4)], start=20, kind="entity"))
    assert [id for id, _ in engine.dense("passage", QUESTION, 5, ALL)] == [1]
    assert sorted(id for id, _ in engine.dense("relation", QUESTION, 5, ALL)) == [1, 2]
    assert [id for id, _ in engine.dense("entity", QUESTION[:4], 5, ALL)] == [7]
    assert [id for id, _ in engine.sparse({"서울": 1.0, "관계": 1.0}, 5, ALL)] == [1]
    engine.apply(changes([1], start=30, kind="relation"))
    assert [id for id, _ in engine.dense("passage", QUESTION, 5, ALL)] == [1]
    assert [id for id, _ in engine.sparse({"서울": 1.0}, 5, ALL)] == [1]


def test_vectors_may_come_later(engine: Engine) -> None:
    engine.apply(changes([record(1, "서울")]))
    assert engine.counts() == {"texts": 1, "vectors": 0}
    assert engine.dense("passage", QUESTION, 5, ALL) == []
    engine.apply([Change(2, "passage", 1, "vector", record(1, "서울", seed=1))])
    assert engine.counts() == {"texts": 1, "vectors": 1}
    assert [id for id, _ in engine.dense("passage", QUESTION, 5, ALL)] == [1]
    assert [id for id, _ in engine.sparse({"서울": 1.0}, 5, ALL)] == [1]


def test_an_update_replaces_and_a_deletion_removes(office: Engine, truth: Reference) -> None:
    later = changes([record(11, "부산 본사", seed=21, category="csv", day=20200101), 13, 777], start=100)
    office.apply(later)
    truth.apply(later)
    assert office.counts() == {"texts": 5, "vectors": 4}
    assert {id for id, _ in office.sparse({"서울": 1.0, "manual": 1.0}, 9, ALL)} == {14, 2**40}
    assert {id for id, _ in office.sparse({"부산": 1.0}, 9, ALL)} == {11, 12}
    for where in (ALL, Filter(categories=frozenset({"csv"})), Filter(until="2021-01-01")):
        assert_top(office.dense("passage", QUESTION, 9, where), truth.dense("passage", QUESTION, where), 9, COSINE)


def test_a_passage_may_lose_its_vector_and_change_its_date(office: Engine) -> None:
    office.apply(
        [
            Change(100, "passage", 11, "text", record(11, "서울", document=1, category="excel")),
            Change(101, "passage", 12, "text", record(12, "부산", seed=2, document=1, category="excel", day=20250101)),
        ]
    )
    found = office.similarity("passage", QUESTION, [11, 12])
    assert set(found) == {12}
    where = Filter(since="2025-01-01")
    assert [id for id, _ in office.dense("passage", QUESTION, 9, where)] == [12]
    assert [id for id, _ in office.sparse({"부산": 1.0}, 9, where)] == [12]


def test_the_last_of_several_changes_counts(engine: Engine) -> None:
    engine.apply(
        changes([record(1, "처음", seed=1), record(2, "둘", seed=2), record(1, "나중", seed=3), 2, record(3, "셋")])
    )
    assert engine.counts() == {"texts": 2, "vectors": 1}
    assert engine.sparse({"처음": 1.0, "둘": 1.0}, 5, ALL) == []
    expected = float(random_unit(3).astype(np.float32) @ QUESTION)
    assert engine.similarity("passage", QUESTION, [1, 2])[1] == pytest.approx(expected, abs=1e-3)


def test_applying_again_changes_nothing(office: Engine, truth: Reference) -> None:
    given = changes(OFFICE)
    mark = office.watermark()
    for part in (given, given[:3], given[4:], []):
        office.apply(part)
        assert office.watermark() == mark
        assert office.counts() == {"texts": 6, "vectors": 5}
    assert_top(office.sparse({"서울": 1.0}, 9, ALL), truth.sparse({"서울": 1.0}), 9, BM25)
    assert_top(office.dense("passage", QUESTION, 9, ALL), truth.dense("passage", QUESTION), 9, COSINE)


def test_near_vectors_are_told_apart(engine: Engine) -> None:
    """Cosines that differ by 2e-5, less than float16 has between two questions, keep their order."""
    angles = np.arange(40) * 1e-3
    items = [
        Record(1000 - n, "x", unit([np.cos(angle), np.sin(angle), *[0] * (DIM - 2)]), n, "text", None)
        for n, angle in enumerate(angles)
    ]
    engine.apply(changes(items))
    reference = Reference()
    reference.apply(changes(items))
    question = np.array([np.cos(0.01234), np.sin(0.01234), *[0] * (DIM - 2)], dtype=np.float32)
    assert_top(engine.dense("passage", question, 5, ALL), reference.dense("passage", question), 5, COSINE)


@pytest.mark.parametrize(
    "vector",
    [
        np.ones(DIM + 1, np.float32),
        np.ones(0, np.float32),
        np.full(DIM, np.nan, np.float32),
        np.full(DIM, np.inf, np.float32),
        np.zeros(DIM, np.float32),
    ],
    ids=["long", "empty", "nan", "inf", "zero"],
)
def test_a_useless_question_vector_is_refused(office: Engine, vector: np.ndarray) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"question's vector"):
        office.dense("passage", vector, 5, ALL)
    with pytest.raises(KnowledgeBaseError, match=r"question's vector"):
        office.similarity("passage", vector, [11])


@pytest.mark.parametrize("value", [np.nan, np.inf, None], ids=str)
def test_a_useless_record_is_refused_whole(office: Engine, truth: Reference, value: float | None) -> None:
    vector = np.full(DIM, value, np.float16) if value is not None else np.ones(DIM + 1, np.float16)
    bad = Record(50, "나쁜", vector, 1, "text", None)
    mark = office.watermark()
    with pytest.raises(KnowledgeBaseError, match="passage 50"):
        office.apply(changes([record(49, "좋은", seed=1), bad], start=100))
    assert office.watermark() == mark
    assert_top(office.dense("passage", QUESTION, 9, ALL), truth.dense("passage", QUESTION), 9, COSINE)


def test_applying_before_the_first_reset_is_refused(open_engine: Callable[[], Engine]) -> None:
    with pytest.raises(KnowledgeBaseError, match="never filled"):
        open_engine().apply(changes(OFFICE))
