"""The main job: files in, passages and answers out, and everything exact when they change."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from silmari.errors import KnowledgeBaseError, UsageError
from silmari.ingest import Progress
from silmari.knowledge_base import KnowledgeBase
from silmari.model import WAYS
from silmari.retrieval.trace import Trace

LEAVE = "연차휴가는 해마다 15일이다. 3년 이상 일하면 하루가 더해진다."
BRIDGE = "The Seolbong bridge was finished in 1932. It is 214 metres long."


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "휴가.txt").write_text(LEAVE, "utf-8")
    (folder / "bridge.md").write_text(f"# The bridge\n\n{BRIDGE}\n", "utf-8")
    (folder / "parks.csv").write_bytes(
        "이름,주소,면적\n구랑공원,부산 강서구,1200\n달맞이공원,부산 해운대구,800\n".encode("cp949")
    )
    return folder


def uris(base: KnowledgeBase) -> set[str]:
    return {Path(document.uri).name for document in base.documents()}


def test_adds_and_finds_in_both_languages(base: KnowledgeBase, tmp_path: Path) -> None:
    report = base.add(folder_of(tmp_path))
    assert [file.status for file in report.files] == ["added"] * 3
    assert report.pending == {"vectors": 0, "relations": 0}
    for way in WAYS:
        assert base.search("연차휴가는 며칠인가요?", way=way)[0].passage.content == LEAVE
    hit = base.search("구랑공원 주소", way="fused")[0]
    assert "부산 강서구" in hit.passage.content
    assert hit.source.locator == {"rows": [2, 3]}
    assert hit.similarity is not None and -1 <= hit.similarity <= 1
    assert 0 <= hit.relevance <= 1


def test_answer_quotes_its_passage_and_names_the_source(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add(folder_of(tmp_path))
    answer = base.ask("When was the Seolbong bridge finished?", way="sparse")
    assert answer.found and "1932" in answer.text and "[1]" in answer.text
    cited = answer.sources[0]
    assert Path(cited.source.uri).name == "bridge.md"
    assert cited.quote in BRIDGE


def test_says_not_found_in_the_language_of_the_question(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add(folder_of(tmp_path))
    korean = base.ask("화성 탐사선의 연료는 무엇인가요?", way="sparse")
    english = base.ask("Which fuel does the Mars probe burn?", way="sparse")
    assert not korean.found and "찾지 못했습니다" in korean.text and not korean.sources
    assert not english.found and "not found" in english.text


def test_unchanged_files_are_passed_over_and_changed_ones_embed_only_what_changed(
    base: KnowledgeBase, tmp_path: Path, embedder: Any
) -> None:
    folder = folder_of(tmp_path)
    base.add(folder)
    before = len(embedder.texts)
    assert {file.status for file in base.add(folder).files} == {"unchanged"}
    paragraphs = [f"Chapter {number}. " + "Nothing here is like the others. " * 40 for number in range(5)]
    book = folder / "book.txt"
    book.write_text("\n\n".join(paragraphs), "utf-8")
    base.add(folder)
    fresh = len(embedder.texts) - before
    assert fresh >= 5
    paragraphs[3] = "Chapter 3. " + "This one was written anew. " * 40
    book.write_text("\n\n".join(paragraphs), "utf-8")
    assert [file.status for file in base.add(book).files] == ["updated"]
    assert 1 <= len(embedder.texts) - before - fresh <= 3


def test_a_text_is_embedded_once_over_paths_and_bases(tmp_path: Path, embedder: Any) -> None:
    folder = folder_of(tmp_path)
    with KnowledgeBase.open(tmp_path / "one", embedder=embedder) as one:
        one.add(folder)
        one.search("연차휴가", k=10)  # measures the embedder, once for all bases
        count = len(embedder.texts)
        (folder / "copy").mkdir()
        (folder / "copy" / "other name.txt").write_text(LEAVE, "utf-8")
        assert [file.status for file in one.add(folder / "copy").files] == ["added"]
        hit = one.search("연차휴가", k=10, way="sparse")[0]
        assert {Path(uri).name for uri in (hit.source.uri, *hit.source.also)} == {"휴가.txt", "other name.txt"}
    with KnowledgeBase.open(tmp_path / "two", embedder=embedder) as two:
        two.add(folder)
        assert two.status().pending == {"vectors": 0, "relations": 0}
    assert len(embedder.texts) == count == len(set(embedder.texts))


def test_sync_follows_a_folder_and_touches_nothing_else(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "elsewhere.txt").write_text("An outsider about whales.", "utf-8")
    base.add(tmp_path / "elsewhere.txt")
    base.sync(folder)
    (folder / "bridge.md").unlink()
    (folder / "new.txt").write_text("A new text about herons.", "utf-8")
    report = base.sync(folder)
    assert [Path(uri).name for uri in report.removed] == ["bridge.md"]
    assert uris(base) == {"휴가.txt", "parks.csv", "new.txt", "elsewhere.txt"}
    assert not base.search("Seolbong bridge", way="sparse")
    with pytest.raises(UsageError, match="Nothing was changed"):
        base.sync(tmp_path / "absent")
    assert len(uris(base)) == 4


def test_remove_takes_out_exactly_what_is_named(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    base.add(folder)
    assert [Path(uri).name for uri in base.remove(folder / "bridge.md")] == ["bridge.md"]
    assert not base.search("Seolbong", way="sparse")
    assert len(base.remove("*.txt")) == 1
    assert uris(base) == {"parks.csv"}


def test_read_stage_answers_before_vectors_are_there(base: KnowledgeBase, tmp_path: Path, embedder: Any) -> None:
    report = base.add(folder_of(tmp_path), until="read")
    assert report.pending["vectors"] == 3 and not embedder.texts
    trace = Trace()
    hits = base.search("연차휴가는 며칠인가요?", trace=trace)
    assert hits[0].passage.content == LEAVE and hits[0].similarity is None
    assert any("no vector yet" in note for note in trace.notes)
    steps: list[Progress] = []
    assert base.build(on_progress=steps.append).pending == {"vectors": 0, "relations": 0}
    assert steps[-1].done == steps[-1].total == 3
    assert base.search("연차휴가는 며칠인가요?")[0].similarity is not None


def test_an_interrupted_add_keeps_what_was_done(base: KnowledgeBase, tmp_path: Path, embedder: Any) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.txt").write_text(f"Text number {number} about topic {number * 7}.", "utf-8")

    def stop(progress: Progress) -> None:
        if progress.stage == "vectors" and progress.done >= 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        base.add(folder, on_progress=stop)
    assert 0 < base.status().pending["vectors"] < 100
    base.build()
    assert base.status().pending["vectors"] == 0
    assert len(embedder.texts) == len(set(embedder.texts)) == 100


def test_filters_reach_the_engine(base: KnowledgeBase) -> None:
    base.add_records(
        {"id": str(year), "text": f"Report about rainfall, edition {year}.", "date": f"{year}-05-01"}
        for year in range(1990, 2020)
    )
    for way in WAYS:
        hits = base.search("rainfall report", way=way, k=50, filters={"since": "2010-01-01", "until": "2014-12-31"})
        assert {hit.source.date[:4] for hit in hits if hit.source.date} == {"2010", "2011", "2012", "2013", "2014"}
    assert not base.search("rainfall", way="sparse", filters={"category": "pdf"})
    only = base.search("rainfall report", k=5, filters={"documents": ["record:1999"]})
    assert [hit.source.uri for hit in only] == ["record:1999"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"way": "magic"}, "no way named magic"),
        ({"k": 0}, "from 1 to 1000"),
        ({"filters": {"since": "2024-02-30"}}, "no date"),
        ({"filters": {"since": "2024-02-01", "until": "2023-01-01"}}, "swap them"),
        ({"filters": {"colour": "red"}}, "no filter named colour"),
        ({"filters": {"category": "spreadsheets"}}, "no category named spreadsheets"),
    ],
)
def test_wrong_arguments_are_named(base: KnowledgeBase, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        base.search("question", **options)


@pytest.mark.parametrize("question", ["", "   ", "?!…", "\n\t"])
def test_a_question_without_words_is_refused(base: KnowledgeBase, question: str) -> None:
    with pytest.raises(UsageError, match="no words"):
        base.ask(question)


def test_a_question_of_100_000_characters_is_cut_and_says_so(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add(folder_of(tmp_path))
    answer = base.ask("연차휴가 " * 20_000)
    assert any("was cut" in note for note in answer.trace["notes"])


def test_near_identical_passages_do_not_fill_k(base: KnowledgeBase) -> None:
    text = "The canteen opens at noon and serves soup, rice and three side dishes to everyone in the building"
    base.add_records(
        [{"id": f"copy{number}", "text": f"{text}{'!' * number}"} for number in range(8)]
        + [{"id": "other", "text": "The canteen is closed on Sundays."}]
    )
    hits = base.search("When is the canteen open?", k=3)
    assert len(hits) == 2
    assert {hit.source.uri.removeprefix("record:")[:4] for hit in hits} == {"copy", "othe"}


def test_records_report_what_is_wrong_and_go_on(base: KnowledgeBase) -> None:
    report = base.add_records(
        [{"id": "a", "text": "alpha"}, {"text": "no id"}, {"id": "b", "text": "beta", "date": "x"}]
    )
    assert [file.status for file in report.files].count("failed") == 2
    assert [document.uri for document in base.documents()] == ["record:a"]
    assert base.add_records([{"id": "a", "text": "alpha"}]).files[0].status == "unchanged"
    assert base.add_records([{"id": "a", "text": "gamma"}]).files[0].status == "updated"


def test_another_embedder_is_refused_with_the_remedy(tmp_path: Path, embedder: Any) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        base.add_records([{"id": "a", "text": "alpha"}])
    other = type(embedder)()
    other.model = "another"
    with pytest.raises(KnowledgeBaseError, match="silmari reindex"):
        KnowledgeBase.open(tmp_path / "kb", embedder=other)
    with KnowledgeBase.open(tmp_path / "kb", embedder=other, check=False) as base:
        base.reindex()
        assert base.status().pending == {"vectors": 0, "relations": 0}
        assert base.search("alpha", way="dense")
    assert other.texts.count("alpha") == 1
    KnowledgeBase.open(tmp_path / "kb", embedder=other).close()


def test_twins_have_the_same_signatures() -> None:
    twins = {
        "sync": "async_",
        **{name: f"a{name}" for name in ("add", "add_records", "remove", "build", "reindex", "search")},
        **{
            name: f"a{name}"
            for name in ("ask", "ask_many", "ask_each", "stream", "compare", "documents", "show", "relations", "status")
        },
        **{name: f"a{name}" for name in ("entities", "merge_entities", "split_entities", "forget_alias")},
    }
    for plain, twin in twins.items():
        left = inspect.signature(getattr(KnowledgeBase, plain)).parameters
        right = inspect.signature(getattr(KnowledgeBase, twin)).parameters
        assert list(left.values()) == list(right.values()), plain
    public = {name for name in dir(KnowledgeBase) if name[0] != "_" and callable(getattr(KnowledgeBase, name))}
    assert public - set(twins) - set(twins.values()) == {"open", "close"}


def test_works_in_and_between_event_loops_and_threads(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    question = "연차휴가는 며칠인가요?"

    async def inside() -> tuple[Any, Any]:
        await base.aadd(folder)
        gathered = await asyncio.gather(*(base.aask(question) for _ in range(4)))
        pieces = [piece async for piece in base.astream(question)]
        # Also the plain names work while a loop runs, as in a notebook.
        assert base.ask(question).text == gathered[0].text
        return gathered[0], pieces[-1]

    first, last = asyncio.run(inside())
    assert first.text == last.text == base.ask(question).text == asyncio.run(base.aask(question)).text
    assert [piece for piece in base.stream(question)][-1].text == first.text
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(base.ask(question).text)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [first.text] * 2


def test_searches_in_other_threads_go_on_while_adding(base: KnowledgeBase) -> None:
    base.add_records([{"id": "seed", "text": "The first record is about otters."}])
    failures: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        try:
            while not stop.is_set():
                assert base.search("otters", way="sparse")[0].source.uri == "record:seed"
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    for batch in range(5):
        base.add_records({"id": f"{batch}-{n}", "text": f"Filler {batch} {n} about gravel."} for n in range(20))
    stop.set()
    reader.join()
    assert not failures


def test_a_file_without_rights_fails_alone(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    os.symlink(folder, folder / "loop")
    report = base.add(folder)
    by_name = {Path(file.uri).name: file for file in report.files}
    assert by_name["empty.txt"].status == "failed" and "empty" in (by_name["empty.txt"].reason or "")
    assert by_name["image.png"].status == "skipped" and "OCR" in (by_name["image.png"].reason or "")
    assert report.counts["added"] == 3
    state = base.status()
    assert [Path(uri).name for uri, _ in state.failed] == ["empty.txt"]
    assert [Path(uri).name for uri, _ in state.skipped] == ["image.png"]


def test_nothing_to_add(base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = base.add(tmp_path / "empty")
    assert not report.files and report.notes
    with pytest.raises(UsageError, match="absent"):
        base.add(tmp_path / "absent")


def test_engine_is_rebuilt_when_it_is_lost_or_foreign(tmp_path: Path, embedder: Any) -> None:
    import shutil

    with KnowledgeBase.open(tmp_path / "a", embedder=embedder) as base:
        base.add_records([{"id": "x", "text": "alpha beta"}])
    with KnowledgeBase.open(tmp_path / "b", embedder=embedder) as base:
        base.add_records([{"id": "y", "text": "gamma delta"}])
    shutil.rmtree(tmp_path / "a" / "engine")
    with KnowledgeBase.open(tmp_path / "a", embedder=embedder) as base:
        assert base.search("alpha", way="sparse")
    shutil.rmtree(tmp_path / "a" / "engine")
    shutil.copytree(tmp_path / "b" / "engine", tmp_path / "a" / "engine")
    with KnowledgeBase.open(tmp_path / "a", embedder=embedder) as base:
        assert base.search("alpha", way="sparse") and not base.search("gamma", way="sparse")
