"""Triplets as somebody wrote them: checked one by one, with one sentence for each kind of fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from silmari.language.normalise import normalise
from silmari.model import Triplet
from silmari.reading.cleaning import clean

MAX_NAME_CHARS = 200
MAX_PREDICATE_CHARS = 1_000
# How a column or a field may be called; the first that is there counts.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "subject": ("subject", "subj", "head", "주어", "주체"),
    "predicate": ("predicate", "relation", "pred", "서술어", "술어", "관계"),
    "object": ("object", "obj", "tail", "목적어", "객체", "대상"),
    "document": (
        "document",
        "uri",
        "_id",
        "id",
        "document_id",
        "doc_id",
        "doc",
        "path",
        "file",
        "문서",
        "경로",
        "파일",
    ),
}
_ENDS = ("subject", "predicate", "object")
_KOREAN_PARTICLES = frozenset(
    "은 는 이 가 을 를 의 에 에서 에게 에게서 께 께서 한테 로 으로 로서 으로서 로써 으로써 로부터 으로부터 와 과 하고 "
    "도 까지 부터 처럼 보다 마다 조차 마저 밖에 에는 에도 에서는 에서도 로는 으로는 라고 이라고 라는 이라는 란 이란 "
    "이나 이며".split()
)
_ENGLISH_PARTICLES = frozenset("the an of in on at to by for from with and or".split())


class Fault(Enum):
    """What can be wrong with a triplet, or with a line that should bring some: what it is, and what it is like."""

    PARTS = ("triplet", "without three parts (subject, predicate, object)")
    NO_TEXT = ("triplet", "with a part that is no text")
    BLANK = ("triplet", "with an empty part")
    LONG_NAME = ("triplet", f"with a name of more than {MAX_NAME_CHARS:,} characters")
    LONG_PREDICATE = ("triplet", f"with a predicate of more than {MAX_PREDICATE_CHARS:,} characters")
    WORDLESS = ("triplet", "with a name that is only a particle or punctuation")
    NOT_JSON = ("line", "without valid JSON")
    TOO_LONG = ("line", "of more than 50 million characters")
    NO_DOCUMENT = ("line", "without the id of a document (_id or uri)")
    NO_LIST = ("line", "without a list of triplets")


@dataclass(slots=True)
class LeftOut:
    """Counts what was left out, by kind of fault, with the first of each kind."""

    counts: dict[Fault, int] = field(default_factory=dict)
    first: dict[Fault, str] = field(default_factory=dict)

    def note(self, fault: Fault, place: str, item: Any = None) -> None:
        """Count one, which stands at `place`."""
        self.counts[fault] = self.counts.get(fault, 0) + 1
        if fault not in self.first:
            self.first[fault] = place if item is None else f"{place}: {shown(item)}"

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each kind of fault."""
        return tuple(_sentence(fault, count, self.first[fault]) for fault, count in self.counts.items())


def _sentence(fault: Fault, count: int, first: str) -> str:
    noun, lack = fault.value
    if count == 1:
        return f"1 {noun} {lack} was left out ({first}); correct it and add again."
    return f"{count:,} {noun}s {lack} were left out (the first: {first}); correct them and add again."


def triplets_of(items: Iterable[Any], place: str, left_out: LeftOut) -> tuple[Triplet, ...]:
    """The items that are triplets, each once; the others are noted.

    Args:
        items: Lists of subject, predicate and object, or objects with these fields.
        place: Where the items stand, in words.
        left_out: Takes note of the others.
    """
    found: dict[Triplet, None] = {}
    for number, item in enumerate(items, 1):
        triplet = checked(item)
        if isinstance(triplet, Fault):
            left_out.note(triplet, f"{place}, number {number}", item)
        else:
            found[triplet] = None
    return tuple(found)


def checked(item: Any) -> Triplet | Fault:
    """A triplet with its spelling cleaned and single blanks, or what is wrong with it.

    Args:
        item: A list of three texts (numbers are taken as they are written), or an object with the fields
            subject, predicate and object.
    """
    parts = [field_of(item, name) for name in _ENDS] if isinstance(item, Mapping) else item
    if isinstance(parts, Triplet):
        parts = [parts.subject, parts.predicate, parts.object]
    if not isinstance(parts, (list, tuple)) or len(parts) != 3:
        return Fault.PARTS
    if not all(part is None or _is_text(part) for part in parts):
        return Fault.NO_TEXT
    subject, predicate, object_ = ("" if part is None else " ".join(clean(str(part)).split()) for part in parts)
    if not (subject and predicate and object_):
        return Fault.BLANK
    if len(subject) > MAX_NAME_CHARS or len(object_) > MAX_NAME_CHARS:
        return Fault.LONG_NAME
    if len(predicate) > MAX_PREDICATE_CHARS:
        return Fault.LONG_PREDICATE
    if not (names_something(subject) and names_something(object_)):
        return Fault.WORDLESS
    return Triplet(subject, predicate, object_)


def names_something(name: str) -> bool:
    """Whether a name has a letter or digit and is more than a particle: not ``은``, ``the`` or ``—``."""
    letters = "".join(char for char in normalise(name) if char.isalnum())
    if letters in _ENGLISH_PARTICLES:
        return name.isupper()  # OR is a name, or is none
    return bool(letters) and letters not in _KOREAN_PARTICLES


def field_of(record: Mapping[str, Any], name: str) -> Any:
    """The value of subject, predicate, object or document, however the record calls it; None if it is not there."""
    return next((record[called] for called in COLUMNS[name] if record.get(called) is not None), None)


def shown(value: Any) -> str:
    """A value as a message shows it, short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, (int, float)) and not isinstance(part, bool))
