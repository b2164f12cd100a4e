"""The protocol that every engine follows: derived from the catalog, always rebuildable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from silmari.model import Filter, Kind


@dataclass(frozen=True, slots=True)
class Record:
    """What an engine keeps of one passage, relation or entity.

    Attributes:
        tokens: The analysed text, tokens joined by single blanks (engines split at blanks only).
        vector: Shape (dim,), float16, unit length; None while there is none.
        document_id: The catalog's number of the document.
        category: Of the document.
        day: The effective date as ``YYYYMMDD``, or None if undated.
    """

    id: int
    tokens: str
    vector: NDArray[np.float16] | None
    document_id: int
    category: str
    day: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the catalog's change log.

    Attributes:
        seq: Its place in the log; grows strictly from change to change.
        aspect: Which half of the record may differ from what the engine has. An engine that stores
            both together may ignore it and write the whole record.
        record: The state now, or None when the item is gone.
    """

    seq: int
    kind: Kind
    id: int
    aspect: Literal["text", "vector"]
    record: Record | None


@dataclass(frozen=True, slots=True)
class Watermark:
    """Which base an engine mirrors, and up to which change.

    `epoch` changes whenever the catalog's log starts anew; an engine with another base or epoch, or
    with a seq beyond the catalog's, must be rebuilt. `ahead` is the number that a part of it has reached beyond
    `seq`, 0 if none has.
    """

    base: str
    epoch: str
    seq: int
    ahead: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the catalog stands.

    Attributes:
        base: Its id.
        epoch: Of its log.
        seq: The number of the newest change, 0 without any.
        engine: The URL of the engine that the base lives on, without secrets; None if nobody chose one.
        applied: For each place of an engine (`Engine.place`) the numbers that its watermark may have: before and
            after the batch that this catalog sent there last.
    """

    base: str
    epoch: str
    seq: int
    engine: str | None = None
    applied: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Engine(Protocol):
    """A search engine over the catalog's records. Similarities are cosines, higher is better."""

    def lead(self, leading: bool) -> None:
        """Told True by the holder of the base's lease before it writes, and False before it gives the lease back."""

    def reset(self, base: str, epoch: str) -> None:
        """Empty the engine and give it a fresh watermark with seq 0."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes (in the order of seq) durably and publish them, then raise the watermark.

        Idempotent: applying the same changes again, also after a crash in between, changes nothing.
        """

    def watermark(self) -> Watermark | None:
        """The published watermark, or None for an engine that was never filled."""

    def refresh(self) -> None:
        """See what another process has published since."""

    def sparse(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages by BM25 (k1 1.2, b 0.75) as (id, score), best first.

        Args:
            tokens: Question tokens with their weights (multiplied into each term's score).
        """

    def dense(self, kind: Kind, vector: NDArray[np.float32], k: int, where: Filter) -> list[tuple[int, float]]:
        """The k nearest items by cosine as (id, similarity), best first; equal to exact when filtered."""

    def similarity(self, kind: Kind, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Exact cosines of exactly these ids; ids without a vector are left out."""

    def frequencies(self, tokens: Sequence[str]) -> Mapping[str, int]:
        """In how many passages each of these tokens occurs (0 for unknown ones); may be approximate."""

    def counts(self) -> Mapping[str, int]:
        """How many texts and vectors are held, as ``{"texts": n, "vectors": m}``."""

    @property
    def writes_whole(self) -> bool:
        """Whether a change of a text brings the vector along, as both are stored together."""

    @property
    def place(self) -> str:
        """Where it is, without secrets; empty if in the base's folder, which is copied and restored with it."""

    @property
    def note(self) -> str:
        """One sentence that a status should add of it, or nothing.

        Raises:
            KnowledgeBaseError: That is for a server to say, and it cannot be reached.
        """

    def close(self) -> None:
        """Release files and connections."""


@runtime_checkable
class VectorHolder(Protocol):
    """An engine that gives vectors back faster than the catalog does."""

    def vectors(self, kind: Kind, ids: Sequence[int]) -> Mapping[int, NDArray[np.float32]]:
        """The vectors of items, each of shape (dim,) and unit length; ids without one are left out."""
