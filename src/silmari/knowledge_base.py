"""The knowledge base: the only place where the rooms meet."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from silmari.background import Background, twin
from silmari.errors import UsageError
from silmari.ingest import AddReport, OnProgress, Pipeline
from silmari.intake import Intake, Until
from silmari.language.times import Times, times_in
from silmari.model import WAYS, Filter, Hit, Passage, Source, Way
from silmari.retrieval.filling import Run
from silmari.retrieval.filters import Now, build_filter, day_of
from silmari.retrieval.policy import Policy
from silmari.retrieval.presets import choose, policy_from
from silmari.retrieval.question import Question
from silmari.retrieval.search import Readiness, Searcher
from silmari.retrieval.timed import search_timed
from silmari.retrieval.trace import Trace
from silmari.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from silmari.answering.answer import Answer
    from silmari.answering.answering import Answering
    from silmari.catalog.words import StoredDocument
    from silmari.graph.follow import Following
    from silmari.overview import Status

Filters = Filter | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Options:
    """How one question is asked; None takes the setting."""

    way: Way | None
    k: int | None
    filters: Filters | None
    duplicates: bool
    policy: str | Policy | None
    time: bool | None
    now: Now


@dataclass(frozen=True, slots=True)
class _Found:
    """What a search found; `bounded` when a time in the question left passages out."""

    hits: list[Hit]
    question: Question
    searcher: Searcher
    bounded: bool


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a search needs to know of the base, as of a change's number."""

    seq: int
    passages: int
    vectors: int


class KnowledgeBase:
    """A folder with documents read from your files, searchable and able to answer.

    Open one with `KnowledgeBase.open`; use it in a ``with`` block or call `close`. It may be used from
    several threads and, through the methods that begin with ``a``, from any event loop; those do what
    their namesakes do.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        llm: str | BaseChatModel | None = None,
        embedder: str | Embeddings | None = None,
        create: bool = True,
        check: bool = True,
    ) -> None:
        from silmari.catalog.catalog import Catalog
        from silmari.catalog.lease import Lease
        from silmari.catalog.sqlite import FILE_NAME
        from silmari.catalog.vector_cache import VectorCache
        from silmari.engine import open_engine
        from silmari.engine.mirror import Mirror
        from silmari.language.analysis import Analyser
        from silmari.providers.embedding import embedder_or_reason
        from silmari.splitting import fingerprint as splitter

        self.settings = settings
        self.folder = settings.kb.expanduser().absolute()
        self.embedder, self._without = embedder_or_reason(embedder, settings)
        self._llm = llm if llm is not None else settings.llm
        self.analyser = Analyser(settings.user_dictionary)
        self._cache = VectorCache(settings.cache.expanduser())
        self._fingerprints = {
            "embedder": self.embedder.fingerprint if self.embedder else None,
            "analyser": self.analyser.fingerprint,
            "splitter": splitter(settings.passage_words, settings.passage_chars),
        }
        there = os.path.exists(self.folder / FILE_NAME)
        # A base that is about to be rebuilt is opened whatever it was built with.
        compared = self._fingerprints if check or not there else {}
        # Whoever may not write to a base may still search it, as far as others have brought it.
        readonly = there and not all(os.access(path, os.W_OK) for path in (self.folder, self.folder / FILE_NAME))
        self.catalog = Catalog.open(
            self.folder, compared, create=create, readonly=readonly, file_time_dates=settings.file_time_dates
        )
        self._mirror = Mirror(
            self.catalog,
            lambda wait: None if readonly else Lease.try_take(self.folder, timeout=wait),
            open_engine(settings.engine, self.folder),
        )
        self._background = Background()
        self._lock = threading.RLock()
        self._counted: _Counted | None = None
        self._counted_undated = (-1, 0)
        self._mean: float | None = None
        for name, table in settings.policy.items():
            policy_from(name, table)

    @classmethod
    def open(
        cls,
        path: str | Path | Settings | None = None,
        *,
        llm: str | BaseChatModel | None = None,
        embedder: str | Embeddings | None = None,
        create: bool = True,
        check: bool = True,
        **options: Any,
    ) -> Self:
        """Open a knowledge base, or make a new one.

        Args:
            path: Its folder, or complete settings; None for what the environment or silmari.toml says.
            llm: Chat model that writes answers, such as ``openai:gpt-4o-mini``, or a LangChain chat model.
            embedder: Embedder, such as ``bundled``, or a LangChain ``Embeddings`` object.
            create: Whether to make the base when the folder holds none.
            check: Whether to refuse a base that was built with another embedder, analyser or splitter;
                False is for `reindex`.
            options: Any field of `silmari.settings.Settings`.

        Raises:
            KnowledgeBaseError: The base cannot be opened; the message says how to mend it.
            UsageError: A setting is wrong.
        """
        settings = path if isinstance(path, Settings) else Settings.load(kb=path, **options)
        return cls(settings, llm=llm, embedder=embedder, create=create, check=check)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End background work and release files."""
        if (answering := self.__dict__.get("_answering")) is not None:
            self._background.run(answering.close())
        self._background.close()
        self._mirror.close()
        self.catalog.close()
        self._cache.close()

    # What comes in and goes out

    def add(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        exclude: Sequence[str] = (),
        until: Until = "all",
        on_progress: OnProgress | None = None,
    ) -> AddReport:
        """Add files, folders and globs, and return when all of them are complete.

        Every file is found by BM25 from the moment it was read. Whatever is wrong with a file is told
        in the report; the others go on. Interrupted, it keeps all that was done; add again to go on.

        Args:
            paths: What to add; folders with all that is in them.
            exclude: Glob patterns of names or relative paths to pass over.
            until: ``read`` returns before vectors are made.
            on_progress: Called often, from the thread that works.

        Raises:
            UsageError: None of the paths exists.
        """
        return self._intake.add(_several(paths), exclude, until, on_progress)

    aadd = twin(add)

    def sync(
        self,
        folder: str | Path,
        *,
        exclude: Sequence[str] = (),
        until: Until = "all",
        on_progress: OnProgress | None = None,
    ) -> AddReport:
        """Make the base equal to a folder: add what is new, update what changed, remove what is gone.

        Only documents under this folder are touched. A file that is there but cannot be read keeps its
        former version.

        Raises:
            UsageError: The folder does not exist or cannot be listed; nothing is removed then.
        """
        return self._intake.sync(folder, exclude, until, on_progress)

    async_ = twin(sync)

    def add_records(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        until: Until = "all",
        on_progress: OnProgress | None = None,
    ) -> AddReport:
        """Add records ``{"id", "text", "title", "date", "category", "triplets"}`` (the first two are needed).

        A record with a known id replaces the former one. A faulty record is told in the report.
        """
        return self._intake.add_records(records, until, on_progress)

    aadd_records = twin(add_records)

    def remove(self, uris: str | Path | Iterable[str | Path]) -> list[str]:
        """Take documents out, exactly: paths, folders, globs, or uris of records.

        Returns:
            The uris that were removed.
        """
        return self._intake.remove(_several(uris))

    aremove = twin(remove)

    def build(self, *, on_progress: OnProgress | None = None) -> AddReport:
        """Complete what earlier calls left pending."""
        return self._intake.build(on_progress)

    abuild = twin(build)

    def reindex(self, *, on_progress: OnProgress | None = None) -> AddReport:
        """Rebuild for the embedder, analyser and splitter that the base is open with, or just the engine.

        Open the base with ``check=False`` for it. Files whose splitting changed are read again; vectors
        that the same embedder made before come from the cache.
        """
        return self._intake.reindex(self._fingerprints, on_progress)

    areindex = twin(reindex)

    # Searching and answering

    def search(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        duplicates: bool = False,
        policy: str | Policy | None = None,
        time: bool | None = None,
        now: Now = None,
        trace: Trace | None = None,
    ) -> list[Hit]:
        """The passages that answer a question best.

        Args:
            question: In any language.
            way: ``sparse``, ``dense``, ``cascade``, ``graph`` or ``fused``; default: the settings'.
            k: How many, at most.
            filters: A `Filter`, or a mapping with ``category``, ``since``, ``until``, ``documents``.
            duplicates: Whether passages that are nearly the same as a better one are kept.
            policy: ``best``, ``fresh``, ``latest``, one of your own (docs/policies.md), or a `Policy`; default:
                the settings'.
            time: Whether times in the question, such as ``지난달``, choose among dated passages; default: the
                settings'. Dates among the filters come before them.
            now: Today, for ages and times: a date or its ISO form; default: the settings', else the clock.
            trace: Filled with what happened, if given.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
        """
        options = _Options(way, k, filters, duplicates, policy, time, now)
        return self._search(question, options, trace or Trace()).hits

    asearch = twin(search)

    def ask(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        policy: str | Policy | None = None,
        time: bool | None = None,
        now: Now = None,
    ) -> Answer:
        """Answer a question from the documents, or say that they do not answer it.

        Without a chat model the answer is made of quoted sentences; with one it is written. Either way
        each sentence cites its sources. Where the model's service fails, sentences are quoted instead, and
        the trace says why. The arguments are those of `search`.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
            MissingExtraError: The chat model's package is not installed.
        """
        return self._background.run(self._ask(question, _Options(way, k, filters, False, policy, time, now)))

    async def aask(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        policy: str | Policy | None = None,
        time: bool | None = None,
        now: Now = None,
    ) -> Answer:
        """See `ask`."""
        return await self._background.await_(self._ask(question, _Options(way, k, filters, False, policy, time, now)))

    def stream(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        policy: str | Policy | None = None,
        time: bool | None = None,
        now: Now = None,
    ) -> Iterator[str | Answer]:
        """Like `ask`: first pieces of the text as they are written, then the finished `Answer`."""
        return self._background.iterate(self._pieces(question, _Options(way, k, filters, False, policy, time, now)))

    def astream(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        policy: str | Policy | None = None,
        time: bool | None = None,
        now: Now = None,
    ) -> AsyncIterator[str | Answer]:
        """See `stream`."""
        return self._background.aiterate(self._pieces(question, _Options(way, k, filters, False, policy, time, now)))

    # What is in it

    def documents(self, *, filters: Filters | None = None) -> list[StoredDocument]:
        """The documents, by uri."""
        return self.catalog.documents(self._filter(filters))

    adocuments = twin(documents)

    def show(self, target: str | Path | int) -> list[tuple[Passage, Source]]:
        """The passages of a document, in reading order, or one passage by its number.

        Raises:
            UsageError: The base has no such document or passage.
        """
        from silmari.reading import uri_of

        named = str(target)
        # SQLite's numbers have 19 digits at most.
        if named.isdecimal() and len(named) < 19 and (found := self.catalog.passages([int(named)])):
            return list(found.values())
        document = self.catalog.document(named) or self.catalog.document(uri_of(Path(named).expanduser()))
        if document is None:
            inside = self.catalog.document_ids([named]) if named.strip() else frozenset()
            if len(inside) != 1:
                several = f"; it names {len(inside):,} documents, of which you can show one" if inside else ""
                raise UsageError(f"{named}: is not in the base as a document{several}; silmari list shows what is.")
        document_id = min(inside) if document is None else document.id
        ids = [passage.id for passage in self.catalog.passages_of(document_id)]
        return list(self.catalog.passages(ids).values())

    ashow = twin(show)

    def status(self) -> Status:
        """What is in the base, what is pending, and which files failed."""
        from silmari.overview import Status

        lag = self._mirror.follow()
        found = self.catalog.statistics()
        return Status(
            folder=str(self.folder),
            documents=found.documents,
            passages=found.passages,
            categories=found.categories,
            pending={"vectors": found.pending["vectors"] if self.embedder else 0},
            failed=tuple((file.path, file.reason or "") for file in found.failed),
            skipped=tuple((file.path, file.reason or "") for file in found.skipped),
            embedder=self.embedder.fingerprint if self.embedder else None,
            engine=self.settings.engine,
            engine_counts=self._mirror.engine.counts(),
            lag=lag,
            notes=tuple(note for note in (self._missing, self._mirror.problem) if note),
        )

    astatus = twin(status)

    # Inside

    @property
    def _missing(self) -> str:
        """Why there is no embedder although nobody chose to have none; else empty."""
        from silmari.providers.embedding import CHOSEN_NONE

        return "" if self._without == CHOSEN_NONE else self._without

    def _filter(self, filters: Filters | None) -> Filter:
        return build_filter(filters, self.catalog.categories, self.catalog.document_ids)

    @cached_property
    def _intake(self) -> Intake:
        from silmari.reading.limits import Limits

        chosen = self.settings
        limits = Limits(
            max_file_bytes=chosen.max_file_mb * 1_000_000,
            max_pages=chosen.max_pages,
            max_cells=chosen.max_cells,
            max_cell_chars=chosen.max_cell_chars,
            password=chosen.password.get_secret_value() if chosen.password else None,
        )
        pipeline = Pipeline(
            self.catalog,
            self._mirror,
            self.analyser,
            self.embedder,
            self._cache,
            limits,
            chosen.passage_words,
            chosen.passage_chars,
        )
        return Intake(pipeline, chosen.exclude, self._missing)

    def _searcher(self) -> Searcher:
        lag = self._mirror.follow()
        seq = self.catalog.last_seq()
        with self._lock:
            # Counting takes milliseconds in a large base: done again only when something has changed.
            if self._counted is None or self._counted.seq != seq:
                passages, pending = self.catalog.counts()
                self._counted = _Counted(seq, passages, passages - pending)
            counted = self._counted
        ready = Readiness(counted.passages, counted.vectors, lag, self._mirror.problem)
        return Searcher(self._mirror.engine, self.catalog, ready, self._unrelated, self._graph.spread)

    @cached_property
    def _graph(self) -> Following:
        from silmari.graph.follow import Following

        return Following(self.catalog, given=self.settings.relations == "given")

    def _unrelated(self) -> float:
        from silmari.retrieval.relevance import unrelated_mean

        assert self.embedder is not None
        with self._lock:
            # Asked for every hit, and kept in a file.
            if self._mean is None:
                self._mean = unrelated_mean(self.embedder, self.settings.cache.expanduser())
            return self._mean

    def _search(self, text: str, options: _Options, trace: Trace) -> _Found:
        chosen: Any = options.way or self.settings.way
        if chosen not in WAYS:
            raise UsageError(f"There is no way named {chosen}; the ways are {', '.join(WAYS)}.")
        count = self.settings.k if options.k is None else options.k
        if not 1 <= count <= 1000:
            raise UsageError(f"k is {count}; it must be from 1 to 1000.")
        policy = choose(
            self.settings.default_policy if options.policy is None else options.policy, self.settings.policy
        )
        question = Question(text, self.analyser, self.embedder, self._without)
        where = self._filter(options.filters)
        searcher = self._searcher()
        run = Run(
            searcher=searcher,
            question=question,
            policy=policy,
            way=chosen,
            k=count,
            where=where,
            today=day_of(options.now, self.settings.now),
            categories=self.catalog.categories,
            undated=self._undated,
            file_times=self.settings.file_time_dates,
            duplicates=options.duplicates,
        )
        bounded = where.since is not None or where.until is not None
        if bounded and not where.undated and (undated := self._undated()):
            trace.note(f"{undated:,} passages have no date and were left out by since and until.")
        times = Times()
        if (self.settings.time if options.time is None else options.time) and not bounded and not where.undated:
            times = times_in(question.text, run.today)
        dated = searcher.readiness.passages - self._undated() if times.found else 0
        hits, left_out = search_timed(run, times, dated, self.settings.min_relevance, trace)
        return _Found(hits, question, searcher, left_out)

    def _undated(self) -> int:
        seq = self.catalog.last_seq()
        with self._lock:
            if self._counted_undated[0] != seq:
                self._counted_undated = (seq, self.catalog.undated_count())
            return self._counted_undated[1]

    async def _ask(self, question: str, options: _Options) -> Answer:
        from silmari.answering.generative import written

        return await written(self._pieces(question, options))

    async def _pieces(self, question: str, options: _Options) -> AsyncIterator[str | Answer]:
        trace = Trace()
        found = await asyncio.to_thread(self._search, question, options, trace)
        held: str | None = None
        async for piece in self._answers(question, found, trace):
            if isinstance(piece, str):
                if held is not None:
                    yield held
                held = piece
            elif found.bounded and not piece.found:
                # Whoever is asked of last month should not be silent on what any other time answers.
                trace.note("Nothing of that time answers the question, so all times were searched.")
                again = await asyncio.to_thread(self._search, question, replace(options, time=False), trace)
                async for other in self._answers(question, again, trace):
                    yield other
                return
            else:
                if held is not None:
                    yield held
                yield piece

    async def _answers(self, question: str, found: _Found, trace: Trace) -> AsyncIterator[str | Answer]:
        from silmari.answering.answer import with_tiers

        weights = await asyncio.to_thread(found.searcher.weights, found.question)
        async for piece in self._answering.pieces(question, found.hits, weights, trace):
            yield piece if isinstance(piece, str) else with_tiers(piece, found.hits)

    @cached_property
    def _answering(self) -> Answering:
        from silmari.answering.answering import Answering
        from silmari.providers.chat import open_chat
        from silmari.providers.gate import Gate

        chosen = self.settings
        return Answering(
            model=None if self._llm is None else open_chat(self._llm, chosen),
            gate=Gate(
                concurrency=chosen.concurrency,
                timeout=chosen.timeout,
                total_timeout=chosen.total_timeout,
                replies=self.catalog,
            ),
            tokens=self.analyser.tokens,
            min_relevance=chosen.min_relevance,
            similarity=None if self.embedder is None else self.embedder.similarity,
        )


def _several(value: str | Path | Iterable[str | Path]) -> list[str | Path]:
    return [value] if isinstance(value, str | Path) else list(value)
