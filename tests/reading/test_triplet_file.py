"""Files of triplets in every form and encoding that people have them in."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from silmari.errors import UnreadableError
from silmari.model import Triplet
from silmari.reading.triplet_file import Brought, read_triplets
from silmari.reading.triplets import LeftOut

HAN = Triplet("한강", "지난다", "서울")
NOTE = Triplet("Ada Lovelace", "wrote", "Note G")
ROWS = "한강,지난다,서울,강.txt\nAda Lovelace,wrote,Note G,ada.pdf\n"
BOTH = [Brought("강.txt", (HAN,)), Brought("ada.pdf", (NOTE,))]


def read(path: Path) -> tuple[list[Brought], tuple[str, ...]]:
    left_out = LeftOut()
    return list(read_triplets(path, left_out)), left_out.sentences()


def written(tmp_path: Path, name: str, data: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("id_field", ["_id", "uri", "id", "문서"])
@pytest.mark.parametrize("packed", [False, True])
def test_json_lines(tmp_path: Path, id_field: str, packed: bool) -> None:
    lines = [
        {id_field: "강.txt", "triplets": [["한강", "지난다", "서울"]]},
        {id_field: 7, "triplets": []},
    ]
    data = "\ufeff" + "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    path = written(tmp_path, "t.jsonl", gzip.compress(data.encode()) if packed else data)
    assert read(path) == ([Brought("강.txt", (HAN,)), Brought("7", ())], ())


def test_json_lines_with_a_triplet_each_and_arrays(tmp_path: Path) -> None:
    flat = {"subject": "한강", "predicate": "지난다", "object": "서울", "document": "강.txt"}
    assert read(written(tmp_path, "t.jsonl", json.dumps(flat)))[0] == BOTH[:1]
    array = [{"_id": "강.txt", "triplets": [["한강", "지난다", "서울"]]}, {"triplets": []}]
    found, told = read(written(tmp_path, "t.json", json.dumps(array, indent=1)))
    assert found == BOTH[:1] and "item 2" in told[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949", "utf-16", "utf-16-le"])
@pytest.mark.parametrize(
    "header",
    ["주어,서술어,목적어,문서", "Subject, Predicate ,OBJECT,Document", '"head","relation","tail","uri"', ""],
)
def test_csv_in_the_encodings_and_headers_that_people_use(tmp_path: Path, encoding: str, header: str) -> None:
    data = (header and header + "\r\n") + ROWS.replace("\n", "\r\n")
    assert read(written(tmp_path, "t.csv", data.encode(encoding))) == (BOTH, ())


def test_csv_columns_in_any_order_with_others_between(tmp_path: Path) -> None:
    data = "문서;비고;목적어;주어;서술어\n강.txt;;서울;한강;지난다\nada.pdf;x;Note G;Ada Lovelace;wrote\n"
    assert read(written(tmp_path, "t.csv", data)) == (BOTH, ())
    assert read(written(tmp_path, "t.tsv.gz", gzip.compress(ROWS.replace(",", "\t").encode()))) == (BOTH, ())


def test_csv_rows_that_are_no_triplets(tmp_path: Path) -> None:
    data = "주어,서술어,목적어,문서\n한강,지난다,강.txt\n한강,지난다,서울,강.txt,넷\n한강,지난다,서울,\n" + ROWS
    found, told = read(written(tmp_path, "t.csv", data))
    assert found == BOTH
    assert told[0].startswith("2 triplets without three parts") and "line 2" in told[0]
    assert told[1].startswith("1 line without the id of a document") and "line 4" in told[1]


def test_csv_quotation_marks(tmp_path: Path) -> None:
    data = 'subject,predicate,object,document\n"A ""B"", C",is,"two\nlines",d\n5" disk,is,old,d\n"open,is,x,d\n' + ROWS
    found, told = read(written(tmp_path, "t.csv", data))
    assert found[0] == Brought("d", (Triplet('A "B", C', "is", "two lines"),))
    assert found[1] == Brought("d", (Triplet('5" disk', "is", "old"),))
    assert found[2:] == BOTH and len(told) == 1 and "line 5" in told[0]


def test_lines_that_are_nothing(tmp_path: Path) -> None:
    good = json.dumps({"_id": "강.txt", "triplets": [["한강", "지난다", "서울"], ["은", "이다", "강"]]})
    lines = ['{"_id": "x", "triplets": [', good, "[" * 100_000, '{"_id": "y"}', '{"triplets": []}', "3", '{"_id": 1.5']
    found, told = read(written(tmp_path, "t.jsonl", "\n".join(lines)))
    assert found == BOTH[:1]
    assert [sentence.split(" left out")[0] for sentence in told] == [
        "3 lines without valid JSON were",
        "1 triplet with a name that is only a particle or punctuation was",
        "1 line without a list of triplets was",
        "2 lines without the id of a document (_id or uri) were",
    ]
    assert "line 1" in told[0] and "line 2, number 2" in told[1] and "line 4" in told[2]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("t.csv", b"name,age,city,zip,subject,object\na,1,b,2,c,d\n", "has no column predicate, document"),
        ("t.csv", b"a,b,c\nd,e,f\n", "has no column subject, predicate, object, document"),
        ("t.xlsx", b"PK\x03\x04\0\0\0\0more", "is no text file"),
        ("t.jsonl.gz", gzip.compress(ROWS.encode())[:-9], "is not a whole gzip file"),
        ("t.json", b"[1, 2", "is no valid JSON"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(written(tmp_path, name, data))


def test_files_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="does not exist"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(UnreadableError, match="cannot be read"):
        read(tmp_path)
    for data in ("", "\n \n", "subject,predicate,object,document\n"):
        assert read(written(tmp_path, "t.csv", data)) == ([], ())


def big(path: Path, lines: int, words: int) -> Path:
    told = " ".join(["먼 친척"] * words)
    with path.open("w", encoding="cp949") as file:
        for number in range(lines):
            row = f"회사 {number},{told},오인환,d{number % 100}"
            if path.suffix == ".jsonl":
                row = json.dumps({"_id": f"d{number % 100}", "triplets": [row.split(",")[:3]]}, ensure_ascii=False)
            file.write(row + "\n")
    return path


@pytest.mark.parametrize("name", ["big.jsonl", "big.csv"])
def test_a_hundred_thousand_lines(tmp_path: Path, name: str) -> None:
    found, told = read(big(tmp_path / name, 100_000, 2))
    assert len(found) == 100_000 and not told
    assert found[-1] == Brought("d99", (Triplet("회사 99999", "먼 친척 먼 친척", "오인환"),))


@pytest.mark.parametrize("name", ["big.jsonl", "big.csv"])
def test_a_file_is_read_as_a_stream(tmp_path: Path, name: str) -> None:
    path = big(tmp_path / name, 5_000, 100)
    left_out = LeftOut()
    tracemalloc.start()
    count = sum(len(one.triplets) for one in read_triplets(path, left_out))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5_000 and peak < path.stat().st_size / 2
