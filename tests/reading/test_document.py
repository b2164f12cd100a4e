import hashlib
import os
import unicodedata
from pathlib import Path

import pytest

from silmari.errors import SkippedError, UnreadableError
from silmari.reading import Limits, read
from silmari.reading import document as door


def write(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_table_file_becomes_one_document(tmp_path: Path) -> None:
    path = write(tmp_path, "매출_20240131.csv", "지점,금액\n서울,10\n")
    (document,) = read(path)
    assert document.uri == str(path)
    assert document.category == "csv"
    assert (document.date, document.date_source) == ("2024-01-31", "name")
    assert document.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert document.title == ""


def test_the_file_time_is_the_last_resort(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b\n1,2\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (document,) = read(path)
    assert document.date_source == "file-time"
    assert document.date in ("2023-11-14", "2023-11-15")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_uri_is_composed_whatever_the_disk_says(tmp_path: Path, form: str) -> None:
    write(tmp_path, unicodedata.normalize(form, "보고서.csv"), "a,b\n1,2\n")  # type: ignore[arg-type]
    for typed in ("NFC", "NFD"):
        (document,) = read(tmp_path / unicodedata.normalize(typed, "보고서.csv"))  # type: ignore[arg-type]
        assert document.uri == unicodedata.normalize("NFC", str(tmp_path / "보고서.csv"))


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.csv", "a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    assert read(Path("a.csv"))[0].uri == str(tmp_path / "a.csv")


def test_faults_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"^is empty$"):
        read(write(tmp_path, "empty.csv", ""))
    with pytest.raises(UnreadableError, match=r"larger than .* MB; raise max_file_mb"):
        read(write(tmp_path, "large.csv", "x" * 2000), Limits(max_file_bytes=1000))
    with pytest.raises(UnreadableError, match="does not exist"):
        read(tmp_path / "gone.csv")
    with pytest.raises(UnreadableError, match="no regular file"):
        read(tmp_path)
    with pytest.raises(SkippedError, match="OCR"):
        read(write(tmp_path, "a.png", b"\x89PNG\r\n\x1a\n"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may open everything")
def test_a_file_without_rights(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(UnreadableError, match="right"):
        read(path)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.csv", "a,b\n1,2\n")
    check = door._check_size
    calls = []

    def grow(size: int, limits: Limits) -> None:
        check(size, limits)
        calls.append(size)
        if len(calls) == 2:  # after the first piece
            with path.open("ab") as file:
                file.write(b"3,4\n")

    monkeypatch.setattr(door, "_check_size", grow)
    with pytest.raises(UnreadableError, match="changed while it was read; add it again"):
        read(path)
    monkeypatch.undo()
    assert len(read(path)) == 1


def test_a_file_that_grows_without_end_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.csv", "a,b\n")
    check = door._check_size

    def grow(size: int, limits: Limits) -> None:
        check(size, limits)
        with path.open("ab") as file:
            file.write(b"1,2\n" * 300_000)

    monkeypatch.setattr(door, "_check_size", grow)
    with pytest.raises(UnreadableError, match="larger than"):
        read(path, Limits(max_file_bytes=3 << 20))


def test_records_become_documents(tmp_path: Path) -> None:
    pytest.importorskip("silmari.reading.records")
    path = write(
        tmp_path, "a.jsonl", '{"id": "1", "text": "하나", "date": "2024-01-31"}\n{"id": "2", "text": "둘"}\nnonsense\n'
    )
    first, second = read(path)
    assert (first.uri, second.uri) == (f"{path}#1", f"{path}#2")
    assert first.sha256 != second.sha256
    assert first.date_source == "content"
    assert any("line 3" in note for note in first.notes)
