"""JSON records: lines (or one array) of objects with ``id``, ``text`` and a few optional fields."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from silmari.errors import UnreadableError, UsageError
from silmari.model import Document, Prose, Triplet
from silmari.reading.cleaning import clean
from silmari.reading.triplets import LeftOut, shown, triplets_of

_TEXT_KEY = re.compile(r'"text"\s*:\s*"')
_MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One record, checked.

    Attributes:
        id: Names the record within its file; never empty.
        text: What is searched; never empty.
        title: The record's title, or ``""``.
        date: ISO ``YYYY-MM-DD``, or None.
        category: What the record calls itself; ``record`` if it does not say.
        triplets: Statements that the user gives with it.
    """

    id: str
    text: str
    title: str = ""
    date: str | None = None
    category: str = "record"
    triplets: tuple[Triplet, ...] = ()

    def document(self, uri: str) -> Document:
        """The record as a document called `uri` (``PATH#ID`` or ``record:ID``); its hash is that of its fields."""
        fields = (
            self.text,
            self.title,
            self.date,
            self.category,
            [(t.subject, t.predicate, t.object) for t in self.triplets],
        )
        return Document(
            uri=uri,
            category=self.category,
            title=self.title,
            date=self.date,
            date_source="content" if self.date else None,
            sha256=hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest(),
            sections=(Prose(self.text),),
            triplets=self.triplets,
            record=True,
        )


@dataclass(frozen=True, slots=True)
class RecordFile:
    """What a file of records holds.

    Attributes:
        records: In the file's order, one for each id.
        problems: One sentence for each line that is no record, at most 100 and then their number.
        notes: One sentence for each id that was given twice, and for each kind of faulty triplet.
    """

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def looks_like_records(head: str) -> bool:
    """Whether a file that starts with `head` (some kilobytes are enough) seems to hold records.

    Cheap and lenient: single lines may be broken. `read` has the last word.
    """
    start = head.lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        return start[1:].lstrip().startswith("{") and _TEXT_KEY.search(start) is not None
    lines = [line for line in start.split("\n") if line.strip()]
    objects = [line for line in lines if line.lstrip().startswith("{")]
    return 2 * len(objects) >= len(lines) and any(map(_has_text, objects))


def _has_text(line: str) -> bool:
    """Whether a line is an object with the field text, or would be if it were not broken or cut."""
    try:
        parsed = json.loads(line)
    except ValueError:
        return _TEXT_KEY.search(line) is not None
    return isinstance(parsed, dict) and "text" in parsed


def read(data: bytes, name: str = "") -> RecordFile:
    """Read records from the bytes of a JSON Lines file, or of one JSON array.

    Args:
        data: The file's bytes, in any encoding that `silmari.reading.encoding` knows.
        name: The file's name; taken like the other readers' and not needed.

    Raises:
        UnreadableError: No line is a record.
    """
    from silmari.reading.encoding import decode

    return read_text(decode(data))


def read_text(text: str) -> RecordFile:
    """Read records from decoded text, as `read` does.

    A broken line is a problem of its own and the others are read. Where an id comes twice, the last one wins.

    Raises:
        UnreadableError: No line is a record.
    """
    found: dict[str, Record] = {}
    problems: list[str] = []
    repeated: dict[str, None] = {}
    left_out = LeftOut()
    for place, parsed in _objects(text):
        try:
            record = parse_record(_loaded(parsed), left_out)
        except UsageError as error:
            problems.append(f"{place}: {error}")
            continue
        if found.pop(record.id, None) is not None:
            repeated[record.id] = None
        found[record.id] = record
    if not found:
        first = f" ({problems[0]})" if problems else ""
        raise UnreadableError(f"holds no record: each line must be a JSON object with the fields id and text{first}")
    if len(problems) > _MAX_PROBLEMS:
        problems[_MAX_PROBLEMS:] = [f"{len(problems) - _MAX_PROBLEMS} more lines are no records"]
    notes = tuple(f"The id {key!r} is given more than once; the last record of that id counts." for key in repeated)
    return RecordFile(tuple(found.values()), tuple(problems), notes + left_out.sentences())


def parse_record(record: Mapping[str, Any], left_out: LeftOut | None = None) -> Record:
    """Check one record and bring it into shape.

    Args:
        record: ``id`` (text or number; ``_id`` is taken too) and ``text``; optionally ``title``, ``date``
            (``YYYY-MM-DD``), ``category`` and ``triplets`` (lists of subject, predicate, object). Other fields
            are ignored. If ``text`` is blank, the title is the text.
        left_out: Takes note of triplets that are not in order; the record goes without them.

    Raises:
        UsageError: A field is missing or wrong; the sentence names it.
    """
    if not isinstance(record, Mapping):
        raise UsageError("a record must be an object with the fields id and text")
    text, title = _string(record, "text"), _string(record, "title")
    if not (text or title):
        raise UsageError("the field text is missing or blank: give the record's text")
    identity = _identity(record)
    return Record(
        id=identity,
        text=text or title,
        title=title,
        date=_date(record.get("date")),
        category=_category(record.get("category")),
        triplets=_triplets(record.get("triplets"), identity, left_out),
    )


def record_document(record: Mapping[str, Any], left_out: LeftOut | None = None) -> Document:
    """A record that was given as an object, not in a file, as the document ``record:ID``; else as `parse_record`.

    Raises:
        UsageError: As `parse_record`.
    """
    parsed = parse_record(record, left_out)
    return parsed.document(f"record:{parsed.id}")


def _objects(text: str) -> Iterator[tuple[str, Any]]:
    """Each object (or still unparsed line) with the words that say where it stands."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            array = _loaded(text)
        except UsageError:
            array = None
        if isinstance(array, list):
            yield from ((f"item {number}", item) for number, item in enumerate(array, 1))
            return
    for number, line in enumerate(_lines(text), 1):
        if line.strip("\ufeff \t\r\n"):
            yield f"line {number}", line


def _lines(text: str) -> Iterable[str]:
    # str.splitlines would also cut at U+2028 and others, which JSON allows inside a string.
    return (line.rstrip("\r") for line in text.split("\n"))


def _loaded(value: Any) -> Any:
    """Parse a line; what came out of an array is parsed already."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value.strip("\ufeff \t\r\n"))
    except json.JSONDecodeError as error:
        raise UsageError(f"is not valid JSON ({error.msg} at character {error.pos + 1})") from None
    except (RecursionError, ValueError):
        raise UsageError("is not valid JSON (too deeply nested, or a number is too long)") from None


def _string(record: Mapping[str, Any], field: str) -> str:
    value = record.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"the field {field} must be a text, not {shown(value)}")
    return clean(value).strip()


def _identity(record: Mapping[str, Any]) -> str:
    value = record.get("id", record.get("_id"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not (value := clean(value).strip()):
        raise UsageError("the field id is missing: give each record a text or number of its own")
    return value


def _date(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, dt.date):
        return value.isoformat()[:10]
    if isinstance(value, str) and (found := _iso(value.strip())):
        return found
    raise UsageError(f"the field date must be a day such as 2024-01-31, not {shown(value)}")


def _iso(value: str) -> str | None:
    """An ISO day, with or without a time after it; else whatever date the other readers would see."""
    if re.match(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)", value):
        try:
            return dt.date.fromisoformat(value[:10]).isoformat()
        except ValueError:
            return None
    from silmari.reading.dates import parse_date

    return parse_date(value)


def _category(value: Any) -> str:
    if value is None or value == "":
        return "record"
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"the field category must be a word such as news, not {shown(value)}")
    return clean(value).strip()


def _triplets(value: Any, identity: str, left_out: LeftOut | None) -> tuple[Triplet, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"the field triplets must be a list of [subject, predicate, object], not {shown(value)}")
    return triplets_of(value, f"record {identity!r}", LeftOut() if left_out is None else left_out)
