from __future__ import annotations

from pathlib import Path

from catalog_samples import FINGERPRINTS, embed, numbers, passage, put, read

from silmari.catalog.catalog import Catalog
from silmari.engine.base import Change


def tail(catalog: Catalog, after: int) -> list[Change]:
    return catalog.changes(after, 1000)


def seen(found: list[Change]) -> list[tuple[int, str, bool]]:
    return [(change.id, change.aspect, change.record is not None) for change in found]


def test_a_new_passage_is_logged_then_its_vector(catalog: Catalog) -> None:
    assert (catalog.last_seq(), tail(catalog, 0)) == (0, [])
    row = passage("제품 가", date="2024-02-03")
    put(catalog, read("/a/재고 Q1.csv", row, "나", category="csv", date="2023-12-31"))
    first, second = numbers(catalog, "/a/재고 Q1.csv")
    dated, plain = tail(catalog, 0)
    assert (dated.kind, dated.id, dated.aspect, plain.id) == ("passage", first, "text", second)
    assert dated.record is not None
    assert plain.record is not None
    assert (dated.record.tokens, dated.record.day) == ("제품 가 재고 q1", 20240203)
    assert (plain.record.tokens, plain.record.day) == ("나 재고 q1", 20231231)
    assert (plain.record.category, plain.record.vector) == ("csv", None)
    after = catalog.last_seq()
    embed(catalog, 1)
    (change,) = tail(catalog, after)
    assert (change.id, change.aspect) == (first, "vector")
    assert change.record is not None
    assert change.record.vector is not None


def test_a_passage_whose_text_is_known_has_its_vector_at_once(catalog: Catalog) -> None:
    put(catalog, read("/a", "가"))
    embed(catalog)
    after = catalog.last_seq()
    put(catalog, read("/b", "나", "가"))
    first, second = numbers(catalog, "/b")
    assert seen(tail(catalog, after)) == [(first, "text", True), (second, "text", True), (second, "vector", True)]


def test_a_removed_passage_leaves_one_row_an_aspect(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나"))
    embed(catalog, 1)
    first, second = numbers(catalog, "/a")
    after = catalog.last_seq()
    catalog.remove(["/a"])
    gone = [(first, "text", False), (second, "text", False), (first, "vector", False)]
    assert seen(tail(catalog, after)) == seen(tail(catalog, 0)) == gone
    assert catalog.changes(after, 2) == tail(catalog, after)[:2]


def test_whole_records_need_no_second_change(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나", "다"))
    embed(catalog)
    first, second, third = numbers(catalog, "/a")
    last = catalog.last_seq()
    texts = [(number, "text", True) for number in (first, second, third)]
    # The end of the run is told, so that the engine's watermark comes to it.
    assert seen(catalog.changes(0, 99, whole=(0, last))) == [*texts, (third, "vector", True)]
    assert all(change.record and change.record.vector is not None for change in catalog.changes(0, 3, whole=(0, last)))
    # A run that began after the texts has to bring the vectors, as one that goes on does.
    begun = catalog.changes(0, 2)[-1].seq
    found = catalog.changes(begun, 99, whole=(begun, last))
    assert seen(found) == [texts[2], (first, "vector", True), (second, "vector", True), (third, "vector", True)]
    # What was embedded after the run began may have been read without its vector.
    assert seen(catalog.changes(0, 99, whole=(0, 3))) == seen(tail(catalog, 0))


def test_numbers_are_never_given_twice(catalog: Catalog) -> None:
    put(catalog, read("/a", "가"))
    (former,) = numbers(catalog, "/a")
    document = catalog.document("/a")
    catalog.remove(["/a"])
    put(catalog, read("/a", "가"))
    assert numbers(catalog, "/a") == [former + 1]
    assert document is not None
    assert catalog.document("/a").id == document.id + 1  # type: ignore[union-attr]


def test_a_copy_with_a_better_date_or_name_logs_the_passages_again(catalog: Catalog) -> None:
    put(catalog, read("/나.txt", "글", "글 둘"))
    embed(catalog, 1)
    first, second = numbers(catalog, "/나.txt")
    after = catalog.last_seq()
    put(catalog, read("/가.txt", "글", "글 둘", date="2024-01-01"))
    found = tail(catalog, after)
    assert seen(found) == [(first, "text", True), (second, "text", True), (first, "vector", True)]
    assert {(change.record.tokens, change.record.day) for change in found if change.record} == {
        ("글 가", 20240101),
        ("글 둘 가", 20240101),
    }
    after = catalog.last_seq()
    put(catalog, read("/0.txt", "글", "글 둘", date="2024-01-01"))  # the name alone
    assert [change.record.tokens for change in tail(catalog, after)[:2] if change.record] == ["글 0", "글 둘 0"]
    after = catalog.last_seq()
    put(catalog, read("/다.txt", "글", "글 둘", date="2024-01-01"))
    put(catalog, read("/가.txt", "글", "글 둘", date="2024-01-01"), mtime_ns=99)
    assert tail(catalog, after) == []


def test_the_time_of_a_file_is_no_date_unless_told(tmp_path: Path, url: str) -> None:
    def days(*, allowed: bool) -> tuple[list[int | None], int]:
        with Catalog.open(tmp_path, FINGERPRINTS, url=url, file_time_dates=allowed) as catalog:
            put(catalog, read("/a", "가", passage("나", date="2024-02-02"), date="2026-01-01", date_source="file-time"))
            records = [change.record for change in tail(catalog, 0) if change.record]
            assert [one.uri for one in catalog.documents()] == ["/a"]
            return [record.day for record in records], catalog.undated_count()

    assert days(allowed=False) == ([None, 20240202], 1)
    assert days(allowed=True) == ([20260101, 20240202], 0)
    with Catalog.open(tmp_path, FINGERPRINTS, url=url, file_time_dates=False, readonly=True) as catalog:
        assert catalog.undated_count() == 0  # a reader takes what the writer set
    assert days(allowed=False) == ([None, 20240202], 1)


def test_a_new_epoch_starts_with_what_is_there(catalog: Catalog) -> None:
    put(catalog, read("/a", "가", "나"))
    put(catalog, read("/b", "다"))
    embed(catalog, 1)
    catalog.remove(["/b"])
    base, epoch = catalog.identity()
    last = catalog.last_seq()
    catalog.new_epoch()
    first, second = numbers(catalog, "/a")
    assert seen(tail(catalog, 0)) == [(first, "text", True), (second, "text", True), (first, "vector", True)]
    assert min(change.seq for change in tail(catalog, 0)) > last
    assert catalog.identity()[0] == base
    assert catalog.identity()[1] != epoch
