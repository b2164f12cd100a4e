"""What comes in and goes out of a knowledge base: add, sync, records, remove, build."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from silmari.attaching import attach
from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.extracting import Confirm, Extracting
from silmari.extraction.naming import Names, Place
from silmari.ingest import AddReport, FileResult, OnProgress, Pipeline, Progress
from silmari.model import RELATION_MODES, RelationMode
from silmari.waiting import PATIENCE

if TYPE_CHECKING:
    from silmari.model import Document

Until = Literal["read", "all"]
# Records that go in together: each is its own document, one commit for all saves time.
RECORDS = 500


@dataclass(frozen=True, slots=True)
class Intake:
    """The pipeline, and what goes for all that comes in.

    Attributes:
        exclude: Glob patterns to pass over.
        extracting: The stage for which a chat model is called.
        missing: Why there is no embedder although one was expected; empty if nothing is missing.
        confirm: Told what the chat model will take before it is called; False leaves it for later.
    """

    pipeline: Pipeline
    exclude: Sequence[str]
    extracting: Extracting
    missing: str = ""
    confirm: Confirm | None = None

    def add(
        self,
        paths: Iterable[str | Path],
        triplets: Sequence[Path],
        relations: str | None,
        exclude: Sequence[str],
        until: Until,
        on_progress: OnProgress | None,
    ) -> AddReport:
        """See `KnowledgeBase.add`."""
        from silmari.reading import uri_of

        report = AddReport()
        wanted = _mode(relations)
        for file in triplets:
            if not file.is_file():
                raise UsageError(f"{file}: there is no such file of triplets. Nothing was changed.")
        found, problems = self._discover(paths, exclude)
        report.files += problems
        if not found and problems:
            raise UsageError(f"{problems[0].uri}: {problems[0].reason}")
        apart = {uri_of(file) for file in triplets}
        self._read([path for path in found if uri_of(path) not in apart], report, on_progress, wanted)
        if triplets:
            names = self._names()
            for file in triplets:
                report.files += attach(self.pipeline.catalog, file, names, wanted)
        if not report.files:
            report.notes.append("Nothing to read was found there.")
        return self._finish(report, until, on_progress)

    def sync(
        self, folder: str | Path, exclude: Sequence[str], until: Until, on_progress: OnProgress | None
    ) -> AddReport:
        """See `KnowledgeBase.sync`."""
        from silmari.reading import uri_of
        from silmari.reading.discover import on_disk

        root = Path(folder).expanduser()
        report = AddReport()
        found, problems = self._discover([folder], exclude)
        unlisted = [problem.uri for problem in problems]
        if uri_of(root) in unlisted:
            raise UsageError(f"{folder}: {problems[0].reason}. Nothing was changed.")
        if not os.path.isdir(on_disk(root) or root):
            raise UsageError(f"{folder}: is no folder; sync takes one folder. Nothing was changed.")
        report.files += problems
        self._read(found, report, on_progress)
        here = {uri_of(path) for path in found}
        # What stands under a folder that could not be listed may still be there: it stays.
        gone = [
            uri
            for uri in self.pipeline.catalog.uris_under(uri_of(root))
            if uri not in here and not any(uri == other or uri.startswith(f"{other}/") for other in unlisted)
        ]
        report.removed = list(self.pipeline.catalog.remove(gone))
        return self._finish(report, until, on_progress)

    def add_records(
        self,
        records: Iterable[Mapping[str, Any]],
        relations: str | None,
        until: Until,
        on_progress: OnProgress | None,
    ) -> AddReport:
        """See `KnowledgeBase.add_records`."""
        from silmari.reading.records import record_document
        from silmari.reading.triplets import LeftOut

        report = AddReport()
        wanted = _mode(relations)
        left_out = LeftOut()
        documents: list[Document] = []
        for number, record in enumerate(records, 1):
            try:
                documents.append(record_document(record, left_out))
            except UsageError as error:
                name = record.get("id") if isinstance(record, Mapping) else None
                report.files.append(FileResult(f"record:{name or number}", "failed", str(error)))
        for start in range(0, len(documents), RECORDS):
            group = documents[start : start + RECORDS]
            prepared = self.pipeline.prepare(group, wanted)
            for uri, status in self.pipeline.catalog.put_records(prepared).items():
                report.files.append(FileResult(uri, status))
            if on_progress is not None:
                on_progress(Progress("read", start + len(group), len(documents)))
        report.notes += left_out.sentences()
        return self._finish(report, until, on_progress)

    def remove(self, uris: Iterable[str | Path]) -> list[str]:
        """See `KnowledgeBase.remove`."""
        removed = list(self.pipeline.catalog.remove(self.pipeline.catalog.matching(str(uri) for uri in uris)))
        self.pipeline.mirror.follow()
        return removed

    def build(self, relations: str | None, on_progress: OnProgress | None) -> AddReport:
        """See `KnowledgeBase.build`."""
        self.pipeline.catalog.assert_writable()
        if (wanted := _mode(relations)) is not None:
            self.pipeline.catalog.want_relations(wanted, None)
        return self._finish(AddReport(), "all", on_progress)

    def reindex(self, wanted: Mapping[str, str | None], on_progress: OnProgress | None) -> AddReport:
        """See `KnowledgeBase.reindex`; `wanted` are the fingerprints to build for."""
        catalog, analyser = self.pipeline.catalog, self.pipeline.analyser
        built = catalog.fingerprints()
        changed = {name: value for name, value in wanted.items() if value is not None and built.get(name) != value}
        report = AddReport()
        if "analyser" in changed:

            def told(done: int, total: int) -> None:
                if on_progress is not None:
                    on_progress(Progress("read", done, total))

            catalog.retokenise(
                changed["analyser"],
                lambda passage: analyser.passages_many([(passage.context, passage.text)])[0],
                lambda name: " ".join(analyser.tokens(name)),
                told,
            )
        if "embedder" in changed:
            catalog.change_embedder(changed["embedder"])
        if "splitter" in changed:
            catalog.change_splitter(changed["splitter"])
            from silmari.reading.discover import on_disk

            paths = catalog.file_paths()
            there = [path for path in map(on_disk, map(Path, paths)) if path is not None]
            self._read(there, report, on_progress)
            if len(there) < len(paths):
                report.notes.append(
                    f"{len(paths) - len(there):,} files are gone; what was read of them stays as it was."
                )
        if not changed:
            catalog.new_epoch()
        return self._finish(report, "all", on_progress)

    def _embed(self, on_progress: OnProgress | None) -> str | None:
        """Make the vectors; returns what ended it early, if the embedder did."""
        try:
            self.pipeline.embed_pending(on_progress)
        except (ProviderError, MissingExtraError) as error:
            return str(error)
        return None

    def _agreed(self, report: AddReport) -> bool:
        """Whether there is something for the chat model to read, and the user does not mind."""
        try:
            report.estimate = self.extracting.estimate()
        except (UsageError, MissingExtraError) as error:
            report.notes.append(f"No relations are read. {error}")
            return False
        if report.estimate is None:
            return False
        if self.confirm is not None and not self.confirm(report.estimate):
            report.notes.append("No relations are read since you said so; silmari build asks again.")
            return False
        if note := self.extracting.unwatched():
            report.notes.append(note)
        return True

    def _discover(self, paths: Iterable[str | Path], exclude: Sequence[str]) -> tuple[list[Path], list[FileResult]]:
        from silmari.reading import discover, uri_of

        found: list[Path] = []
        problems: list[FileResult] = []
        for item in discover(list(paths), (*self.exclude, *exclude)):
            if item.problem is None:
                found.append(item.path)
            else:
                problems.append(FileResult(uri_of(item.path), "failed", item.problem))
        return found, problems

    def _read(
        self,
        found: Sequence[Path],
        report: AddReport,
        on_progress: OnProgress | None,
        relations: RelationMode | None = None,
    ) -> None:
        unchanged = []
        for done, path in enumerate(found):
            if on_progress is not None:
                on_progress(Progress("read", done, len(found), path.name))
            result = self.pipeline.read_file(path, relations)
            report.files.append(result)
            if result.status == "unchanged":
                unchanged.append(result.uri)
        if on_progress is not None and found:
            on_progress(Progress("read", len(found), len(found)))
        if relations is not None and unchanged:
            # They are not read again, but their relations shall come from there too.
            self.pipeline.catalog.want_relations(relations, self._names().at(unchanged))

    def _names(self) -> Names:
        return Names(Place(*place) for place in self.pipeline.catalog.places())

    def _finish(self, report: AddReport, until: Until, on_progress: OnProgress | None) -> AddReport:
        pipeline, mirror = self.pipeline, self.pipeline.mirror
        lag = mirror.follow(wait=5.0)
        extract = until == "all" and self._agreed(report)
        embed = until == "all" and pipeline.embedder is not None and pipeline.catalog.count_pending()
        if embed or extract:
            # No text is paid for twice: processes claim what they work on, or one at a time does all of it.
            with nullcontext(True) if pipeline.catalog.shares_work else mirror.writing(PATIENCE) as mine:
                if mine:
                    report.problem = self._embed(on_progress)
                    if extract:
                        report.extracted = self.extracting.complete(on_progress)
                        report.problem = report.problem or self._embed(on_progress)
                    lag = mirror.follow(wait=5.0)
        pending = pipeline.catalog.count_pending() if pipeline.embedder else 0
        if self.missing:
            report.notes.append(f"BM25 finds what was read; no vectors are made. {self.missing}")
        if lag and mirror.problem:
            report.problem = mirror.problem
            report.notes.append(f"What was read is kept, but cannot be searched yet. {report.problem}")
        elif report.problem:
            report.notes.append(f"BM25 finds what was read, but vectors are missing. {report.problem}")
        elif lag or (pending and until == "all"):
            report.notes.append(
                "Another process is writing to this base; run silmari build when it is done to complete the rest."
            )
        report.pending = {"vectors": pending, "relations": pipeline.catalog.count_extractions()[0]}
        if report.extracted is not None and report.extracted.problem:
            report.notes.append(
                f"{report.pending['relations']:,} passages still wait for the chat model; silmari build goes on with "
                f"them. {report.extracted.problem}"
            )
            if not report.extracted.limited:
                report.problem = report.problem or report.extracted.problem
        return report


def _mode(name: str | None) -> RelationMode | None:
    mode = next((known for known in RELATION_MODES if known == name), None)
    if name is not None and mode is None:
        raise UsageError(f"relations is {name!r}; it takes {', '.join(RELATION_MODES)}.")
    return mode
