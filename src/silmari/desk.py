"""Where a knowledge base's questions come in: checks what is asked and hands out what a search runs on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from silmari.engine.base import VectorHolder
from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.language.times import Times, times_in
from silmari.model import WAYS, Filter, Kind, Way
from silmari.retrieval.expanding import Expander
from silmari.retrieval.filling import Run
from silmari.retrieval.filters import build_filter, day_of
from silmari.retrieval.presets import choose
from silmari.retrieval.question import Question
from silmari.retrieval.search import Readiness, Searcher
from silmari.retrieval.steer import RERANKING, Helper, Reranking
from silmari.searching import STEERED, Filters, SearchOptions, Wanted
from silmari.settings import Expansion, Settings

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.engine.mirror import Mirror
    from silmari.graph.follow import Following
    from silmari.language.analysis import Analyser
    from silmari.providers.calling import Calling
    from silmari.providers.embedding import Embedder
    from silmari.retrieval.seeds import Known


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a search needs to know of the base, as of a change's number."""

    seq: int
    passages: int
    vectors: int


class Desk:
    """The searches of one knowledge base. Thread-safe.

    Args:
        settings: Defaults of what is asked.
        folder: Of the base.
        catalog: The truth.
        mirror: The engine, kept up with the catalog.
        analyser: For questions.
        embedder: For questions; None without one.
        without: Why there is no embedder.
        calling: Gives the chat model that may rerank; None without one.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        catalog: Catalog,
        mirror: Mirror,
        analyser: Analyser,
        embedder: Embedder | None,
        without: str,
        calling: Callable[[], Calling | None],
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._catalog = catalog
        self._mirror = mirror
        self._analyser = analyser
        self._embedder = embedder
        self._without = without
        self._calling = calling
        self._lock = threading.RLock()
        self._counted: _Counted | None = None
        self._undated = (-1, 0)
        self._mean: float | None = None

    def close(self) -> None:
        """Keep what the graph learnt."""
        if (graph := self.__dict__.get("graph")) is not None:
            graph.close()

    @cached_property
    def graph(self) -> Following:
        """The graph, which follows the catalog."""
        from silmari.graph.follow import Following
        from silmari.graph.snapshot import Snapshots

        return Following(self._catalog, Snapshots(self._folder / "graph"), self._mirror.writing)

    def filter(self, filters: Filters | None) -> Filter:
        """What filters mean.

        Raises:
            UsageError: One is wrong; the message names it.
        """
        return build_filter(filters, self._catalog.categories, self._catalog.document_ids)

    def question(self, text: str) -> Question:
        """A question as it is searched for.

        Raises:
            UsageError: It has no words.
        """
        return Question(text, self._analyser, self._embedder, self._without)

    def wanted(self, question: str | Question, options: SearchOptions) -> Wanted:
        """What is to be searched for, checked.

        Raises:
            UsageError: The question has no words, or an option is wrong.
            TypeError: There is no such option.
        """
        if strange := options.keys() - SearchOptions.__optional_keys__:
            raise TypeError(f"There is no option {min(strange)}; see silmari.searching.SearchOptions.")
        settings = self._settings
        around = settings.expansion.changed(options.get("expansion"))
        way, k = self._way(options), self._count(options, around)
        reranking = self._reranking(options)
        policy = choose(options.get("policy") or settings.default_policy, settings.policy)
        if not isinstance(question, (str, Question)):
            raise UsageError(f"The question is {question!r}, which is no text; give it as one.")
        asked = self.question(question) if isinstance(question, str) else question
        where = self.filter(options.get("filters"))
        entities = options.get("entities")
        searcher = self._searcher(around, [entities] if isinstance(entities, str) else entities)
        run = Run(
            searcher=searcher,
            question=asked,
            policy=policy,
            way=way,
            k=k,
            where=where,
            today=day_of(options.get("now"), settings.now),
            categories=self._catalog.categories,
            undated=self._undated_count,
            file_times=settings.file_time_dates,
            duplicates=bool(options.get("duplicates")),
        )
        notes: list[str] = []
        bounded = where.since is not None or where.until is not None
        if bounded and not where.undated and (undated := self._undated_count()):
            notes.append(f"{undated:,} passages have no date and were left out by since and until.")
        times = Times()
        if (settings.time if options.get("time") is None else options["time"]) and not bounded and not where.undated:
            times = times_in(asked.text, run.today)
        dated = searcher.readiness.passages - self._undated_count() if times.found else 0
        helper = self._helper(asked.text, reranking) if way in STEERED and policy.plain else None
        if options.get("rerank") == "always" and helper is None:
            what = f"The way {way}" if policy.plain else f"What the policy {policy.name} finds in tiers"
            notes.append(f"{what} is not reranked by a model, whatever rerank says.")
        return Wanted(run, times, dated, settings.min_relevance, helper, tuple(notes))

    def nearness(self, text: str, passage_ids: Sequence[int]) -> float | None:
        """The relevance of a text to the nearest of some passages; None where there are no vectors."""
        from silmari.retrieval.relevance import relevance

        if self._embedder is None or not (known := self._vectors(passage_ids, "passage")):
            return None
        try:
            told = self._embedder.queries([text])[0]
        except (ProviderError, MissingExtraError):
            return None
        return relevance(max(float(told @ vector) for vector in known.values()), self._unrelated())

    def _way(self, options: SearchOptions) -> Way:
        chosen: Any = options.get("way") or self._settings.way
        if chosen not in WAYS:
            raise UsageError(f"There is no way named {chosen}; the ways are {', '.join(WAYS)}.")
        way: Way = chosen
        return way

    def _count(self, options: SearchOptions, around: Expansion) -> int:
        k = options.get("k")
        if k is None:
            own = self._way(options) == "expansion" and "k" not in self._settings.model_fields_set
            k = around.k if own else self._settings.k
        if not isinstance(k, int) or not 1 <= k <= 1000:
            raise UsageError(f"k is {k!r}; it must be a whole number from 1 to 1000.")
        return k

    def _reranking(self, options: SearchOptions) -> Reranking:
        chosen = options.get("rerank") or self._settings.rerank
        if chosen not in RERANKING:
            raise UsageError(f"rerank is {chosen!r}; it must be {', '.join(RERANKING)}.")
        if options.get("rerank") == "always" and self._calling() is None:
            raise UsageError("rerank is always, but there is no chat model; name one with llm, or leave it at auto.")
        return chosen

    def _helper(self, question: str, reranking: Reranking) -> Helper | None:
        from silmari.answering.wording import language_of

        if reranking == "never" or (calling := self._calling()) is None:
            return None
        return Helper(calling, reranking, language_of(question), self.question)

    def _searcher(self, around: Expansion, entities: Sequence[str] | None) -> Searcher:
        lag = self._mirror.follow()
        if lag and self._mirror.problem:
            self._mirror.assert_own()
        seq = self._catalog.last_seq()
        with self._lock:
            # Counting takes milliseconds in a large base: done again only when something has changed.
            if self._counted is None or self._counted.seq != seq:
                counts = self._catalog.counts()
                self._counted = _Counted(seq, counts.passages, counts.passages - counts.pending)
            counted = self._counted
        ready = Readiness(counted.passages, counted.vectors, lag, self._mirror.problem)
        unrelated = None if self._embedder is None else self._unrelated
        engine, tokens = self._mirror.engine, self._analyser.tokens
        expander = Expander(engine, self._catalog, lambda: self.graph.facts(seq), around, unrelated, tokens, entities)
        return Searcher(
            engine,
            self._catalog,
            ready,
            unrelated,
            lambda sources: self.graph.spread(sources, seq),
            expander,
            lambda: self._known(seq),
        )

    def _known(self, seq: int) -> Known | None:
        """What relations say as of a change's number, if there are any."""
        from silmari.retrieval.seeds import Known

        facts = self.graph.facts(seq)
        return Known(facts, self.graph.edges(seq), self._vectors) if len(facts) else None

    def _vectors(self, ids: Collection[int], kind: Kind) -> Mapping[int, NDArray[Any]]:
        """The stored vectors of items of a kind."""
        engine = self._mirror.engine
        return engine.vectors(kind, list(ids)) if isinstance(engine, VectorHolder) else self._catalog.vectors(ids, kind)

    def _undated_count(self) -> int:
        """How many passages have no date."""
        seq = self._catalog.last_seq()
        with self._lock:
            if self._undated[0] != seq:
                self._undated = (seq, self._catalog.undated_count())
            return self._undated[1]

    def _unrelated(self) -> float:
        from silmari.retrieval.relevance import unrelated_mean

        assert self._embedder is not None
        with self._lock:
            # Asked for every hit, and kept in a file.
            if self._mean is None:
                self._mean = unrelated_mean(self._embedder, self._settings.cache.expanduser())
            return self._mean
