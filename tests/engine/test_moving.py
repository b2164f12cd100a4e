"""A knowledge base moves between engines: nothing is embedded again, and the former one serves until the end."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from elastic_server import address, shared_url
from typer.testing import CliRunner

from silmari.cli.app import app
from silmari.engine import mirror as mirroring
from silmari.engine import open_engine, remembered
from silmari.errors import BusyError, KnowledgeBaseError, UsageError
from silmari.ingest import Progress
from silmari.knowledge_base import KnowledgeBase
from silmari.model import WAYS, Filter
from word_embeddings import WordEmbeddings

RECORDS = [
    {"id": "euler", "text": "Johann Bernoulli taught Euler.", "triplets": [["Johann Bernoulli", "taught", "Euler"]]},
    {
        "id": "daniel",
        "text": "Daniel Bernoulli wrote Hydrodynamica; his father was Johann Bernoulli.",
        "triplets": [["Daniel Bernoulli", "son of", "Johann Bernoulli"]],
    },
    {"id": "leave", "text": "연차휴가는 매년 15일이며 인사팀에 신청한다.", "date": "2024-03-01"},
    {"id": "seoul", "text": "서울 본사의 예산은 3억 원이다.", "date": "2023-05-02", "category": "memo"},
]
QUESTION = "Who was the father of Daniel Bernoulli?"


def elastic(folder: Path, shared: str = "") -> str:
    place = address(folder / "es")
    return f"{shared or shared_url()}/{place.prefix}"


def lite(folder: Path) -> str:
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    return f"milvus:{folder}/kb/milvus.db"


def outside(folder: Path) -> str:
    """Milvus Lite beside the base's folder, so that it is not copied with it."""
    return lite(folder).replace("/kb/milvus.db", "/beside.db")


def server(folder: Path) -> str:
    pytest.importorskip("pymilvus", reason="needs the package pymilvus")
    from milvus_server import server_url

    return f"{server_url()}?consistency=strong"


ENGINES = [elastic, lite, pytest.param(server, marks=[pytest.mark.slow, pytest.mark.timeout(400)])]


def found(base: KnowledgeBase, question: str, **options: object) -> dict[str, list[str]]:
    return {way: [hit.source.uri for hit in base.search(question, way=way, k=2, **options)] for way in WAYS}  # type: ignore[arg-type]


@pytest.mark.parametrize("url_of", ENGINES)
def test_there_and_back(
    base: KnowledgeBase, tmp_path: Path, embedder: WordEmbeddings, url_of: Callable[[Path], str]
) -> None:
    base.add_records(RECORDS)
    url = url_of(tmp_path)
    first = [found(base, question) for question in (QUESTION, "연차휴가는 며칠인가요?", "서울 예산")]
    told: list[Progress] = []
    embedded = len(embedder.texts)
    report = base.reindex(engine=url, on_progress=told.append)
    assert len(embedder.texts) == embedded
    assert any("can be deleted" in note for note in report.notes), report.notes
    assert base.engine.startswith(url.partition("?")[0].partition("/kb/")[0])
    assert base.status().lag == 0
    assert told[-1].stage == "index"
    assert told[-1].done == told[-1].total == base.catalog.count_changes(0)
    assert base.status().engine_counts["vectors"] == base.catalog.counts().passages + 5  # 2 relations, 3 names
    assert [found(base, question) for question in (QUESTION, "연차휴가는 며칠인가요?", "서울 예산")] == first
    only = base.search("예산 연차휴가", filters={"since": "2024-01-01"}, way="cascade")
    assert [hit.source.uri for hit in only] == ["record:leave"]
    base.add_records([{"id": "busan", "text": "부산 지사 예산"}])
    base.remove(["record:seoul"])
    base.reindex(engine="local")
    assert base.engine == "local"
    assert "record:seoul" not in found(base, "서울 예산")["fused"]
    assert found(base, "부산 지사")["fused"][0] == "record:busan"


def test_stays_where_it_was_moved(base: KnowledgeBase, tmp_path: Path, embedder: WordEmbeddings) -> None:
    """The next one that opens it needs no setting, and one that is open follows."""
    base.add_records(RECORDS)
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as other:
        before = other.search(QUESTION)
        base.reindex(engine=elastic(tmp_path))
        assert [hit.source for hit in other.search(QUESTION)] == [hit.source for hit in before]
        assert other.engine == base.engine != "local"
        other.add_records([{"id": "new", "text": "새로운 지점이 대전에 문을 열었다."}])
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as again:
        assert again.engine == base.engine
        assert again.search("대전 지점", way="sparse")[0].source.uri == "record:new"
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine="local") as asked:
        assert any("lives on elasticsearch+" in note for note in asked.status().notes)


def test_the_former_engine_serves_until_all_is_there(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "BATCH", 3)
    base.add_records(RECORDS)
    seen: list[tuple[str, list[str]]] = []

    def told(progress: Progress) -> None:
        if progress.done == 3:
            base.add_records([{"id": "late", "text": "늦게 온 문서: 광주 물류센터"}])
        seen.append((base.engine, [hit.source.uri for hit in base.search("광주 물류센터", way="sparse")]))

    base.reindex(engine=elastic(tmp_path), on_progress=told)
    assert {engine for engine, _ in seen} == {"local"}
    # What came meanwhile was found at once, and is in the new engine too.
    assert seen[-1][1] == ["record:late"]
    assert [hit.source.uri for hit in base.search("광주 물류센터", way="sparse")] == ["record:late"]


def test_goes_on_where_it_was_stopped(base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirroring, "BATCH", 3)
    base.add_records(RECORDS)
    url = elastic(tmp_path)

    def stop(progress: Progress) -> None:
        if progress.done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        base.reindex(engine=url, on_progress=stop)
    assert base.engine == "local"
    assert base.search(QUESTION)
    told: list[int] = []
    base.reindex(engine=url, on_progress=lambda progress: told.append(progress.done))
    assert told[0] == 6
    assert base.status().lag == 0


def test_one_mover_at_a_time(base: KnowledgeBase, tmp_path: Path, embedder: WordEmbeddings) -> None:
    base.add_records(RECORDS)
    inside, go = threading.Event(), threading.Event()

    def wait(progress: Progress) -> None:
        inside.set()
        assert go.wait(20)

    thread = threading.Thread(target=lambda: base.reindex(engine=elastic(tmp_path), on_progress=wait))
    thread.start()
    try:
        assert inside.wait(20)
        with (
            KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as other,
            pytest.raises(BusyError, match="moving this knowledge base"),
        ):
            other.reindex(engine=elastic(tmp_path))
    finally:
        go.set()
        thread.join()
    assert base.engine != "local"


def test_nothing_changes_when_it_cannot_be(base: KnowledgeBase, tmp_path: Path, embedder: WordEmbeddings) -> None:
    base.add_records(RECORDS)
    for url, error, says in (
        ("elasticsearch+http://127.0.0.1:9", KnowledgeBaseError, "cannot be reached"),
        ("redis://127.0.0.1", UsageError, "no engine named"),
        ("elasticsearch+http://127.0.0.1:9/BAD", UsageError, "prefix"),
    ):
        with pytest.raises(error, match=says):
            base.reindex(engine=url)
        assert base.engine == "local"
        assert base.search(QUESTION)
    with KnowledgeBase.open(tmp_path / "other", embedder=embedder, engine=elastic(tmp_path)) as other:
        other.add_records(RECORDS[:1])
    with pytest.raises(KnowledgeBaseError, match="index of another knowledge base"):
        base.reindex(engine=elastic(tmp_path))
    with KnowledgeBase.open(tmp_path / "third", embedder=embedder, engine=elastic(tmp_path)) as third:
        report = third.add_records(RECORDS[2:])
        assert any("index of another knowledge base" in note for note in report.notes)
        with pytest.raises(KnowledgeBaseError, match="another knowledge base"):
            third.search("서울", way="sparse")
    with KnowledgeBase.open(tmp_path / "other", embedder=embedder) as other:
        assert [hit.source.uri for hit in other.search("Euler", way="sparse")] == ["record:euler"]


def test_remembers_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "한글 kb?"
    cases = {
        "local": ("local", False),
        "elasticsearch+https://elastic:s3cret@es:9200/office": ("elasticsearch+https://es:9200/office", True),
        "milvus+https://root:s3cret@m:19530?name=a&database=d": ("milvus+https://m:19530?name=a&database=d", True),
        "milvus+http://m:19530?token=s3cret&name=a": ("milvus+http://m:19530?name=a", True),
    }
    for url, expected in cases.items():
        assert remembered(url, folder) == expected
        assert remembered(expected[0], folder) == (expected[0], False)
    assert remembered("milvus+http://m:19530", folder)[0].startswith("milvus+http://m:19530?name=silmari_")
    for url in ("redis://u:s3cret@h/", "elasticsearch+http://u:s3cret@h?x", "elasticsearch+http://h:9200/x#s3cret"):
        with pytest.raises(UsageError):
            KnowledgeBase.open(tmp_path / "kb", engine=url)
        assert KnowledgeBase.open(tmp_path / "kb").engine == "local"  # nothing of it was kept
    for url in ("elasticsearch+http://u?s3cret@h/", "elasticsearch+http://u:/s3cret@h/", "milvus+http://u:p?s3cret@h"):
        for read in (open_engine, remembered):
            with pytest.raises(UsageError) as refused:
                read(url, folder)
            assert "s3cret" not in str(refused.value)
    inside, _ = remembered(f"milvus:{tmp_path}/%ED%95%9C%EA%B8%80 kb%3F/m.db", folder)
    assert inside.startswith("milvus:{kb}/m.db?name=")
    monkeypatch.chdir(tmp_path)
    assert remembered("milvus:./m.db?name=a", folder)[0] == f"milvus:{tmp_path}/m.db?name=a"


def test_a_folder_that_is_moved_takes_its_milvus_along(tmp_path: Path, embedder: WordEmbeddings) -> None:
    url = lite(tmp_path)
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine=url) as base:
        base.add_records(RECORDS)
    (tmp_path / "kb").rename(tmp_path / "elsewhere")
    with KnowledgeBase.open(tmp_path / "elsewhere", embedder=embedder) as base:
        assert base._mirror.lag() == 0
        assert base.search(QUESTION, way="dense")[0].source.uri == "record:daniel"
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize("url_of", [elastic, outside])
def test_copies_that_share_an_index_never_see_each_others_texts(
    tmp_path: Path, embedder: WordEmbeddings, url_of: Callable[[Path], str]
) -> None:
    """Both say the same of themselves, and their changes have the same numbers."""
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine=url_of(tmp_path)) as base:
        base.add_records(RECORDS)
    shutil.copytree(tmp_path / "kb", tmp_path / "copy")
    own = {"kb": "오렌지 주스", "copy": "자전거 바퀴"}
    for name, text in own.items():
        with KnowledgeBase.open(tmp_path / name, embedder=embedder) as base:
            base.add_records([{"id": name, "text": text}])
    for name in ("kb", "copy", "kb"):
        with KnowledgeBase.open(tmp_path / name, embedder=embedder) as base:
            for way in ("sparse", "dense"):
                assert base.search(own[name], way=way, k=1)[0].source.uri == f"record:{name}"  # type: ignore[arg-type]
            other = own["copy" if name == "kb" else "kb"]
            assert base.search(other, way="sparse") == []
            assert (base.status().lag, base.status().engine_counts["texts"]) == (0, 5)


@pytest.mark.parametrize("url_of", [elastic, outside])
def test_a_base_restored_from_a_copy_finds_what_came_after(
    tmp_path: Path, embedder: WordEmbeddings, url_of: Callable[[Path], str]
) -> None:
    """More is added than was lost, so that the log is not behind the engine."""
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        base.add_records(RECORDS)
    shutil.copytree(tmp_path / "kb", tmp_path / "copy")
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        base.reindex(engine=url_of(tmp_path))
        base.add_records([{"id": "lost", "text": "오렌지 주스"}])
    shutil.rmtree(tmp_path / "kb")
    shutil.copytree(tmp_path / "copy", tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        for number in range(3):
            base.add_records([{"id": f"new{number}", "text": f"자전거 바퀴 {number}"}])
        base.reindex(engine=url_of(tmp_path))
        assert base.search("오렌지", way="sparse") == []
        assert len(base.search("자전거", way="sparse")) == 3


def test_following_costs_no_rebuild(tmp_path: Path, embedder: WordEmbeddings) -> None:
    """What one's own processes wrote is not taken for a copy's, also under another name of the server."""
    url = elastic(tmp_path)
    with (
        KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine=url) as base,
        KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine=url.replace("127.0.0.1", "localhost")) as other,
    ):
        epoch = base.catalog.identity()[1]
        for number in range(3):
            base.add_records([{"id": f"a{number}", "text": f"서울 {number}"}])
            other.add_records([{"id": f"b{number}", "text": f"부산 {number}"}])
        assert len(base.search("부산", way="sparse")) == len(other.search("서울", way="sparse")) == 3
        assert base.catalog.identity()[1] == epoch


def test_a_name_on_milvus_that_another_base_has_is_refused(tmp_path: Path, embedder: WordEmbeddings) -> None:
    url = f"{outside(tmp_path)}?name=shared"
    with KnowledgeBase.open(tmp_path / "first", embedder=embedder, engine=url) as base:
        base.add_records(RECORDS)
    with KnowledgeBase.open(tmp_path / "second", embedder=embedder, engine=url) as base:
        base.add_records([{"id": "mine", "text": "광주 물류센터"}])
        with pytest.raises(KnowledgeBaseError, match="index of another knowledge base"):
            base.search("광주 물류센터")
    with KnowledgeBase.open(tmp_path / "first", embedder=embedder) as base:
        assert base.status().lag == 0
        assert base.search(QUESTION, way="dense")[0].source.uri == "record:daniel"


def test_where_the_setting_names_another_engine(base: KnowledgeBase, tmp_path: Path, embedder: WordEmbeddings) -> None:
    """The move that status speaks of is made, to the setting's engine and back, and says nothing of what serves."""
    base.add_records(RECORDS)
    url = elastic(tmp_path)
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine=url) as pinned:
        assert any("lives on local" in note for note in pinned.status().notes)
        (said,) = pinned.reindex(engine=url).notes
        assert "engine can be deleted" in said
        assert pinned.status().notes == ()
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, engine="local") as pinned:
        (said,) = pinned.reindex(engine=url).notes
        assert "deleted" not in said
        assert pinned.engine == url
    assert base.status().engine == url


def test_milvus_lite_keeps_out_of_a_folder_of_documents(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add_records(RECORDS)
    folder = tmp_path / "문서 모음"
    folder.mkdir()
    (folder / "a.txt").write_text("글")
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    with pytest.raises(UsageError, match="folder with other files"):
        base.reindex(engine=f"milvus:{folder}")
    assert [file.name for file in folder.iterdir()] == ["a.txt"]
    assert base.engine == "local"


def test_the_doctor_says_that_the_server_does_not_answer(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add_records(RECORDS)
    base.close()
    runner = CliRunner(env={"SILMARI_EMBEDDER": "none", "SILMARI_ENGINE": "elasticsearch+http://127.0.0.1:9"})
    said = runner.invoke(app, ["doctor", "--kb", str(tmp_path / "kb"), "--json"])
    (engine,) = (one for one in json.loads(said.stdout)["findings"] if one["subject"] == "engine")
    assert "cannot be reached" in engine["remedy"]


def test_the_command(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add_records(RECORDS)
    base.close()
    runner = CliRunner(env={"SILMARI_EMBEDDER": "none", "SILMARI_KB": str(tmp_path / "kb")})
    url = elastic(tmp_path).replace("//", "//user:s3cret@")
    done = runner.invoke(app, ["reindex", "--engine", url, "--json"])
    assert done.exit_code == 0, done.output
    assert "s3cret" not in done.output
    notes = json.loads(done.stdout)["notes"]
    assert any("The base is on elasticsearch+http" in note for note in notes)
    assert any("SILMARI_ENGINE_API_KEY" in note for note in notes)
    status = json.loads(runner.invoke(app, ["status", "--json"]).stdout)
    assert status["engine"].startswith("elasticsearch+http")
    assert (status["engine_counts"]["texts"], status["lag"]) == (4, 0)


@pytest.mark.parametrize("url_of", [lambda folder: "local", *ENGINES])
def test_euler_and_daniel_on_each(tmp_path: Path, shared: Path, url_of: Callable[[Path], str]) -> None:
    """The first source's example, with its own passages and triplets."""
    corpus = [json.loads(line) for line in (shared / "data/nano/corpus.jsonl").read_text("utf-8").splitlines()]
    triplets = {
        one["_id"]: one["triplets"]
        for one in map(json.loads, (shared / "data/nano/triplets.jsonl").read_text("utf-8").splitlines())
    }
    with KnowledgeBase.open(tmp_path / "kb", engine=url_of(tmp_path)) as base:
        base.add_records(
            {"id": one["_id"], "title": one.get("title", ""), "text": one["text"], "triplets": triplets[one["_id"]]}
            for one in corpus
        )
        question = "What contribution did the son of Euler's teacher make?"
        for way in ("graph", "expansion"):
            texts = [hit.passage.content for hit in base.search(question, way=way, k=2)]  # type: ignore[arg-type]
            assert any("Euler" in text for text in texts), (way, texts)
            assert any("Daniel" in text for text in texts), (way, texts)


def test_opening_does_not_touch_a_server(tmp_path: Path) -> None:
    engine = open_engine("elasticsearch+http://127.0.0.1:9/x", tmp_path)
    with pytest.raises(KnowledgeBaseError, match="cannot be reached"):
        engine.sparse({"a": 1.0}, 1, Filter())
