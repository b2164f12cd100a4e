"""The office is complete, small, and says what its questions expect."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import python_calamine

from silmari.examples import office, questions

ASKED: list[dict[str, Any]] = [json.loads(line) for line in questions().read_text(encoding="utf-8").splitlines()]


def text_of(path: Path) -> str:
    """All text of an office file, blanks squeezed, by the libraries directly: this tests the files, not our readers."""
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as pdf:
            text = "\n".join(page.get_textpage().get_text_range() for page in pdf)
    elif path.suffix == ".xlsx":
        book = python_calamine.CalamineWorkbook.from_path(path)
        text = "\n".join(str(row) for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python())
    else:
        text = path.read_bytes().decode("cp949" if path.name == "직원명부.csv" else "utf-8")
    return " ".join(text.split())


def test_office_has_every_kind_of_file_and_stays_small() -> None:
    files = list(office().iterdir())
    assert len(files) >= 12
    assert {path.suffix for path in files} == {".pdf", ".xlsx", ".csv", ".md", ".txt", ".jsonl"}
    assert sum(path.stat().st_size for path in files) < 1_500_000
    assert all(path.stat().st_size < 150_000 for path in files)
    assert all(path.name == unicodedata.normalize("NFC", path.name) for path in files)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked["question"])
def test_the_named_file_has_the_answer(asked: dict[str, Any]) -> None:
    if "found" in asked:
        assert asked == {"question": asked["question"], "found": False}
        return
    assert asked["answer_contains"]
    text = text_of(office() / asked["source"])
    for part in asked["answer_contains"]:
        assert part in text


def test_questions_come_in_both_languages_from_several_kinds_and_some_have_no_answer() -> None:
    korean = [asked for asked in ASKED if any("가" <= letter <= "힣" for letter in asked["question"])]
    assert 0 < len(korean) < len(ASKED)
    suffixes = {Path(asked["source"]).suffix for asked in ASKED if "source" in asked}
    assert suffixes >= {".csv", ".xlsx", ".pdf", ".txt"}
    assert 1 <= sum("found" in asked for asked in ASKED) <= 3


def test_staff_list_is_cp949_and_agrees_with_the_branches() -> None:
    staff_bytes = (office() / "직원명부.csv").read_bytes()
    with pytest.raises(UnicodeDecodeError):
        staff_bytes.decode("utf-8")
    staff = list(csv.DictReader(staff_bytes.decode("cp949").splitlines()))
    with (office() / "branches.csv").open(encoding="utf-8", newline="") as file:
        branches = list(csv.DictReader(file))
    heads = {person["근무지"]: person["이름"] for person in staff if person["직급"] == "지점장"}
    for branch in branches[1:]:
        assert heads[branch["지점명"]] in branch["manager"]
    assert sum(int(branch["staff"]) for branch in branches) == 212  # as the annual report says


def test_old_and_new_pdfs_carry_their_dates() -> None:
    years = set()
    for path in office().glob("*.pdf"):
        with pypdfium2.PdfDocument(path) as pdf:
            years.add(int(pdf.get_metadata_dict()["CreationDate"][2:6]))
    assert min(years) == 1967
    assert max(years) == 2026
    assert any(1980 <= year <= 1998 for year in years)


def test_records_are_well_formed() -> None:
    lines = (office() / "support_tickets.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len({record["id"] for record in records}) == len(records)
    assert all(record["text"] and record["date"] for record in records)
    assert all(len(triplet) == 3 for record in records for triplet in record.get("triplets", []))


@pytest.mark.skipif(not Path("/usr/share/fonts/truetype/nanum/NanumGothic.ttf").exists(), reason="needs fonts-nanum")
def test_the_generator_makes_what_is_committed(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "make_office.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, capture_output=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert len(made) == 10
    for name in made:
        assert text_of(tmp_path / name) == text_of(office() / name)
