"""The knowledge base: the only place where the rooms meet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from silmari.background import Background, twin
from silmari.contents import Contents
from silmari.desk import Desk
from silmari.extracting import Confirm, Extracting
from silmari.ingest import AddReport, OnProgress, Pipeline
from silmari.intake import Intake, Until
from silmari.model import RelationMode
from silmari.questions import Questions
from silmari.retrieval.presets import policy_from
from silmari.settings import Settings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from silmari.catalog.store import Held
    from silmari.overview import Status
    from silmari.providers.calling import Calling


class KnowledgeBase(Questions, Contents):
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
        from silmari.catalog.sqlite import FILE_NAME
        from silmari.catalog.vector_cache import VectorCache
        from silmari.engine import open_engine, remembered
        from silmari.engine.mirror import Mirror
        from silmari.language.analysis import Analyser
        from silmari.providers.embedding import embedder_or_reason
        from silmari.splitting import fingerprint as splitter

        for name, table in settings.policy.items():
            policy_from(name, table)
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
        # Whoever may not write to a base may still search it, as far as others have brought it.
        here = [path for path in (self.folder, self.folder / FILE_NAME) if os.path.exists(path)]
        readonly = len(here) == 2 and not all(os.access(path, os.W_OK) for path in here)
        # A base that is about to be rebuilt is opened whatever it was built with.
        self.catalog = Catalog.open(
            self.folder,
            self._fingerprints,
            url=settings.catalog,
            create=create,
            check=check,
            readonly=readonly,
            file_time_dates=settings.file_time_dates,
        )
        if settings.engine and not self.catalog.readonly and not self.catalog.last_seq():
            self.catalog.set_engine(remembered(settings.engine, self.folder)[0])
        self._mirror = Mirror(
            self.catalog,
            self._try_lease,
            lambda url: open_engine(url, self.folder),
            settings.engine,
        )
        self._background = Background()
        self._desk = Desk(
            settings,
            self.folder,
            self.catalog,
            self._mirror,
            self.analyser,
            self.embedder,
            self._without,
            lambda: self._model,
        )

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
        self._desk.close()
        self._mirror.close()
        self.catalog.close()
        self._cache.close()

    def _try_lease(self, wait: float) -> Held | None:
        """The right to write to the engine: over all machines if it is on a server, else over those of the folder."""
        from silmari.catalog.lease import Lease
        from silmari.engine import is_shared

        shared = is_shared(self._mirror.url)
        if self.catalog.readonly and (shared or self.settings.catalog == "sqlite"):
            return None
        return self.catalog.try_lease("engine", wait) if shared else Lease.try_take(self.folder, timeout=wait)

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

    def reindex(self, *, engine: str | None = None, on_progress: OnProgress | None = None) -> AddReport:
        """Rebuild for the embedder, analyser and splitter that the base is open with, or just the engine.

        Open the base with ``check=False`` for it. Files whose splitting changed are read again; vectors
        that the same embedder made before come from the cache.

        Args:
            engine: URL of an engine to move to, see docs/settings.md. Nothing is embedded again. The base stays on
                its former engine until the new one is complete; interrupted, another call goes on from there.
            on_progress: Called often, from a thread that works.

        Raises:
            UsageError: The URL is wrong.
            BusyError: Another process is moving the base.
            KnowledgeBaseError: The new engine cannot be reached or written, or holds another base.
        """
        from silmari.engine import remembered

        home = self.catalog.standing().engine or "local"
        here = remembered(self._mirror.url, self.folder)[0]
        if engine is None or remembered(engine, self.folder)[0] == here == home:
            return self._intake.reindex(self._fingerprints, on_progress)
        from silmari.moving import move

        self.catalog.assert_writable()
        built = self.catalog.fingerprints()
        stale = any(value is not None and built.get(name) != value for name, value in self._fingerprints.items())
        report = self._intake.reindex(self._fingerprints, on_progress) if stale else AddReport()
        return move(self.catalog, self._mirror, self.folder, engine, report, on_progress)

    areindex = twin(reindex)

    def status(self) -> Status:
        """What is in the base, what is pending, and which files failed."""
        from silmari.overview import observed

        if calling := self.__dict__.get("_model"):
            calling.save()
        return observed(self.catalog, self._mirror, self.folder, self.embedder, self._missing)

    astatus = twin(status)

    # Inside

    @property
    def engine(self) -> str:
        """URL of the engine that the base is on, without secrets."""
        from silmari.engine import shown

        return shown(self._mirror.url, self.folder)

    @property
    def _missing(self) -> str:
        """Why there is no embedder although nobody chose to have none; else empty."""
        from silmari.providers.embedding import CHOSEN_NONE

        return "" if self._without == CHOSEN_NONE else self._without

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


def _several(value: str | Path | Iterable[str | Path]) -> list[str | Path]:
    return [value] if isinstance(value, str | Path) else list(value)
