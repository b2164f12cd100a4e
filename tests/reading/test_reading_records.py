from __future__ import annotations

import datetime as dt
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from silmari.errors import UnreadableError, UsageError
from silmari.model import Triplet
from silmari.reading.records import looks_like_records, parse_record, read, read_text, record_document


def test_a_full_record() -> None:
    record = parse_record(
        {
            "id": 7,
            "text": unicodedata.normalize("NFD", "한강은 서울을 지난다."),
            "title": " 한강 ",
            "date": "2024-01-31T09:30:00Z",
            "category": "지리",
            "triplets": [["한강", "지난다", "서울"]],
            "ignored": 1,
        }
    )
    assert (record.id, record.text, record.title) == ("7", "한강은 서울을 지난다.", "한강")
    assert (record.date, record.category) == ("2024-01-31", "지리")
    assert record.triplets == (Triplet("한강", "지난다", "서울"),)
    document = record.document("/data/a.jsonl#7")
    assert (document.date_source, document.category, document.sections[0].text) == ("content", "지리", record.text)  # type: ignore[union-attr]
    assert len(document.sha256) == 64
    assert record_document({"id": "x", "text": "t"}).uri == "record:x"


def test_the_hash_of_a_record_follows_its_content_not_its_name() -> None:
    first, second = parse_record({"id": 1, "text": "같다"}), parse_record({"id": 2, "text": "같다"})
    assert first.document("a").sha256 == second.document("b").sha256
    assert first.document("a").sha256 != parse_record({"id": 1, "text": "같다", "title": "t"}).document("a").sha256


def test_beir_records_and_dates_as_objects() -> None:
    record = parse_record(
        {"_id": "d1", "text": "", "title": "Only a title", "metadata": {}, "date": dt.date(2024, 1, 31)}
    )
    assert (record.id, record.text, record.date, record.category) == ("d1", "Only a title", "2024-01-31", "record")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"text": "t"}, "field id is missing"),
        ({"id": "  ", "text": "t"}, "field id is missing"),
        ({"id": True, "text": "t"}, "field id is missing"),
        ({"id": 1}, "field text is missing"),
        ({"id": 1, "text": " \n"}, "field text is missing"),
        ({"id": 1, "text": 5}, "field text must be a text, not 5"),
        ({"id": 1, "text": "t", "title": ["x"]}, "field title"),
        ({"id": 1, "text": "t", "date": "2024-02-30"}, "field date must be a day such as 2024-01-31, not '2024-02-30'"),
        ({"id": 1, "text": "t", "date": 20240131}, "field date"),
        ({"id": 1, "text": "t", "category": 3}, "field category"),
        ({"id": 1, "text": "t", "category": " "}, "field category"),
        ({"id": 1, "text": "t", "triplets": "a,b,c"}, "field triplets"),
        (["id", "text"], "must be an object"),
    ],
)
def test_what_is_wrong_is_named(record: object, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        parse_record(record)  # type: ignore[arg-type]


def test_bad_lines_are_reported_and_the_rest_is_read() -> None:
    lines = [
        '{"id": 1, "text": "하나"}',
        "{broken",
        "",
        '{"id": 2, "text": "둘", "date": "soon"}',
        '{"id": 3, "text": "셋"}',
        "[1]",
    ]
    found = read("\r\n".join(lines).encode())
    assert [record.text for record in found.records] == ["하나", "셋"]
    assert [problem.split(":")[0] for problem in found.problems] == ["line 2", "line 4", "line 6"]
    assert "field date" in found.problems[1]


def test_many_problems_are_counted() -> None:
    found = read_text("\n".join(['{"id": 1, "text": "a"}', *["x"] * 150]))
    assert len(found.problems) == 101
    assert found.problems[-1] == "50 more lines are no records"


def test_the_last_record_of_an_id_counts() -> None:
    found = read_text('{"id": "a", "text": "old"}\n{"id": "b", "text": "x"}\n{"id": "a", "text": "new"}')
    assert {record.id: record.text for record in found.records} == {"b": "x", "a": "new"}
    assert found.notes == ("The id 'a' is given more than once; the last record of that id counts.",)


def test_an_array_is_read_like_lines() -> None:
    records = [{"id": 1, "text": "하나"}, {"text": "둘"}, {"id": 3, "text": "셋"}]
    found = read_text(json.dumps(records, indent=2, ensure_ascii=False))
    assert [record.text for record in found.records] == ["하나", "셋"]
    assert found.problems[0].startswith("item 2: the field id")


@pytest.mark.parametrize("text", ["", "plain words", "[1, 2]", '{"a": 1}', "[" * 100_000, '{"id": ' + "9" * 5000 + "}"])
def test_a_file_without_any_record_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="holds no record"):
        read_text(text)


def test_lone_surrogates_and_nul_do_not_reach_the_text() -> None:
    record = read_text('{"id": "s", "text": "a\\ud800b\\u0000c \\ud83d\\ude00"}').records[0]
    record.text.encode()
    assert record.text == "a\ufffdbc 😀"


@pytest.mark.parametrize(
    ("head", "is_records"),
    [
        ('{"id": "1", "text": "x"}\n{"id"', True),
        ('\ufeff\n{"_id": "1", "title": "t", "text": "x"}', True),
        ('{"id": 1, "title": "long title and a text that is cut", "text": "abc', True),
        ('broken {\n{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}', True),
        ('[\n  {"id": 1,\n "text": "x"}', True),
        ('{"name": "package", "version": "1"}', False),
        ('# A log\n\nwords\n{"id": 1, "text": "x"}\nwords', False),
        ("[section]\ntext = 1", False),
        ("", False),
    ],
)
def test_files_that_look_like_records(head: str, is_records: bool) -> None:
    assert looks_like_records(head) is is_records


texts = st.text(min_size=1).filter(lambda text: any(map(str.isalnum, text)))


@given(st.dictionaries(texts.filter(lambda key: key.isalnum() and key.isascii()), texts, min_size=1, max_size=6))
def test_what_is_written_as_lines_is_read_back(records: dict[str, str]) -> None:
    lines = "\n".join(json.dumps({"id": key, "text": text}) for key, text in records.items())
    found = read_text(lines)
    assert not found.problems
    assert [record.id for record in found.records] == list(records)
    for record in found.records:
        assert record.text
        record.text.encode()
