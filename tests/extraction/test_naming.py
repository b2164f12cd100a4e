"""Documents are found by whatever a triplet file calls them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from silmari.extraction.naming import Names, Place


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Names:
    monkeypatch.chdir(tmp_path)

    def file(name: str, number: int) -> Place:
        return Place(str(tmp_path / name), str(tmp_path / name), number)

    lines = str(tmp_path / "글.jsonl")
    return Names(
        [
            file("인사/휴가 규정.pdf", 1),
            file("인사/사본/휴가 규정.pdf", 1),
            file("연차.txt", 2),
            file("나라/연차.txt", 3),
            file("a#b.txt", 4),
            Place("record:p1", None, 5),
            Place(f"{lines}#p1", lines, 6),
            Place(f"{lines}#p2", lines, 7),
            file("p2", 8),
            file("회의.md", 9),
            file("회의.txt", 10),
        ]
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("record:p1", ["record:p1"]),
        ("p1", ["record:p1"]),
        ("글.jsonl#p1", ["글.jsonl#p1"]),
        ("p2", ["p2"]),
        ("휴가 규정.pdf", ["인사/사본/휴가 규정.pdf"]),
        (unicodedata.normalize("NFD", "휴가 규정"), ["인사/사본/휴가 규정.pdf"]),
        ("./인사/../인사/휴가 규정.pdf", ["인사/휴가 규정.pdf"]),
        ("연차.txt", ["연차.txt"]),
        ("연차", ["나라/연차.txt", "연차.txt"]),
        ("회의.md", ["회의.md"]),
        ("회의", ["회의.md", "회의.txt"]),
        ("a#b", ["a#b.txt"]),
        ("글.jsonl", []),
        ("b.txt", []),
        ("없음", []),
        ("~", []),
    ],
)
def test_what_a_name_means(names: Names, tmp_path: Path, name: str, found: list[str]) -> None:
    assert sorted(place.uri.removeprefix(f"{tmp_path}/") for place in names.find(name)) == sorted(found)


def test_documents_of_files(names: Names, tmp_path: Path) -> None:
    assert names.at([str(tmp_path / "글.jsonl"), str(tmp_path / "연차.txt"), "nowhere"]) == [2, 6, 7]
