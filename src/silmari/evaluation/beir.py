"""Reads a BEIR folder: a corpus, questions, and which documents answer which question.

The form is that of https://github.com/beir-cellar/beir: ``corpus.jsonl`` (``_id``, ``title``, ``text``),
``queries.jsonl`` (``_id``, ``text``) and ``qrels/*.tsv`` (query-id, corpus-id, score), each JSONL plain or gzipped.
``triplets.jsonl`` (``_id`` of a document, ``triplets`` as three-part lists) is read where it exists.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from silmari.errors import UsageError
from silmari.model import Triplet

SPLITS = ("test", "dev", "train")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A test collection.

    Attributes:
        name: The folder's name.
        documents: Title (may be empty) and text of each document, by id.
        queries: Text of each question, by id, also of those that have no judgement.
        qrels: For each judged question the gain of each judged document: 0 is not relevant, higher is better.
        triplets: Statements that the collection gives with its documents, by document id.
        metadata: What the collection says of a question besides its text, by question id.
        notes: One sentence for each thing that is odd but does not prevent the evaluation.
    """

    name: str
    documents: Mapping[str, tuple[str, str]]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    triplets: Mapping[str, tuple[Triplet, ...]] = field(default_factory=dict)
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def judged(self) -> list[str]:
        """Ids of the questions that at least one document answers, in the order of the questions' file."""
        return [query for query in self.queries if any(gain > 0 for gain in self.qrels.get(query, {}).values())]


def load(folder: Path, split: str | None = None) -> Dataset:
    """Reads a BEIR folder.

    Args:
        folder: Where corpus, queries and qrels lie.
        split: Name of the judgements' file without its suffix; None takes test, else dev, else train.

    Raises:
        UsageError: The folder is not of this form; the message names the file and the line.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; name one that holds corpus.jsonl, queries.jsonl and qrels/.")
    documents = _documents(_required(folder, "corpus.jsonl"))
    queries, metadata = _queries(_required(folder, "queries.jsonl"))
    qrels = _judgements(_qrels_file(folder, split))
    triplets_file = _find(folder, "triplets.jsonl")
    triplets = _triplets(triplets_file) if triplets_file else {}
    notes = _notes(documents, queries, qrels, triplets)
    return Dataset(folder.resolve().name, documents, queries, qrels, triplets, metadata, notes)


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _required(folder: Path, name: str) -> Path:
    path = _find(folder, name)
    if path is None:
        raise UsageError(f"{folder} has no {name} (nor {name}.gz); a BEIR folder needs one.")
    return path


def _qrels_file(folder: Path, split: str | None) -> Path:
    there = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
    wanted = (split,) if split else (*SPLITS, *there)
    for name in wanted:
        if name in there:
            return folder / "qrels" / f"{name}.tsv"
    listed = ", ".join(f"{name}.tsv" for name in there) or "no .tsv file"
    raise UsageError(f"{folder / 'qrels'} has no {split or 'test'}.tsv (it has {listed}); the judgements go there.")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f"{path} is not a whole gzip file ({error}); fetch it again.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _records(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(where it stands, id, record) of each line of a JSONL file; ids are checked to be there and to differ."""
    seen: set[str] = set()
    for number, line in _lines(path):
        where = f"{path} line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{where} is not JSON: {error}.") from error
        if not isinstance(record, dict):
            raise UsageError(f'{where} is not a JSON object such as {{"_id": "d1", "text": "..."}}.')
        key = record.get("_id")
        if not isinstance(key, str | int) or isinstance(key, bool) or key == "":
            raise UsageError(f'{where} has no "_id"; give each line a string of its own.')
        key = str(key)
        if key in seen:
            raise UsageError(f'{where} has the "_id" {key!r} a second time; ids must differ.')
        seen.add(key)
        yield where, key, record


def _text(where: str, record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise UsageError(f'{where} has no "{name}" that is a string.')
    return value


def _documents(path: Path) -> dict[str, tuple[str, str]]:
    documents = {}
    for where, key, record in _records(path):
        title = "" if record.get("title") is None else _text(where, record, "title")
        documents[key] = (title, _text(where, record, "text"))
    if not documents:
        raise UsageError(f"{path} holds no documents.")
    return documents


def _queries(path: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    queries, metadata = {}, {}
    for where, key, record in _records(path):
        queries[key] = _text(where, record, "text")
        if isinstance(record.get("metadata"), dict):
            metadata[key] = record["metadata"]
    if not queries:
        raise UsageError(f"{path} holds no questions.")
    return queries, metadata


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """Reads three columns (query-id, corpus-id, score) or trec_eval's four (query-id, 0, corpus-id, score)."""
    qrels: dict[str, dict[str, int]] = {}
    for place, (number, line) in enumerate(_lines(path)):
        parts = line.split("\t") if "\t" in line else line.split()
        if len(parts) not in (3, 4):
            raise UsageError(
                f"{path} line {number} has {len(parts)} columns; query-id, corpus-id and score are expected, "
                "divided by tabs."
            )
        query, document, score = parts[0].strip(), parts[-2].strip(), parts[-1].strip()
        try:
            gain = float(score)
        except ValueError as error:
            if place == 0:
                continue  # the header
            raise UsageError(f"{path} line {number}: the score {score!r} is not a number.") from error
        if not gain.is_integer():
            raise UsageError(f"{path} line {number}: the score {score!r} is not a whole number.")
        known = qrels.setdefault(query, {})
        if known.get(document, gain) != gain:
            raise UsageError(f"{path} line {number} judges {document!r} for {query!r} a second time, differently.")
        known[document] = int(gain)
    if not qrels:
        raise UsageError(f"{path} holds no judgements.")
    return qrels


def _triplets(path: Path) -> dict[str, tuple[Triplet, ...]]:
    triplets = {}
    for where, key, record in _records(path):
        parts = record.get("triplets")
        if not isinstance(parts, list):
            raise UsageError(f'{where} has no "triplets" that are a list.')
        for part in parts:
            if not (isinstance(part, list) and len(part) == 3 and all(isinstance(word, str) for word in part)):
                raise UsageError(f"{where}: {part!r} is not a triplet; three strings are expected.")
        triplets[key] = tuple(Triplet(*part) for part in parts)
    return triplets


def _notes(
    documents: Mapping[str, object],
    queries: Mapping[str, object],
    qrels: Mapping[str, Mapping[str, int]],
    triplets: Mapping[str, object],
) -> tuple[str, ...]:
    judged = [document for gains in qrels.values() for document in gains]
    found = {
        "judgements name documents that the corpus does not have; they count as not found": (
            [document for document in judged if document not in documents],
            len(judged),
        ),
        "judged questions are not in the questions' file; they are left out": (
            [query for query in qrels if query not in queries],
            len(qrels),
        ),
        "lists of triplets belong to documents that the corpus does not have": (
            [document for document in triplets if document not in documents],
            len(triplets),
        ),
    }
    return tuple(f"{len(odd)} of {total} {what} (such as {odd[0]!r})." for what, (odd, total) in found.items() if odd)
