"""The words that every room of Silmari shares, as small frozen values.

Nothing here reads a file, calls a model or knows an engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["passage", "relation", "entity"]
RelationMode = Literal["sentences", "given", "triplets"]
DateSource = Literal["content", "metadata", "name", "file-time"]
Way = Literal["sparse", "dense", "cascade", "expansion", "graph", "fused"]
Locator = Mapping[str, Any]

WAYS: tuple[Way, ...] = ("sparse", "dense", "cascade", "expansion", "graph", "fused")
# Where a document's relations come from, weakest first; `triplets` (a model) also uses those that were given.
RELATION_MODES: tuple[RelationMode, ...] = ("sentences", "given", "triplets")
CATEGORIES: tuple[str, ...] = ("pdf", "excel", "csv", "text", "record")
# Best first: a date that the content states beats one that only its name or its copy suggests.
DATE_SOURCES: tuple[DateSource, ...] = ("content", "metadata", "name", "file-time")


@dataclass(frozen=True, slots=True)
class Prose:
    """A run of text as it was read: one PDF page, one Markdown section, a whole text file.

    Attributes:
        text: The text, NFC, lines joined into paragraphs where the source allows it.
        locator: Where it stands in the document, such as ``{"page": 3}``; empty for a whole file.
        heading: The headings above it, outermost first, joined by `` > ``; empty if there are none.
    """

    text: str
    locator: Locator = field(default_factory=dict)
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One table row.

    Attributes:
        number: The row's number as a spreadsheet program shows it, from 1 (for CSV: the record's
            number, the header being counted).
        cells: One string a column, in the order of the table's columns; empty cells are ``""``.
        date: The row's own date (ISO ``YYYY-MM-DD``) where the table has a date column.
    """

    number: int
    cells: tuple[str, ...]
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was read: one CSV file, or one block of a sheet.

    Attributes:
        name: The sheet's name; empty for CSV.
        columns: One non-empty, unique name a column.
        rows: The data rows, without headers and blank rows.
        notes: Text that stood above the header, if any.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    notes: str = ""


Section = Prose | Table


@dataclass(frozen=True, slots=True)
class Triplet:
    """One statement: subject, predicate, object, spelled as the source spells them."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that has a name.

    Attributes:
        id: The catalog's number. Never given twice.
        key: What its spellings share, see `silmari.language.normalise.key`.
        name: Its most used spelling.
    """

    id: int
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement about two entities, spelled as its source spells it.

    Attributes:
        id: The catalog's number. Never given twice.
        subject_id: The entity that is spelled `subject`; `object_id` accordingly.
        passages: Numbers of the passages that state it, ascending.
    """

    id: int
    subject: str
    predicate: str
    object: str
    subject_id: int
    object_id: int
    passages: tuple[int, ...]

    @property
    def text(self) -> str:
        """What is embedded and shown."""
        return relation_text(self.subject, self.predicate, self.object)

    def as_json(self) -> dict[str, Any]:
        """The shape that ``show --json`` prints."""
        return {
            "id": self.id,
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "passages": list(self.passages),
        }


def relation_text(subject: str, predicate: str, object: str) -> str:
    """The parts of a relation joined by blanks."""
    return " ".join(part for part in (subject, predicate, object) if part)


@dataclass(frozen=True, slots=True)
class Document:
    """One file or record, read.

    Attributes:
        uri: Absolute path (NFC) or, for a record, ``PATH#ID`` or ``record:ID``.
        category: One of `CATEGORIES`, or what a record names as its own.
        title: From the content (metadata, first heading, a record's title), else ``""``: a title
            taken from the file name is not content and is added by the catalog.
        date: ISO ``YYYY-MM-DD``, or None.
        date_source: Where the date comes from; None exactly when `date` is None.
        sha256: Of the bytes that were read (hex).
        sections: What was read, in reading order.
        triplets: Given by the user with a record; usually empty.
        notes: One sentence for each thing that was left out although the file was read, such as
            pages past the limit.
        record: Whether it is a record (``PATH#ID`` or ``record:ID``) rather than a file.
    """

    uri: str
    category: str
    title: str
    date: str | None
    date_source: DateSource | None
    sha256: str
    sections: tuple[Section, ...]
    triplets: tuple[Triplet, ...] = ()
    notes: tuple[str, ...] = ()
    record: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """The unit that is found and cited.

    Attributes:
        text: What is indexed and embedded (after `context`). For prose an exact slice of the
            section's text; for table rows a short form of them.
        content: What an answer reads and quotes: `text` itself for prose, all columns of the row
            group, one line a row, for tables.
        context: Title and headings above the passage; indexed and embedded with it, never quoted.
        locator: ``{"page": 3}``, ``{"sheet": "S", "rows": [2, 40]}``, ``{"chars": [0, 310]}`` …
        date: ISO date of the rows themselves, or None: then the document's date counts.
        id: The catalog's number, 0 before it is stored. Never given twice.
        document_id: The catalog's number of the document, 0 before it is stored.
    """

    text: str
    content: str
    context: str
    locator: Locator
    date: str | None = None
    id: int = 0
    document_id: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where a passage stands, as it is shown to a person.

    `also` lists the other paths that hold the same content.
    """

    uri: str
    title: str
    category: str
    date: str | None
    date_source: DateSource | None
    locator: Locator
    also: tuple[str, ...] = ()

    @property
    def known_date(self) -> str | None:
        """The date, unless only the file's time gives it: a copy makes every file new."""
        return None if self.date_source == "file-time" else self.date

    def as_json(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        shown: dict[str, Any] = {
            "uri": self.uri,
            "title": self.title,
            "category": self.category,
            "date": self.date,
            "date_source": self.date_source,
            "locator": dict(self.locator),
        }
        if self.also:
            shown["also"] = list(self.also)
        return shown


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Attributes:
        rank: From 1.
        way: The way that was asked for.
        score: The way's own score, higher is better (BM25, cosine, fused).
        similarity: Cosine of question and passage in [-1, 1]; None while the passage has no vector.
        relevance: How well the question supports this hit, 0 to 1; see `silmari.retrieval.relevance`.
        evidence: What else speaks for the hit (the ways that found it, with rank and score).
    """

    rank: int
    way: Way
    passage: Passage
    source: Source
    score: float
    similarity: float | None
    relevance: float
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The shape that ``search --json`` prints."""
        return {
            "rank": self.rank,
            "passage_id": self.passage.id,
            "text": self.passage.content,
            "score": self.score,
            "similarity": self.similarity,
            "relevance": self.relevance,
            "source": self.source.as_json(),
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be found; every engine applies it before it takes the top k.

    Attributes:
        categories: Only these; None for all.
        since: First day allowed, ISO; passages without a date are left out when this or `until` is set.
        until: Last day allowed, ISO.
        documents: Only passages of these documents (the catalog's numbers); None for all.
        undated: True for only those without a date; with `since` or `until` nothing is left.
    """

    categories: frozenset[str] | None = None
    since: str | None = None
    until: str | None = None
    documents: frozenset[int] | None = None
    undated: bool = False

    @property
    def empty(self) -> bool:
        """True when nothing is filtered out."""
        return self == Filter()


def day_number(date: str | None) -> int | None:
    """``2024-01-31`` as 20240131, which sorts and compares like the date; None stays None."""
    return int(date.replace("-", "")) if date else None
