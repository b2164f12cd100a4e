"""Elasticsearch as the engine: one index for each kind behind an alias, and one document that holds the watermark.

An update goes records first, then the watermark: a crash in between leaves records that the watermark does not
tell of yet, and applying the same changes again mends it.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine import elastic_queries as queries
from silmari.engine.base import Change, Record, Watermark
from silmari.engine.elastic_address import Address
from silmari.engine.elastic_client import Action, IndexGoneError, bulk, connect, plainly, reason
from silmari.engine.elastic_queries import HAS_VECTOR, LAYOUT, WINDOW, Json
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind

KINDS: tuple[Kind, ...] = ("passage", "relation", "entity")
# Up to here all vectors are compared; with a filter, up to the second, since a graph misses more there.
EXACT_ROWS = 20_000
EXACT_ALLOWED = 200_000
# The server's limits and ours for vectors that a graph search looks at, in each shard.
_LEAST_CANDIDATES = 500
_MOST_CANDIDATES = 10_000
# Ids of one request.
_IDS = 10_000
_STATE = "state"


@dataclass(frozen=True, slots=True)
class _State:
    """The document that is published last.

    Attributes:
        indices: The index of each kind; aliases that name others belong to an unfinished reset.
        dims: Length of the vectors, for the kinds that have any.
    """

    base: str
    epoch: str
    seq: int
    layout: int
    analysis: str
    indices: Mapping[Kind, str]
    dims: Mapping[Kind, int]


class ElasticEngine:
    """An `Engine` on a server of its own; see docs/elasticsearch.md.

    Searches may run in several threads and while one thread applies changes. Nothing is sent before it is needed.

    Args:
        address: Of the server, see `silmari.engine.elastic_address.parse`.
        writable: Only the holder of the knowledge base's lease may pass True. With False nothing is written.
    """

    def __init__(self, address: Address, *, writable: bool = True) -> None:
        self._address = address
        self._writable = writable
        self._lock = threading.Lock()
        self._client = connect(address)
        self._meta = f"{address.prefix}-meta"
        self._alias: Mapping[Kind, str] = {kind: f"{address.prefix}-{kind}" for kind in KINDS}
        self._state: _State | None = None
        self._asked = False

    def lead(self, leading: bool) -> None:
        """Become the one that writes, or stop being it."""
        self._writable = leading

    def reset(self, base: str, epoch: str) -> None:
        """Empty the engine and give it a fresh watermark with seq 0.

        New indices take the aliases in one step, which removes those before. Until the watermark is written, the
        engine counts as never filled.
        """
        with self._lock, self._writing():
            indices = self._client.indices
            generation = f"v{LAYOUT}-{secrets.token_hex(6)}"
            names = {kind: f"{self._alias[kind]}-{generation}" for kind in KINDS}
            old = self._generations()
            settings = queries.index_settings(self._address)
            for name in names.values():
                indices.create(index=name, settings=settings, mappings=queries.MAPPINGS)
            adding = [{"add": {"index": names[kind], "alias": self._alias[kind]}} for kind in KINDS]
            indices.update_aliases(actions=[*adding, *({"remove_index": {"index": name}} for name in old)])
            self._publish(_State(base, epoch, 0, LAYOUT, self._address.analysis, names, {}))

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes durably and publish them; see `Engine.apply`.

        Raises:
            KnowledgeBaseError: The engine was never filled, the server fails, or a vector does not fit.
        """
        with self._lock, self._writing():
            state = self._load()
            if state is None:
                raise KnowledgeBaseError("The search index was never filled or is damaged: rebuild it with reindex.")
            fresh = [change for change in changes if change.seq > state.seq]
            if not fresh:
                return
            latest = {(change.kind, change.id): change.record for change in fresh}
            dims = _dims(latest, state.dims)
            for kind in KINDS:
                if dims.get(kind) != state.dims.get(kind):
                    self._client.indices.put_mapping(
                        index=self._alias[kind], properties=queries.vector_field(dims[kind])
                    )
            bulk(self._client, self._actions(latest))
            if self._address.refresh == "now":
                self._client.indices.refresh(index=sorted({self._alias[kind] for kind, _ in latest}))
            self._publish(replace(state, seq=max(change.seq for change in fresh), dims=dims))

    def watermark(self) -> Watermark | None:
        """The published watermark as of the last `refresh`, or None for an engine that was never filled.

        Raises:
            KnowledgeBaseError: The server has to be asked for it and fails.
        """
        now = self._now()
        return Watermark(now.base, now.epoch, now.seq) if now else None

    def refresh(self) -> None:
        """See what another process has published since, and whether all indices are still there: two requests.

        Raises:
            KnowledgeBaseError: The server fails.
        """
        with self._asking():
            self._load()

    def sparse(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages by BM25 as (id, score), best first; see `Engine.sparse`."""
        clauses = queries.limits(where)
        query = None if clauses is None else queries.sparse(tokens, clauses, self._address)
        if query is None or k < 1 or self._now() is None:
            return []
        return self._found("passage", k, query=query)

    def dense(self, kind: Kind, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest items by cosine as (id, similarity), best first; see `Engine.dense`.

        Exact up to 20,000 vectors, and with a filter that allows up to 200,000; beyond, from the server's graph,
        which gives at most 10,000.

        Raises:
            KnowledgeBaseError: The vector's length is not the index's, it is zero or not finite, or the server fails.
        """
        now, clauses = self._now(), queries.limits(where)
        if now is None or kind not in now.dims:
            return []
        unit = queries.question(vector, now.dims[kind], kind)
        if clauses is None or k < 1:
            return []
        # A graph may miss what a filter leaves few of; counting them first tells whether to look at all of them.
        (allowed,) = self._counted([(kind, {"bool": {"filter": [HAS_VECTOR, *clauses]}})])
        if allowed <= (EXACT_ALLOWED if clauses else EXACT_ROWS):
            found = self._found(kind, k, query=queries.exact(unit, clauses)) if allowed else []
            return [(id, score - 1.0) for id, score in found]
        most = min(k, _MOST_CANDIDATES)
        candidates = min(max(10 * most, _LEAST_CANDIDATES), _MOST_CANDIDATES)
        # The filter inside the clause: beside it, a hit would have to meet only one of the two.
        near = {"field": "vector", "query_vector": unit, "k": most, "num_candidates": candidates, "filter": clauses}
        # The server gives (1 + cosine) / 2.
        return [(id, 2.0 * score - 1.0) for id, score in self._found(kind, most, knn=near)]

    def similarity(self, kind: Kind, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Exact cosines of exactly these ids; ids without a vector are left out."""
        now = self._now()
        if now is None or kind not in now.dims:
            return {}
        unit = queries.question(vector, now.dims[kind], kind)
        found: dict[int, float] = {}
        for start in range(0, len(ids), _IDS):
            part = ids[start : start + _IDS]
            for id, score in self._found(kind, len(part), query=queries.exact(unit, [queries.ids(part)])):
                found[id] = score - 1.0
        return found

    def frequencies(self, tokens: Sequence[str]) -> Mapping[str, int]:
        """In how many passages each token occurs."""
        if not tokens or self._now() is None:
            return dict.fromkeys(tokens, 0)
        asked: list[tuple[Kind, Json]] = [("passage", queries.word(token, 1.0, self._address)) for token in tokens]
        return dict(zip(tokens, self._counted(asked), strict=True))

    def counts(self) -> Mapping[str, int]:
        """How many texts and vectors (of all kinds) are held."""
        if self._now() is None:
            return {"texts": 0, "vectors": 0}
        asked: list[tuple[Kind, Json]] = [("passage", {"match_all": {}}), *((kind, HAS_VECTOR) for kind in KINDS)]
        texts, *vectors = self._counted(asked)
        return {"texts": texts, "vectors": sum(vectors)}

    @property
    def writes_whole(self) -> bool:
        """It does."""
        return True

    @property
    def place(self) -> str:
        """The server and the prefix."""
        return f"{self._address.url}/{self._address.prefix}"

    @property
    def note(self) -> str:
        """Nothing: all is in one place."""
        return ""

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Around requests; an index that is gone makes the engine count as never filled, so that it is rebuilt."""
        try:
            with plainly(self._address):
                yield
        except IndexGoneError:
            self._asked = False
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if not self._writable:
            raise KnowledgeBaseError("The search index was opened for reading only: only the lease holder writes.")
        with self._asking():
            yield

    def _now(self) -> _State | None:
        if not self._asked:
            self.refresh()
        return self._state

    def _load(self) -> _State | None:
        """Read what is published; None if there is nothing, or if the indices are not those it was written for."""
        # The document first: a reset in between then shows as aliases of indices that it does not name.
        answer = self._client.options(ignore_status=404).get(index=self._meta, id=_STATE)
        self._state = self._whole(answer["_source"]) if answer.get("found") else None
        self._asked = True
        return self._state

    def _whole(self, stored: Mapping[str, Any]) -> _State | None:
        if stored.get("layout") != LAYOUT or stored.get("analysis") != self._address.analysis:
            return None
        state = _State(**stored)
        return state if self._aliased() == {(state.indices[kind], self._alias[kind]) for kind in KINDS} else None

    def _aliased(self) -> set[tuple[str, str]]:
        """Index and alias, for all our aliases."""
        answer = self._client.options(ignore_status=404).indices.get_alias(name=list(self._alias.values()))
        held = {name: entry["aliases"] for name, entry in answer.body.items() if isinstance(entry, Mapping)}
        return {(name, alias) for name, aliases in held.items() for alias in aliases if alias in self._alias.values()}

    def _generations(self) -> list[str]:
        """All indices that resets have made, also those that were broken off."""
        pattern = re.compile(rf"{re.escape(self._address.prefix)}-({'|'.join(KINDS)})-v\d+-[0-9a-f]{{12}}")
        answer = self._client.options(ignore_status=404).indices.get_alias(index=f"{self._address.prefix}-*")
        return [name for name in answer.body if pattern.fullmatch(name)]

    def _publish(self, state: _State) -> None:
        self._client.index(index=self._meta, id=_STATE, document=asdict(state))
        self._state, self._asked = state, True

    def _actions(self, latest: Mapping[tuple[Kind, int], Record | None]) -> Iterator[Action]:
        for (kind, id), record in latest.items():
            yield Action.of(self._alias[kind], id, None if record is None else queries.source(record), f"{kind} {id}")

    def _found(self, kind: Kind, k: int, **asked: Any) -> list[tuple[int, float]]:
        """Ids and the server's scores, best first, equal ones by id."""
        if self._address.shards > 1 and "query" in asked:
            # How rare a word is must not depend on the shard.
            asked["search_type"] = "dfs_query_then_fetch"
        with self._asking():
            answer = self._client.search(
                index=self._alias[kind],
                size=min(k, WINDOW),
                source=False,
                track_total_hits=False,
                allow_partial_search_results=False,
                **asked,
            )
        hits = [(int(hit["_id"]), float(hit["_score"])) for hit in answer["hits"]["hits"]]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _counted(self, asked: Sequence[tuple[Kind, Json]]) -> list[int]:
        """How many items each query finds."""
        searches: list[Json] = []
        for kind, query in asked:
            searches += [{"index": self._alias[kind]}, {"size": 0, "track_total_hits": True, "query": query}]
        with self._asking():
            answers = self._client.msearch(searches=searches)["responses"]
            for answer in answers:
                if answer.get("status") == 404:
                    raise IndexGoneError(
                        f"The Elasticsearch server at {self._address.url} has lost an index of this knowledge base: "
                        "it is built anew from the catalog at the next search or add."
                    )
                if "error" in answer:
                    raise KnowledgeBaseError(
                        f"The Elasticsearch server at {self._address.url} failed to count "
                        f"({reason(answer)[:300]}): try again, or check the server's log."
                    )
        return [int(answer["hits"]["total"]["value"]) for answer in answers]


def _dims(latest: Mapping[tuple[Kind, int], Record | None], held: Mapping[Kind, int]) -> dict[Kind, int]:
    """The length of each kind's vectors after these changes, which are all checked before one is written."""
    dims = dict(held)
    for (kind, _), record in latest.items():
        if record is not None and (length := queries.checked(record, dims.get(kind, 0), kind)):
            dims[kind] = length
    return dims
