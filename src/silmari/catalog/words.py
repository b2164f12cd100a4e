"""What goes into the catalog and what comes out, as small frozen values."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from silmari.catalog.vector_cache import text_hash
from silmari.model import DateSource, Document, Passage, RelationMode

FileStatus = Literal["ok", "skipped", "failed"]
Outcome = Literal["added", "updated", "unchanged"]


def embedding_input(passage: Passage) -> str:
    """The text that is embedded for a passage, before the embedder's own prefix: context, then text."""
    return f"{passage.context}\n{passage.text}" if passage.context else passage.text


def storable(uri: str) -> str:
    """A uri as the catalog keeps it: NFC, no NUL, and bytes of a file name that are no UTF-8 written out as escapes."""
    return unicodedata.normalize("NFC", uri).replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file that was read.

    Attributes:
        path: Absolute; kept in NFC.
        size: In bytes.
        mtime_ns: Time of the last change, in nanoseconds, taken before the file was read.
        sha256: Of its bytes (hex).
        notes: One sentence for each thing that was left out, where its documents do not say it.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileState:
    """What the catalog remembers of a file.

    Attributes:
        size: In bytes; -1 when the file must be read again.
        sha256: Of the version that is stored and searchable, or None.
        reason: Why it was skipped or failed, else None.
        added_at: Seconds since 1970.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str | None
    status: FileStatus
    reason: str | None
    notes: tuple[str, ...]
    added_at: int


@dataclass(frozen=True, slots=True)
class AnalysedPassage:
    """A passage with its tokens and names, each joined by single blanks, and the hash of what is embedded.

    Attributes:
        text_hash: Made from `embedding_input` unless given.
        names: As `silmari.language.names.passage_names` gives them.
    """

    passage: Passage
    tokens: str
    text_hash: bytes = b""
    names: str = ""

    def __post_init__(self) -> None:
        if not self.text_hash:
            object.__setattr__(self, "text_hash", text_hash(embedding_input(self.passage)))


class Named(NamedTuple):
    """A passage's names.

    Attributes:
        id: Of the passage.
        names: As `silmari.language.names.passage_names` gives them, joined by blanks.
        file_title: The title that its file's name gives, where the content has none; else empty.
        document_id: Of its document.
        given: Keys of the entities that its relations tie, sorted, joined by blanks.
    """

    id: int
    names: str
    file_title: str = ""
    document_id: int = 0
    given: str = ""


class EntityRow(NamedTuple):
    """An entity as the graph needs it; see `silmari.model.Entity`."""

    id: int
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class EntityEntry:
    """An entity as it is listed.

    Attributes:
        name: Its most used spelling.
        spellings: All, the most used first, with how many ends of relations are spelled so.
        relations: How many tie it.
        passages: How many state those.
    """

    id: int
    key: str
    name: str
    spellings: Mapping[str, int]
    relations: int
    passages: int


class Stated(NamedTuple):
    """A relation as the graph needs it: the entities it ties, and the passages that state it, ascending."""

    id: int
    subject: int
    object: int
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FactsChange:
    """What became of entities and relations up to change number `seq`.

    Those that were touched and are not listed are gone.
    """

    seq: int
    touched_entities: tuple[int, ...]
    entities: tuple[EntityRow, ...]
    touched_relations: tuple[int, ...]
    relations: tuple[Stated, ...]


class Counts(NamedTuple):
    """How many items of each kind there are, and how many of them wait for a vector."""

    passages: int
    pending: int
    relations: int
    relations_pending: int
    entities: int
    entities_pending: int


@dataclass(frozen=True, slots=True)
class NamesChange:
    """What became of passages up to change number `seq`: those of `touched` that are not in `found` are gone."""

    seq: int
    touched: tuple[int, ...]
    found: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document, split and analysed, ready to be stored.

    Attributes:
        name_title: What its name suggests as title: the file's stem, NFC; empty for records.
        name_tokens: The tokens of `name_title`, joined by single blanks.
        relations: Where its relations shall come from; None: as it was, else as it brings.
    """

    document: Document
    passages: Sequence[AnalysedPassage]
    name_title: str = ""
    name_tokens: str = ""
    relations: RelationMode | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is listed.

    Attributes:
        uri: Its best source; `also` are the others that hold the same content.
        passages: How many it has, and `pending`: how many of them wait for a vector.
        relations: Where its relations come from.
    """

    id: int
    uri: str
    title: str
    category: str
    date: str | None
    date_source: DateSource | None
    passages: int
    pending: int
    notes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    relations: RelationMode = "sentences"

    def as_json(self) -> dict[str, Any]:
        """The shape that ``list --json`` prints."""
        return {
            "uri": self.uri,
            "title": self.title,
            "category": self.category,
            "date": self.date,
            "date_source": self.date_source,
            "passages": self.passages,
            "pending": self.pending,
            "relations": self.relations,
            "notes": list(self.notes),
            "also": list(self.also),
        }


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a base holds.

    Attributes:
        pending: Items left to do, by stage: ``vectors`` of passages, relations and entities, and passages that
            wait for the extraction of ``relations`` by a model.
        categories: Documents by category.
        failed: Files that could not be read; an earlier version of one may still be searchable.
        skipped: Files that hold nothing that can be read.
        relations: How many are stated; `entities`: how many they tie.
        failed_extractions: Passages whose relations no model could give.
    """

    documents: int
    passages: int
    pending: Mapping[str, int]
    categories: Mapping[str, int]
    failed: tuple[FileState, ...] = field(default=())
    skipped: tuple[FileState, ...] = field(default=())
    relations: int = 0
    entities: int = 0
    failed_extractions: int = 0
