import os
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.reading.discover import Found, discover, glob_regex, on_disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "b.txt",
        "a.PDF",
        "sub/c.pdf",
        "sub/deep/d.pdf",
        "sub/deep/e.csv",
        ".hidden.txt",
        ".git/config",
        "~$a.xlsx",
        "__pycache__/x.pyc",
        "node_modules/m/x.txt",
        "Thumbs.db",
        "kb/silmari.sqlite",
        "kb/other.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    return tmp_path


def names(folder: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found = list(discover([folder / path for path in paths], exclude))
    assert [item for item in found if item.problem] == []
    return [item.path.relative_to(folder).as_posix() for item in found]


def test_a_folder_is_walked_in_order_without_what_is_no_content(folder: Path) -> None:
    assert names(folder, "") == ["a.PDF", "b.txt", "sub/c.pdf", "sub/deep/d.pdf", "sub/deep/e.csv"]


def test_named_files_are_taken_even_if_hidden_and_only_once(folder: Path) -> None:
    assert names(folder, ".hidden.txt", "b.txt", "b.txt", ".git/config") == [".hidden.txt", "b.txt", ".git/config"]
    assert names(folder, "b.txt", "").count("b.txt") == 1


def test_globs(folder: Path) -> None:
    assert names(folder, "*.pdf") == ["a.PDF"]
    assert names(folder, "**/*.pdf") == ["a.PDF", "sub/c.pdf", "sub/deep/d.pdf"]
    assert names(folder, "sub/*/*.csv") == ["sub/deep/e.csv"]
    assert names(folder, "s*b") == ["sub/c.pdf", "sub/deep/d.pdf", "sub/deep/e.csv"]
    assert names(folder, "sub/[cd].pdf", "?.txt") == ["sub/c.pdf", "b.txt"]


def test_a_name_with_glob_characters_is_meant_literally(folder: Path) -> None:
    (folder / "[1] note?.txt").write_text("x", encoding="utf-8")
    assert names(folder, "[1] note?.txt") == ["[1] note?.txt"]


def test_exclude_compares_names_and_relative_paths(folder: Path) -> None:
    assert names(folder, "", exclude=("*.PDF",)) == ["b.txt", "sub/deep/e.csv"]
    assert names(folder, "", exclude=("deep",)) == ["a.PDF", "b.txt", "sub/c.pdf"]
    assert names(folder, "", exclude=("sub/*.pdf",)) == ["a.PDF", "b.txt", "sub/deep/d.pdf", "sub/deep/e.csv"]
    assert names(folder, "", exclude=("./sub/**",)) == ["a.PDF", "b.txt"]
    assert names(folder, "a.PDF", "b.txt", exclude=("b*",)) == ["a.PDF"]


def test_what_does_not_exist_is_a_problem(folder: Path) -> None:
    found = list(discover([folder / "nothing.txt", folder / "*.xyz", folder / "no" / "*.txt", folder / "b.txt"]))
    assert [item.problem is None for item in found] == [False, False, False, True]
    assert "does not exist" in str(found[0].problem)
    assert "matches no file" in str(found[1].problem)


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert list(discover([tmp_path])) == []


def test_links_that_loop_are_walked_once(folder: Path) -> None:
    (folder / "sub" / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "sub" / "deep" / "up").symlink_to(folder / "sub", target_is_directory=True)
    assert names(folder, "") == ["a.PDF", "b.txt", "sub/c.pdf", "sub/deep/d.pdf", "sub/deep/e.csv"]
    assert names(folder, "**/*.pdf") == ["a.PDF", "sub/c.pdf", "sub/deep/d.pdf"]


def test_links_out_of_the_folder_are_followed_and_broken_ones_reported(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "z.txt").write_text("x", encoding="utf-8")
    (folder / "aaa").symlink_to(other, target_is_directory=True)
    (folder / "gone.txt").symlink_to(other / "gone.txt")
    found = list(discover([folder]))
    assert found[-1] == Found(folder / "aaa" / "z.txt")
    assert [item.problem for item in found if item.problem] == ["is a link to nothing"]


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in the file system")
def test_special_files_are_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "pipe" not in names(folder, "")
    assert [item.problem for item in discover([folder / "pipe"])] == ["is no regular file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may open everything")
def test_a_folder_without_rights_is_a_problem(folder: Path) -> None:
    (folder / "sub").chmod(0)
    try:
        found = list(discover([folder]))
    finally:
        (folder / "sub").chmod(0o755)
    assert [item.path.name for item in found] == ["a.PDF", "b.txt", "sub"]
    assert "right" in str(found[-1].problem)


@pytest.mark.parametrize(("typed", "stored"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_hangul_names_are_found_in_either_form(tmp_path: Path, typed: str, stored: str) -> None:
    def form(kind: str) -> Path:
        return Path(unicodedata.normalize(kind, "한글 폴더/보고서.txt"))  # type: ignore[arg-type]

    real = tmp_path / form(stored)
    real.parent.mkdir()
    real.write_text("x", encoding="utf-8")
    assert [(item.path.exists(), item.problem) for item in discover([tmp_path / form(typed)])] == [(True, None)]
    assert on_disk(tmp_path / form(typed)) is not None
    assert len(list(discover([tmp_path / form(typed).parent]))) == 1
    assert len(list(discover([tmp_path / form(typed).parent / unicodedata.normalize("NFC", "보*.txt")]))) == 1
    assert list(discover([tmp_path], exclude=[unicodedata.normalize("NFC", "보고서*")])) == []


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_pattern_compiles(pattern: str, text: str) -> None:
    glob_regex(pattern).fullmatch(text)
