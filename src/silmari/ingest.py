"""From files to searchable passages, in stages that can be stopped and resumed anywhere.

Stage ``read`` reads, splits and analyses each file in one transaction; what it has done is found by
BM25 at once. Stage ``vectors`` embeds passages that have no vector yet, tables and the newest documents first;
stage ``relations`` embeds relations and entities.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from silmari.errors import SkippedError, UnreadableError
from silmari.model import Document, Passage, RelationMode
from silmari.waiting import LOOK_AGAIN, Patience

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.catalog.vector_cache import VectorCache
    from silmari.catalog.words import AnalysedPassage, ReadDocument
    from silmari.engine.mirror import Mirror
    from silmari.extraction.estimating import Estimate
    from silmari.extraction.triplets import Extracted
    from silmari.language.analysis import Analysed, Analyser
    from silmari.providers.embedding import Embedder
    from silmari.reading.limits import Limits

Stage = Literal["read", "vectors", "triplets", "relations", "index"]
FileStatus = Literal["added", "updated", "unchanged", "skipped", "failed"]

# Vectors are stored this often at the latest: what is lost by a kill is what was embedded since.
SAVE_EVERY = 5.0
# Texts that are analysed together.
ANALYSED = 2_000
# Embedded together, sorted by length within: long enough to fill batches, short enough to show progress.
PORTION = 64
# Of relations and entities, which are short.
SHORT_PORTION = 512
# An engine commit costs a tenth of a second: publish at most this often.
PUBLISH_EVERY = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is.

    Of `total`, `done` are: files (``read``), texts (``vectors``, ``relations``), passages (``triplets``) or changes
    (``index``).
    `current` is the file that is read, or what the chat model was used for so far.
    """

    stage: Stage
    done: int
    total: int
    current: str = ""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file; `reason` is set when it was skipped or failed, or read with a remark."""

    uri: str
    status: FileStatus
    reason: str | None = None


@dataclass(slots=True)
class AddReport:
    """What `add`, `sync` and `build` did.

    Attributes:
        files: One result a file, in the order they were read.
        removed: URIs that `sync` took out because their files are gone.
        pending: How many texts still wait for ``vectors``, and passages for a model that reads ``relations``.
        notes: Sentences about the whole run.
        problem: What kept vectors, relations or the search index from being made; also among the notes.
        estimate: What the chat model was expected to take for reading relations; None if it was not needed.
        extracted: What it has read.
    """

    files: list[FileResult] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    pending: Mapping[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problem: str | None = None
    estimate: Estimate | None = None
    extracted: Extracted | None = None

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of files by status."""
        return Counter(file.status for file in self.files)

    def as_json(self) -> dict[str, Any]:
        """The shape that ``add --json`` prints."""
        return {
            "files": [{"uri": f.uri, "status": f.status, "reason": f.reason} for f in self.files],
            "removed": self.removed,
            "counts": dict(self.counts),
            "pending": dict(self.pending),
            "notes": self.notes,
            "estimate": self.estimate and self.estimate.as_json(),
            "extracted": self.extracted and self.extracted.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The rooms that a document passes through on its way in."""

    catalog: Catalog
    mirror: Mirror
    analyser: Analyser
    embedder: Embedder | None
    cache: VectorCache
    limits: Limits
    words: int
    chars: int
    relations: RelationMode | None = None

    def read_file(self, path: Path, relations: RelationMode | None = None) -> FileResult:
        """Read one file into the catalog, in one transaction; never raises for what is wrong with the file.

        Args:
            path: The file.
            relations: Where relations of what is new in it shall come from; None: as it was or as it brings.
        """
        from silmari.catalog.words import FileInfo
        from silmari.reading import read, uri_of

        uri = uri_of(path)
        try:
            stat = path.stat()
        except FileNotFoundError as error:
            # Told once and not noted: what is known of a former version stays until sync or remove.
            return FileResult(uri, "failed", _os_reason(error))
        except OSError as error:
            return self._problem(uri, 0, 0, "failed", _os_reason(error))
        # One that failed is tried again: what kept it from being read may be gone.
        known = self.catalog.begin_file(uri, stat.st_size, stat.st_mtime_ns)
        if known is not None and known.status == "ok":
            return FileResult(uri, "unchanged")
        if known is not None and known.status == "skipped":
            return FileResult(uri, "skipped", known.reason)
        try:
            documents = read(path, self.limits)
        except SkippedError as error:
            return self._problem(uri, stat.st_size, stat.st_mtime_ns, "skipped", str(error))
        except UnreadableError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return FileResult(uri, "failed", str(error))
            return self._problem(uri, stat.st_size, stat.st_mtime_ns, "failed", str(error))
        except OSError as error:
            return self._problem(uri, stat.st_size, stat.st_mtime_ns, "failed", _os_reason(error))
        except MemoryError:
            return self._problem(uri, stat.st_size, stat.st_mtime_ns, "failed", "needs more memory than there is")
        notes = tuple(dict.fromkeys(note for document in documents for note in document.notes))
        prepared = self.prepare(documents, relations)
        if not any(entry.passages for entry in prepared):
            return self._problem(uri, stat.st_size, stat.st_mtime_ns, "skipped", "holds no text")
        info = FileInfo(uri, stat.st_size, stat.st_mtime_ns, _sha256(documents), notes)
        status = self.catalog.put_file(info, prepared)
        return FileResult(uri, status, " ".join(notes) or None)

    def prepare(self, documents: Sequence[Document], relations: RelationMode | None = None) -> list[ReadDocument]:
        """Split and analyse documents, all their passages in one go (Kiwi works on many at once)."""
        from silmari.catalog.vector_cache import text_hash
        from silmari.catalog.words import ReadDocument, embedding_input
        from silmari.language.normalise import clean
        from silmari.splitting import split

        passages = [split(document, words=self.words, chars=self.chars) for document in documents]
        # A file's name says something of its content; a record's uri does not.
        names = ["" if document.record else PurePath(document.uri).stem for document in documents]
        every = [passage for group in passages for passage in group]
        # The hash is that of the embedder's exact input.
        hashes = [text_hash(clean(embedding_input(passage))) for passage in every]
        ready = map(_with_analysis, every, self._analysed(every), hashes)
        analysed = [list(islice(ready, len(group))) for group in passages]
        tokens = iter(self.analyser.tokens_many(names))
        return [
            ReadDocument(document, group, name, " ".join(next(tokens)), relations or self.relations)
            for document, group, name in zip(documents, analysed, names, strict=True)
        ]

    def _analysed(self, passages: Sequence[Passage]) -> Iterator[Analysed]:
        # Piece by piece: the tokens of a table with a million rows would fill the memory before they are joined.
        for start in range(0, len(passages), ANALYSED):
            part = passages[start : start + ANALYSED]
            yield from self.analyser.passages_many([(passage.context, passage.text) for passage in part])

    def embed_pending(self, on_progress: OnProgress | None) -> None:
        """Embed what has no vector yet until nothing is left, also nothing that other processes have claimed.

        Where processes do not share the work, the lease must be held. Every few seconds, and when interrupted, what
        was embedded is stored for good.
        """
        if self.embedder is None:
            return
        # A base that was made without an embedder takes the first one that comes.
        self.catalog.set_fingerprint("embedder", self.embedder.fingerprint)
        stage: Stage = "vectors"
        done, total = 0, self.catalog.count_pending("passage")
        unsaved: dict[bytes, Any] = {}
        saved = published = time.monotonic()
        others = Patience()
        while True:
            # Passages first: a portion holds nothing else as long as one of them waits.
            left = self.catalog.count_pending("passage") if stage == "vectors" else 0
            if stage == "vectors" and not left:
                stage, done, total = "relations", 0, self.catalog.count_pending()
            size = min(PORTION, left) if left else SHORT_PORTION
            with self.catalog.claim_vectors(self.embedder.fingerprint, size) as claim:
                try:
                    for portion in self._portions(claim.items):
                        unsaved.update(self._embed(portion))
                        done += len(portion)
                        if on_progress is not None:
                            on_progress(Progress(stage, done, max(total, done)))
                        if time.monotonic() - saved > SAVE_EVERY:
                            self._save(unsaved)
                            saved = time.monotonic()
                finally:
                    self._save(unsaved)
            if time.monotonic() - published > PUBLISH_EVERY:
                self.mirror.follow()
                published = time.monotonic()
            if not claim.items:
                if not claim.others or not others.lasts(self.catalog.count_pending()):
                    break
                time.sleep(LOOK_AGAIN)

    def _portions(self, waiting: Sequence[tuple[bytes, str]]) -> Iterable[Sequence[tuple[bytes, str]]]:
        size = self.embedder.batch_size if self.embedder is not None else 1
        ordered = sorted(waiting, key=lambda item: len(item[1]))
        return (ordered[start : start + size] for start in range(0, len(ordered), size))

    def _embed(self, portion: Sequence[tuple[bytes, str]]) -> Mapping[bytes, Any]:
        assert self.embedder is not None
        name = self.embedder.fingerprint
        vectors = dict(self.cache.get_many(name, [key for key, _ in portion]))
        fresh = [(key, text) for key, text in portion if key not in vectors]
        if fresh:
            made = dict(
                zip(
                    (key for key, _ in fresh),
                    self.embedder.passages([text for _, text in fresh]).astype("float16"),
                    strict=True,
                )
            )
            self.cache.put_many(name, made)
            vectors.update(made)
        return vectors

    def _save(self, unsaved: dict[bytes, Any]) -> None:
        if unsaved and self.embedder is not None:
            self.catalog.store_vectors(self.embedder.fingerprint, unsaved)
            unsaved.clear()

    def _problem(
        self, uri: str, size: int, mtime_ns: int, status: Literal["skipped", "failed"], reason: str
    ) -> FileResult:
        self.catalog.note_problem(uri, size, mtime_ns, status, reason)
        return FileResult(uri, status, reason)


def _with_analysis(passage: Passage, analysed: Analysed, text_hash: bytes) -> AnalysedPassage:
    from silmari.catalog.words import AnalysedPassage

    return AnalysedPassage(passage, analysed.tokens, text_hash, analysed.names)


def _sha256(documents: Sequence[Document]) -> str:
    """One hash for a file: its document's, or that of all its records'."""
    if len(documents) == 1:
        return documents[0].sha256
    return hashlib.sha256("".join(document.sha256 for document in documents).encode()).hexdigest()


def _os_reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is gone: it was removed or renamed meanwhile"
    if isinstance(error, PermissionError):
        return "may not be read: give yourself the right to read it and add it again"
    return f"cannot be read ({error.strerror or error}); check the disk and add it again"
