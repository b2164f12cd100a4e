from __future__ import annotations

import unicodedata

import pytest
from catalog_samples import dump, embed, numbers, passage, put, read

from silmari.catalog.catalog import Catalog
from silmari.catalog.words import FileInfo
from silmari.errors import UnreadableError
from silmari.model import Filter, Triplet


def test_a_file_is_added_updated_and_left_unchanged(catalog: Catalog) -> None:
    assert put(catalog, read("/a/보고서.txt", "매출은 늘었다.", "비용은 줄었다.")) == "added"
    first = numbers(catalog, "/a/보고서.txt")
    assert put(catalog, read("/a/보고서.txt", "매출은 늘었다.", "비용은 줄었다."), mtime_ns=2) == "unchanged"
    assert numbers(catalog, "/a/보고서.txt") == first
    assert put(catalog, read("/a/보고서.txt", "매출은 늘었다.", "비용은 그대로다."), mtime_ns=3) == "updated"
    second = numbers(catalog, "/a/보고서.txt")
    assert min(second) > max(first)
    assert [one.text for one, _ in catalog.passages(second).values()] == ["매출은 늘었다.", "비용은 그대로다."]
    assert catalog.passages(first) == {}
    assert catalog.statistics().documents == 1


def test_an_unchanged_file_need_not_be_read(catalog: Catalog) -> None:
    put(catalog, read("/a/x.txt", "text"), mtime_ns=7)
    state = catalog.begin_file("/a/x.txt", 1, 7)
    assert state is not None
    assert (state.status, state.reason, state.sha256) == ("ok", None, read("/a/x.txt", "text").document.sha256)
    assert catalog.begin_file("/a/x.txt", 1, 8) is None
    assert catalog.begin_file("/a/x.txt", 2, 7) is None
    assert catalog.begin_file("/a/y.txt", 1, 7) is None


def test_a_decomposed_name_is_the_same_name(catalog: Catalog) -> None:
    path = unicodedata.normalize("NFD", "/문서/보고서.txt")
    assert put(catalog, read(path, "글")) == "added"
    assert put(catalog, read("/문서/보고서.txt", "글")) == "unchanged"
    (document,) = catalog.documents()
    assert (document.uri, document.title) == ("/문서/보고서.txt", "보고서")
    assert catalog.begin_file(path, 1, 1) is not None
    assert catalog.remove([path]) == ["/문서/보고서.txt"]


def test_everything_of_a_passage_comes_back(catalog: Catalog) -> None:
    row = passage(
        "제품 가\n제품 나",
        content="제품: 가, 값: 1\n제품: 나, 값: 2",
        context="재고 > 서울",
        locator={"sheet": "재고", "rows": [2, 3]},
        date="2024-02-03",
    )
    put(catalog, read("/a/stock.xlsx", row, "끝", category="excel", title="재고", date="2024-01-01"))
    first, second = catalog.passages(numbers(catalog, "/a/stock.xlsx")).values()
    stored, source = first
    assert (stored.text, stored.content, stored.context) == (row.passage.text, row.passage.content, "재고 > 서울")
    assert stored.locator == source.locator == {"sheet": "재고", "rows": [2, 3]}
    assert (source.title, source.category) == ("재고", "excel")
    assert (stored.date, source.date, source.date_source) == ("2024-02-03", "2024-02-03", "content")
    assert (second[0].content, second[1].date, second[1].date_source) == ("끝", "2024-01-01", "name")


def test_passages_come_in_the_order_asked(catalog: Catalog) -> None:
    put(catalog, read("/a/x.txt", *(f"passage {n}" for n in range(2000))))
    ids = numbers(catalog, "/a/x.txt")
    asked = [*ids[1500::-3], 10**9, ids[0]]
    assert list(catalog.passages(asked)) == list(dict.fromkeys(number for number in asked if number != 10**9))


def test_the_same_content_is_stored_once_and_cited_with_all_paths(catalog: Catalog) -> None:
    put(catalog, read("/a/나.txt", "같은 글"))
    put(catalog, read("/a/가.txt", "같은 글"))
    assert catalog.statistics().passages == 1
    ((_, source),) = catalog.passages(numbers(catalog, "/a/나.txt")).values()
    assert (source.uri, source.also, source.title) == ("/a/가.txt", ("/a/나.txt",), "가")
    assert catalog.remove(["/a/가.txt"]) == ["/a/가.txt"]
    ((_, source),) = catalog.passages(numbers(catalog, "/a/나.txt")).values()
    assert (source.uri, source.also, source.title) == ("/a/나.txt", (), "나")
    assert catalog.remove(["/a/나.txt", "/a/가.txt"]) == ["/a/나.txt"]
    assert catalog.statistics().passages == 0


def test_the_same_bytes_of_another_category_are_another_document(catalog: Catalog) -> None:
    put(catalog, read("/a/x.txt", "a,b", category="text"))
    put(catalog, read("/a/x.csv", "a,b", category="csv"))
    assert catalog.statistics().categories == {"csv": 1, "text": 1}


@pytest.mark.parametrize("backwards", [False, True])
def test_the_best_date_holds_whatever_came_first(catalog: Catalog, backwards: bool) -> None:
    copies = [
        read("/1", "글", date="2026-05-05", date_source="file-time"),
        read("/2", "글"),
        read("/3", "글", date="2023-03-03", date_source="name"),
        read("/4", "글", date="2022-02-02", date_source="name"),
    ]
    for copy in reversed(copies) if backwards else copies:
        put(catalog, copy)

    def shown() -> tuple[str | None, str | None, str]:
        (document,) = catalog.documents()
        return document.date, document.date_source, document.uri

    assert shown() == ("2023-03-03", "name", "/3")
    catalog.remove(["/3"])
    assert shown() == ("2022-02-02", "name", "/4")
    catalog.remove(["/4"])
    assert shown() == ("2026-05-05", "file-time", "/1")
    catalog.remove(["/1"])
    assert shown() == (None, None, "/2")


def test_a_date_in_the_content_beats_every_name(catalog: Catalog) -> None:
    put(catalog, read("/a", "글", title="제목", date="2020-01-01", date_source="metadata"))
    (document,) = catalog.documents()
    assert (document.date, document.date_source, document.title) == ("2020-01-01", "metadata", "제목")


def test_records_of_a_file_change_one_by_one(catalog: Catalog) -> None:
    def records(**texts: str) -> list:
        return [read(f"/r.jsonl#{key}", text, category="record", title=key) for key, text in texts.items()]

    assert catalog.put_file(FileInfo("/r.jsonl", 1, 1, "s1"), records(a="하나", b="둘", c="셋")) == "added"
    kept, changed = numbers(catalog, "/r.jsonl#a"), numbers(catalog, "/r.jsonl#b")
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 2, "s2"), records(a="하나", b="둘!", d="넷")) == "updated"
    assert numbers(catalog, "/r.jsonl#a") == kept
    assert numbers(catalog, "/r.jsonl#b") != changed
    assert catalog.document("/r.jsonl#c") is None
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 3, "s2"), records(a="하나", b="둘!", d="넷")) == "unchanged"
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 3, "s3"), records(a="하나")) == "updated"
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 3, "s4"), []) == "updated"
    assert catalog.documents() == []


def test_equal_records_are_one_document_and_the_last_of_equal_ids_counts(catalog: Catalog) -> None:
    same = [read(f"/r.jsonl#{n}", "글", category="record", title="같음") for n in range(3)]
    catalog.put_file(FileInfo("/r.jsonl", 1, 1, "s"), [*same, read("/r.jsonl#0", "다른 글", category="record")])
    assert {one.uri: one.also for one in catalog.documents()} == {
        "/r.jsonl#0": (),
        "/r.jsonl#1": ("/r.jsonl#2",),
    }


def test_equal_records_of_two_files_are_one_document_whatever_the_files_times(catalog: Catalog) -> None:
    for path, day in (("/1.jsonl", "2026-01-01"), ("/2.jsonl", "2026-02-02")):
        record = read(f"{path}#a", "글", category="record", date=day, date_source="file-time")
        catalog.put_file(FileInfo(path, 1, 1, path), [record])
    assert [(one.uri, one.also) for one in catalog.documents()] == [("/1.jsonl#a", ("/2.jsonl#a",))]


def test_more_records_than_one_transaction(catalog: Catalog) -> None:
    texts = [read(f"/r.jsonl#{n}", f"글 {n}", category="record") for n in range(1234)]
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 1, "s"), iter(texts)) == "added"
    assert catalog.statistics().documents == 1234
    assert catalog.put_file(FileInfo("/r.jsonl", 1, 2, "t"), iter(texts[600:])) == "updated"
    assert catalog.statistics().documents == 634
    assert catalog.file("/r.jsonl").sha256 == "t"  # type: ignore[union-attr]


def test_a_file_that_breaks_off_between_transactions_is_read_again(catalog: Catalog) -> None:
    def broken():  # type: ignore[no-untyped-def]
        for n in range(1100):
            yield read(f"/r.jsonl#{n}", f"글 {n}", category="record")
        raise UnreadableError("the line is no JSON")

    with pytest.raises(UnreadableError):
        catalog.put_file(FileInfo("/r.jsonl", 9, 9, "s"), broken())
    assert catalog.begin_file("/r.jsonl", 9, 9) is None
    whole = [read(f"/r.jsonl#{n}", f"글 {n}", category="record") for n in range(1100)]
    catalog.put_file(FileInfo("/r.jsonl", 9, 9, "s"), whole)
    assert catalog.begin_file("/r.jsonl", 9, 9) is not None
    assert catalog.statistics().documents == 1100


def test_records_of_the_api(catalog: Catalog) -> None:
    one = read("record:1", "글", category="회의록", triplets=(Triplet("가", "이다", "나"),), name_title="")
    assert catalog.put_records([one, read("record:2", "둘", category="record")]) == {
        "record:1": "added",
        "record:2": "added",
    }
    assert catalog.put_records([one]) == {"record:1": "unchanged"}
    assert catalog.put_records([read("record:1", "글", category="회의록")]) == {"record:1": "updated"}
    assert catalog.remove(["record:1", "record:9"]) == ["record:1"]
    assert [document.uri for document in catalog.documents()] == ["record:2"]
    assert catalog.statistics().categories == {"record": 1}


def test_problems_are_listed_and_keep_the_earlier_version(catalog: Catalog) -> None:
    put(catalog, read("/a/x.pdf", "예전 글", category="pdf"))
    catalog.note_problem("/a/x.pdf", 5, 5, "failed", "is encrypted")
    catalog.note_problem("/a/scan.pdf", 6, 6, "skipped", "needs OCR")
    assert numbers(catalog, "/a/x.pdf")
    found = catalog.statistics()
    assert [(state.path, state.reason) for state in found.failed] == [("/a/x.pdf", "is encrypted")]
    assert [(state.path, state.reason) for state in found.skipped] == [("/a/scan.pdf", "needs OCR")]
    assert catalog.begin_file("/a/scan.pdf", 6, 6).status == "skipped"  # type: ignore[union-attr]
    assert put(catalog, read("/a/x.pdf", "예전 글", category="pdf"), mtime_ns=6) == "unchanged"
    assert catalog.statistics().failed == ()
    assert catalog.remove(["/a/scan.pdf"]) == ["/a/scan.pdf"]
    assert catalog.statistics().skipped == ()


def test_a_removed_record_comes_back_with_its_file(catalog: Catalog) -> None:
    records = [read(f"/r.jsonl#{n}", f"글 {n}", category="record") for n in range(3)]
    file = FileInfo("/r.jsonl", 1, 1, "s")
    catalog.put_file(file, records)
    before = dump(catalog)
    assert catalog.remove(["/r.jsonl#1"]) == ["/r.jsonl#1"]
    assert catalog.begin_file("/r.jsonl", 1, 1) is None
    assert catalog.put_file(file, records) == "updated"
    assert dump(catalog) == before
    assert catalog.remove(["/r.jsonl"]) == ["/r.jsonl"]
    assert catalog.statistics().documents == 0


def test_only_files_under_a_folder(catalog: Catalog) -> None:
    for path in ("/가/나/1.txt", "/가/나/다/2.txt", "/가/나쁜/3.txt", "/가/나", "/가_나/4.txt"):
        put(catalog, read(path, path))
    catalog.note_problem("/가/나/빈.pdf", 0, 0, "skipped", "is empty")
    assert (
        catalog.uris_under("/가/나")
        == catalog.uris_under("/가/나/")
        == ["/가/나/1.txt", "/가/나/다/2.txt", "/가/나/빈.pdf"]
    )
    assert len(catalog.uris_under("/")) == 6
    put(catalog, read("/가x나/5.txt", "다섯"))
    assert catalog.uris_under(unicodedata.normalize("NFD", "/가_나")) == ["/가_나/4.txt"]
    put(catalog, read("C:\\문서\\1.txt", "윈도"))
    assert catalog.uris_under("C:\\문서") == ["C:\\문서\\1.txt"]


def test_documents_for_a_filter(catalog: Catalog) -> None:
    for path in ("/a/1.txt", "/a/b/2.csv", "/ab/3.txt", "/a/[보고].txt"):
        put(catalog, read(path, path))
    catalog.put_file(FileInfo("/a/r.jsonl", 1, 1, "s"), [read(f"/a/r.jsonl#{n}", f"글 {n}") for n in range(2)])
    names = {one.id: one.uri for one in catalog.documents()}

    def found(*patterns: str) -> list[str]:
        return sorted(names[number] for number in catalog.document_ids(patterns))

    assert found("/a/1.txt", "/none") == ["/a/1.txt"]
    assert found("/a") == ["/a/1.txt", "/a/[보고].txt", "/a/b/2.csv", "/a/r.jsonl#0", "/a/r.jsonl#1"]
    assert found("/a/b/") == found("b/*.csv") == found("*.csv") == ["/a/b/2.csv"]
    assert found("/a/r.jsonl") == ["/a/r.jsonl#0", "/a/r.jsonl#1"]
    assert found("/a/r.jsonl#1") == ["/a/r.jsonl#1"]
    assert found("/a/[보고].txt") == found(unicodedata.normalize("NFD", "/a/[보고].txt")) == ["/a/[보고].txt"]
    assert found("[0-9].txt") == ["/a/1.txt", "/ab/3.txt"]
    assert found() == []


def test_a_uri_with_a_nul_is_found_by_it(catalog: Catalog) -> None:
    put(catalog, read("/a/앞\0뒤.txt", "글"))
    assert [one.uri for one in catalog.documents()] == ["/a/앞\ufffd뒤.txt"]
    found = catalog.document_ids(["/a/앞\0뒤.txt"])
    assert len(found) == 1
    assert found == catalog.document_ids(["앞\0뒤.txt"])
    assert catalog.document_ids(["/no\0where"]) == frozenset()
    assert put(catalog, read("/a/앞\0뒤.txt", "글"), mtime_ns=2) == "unchanged"


def test_uris_that_a_command_names(catalog: Catalog) -> None:
    for path in ("/a/1.txt", "/a/b/2.csv", "/ab/3.txt"):
        put(catalog, read(path, path))
    catalog.note_problem("/a/scan.pdf", 1, 1, "skipped", "needs OCR")
    catalog.put_file(FileInfo("/a/r.jsonl", 1, 1, "s"), [read("/a/r.jsonl#가", "글", category="record")])
    catalog.put_records([read("record:1", "둘", category="record")])
    everything = ["/a/1.txt", "/a/b/2.csv", "/a/r.jsonl", "/a/r.jsonl#가", "/a/scan.pdf"]
    assert catalog.matching(["/a"]) == catalog.matching(["/a/*"]) == everything
    assert catalog.matching(["*.pdf", "record:1", "/none", "none"]) == ["/a/scan.pdf", "record:1"]
    assert catalog.matching([unicodedata.normalize("NFD", "/a/r.jsonl#가")]) == ["/a/r.jsonl#가"]
    assert catalog.file_paths() == ["/a/1.txt", "/a/b/2.csv", "/a/r.jsonl", "/a/scan.pdf", "/ab/3.txt"]
    assert catalog.categories() == {"text", "record"}


def test_tokens(catalog: Catalog) -> None:
    put(catalog, read("/a", *(f"글 {n}" for n in range(20))))
    ids = numbers(catalog, "/a")
    assert catalog.tokens([ids[3], 999]) == {ids[3]: "글 3"}


def test_listing_by_category_and_date(catalog: Catalog) -> None:
    put(catalog, read("/1.pdf", "하나", category="pdf", date="2024-01-31", notes=("pages past 2000 were left out",)))
    put(catalog, read("/2.txt", "둘", "셋", date="2024-02-01"))
    put(catalog, read("/3.txt", "넷", date="2024-03-01", date_source="file-time"))
    put(catalog, read("/4.txt", "다섯"))
    embed(catalog, 1)

    def uris(**where: object) -> list[str]:
        return [one.uri for one in catalog.documents(Filter(**where))]  # type: ignore[arg-type]

    assert uris() == ["/1.pdf", "/2.txt", "/3.txt", "/4.txt"]
    assert uris(categories=frozenset({"text"})) == ["/2.txt", "/3.txt", "/4.txt"]
    assert uris(since="2024-02-01") == ["/2.txt"]
    assert uris(until="2024-01-31") == ["/1.pdf"]
    assert uris(documents=catalog.document_ids(["/4.txt"])) == ["/4.txt"]
    first, second, *_ = catalog.documents()
    assert first.notes == ("pages past 2000 were left out",)
    assert (second.passages, second.pending) == (2, 1)
    assert catalog.undated_count() == 2


def test_a_mere_name_is_that_of_a_file_in_any_folder(catalog: Catalog) -> None:
    for uri in ("/규정/여비.txt", "/영업/여비.txt", "/영업/문의.jsonl#Q-1", "/영업/출장여비.txt"):
        put(catalog, read(uri, f"글 {uri}"))

    def uris(name: str) -> list[str]:
        return [one.uri for one in catalog.documents(Filter(documents=catalog.document_ids([name])))]

    assert uris("여비.txt") == ["/규정/여비.txt", "/영업/여비.txt"]
    assert uris("문의.jsonl") == ["/영업/문의.jsonl#Q-1"]
    assert uris("영업") == uris("") == uris("정/여비.txt") == []


def test_neighbours_stay_in_their_document(catalog: Catalog) -> None:
    put(catalog, read("/1", "가", "나", "다"))
    put(catalog, read("/2", "라"))
    first, second, third = numbers(catalog, "/1")
    texts = {
        number: tuple(one and one.text for one in catalog.neighbours(number))
        for number in (first, second, third, *numbers(catalog, "/2"), 999)
    }
    assert [*texts.values()] == [(None, "나"), ("가", "다"), ("나", None), (None, None), (None, None)]


def test_half_a_character_fails_alone(catalog: Catalog) -> None:
    put(catalog, read("/1", "가"))
    with pytest.raises(UnreadableError, match="lone surrogate"):
        put(catalog, read("/2", "\ud800"))
    assert [one.uri for one in catalog.documents()] == ["/1"]


def test_a_file_name_that_is_no_utf8(catalog: Catalog) -> None:
    path = b"/a/\xb0\xa1.txt".decode("utf-8", "surrogateescape")
    assert put(catalog, read(path, "가")) == "added"
    assert put(catalog, read(path, "가")) == "unchanged"
    assert catalog.begin_file(path, 1, 1) is not None
    catalog.note_problem(path, 2, 2, "failed", "is gone")
    assert catalog.remove([path])
    assert catalog.statistics().documents == 0


def test_a_document_without_passages(catalog: Catalog) -> None:
    assert put(catalog, read("/empty.txt")) == "added"
    document = catalog.document("/empty.txt")
    assert document is not None
    assert (document.passages, document.pending) == (0, 0)
    assert catalog.remove(["/empty.txt"]) == ["/empty.txt"]


def test_replies_are_kept(catalog: Catalog) -> None:
    assert catalog.reply("gpt", "k") is None
    catalog.put_reply("gpt", "k", {"답": [1, None]})
    catalog.put_reply("gpt", "k", {"답": [2]})
    assert catalog.reply("gpt", "k") == {"답": [2]}
    assert catalog.reply("other", "k") is None
