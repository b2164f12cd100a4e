"""BM25 over tokens that were analysed elsewhere, by tantivy."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import tantivy

from silmari.engine.base import Record
from silmari.errors import BusyError, KnowledgeBaseError
from silmari.model import Filter, day_number
from silmari.panics import is_panic

_ANALYSER = "blanks"
_HEAP = 50_000_000
_PAGE = 5_000


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("id", stored=True, indexed=True, fast=True)
    # Stored, so that the index can be written anew without the catalog (see TextIndex.copy).
    builder.add_text_field("tokens", stored=True, tokenizer_name=_ANALYSER, index_option="freq")
    builder.add_unsigned_field("document_id", stored=True, indexed=True)
    builder.add_text_field("category", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("day", stored=True, indexed=True, fast=True)
    return builder.build()


@contextmanager
def _disk() -> Iterator[None]:
    """Around calls whose arguments are sound: there, tantivy's ValueError is trouble with the disk."""
    try:
        yield
    except ValueError as problem:
        raise OSError(str(problem)) from problem


def _share(path: Path) -> None:
    """Let whoever may read the folder read its table of contents, which tantivy keeps for its writer alone."""
    (path / "meta.json").chmod(path.stat().st_mode & 0o666)


class TextIndex:
    """One folder of tantivy: searched by everyone, written by the lease holder.

    Scores are BM25 with k1 1.2 and b 0.75; tantivy rounds passage lengths down to one of 256 steps and
    counts deleted passages until their segment is merged.

    Args:
        path: An index that `create` made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._links: Path | None = None
        if not os.access(path, os.W_OK):
            # tantivy locks a file in the folder for a moment even to read; in a folder of links it may.
            self._links = Path(tempfile.mkdtemp(prefix="silmari-"))
            weakref.finalize(self, shutil.rmtree, self._links, ignore_errors=True)
            self._link(self._links)
        self._index = tantivy.Index.open(str(self._links or path))
        self._index.register_tokenizer(_ANALYSER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        # The default policy starts a thread that watches the folder.
        self._index.config_reader("manual")
        self._schema = self._index.schema
        self._searcher = self._index.searcher()
        self._writer: Any = None
        self._unfinished = False

    @classmethod
    def create(cls, path: Path) -> TextIndex:
        """A new, empty index; `path` must not exist."""
        path.mkdir(parents=True)
        with _disk():
            tantivy.Index(_schema(), path=str(path))
        _share(path)
        return cls(path)

    @property
    def opstamp(self) -> int:
        """The committed count of operations."""
        return int(self._meta()["opstamp"])

    @property
    def count(self) -> int:
        """Passages that can be found."""
        return int(self._searcher.num_docs)

    @property
    def dead(self) -> int:
        """Deleted passages that still count in BM25's statistics."""
        return sum((segment["deletes"] or {}).get("num_deleted_docs", 0) for segment in self._meta()["segments"])

    def _meta(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / "meta.json").read_bytes())
        return found

    def reload(self) -> None:
        """See what was committed since."""
        if self._links is not None:
            self._link(self._links)
        self._index.reload()
        self._searcher = self._index.searcher()

    def _link(self, folder: Path) -> None:
        for file in self.path.iterdir():
            link = folder / file.name
            if not file.name.startswith(".") and not link.is_symlink():
                link.symlink_to(file.resolve())

    def write(self, gone: Iterable[int], records: Iterable[Record]) -> None:
        """Delete the ids in `gone`, add `records`, commit durably and see the result.

        Raises:
            BusyError: Another process writes to this index.
            OSError: tantivy cannot write, for example because the disk is full.
        """
        if self._unfinished:
            # An earlier call was broken off: what it had queued must not slip into this commit.
            self._writer = None
        if self._writer is None:
            try:
                self._writer = self._index.writer(_HEAP, 1)
            except ValueError as problem:
                if "LockBusy" not in str(problem):
                    raise OSError(str(problem)) from problem
                message = "Another process is writing to the search index: wait until it is done and try again."
                raise BusyError(message) from problem
        self._unfinished = True
        ids = list(gone)
        if ids:
            # By query: delete_documents_by_term takes ints for signed and would silently match nothing.
            self._writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "id", ids))
        for record in records:
            document = tantivy.Document()
            document.add_unsigned("id", record.id)
            document.add_text("tokens", record.tokens)
            document.add_unsigned("document_id", record.document_id)
            document.add_text("category", record.category)
            if record.day is not None:
                document.add_integer("day", record.day)
            with _disk():
                self._writer.add_document(document)
        with _disk():
            self._writer.commit()
        _share(self.path)
        self._unfinished = False
        self.reload()

    def search(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages as (id, score), best first; see `Engine.sparse`."""
        query = self._query(tokens, where)
        if query is None or k < 1:
            return []
        searcher = self._searcher
        # Counting all matches would keep tantivy from skipping blocks that cannot reach the top k.
        with self._sound():
            hits = searcher.search(query, limit=k, count=False).hits
            ids: list[Any] = searcher.fast_field_values("id", [address for _, address in hits])
        found = [(id, score) for id, (score, _) in zip(ids, hits, strict=True)]
        # By score, then id: two sorts without a Python key are three times as fast as one with.
        found.sort()
        found.sort(key=itemgetter(1), reverse=True)
        return found

    def frequency(self, token: str) -> int:
        """In how many passages a token occurs."""
        with self._sound():
            return int(self._searcher.doc_freq("tokens", token))

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Around reading: there, tantivy fails or panics only where a file is not what was written."""
        try:
            yield
        except BaseException as problem:
            if not isinstance(problem, ValueError) and not is_panic(problem):
                raise
            raise KnowledgeBaseError(
                f"The search index {self.path} is damaged: run silmari reindex, which makes it anew from the catalog."
            ) from problem

    def _query(self, tokens: Mapping[str, float], where: Filter) -> tantivy.Query | None:
        query, occur, schema = tantivy.Query, tantivy.Occur, self._schema
        terms = [
            (occur.Should, query.boost_query(query.term_query(schema, "tokens", token, "freq"), weight))
            for token, weight in tokens.items()
            if token and weight > 0
        ]
        if not terms:
            return None
        words = query.boolean_query(terms)
        limits = []
        if where.categories is not None:
            limits.append(query.term_set_query(schema, "category", sorted(where.categories)))
        if where.documents is not None:
            limits.append(query.term_set_query(schema, "document_id", sorted(where.documents)))
        if where.since or where.until:
            bounds = day_number(where.since), day_number(where.until)
            limits.append(query.range_query(schema, "day", tantivy.FieldType.Integer, *bounds))
        if not limits and not where.undated:
            return words
        # A limit must not change the score, hence the constant 0.
        parts = [(occur.Must, words), *((occur.Must, query.const_score_query(limit, 0.0)) for limit in limits)]
        if where.undated:
            parts.append((occur.MustNot, query.exists_query("day")))
        return query.boolean_query(parts)

    def copy(self, path: Path) -> TextIndex:
        """Write the living passages to a new index at `path`: the only way to be rid of deleted ones at once."""
        fresh = TextIndex.create(path)
        fresh.write((), self._records())
        return fresh

    def _records(self) -> Iterable[Record]:
        searcher, after = self._searcher, -1
        while True:
            rest = tantivy.Query.range_query(self._schema, "id", tantivy.FieldType.Unsigned, after + 1, None)
            hits = searcher.search(rest, limit=_PAGE, count=False, order_by_field="id", order=tantivy.Order.Asc).hits
            for _, address in hits:
                stored = searcher.doc(address).to_dict()
                after = stored["id"][0]
                yield Record(
                    id=after,
                    tokens=stored["tokens"][0],
                    vector=None,
                    document_id=stored["document_id"][0],
                    category=stored["category"][0],
                    day=stored.get("day", [None])[0],
                )
            if len(hits) < _PAGE:
                return

    def close(self) -> None:
        """Let running merges end and release the writer's lock."""
        if self._writer is not None and not self._unfinished:
            self._writer.wait_merging_threads()
        self._writer = None
