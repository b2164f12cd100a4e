import bz2
import gzip
import io
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.errors import SkippedError, UnreadableError
from silmari.reading.detect import detect


def workbook() -> bytes:
    book = openpyxl.Workbook()
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def zipped(*names: str, first: tuple[str, bytes] | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if first:
            archive.writestr(*first)
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


CSV = "이름,나이,도시\n김,20,서울\n이,30,부산\n".encode("cp949")
HTML = b"<html><head><title>x</title></head><body><table><tr><td>1</td></tr></table></body></html>"


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n...", "a.pdf", "pdf"),
        (b"\n\njunk\n%PDF-1.4\n...", "a", "pdf"),
        (b"%PDF-1.7\n...", "a.txt", "pdf"),
        (workbook(), "a.xlsx", "workbook"),
        (workbook(), "a.csv", "workbook"),
        (workbook(), "a.pdf", "workbook"),
        (CSV, "a.csv", "delimited"),
        (CSV, "a.xls", "delimited"),
        (CSV, "a.txt", "delimited"),
        (b"a\tb\n1\t2\n3\t4\n", "a.tsv", "delimited"),
        (b"a\tb\n1\t2\n3\t4\n", "a.xls", "delimited"),
        ("이름,나이\n김,20\n".encode("utf-16"), "a.csv", "delimited"),
        ("이름,나이\n김,20\n".encode("utf-16-le"), "a.csv", "delimited"),
        (b"a,b\0\0\n1,2\0\n", "a.csv", "delimited"),
        (HTML, "a.pdf", "markup"),
        (HTML, "a.xls", "markup"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html><html>", "a", "markup"),
        (b"<?xml version='1.0'?>\n<?mso-application progid='Excel.Sheet'?>\n<Workbook/>", "a.xls", "markup"),
        (b'{"id": "1", "text": "x"}\n', "a.jsonl", "records"),
        (b"# Title\n\nText, with commas, here.\n", "a.md", "text"),
        (b"# Title\n\nText\n", "a.pdf", "text"),
        (b"import os\n\nprint(os.name)\n", "a.py", "text"),
        (b'{"a": 1}\n', "a.json", "text"),
        ("안녕하세요, 반갑습니다.\n".encode("cp949"), "a.txt", "text"),
        ("안녕하세요".encode("utf-16"), "a.txt", "text"),
        (b"2024-01-01 10:00 INFO start\n" * 5, "a.log", "text"),
    ],
)
def test_the_content_decides(data: bytes, name: str, kind: str) -> None:
    if kind == "records" or name.endswith(".json"):
        pytest.importorskip("silmari.reading.records")
    assert detect(data, name) == kind


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"\x89PNG\r\n\x1a\n....", "a.png", "image.*OCR"),
        (b"\xff\xd8\xff\xe0....", "a.pdf", "image.*OCR"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.docx", "Word"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.xlsx", "Word"),
        (zipped("[Content_Types].xml", "ppt/presentation.xml"), "a.pptx", "PowerPoint"),
        (zipped("Contents/content.hpf", first=("mimetype", b"application/hwp+zip")), "a.hwpx", "HWPX"),
        (zipped("x", first=("mimetype", b"application/vnd.oasis.opendocument.text")), "a.odt", "OpenDocument"),
        (zipped("a.txt"), "a.zip", "zip archive; unpack"),
        (gzip.compress(b"x"), "a.gz", "gzip"),
        (bz2.compress(b"x"), "a.bz2", "bzip2"),
        (b"{\\rtf1\\ansi", "a.rtf", "RTF"),
        (b"SQLite format 3\0", "a.db", "SQLite"),
        (bytes(range(256)) * 8, "a.bin", "type that is not read"),
        (b"\x15admin" + bytes(150), "~$a.xlsx", "open"),
    ],
)
def test_what_is_not_read_is_named(data: bytes, name: str, words: str) -> None:
    with pytest.raises(SkippedError, match=words):
        detect(data, name)


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"", "a.txt", r"^is empty$"),
        (b" \n\r\n ", "a.txt", "empty"),
        (bytes(range(256)) * 8, "a.pdf", "no PDF"),
        (bytes(range(256)) * 8, "a.xlsx", "no workbook"),
        (zipped("a.txt"), "a.xlsx", "no workbook"),
        (workbook()[:400], "a.xlsx", "cut short"),
    ],
)
def test_faulty_files_are_errors(data: bytes, name: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words) as caught:
        detect(data, name)
    assert not isinstance(caught.value, SkippedError)


@given(st.binary(max_size=2000), st.sampled_from(["a.pdf", "a.xlsx", "a.csv", "a", "a.txt", "a.html", "~$a"]))
def test_any_bytes_are_told_or_refused(data: bytes, name: str) -> None:
    try:
        detect(data, name)
    except UnreadableError as error:
        assert str(error)
