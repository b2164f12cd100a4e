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
from silmari.extracting import Confirm, Extracting
from silmari.ingest import AddReport, OnProgress, Pipeline
from silmari.intake import Intake, Until
from silmari.model import WAYS, Filter, Hit, Passage, Relation, RelationMode, Source, Way
from silmari.retrieval.expanding import Expander
from silmari.retrieval.filters import build_filter
from silmari.retrieval.question import Question
from silmari.retrieval.search import Readiness, Searcher
from silmari.retrieval.steer import POLICIES, Helper, Policy
from silmari.retrieval.trace import Trace
from silmari.searching import STEERED, Wanted
from silmari.settings import Expansion, Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from silmari.answering.answer import Answer
    from silmari.answering.answering import Answering
    from silmari.catalog.words import StoredDocument
    from silmari.comparison import Comparison
    from silmari.entities import EntityBook, EntityList
    from silmari.graph.follow import Following
    from silmari.overview import Status
    from silmari.providers.calling import Calling
    from silmari.retrieval.seeds import Known

Filters = Filter | Mapping[str, Any]


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
        self.catalog = Catalog.open(self.folder, compared, create=create, readonly=readonly)
        self._mirror = Mirror(
            self.catalog,
            lambda wait: None if readonly else Lease.try_take(self.folder, timeout=wait),
            open_engine(settings.engine, self.folder),
        )
        self._background = Background()
        self._lock = threading.RLock()
        self._counted: _Counted | None = None

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
        calling: Calling | None = self.__dict__.get("_model")
        if calling is not None:
            self._background.run(calling.close())
        self._background.close()
        if calling is not None:
            calling.save()
        if (graph := self.__dict__.get("_graph")) is not None:
            graph.close()
        self._mirror.close()
        self.catalog.close()
        self._cache.close()

    # What comes in and goes out

    def add(
        self,
        paths: str | Path | Iterable[str | Path] = (),
        *,
        triplets: str | Path | Iterable[str | Path] = (),
        relations: RelationMode | None = None,
        exclude: Sequence[str] = (),
        until: Until = "all",
        on_progress: OnProgress | None = None,
        confirm: Confirm | None = None,
    ) -> AddReport:
        """Add files, folders and globs, and return when all of them are complete.

        Every file is found by BM25 from the moment it was read. Whatever is wrong with a file is told
        in the report; the others go on. Interrupted, it keeps all that was done; add again to go on.

        Args:
            paths: What to add; folders with all that is in them.
            triplets: Files of triplets for documents that are in the base or come with `paths`: JSON Lines of
                ``_id`` (or ``uri``) and ``triplets``, or CSV of subject, predicate, object and document. They
                stay with their documents when these are updated.
            relations: Where the documents' relations shall come from: ``given`` (triplets that come with them),
                ``sentences`` (names in their sentences) or ``triplets`` (those and what the chat model reads);
                default: the settings', else what was said before, else ``given`` for those that bring triplets.
            exclude: Glob patterns of names or relative paths to pass over.
            until: ``read`` returns before vectors are made.
            on_progress: Called often, from a thread that works.
            confirm: Told what reading relations with the chat model will take, before it is called; False leaves
                that for later.

        Raises:
            UsageError: None of the paths exists, or a file of triplets does not.
        """
        files = [Path(file).expanduser() for file in _several(triplets)]
        return self._taking(confirm).add(_several(paths), files, relations, exclude, until, on_progress)

    aadd = twin(add)

    def sync(
        self,
        folder: str | Path,
        *,
        exclude: Sequence[str] = (),
        until: Until = "all",
        on_progress: OnProgress | None = None,
        confirm: Confirm | None = None,
    ) -> AddReport:
        """Make the base equal to a folder: add what is new, update what changed, remove what is gone.

        Only documents under this folder are touched. A file that is there but cannot be read keeps its
        former version.

        Raises:
            UsageError: The folder does not exist or cannot be listed; nothing is removed then.
        """
        return self._taking(confirm).sync(folder, exclude, until, on_progress)

    async_ = twin(sync)

    def add_records(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        relations: RelationMode | None = None,
        until: Until = "all",
        on_progress: OnProgress | None = None,
        confirm: Confirm | None = None,
    ) -> AddReport:
        """Add records ``{"id", "text", "title", "date", "category", "triplets"}`` (the first two are needed).

        A record with a known id replaces the former one. A faulty record is told in the report; one with a
        faulty triplet goes in without it. For `relations` see `add`.
        """
        return self._taking(confirm).add_records(records, relations, until, on_progress)

    aadd_records = twin(add_records)

    def remove(self, uris: str | Path | Iterable[str | Path]) -> list[str]:
        """Take documents out, exactly: paths, folders, globs, or uris of records.

        Returns:
            The uris that were removed.
        """
        return self._intake.remove(_several(uris))

    aremove = twin(remove)

    def build(
        self,
        *,
        relations: RelationMode | None = None,
        on_progress: OnProgress | None = None,
        confirm: Confirm | None = None,
    ) -> AddReport:
        """Complete what earlier calls left pending.

        Args:
            relations: Where the relations of all documents shall come from, from now on; see `add`. What came
                from elsewhere before is kept and not lost when it is changed back.
            on_progress: Called often, from a thread that works.
            confirm: Told what reading relations with the chat model will take, before it is called; False leaves
                that for later.
        """
        return self._taking(confirm).build(relations, on_progress)

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
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
        duplicates: bool = False,
        trace: Trace | None = None,
    ) -> list[Hit]:
        """The passages that answer a question best.

        Args:
            question: In any language.
            way: One of `silmari.model.WAYS`; default: the settings'.
            k: How many, at most.
            filters: A `Filter`, or a mapping with ``category``, ``since``, ``until``, ``documents``.
            entities: The names that the question holds, from a recogniser of your own; None to find them.
            rerank: Whether the chat model reorders what ``expansion`` and ``graph`` found: ``always``,
                ``never``, or ``auto`` (``graph``: only where its order is doubtful); default: the settings'.
            expansion: Parameters of the way ``expansion`` that differ from the settings', such as
                ``{"degree": 2}``; see `silmari.settings.Expansion`.
            duplicates: Whether passages that are nearly the same as a better one are kept.
            trace: Filled with what happened, if given.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
        """
        wanted = self._wanted(question, way, k, filters, entities, rerank, expansion, duplicates)
        if wanted.helper is None:
            return wanted.found(trace or Trace())
        return self._background.run(wanted.steered(trace or Trace()))

    async def asearch(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
        duplicates: bool = False,
        trace: Trace | None = None,
    ) -> list[Hit]:
        """See `search`."""
        wanted = await asyncio.to_thread(
            self._wanted, question, way, k, filters, entities, rerank, expansion, duplicates
        )
        return await self._background.await_(wanted.steered(trace or Trace()))

    def ask(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Answer a question from the documents, or say that they do not answer it.

        Without a chat model the answer is made of quoted sentences; with one it is written. Either way
        each sentence cites its sources. Where the model's service fails, sentences are quoted instead, and
        the trace says why. The arguments are those of `search`.

        Raises:
            UsageError: The question has no words, or an argument is wrong.
            MissingExtraError: The chat model's package is not installed.
        """
        return self._background.run(self._ask(question, way, k, filters, entities, rerank, expansion))

    async def aask(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> Answer:
        """See `ask`."""
        return await self._background.await_(self._ask(question, way, k, filters, entities, rerank, expansion))

    def stream(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> Iterator[str | Answer]:
        """Like `ask`: first pieces of the text as they are written, then the finished `Answer`."""
        return self._background.iterate(self._pieces(question, way, k, filters, entities, rerank, expansion))

    def astream(
        self,
        question: str,
        *,
        way: Way | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[str | Answer]:
        """See `stream`."""
        return self._background.aiterate(self._pieces(question, way, k, filters, entities, rerank, expansion))

    def compare(
        self,
        question: str,
        *,
        ways: Sequence[Way] | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        answers: bool = True,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> Comparison:
        """What several ways find for a question, and what is answered from it, side by side.

        Args:
            question: In any language.
            ways: Which; default: ``dense``, ``cascade``, ``expansion``, ``graph`` and ``fused``.
            k: How many hits of each.
            filters: As in `search`; so are `entities`, `rerank` and `expansion`.
            answers: Whether each way answers, too.

        Raises:
            UsageError: The question has no words, or an argument is wrong. What only one way cannot do is
                told in its part.
        """
        return self._background.run(self._compare(question, ways, k, filters, answers, entities, rerank, expansion))

    async def acompare(
        self,
        question: str,
        *,
        ways: Sequence[Way] | None = None,
        k: int | None = None,
        filters: Filters | None = None,
        answers: bool = True,
        entities: Sequence[str] | None = None,
        rerank: Policy | None = None,
        expansion: Mapping[str, Any] | None = None,
    ) -> Comparison:
        """See `compare`."""
        return await self._background.await_(
            self._compare(question, ways, k, filters, answers, entities, rerank, expansion)
        )

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

    def relations(self, passage_ids: Iterable[int]) -> dict[int, tuple[Relation, ...]]:
        """The relations that passages state, by the passage's number; those that state none are left out."""
        return self.catalog.relations_of(list(passage_ids))

    arelations = twin(relations)

    def entities(self, pattern: str = "", *, limit: int = 50, offset: int = 0) -> EntityList:
        """The names that relations tie, with their spellings and with other names that may mean the same.

        Args:
            pattern: A part of a name, or a glob of all of it; empty for all.
            limit: How many at most, 1 to 1,000.
            offset: How many are passed over.

        Returns:
            First the one with exactly this name, then those that relations tie most often.

        Raises:
            UsageError: An argument is wrong.
        """
        return self._entities.listed(pattern, limit, offset)

    aentities = twin(entities)

    def merge_entities(self, a: str, b: str) -> None:
        """Say that two names mean the same, whatever Silmari makes of them. Nothing is rewritten.

        Raises:
            UsageError: One of them is no name in the base, or both are one already.
        """
        self._entities.decide(a, b, True)

    amerge_entities = twin(merge_entities)

    def split_entities(self, a: str, b: str) -> None:
        """Say that two names do not mean the same; see `merge_entities`."""
        self._entities.decide(a, b, False)

    asplit_entities = twin(split_entities)

    def forget_alias(self, a: str, b: str) -> None:
        """Take back what `merge_entities` or `split_entities` said of two names.

        Raises:
            UsageError: Nothing was said of them.
        """
        self._entities.forget(a, b)

    aforget_alias = twin(forget_alias)

    def status(self) -> Status:
        """What is in the base, what is pending, and which files failed."""
        from silmari.overview import Status
        from silmari.providers.usage import Usage

        lag = self._mirror.follow()
        found = self.catalog.statistics()
        if calling := self.__dict__.get("_model"):
            calling.save()
        return Status(
            folder=str(self.folder),
            documents=found.documents,
            passages=found.passages,
            categories=found.categories,
            relations=found.relations,
            entities=found.entities,
            pending={**found.pending, "vectors": found.pending["vectors"] if self.embedder else 0},
            failed=tuple((file.path, file.reason or "") for file in found.failed),
            skipped=tuple((file.path, file.reason or "") for file in found.skipped),
            failed_extractions=tuple(self.catalog.extraction_failures()),
            embedder=self.embedder.fingerprint if self.embedder else None,
            engine=self.settings.engine,
            engine_counts=self._mirror.engine.counts(),
            lag=lag,
            notes=tuple(note for note in (self._missing, self._mirror.problem) if note),
            usage={model: Usage.of(counts) for model, counts in self.catalog.usage().items()},
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
            chosen.relations,
        )
        extracting = Extracting(self.catalog, lambda: self._model, self._background.run)
        return Intake(pipeline, chosen.exclude, extracting, self._missing)

    def _taking(self, confirm: Confirm | None) -> Intake:
        return self._intake if confirm is None else replace(self._intake, confirm=confirm)

    def _searcher(self, around: Expansion, entities: Sequence[str] | None) -> Searcher:
        lag = self._mirror.follow()
        seq = self.catalog.last_seq()
        with self._lock:
            # Counting takes milliseconds in a large base: done again only when something has changed.
            if self._counted is None or self._counted.seq != seq:
                counts = self.catalog.counts()
                self._counted = _Counted(seq, counts.passages, counts.passages - counts.pending)
            counted = self._counted
        ready = Readiness(counted.passages, counted.vectors, lag, self._mirror.problem)
        unrelated = None if self.embedder is None else self._unrelated
        engine = self._mirror.engine
        expander = Expander(engine, self.catalog, self._graph.facts, around, unrelated, self.analyser.tokens, entities)
        return Searcher(engine, self.catalog, ready, unrelated, self._graph.spread, expander, self._known)

    def _known(self) -> Known | None:
        """What relations say, if there are any."""
        from silmari.retrieval.seeds import Known

        facts = self._graph.facts()
        return Known(facts, self._graph.edges(), self.catalog.vectors) if len(facts) else None

    @cached_property
    def _graph(self) -> Following:
        from silmari.graph.follow import Following
        from silmari.graph.snapshot import Snapshots

        return Following(self.catalog, Snapshots(self.folder / "graph"), self._mirror.writing)

    @cached_property
    def _entities(self) -> EntityBook:
        from silmari.entities import EntityBook

        return EntityBook(self.catalog, self._graph)

    def _unrelated(self) -> float:
        from silmari.retrieval.relevance import unrelated_mean

        assert self.embedder is not None
        with self._lock:
            return unrelated_mean(self.embedder, self.settings.cache.expanduser())

    def _wanted(
        self,
        question: str | Question,
        way: Way | None,
        k: int | None,
        filters: Filters | None,
        entities: Sequence[str] | None,
        rerank: Policy | None,
        expansion: Mapping[str, Any] | None,
        duplicates: bool = False,
    ) -> Wanted:
        """What is to be searched for, checked."""
        chosen: Any = way or self.settings.way
        if chosen not in WAYS:
            raise UsageError(f"There is no way named {chosen}; the ways are {', '.join(WAYS)}.")
        policy = rerank or self.settings.rerank
        if policy not in POLICIES:
            raise UsageError(f"rerank is {policy!r}; it must be {', '.join(POLICIES)}.")
        if rerank == "always" and self._llm is None:
            raise UsageError("rerank is always, but there is no chat model; name one with llm, or leave it at auto.")
        around = self.settings.expansion.changed(expansion)
        if k is None:
            own = chosen == "expansion" and "k" not in self.settings.model_fields_set
            k = around.k if own else self.settings.k
        if not 1 <= k <= 1000:
            raise UsageError(f"k is {k}; it must be from 1 to 1000.")
        asked = self._question(question) if isinstance(question, str) else question
        searcher = self._searcher(around, [entities] if isinstance(entities, str) else entities)
        helper = self._helper(asked.text, policy) if chosen in STEERED else None
        return Wanted(asked, chosen, k, self._filter(filters), searcher, helper, duplicates)

    def _helper(self, question: str, policy: Policy) -> Helper | None:
        from silmari.answering.wording import language_of

        if policy == "never" or self._model is None:
            return None
        return Helper(self._model, policy, language_of(question), self._question)

    def _question(self, text: str) -> Question:
        return Question(text, self.analyser, self.embedder, self._without)

    async def _ask(self, *asked: Any) -> Answer:
        from silmari.answering.generative import written

        return await written(self._pieces(*asked))

    async def _pieces(self, *asked: Any) -> AsyncIterator[str | Answer]:
        wanted = await asyncio.to_thread(self._wanted, *asked)
        async for piece in wanted.pieces(self._answering):
            yield piece

    async def _compare(
        self,
        text: str,
        ways: Sequence[Way] | None,
        k: int | None,
        filters: Filters | None,
        answers: bool,
        *asked: Any,
    ) -> Comparison:
        from silmari.comparison import COMPARED
        from silmari.searching import compared

        chosen = list(dict.fromkeys(COMPARED if ways is None else ways))
        if strange := [way for way in chosen if way not in WAYS]:
            raise UsageError(f"There is no way named {strange[0]}; the ways are {', '.join(WAYS)}.")
        count = self.settings.k if k is None else k
        question = self._question(text)
        # Once for all ways; a mistake in the arguments is told before any of them runs.
        await asyncio.to_thread(lambda: (question.vector, self._wanted(question, "sparse", count, filters, *asked)))

        def wanted(way: Way) -> Wanted:
            return self._wanted(question, way, count, filters, *asked)

        return await compared(text, count, chosen, wanted, self._answering if answers else None)

    @cached_property
    def _answering(self) -> Answering:
        from silmari.answering.answering import Answering

        return Answering(
            calling=self._model,
            tokens=self.analyser.tokens,
            min_relevance=self.settings.min_relevance,
            similarity=None if self.embedder is None else self.embedder.similarity,
        )

    @cached_property
    def _model(self) -> Calling | None:
        """The chat model and the gate for all its calls; None without one."""
        from silmari.providers.calling import open_calling

        return None if self._llm is None else open_calling(self._llm, self.settings, self.catalog)


def _several(value: str | Path | Iterable[str | Path]) -> list[str | Path]:
    return [value] if isinstance(value, str | Path) else list(value)
