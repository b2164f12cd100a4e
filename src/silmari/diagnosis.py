"""``silmari doctor``: checks that a user can act on, each with its remedy."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from silmari.errors import MissingBaseError, SilmariError
from silmari.settings import Settings

# Question, its own passage, and one about something else: the first must be nearer to the question.
PAIRS = (
    ("연차는 며칠인가요?", "직원은 해마다 15일의 유급휴가를 쓸 수 있다.", "다리는 철근과 콘크리트로 지어졌다."),
    ("When was the bridge built?", "The bridge was finished in 1932.", "Employees may take fifteen days of leave."),
)
LITTLE_SPACE = 500_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked; `remedy` says how to mend it when it is not ok."""

    subject: str
    ok: bool
    says: str
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"subject": self.subject, "ok": self.ok, "says": self.says, "remedy": self.remedy}


def diagnose(settings: Settings) -> list[Finding]:
    """Check the environment, the embedder, the shared cache and the base that the settings name."""
    return [finding for check in (_python, _space, _cache, _embedder, _base) for finding in _guarded(check, settings)]


def _guarded(check: Callable[[Settings], Iterator[Finding]], settings: Settings) -> Iterator[Finding]:
    try:
        yield from check(settings)
    except SilmariError as error:
        yield Finding(check.__name__.strip("_"), False, str(error), "do what the message says")


def _python(settings: Settings) -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("python", True, f"{version} on {sys.platform}")


def _space(settings: Settings) -> Iterator[Finding]:
    folder = settings.kb.expanduser().absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    yield Finding(
        "disk",
        free > LITTLE_SPACE,
        f"{free / 1e9:,.1f} GB free at {there}",
        "make room, or put the base elsewhere with --kb",
    )


def _cache(settings: Settings) -> Iterator[Finding]:
    from silmari.catalog.vector_cache import VectorCache

    folder = settings.cache.expanduser()
    cache = VectorCache(folder)
    cache.get_many("", [b""])
    yield Finding(
        "cache",
        cache.problem is None,
        cache.problem or f"vectors are shared through {folder}",
        f"give yourself the right to write to {folder}, or name another folder in SILMARI_CACHE",
    )
    cache.close()


def _embedder(settings: Settings) -> Iterator[Finding]:
    import numpy as np

    from silmari.providers.embedding import CHOSEN_NONE, embedder_or_reason

    embedder, reason = embedder_or_reason(None, settings)
    if embedder is None:
        chosen = reason == CHOSEN_NONE
        yield Finding(
            "embedder",
            chosen,
            "none: BM25 only" if chosen else reason,
            "name another with --embedder or SILMARI_EMBEDDER",
        )
        return
    for question, right, wrong in PAIRS:
        vector, passages = embedder.query(question), embedder.passages([right, wrong])
        norms = np.linalg.norm(np.vstack([vector, passages]), axis=1)
        near, far = (float(value) for value in passages @ vector)
        yield Finding(
            "embedder",
            bool(np.allclose(norms, 1, atol=1e-3)) and near > far,
            f"{embedder.fingerprint}, dimension {len(vector)}, norm {norms.mean():.3f};"
            f" {question!r}: its own passage {near:.3f}, another {far:.3f}",
            "name another embedder with --embedder: this one does not tell the two passages apart",
        )


def _base(settings: Settings) -> Iterator[Finding]:
    from silmari.knowledge_base import KnowledgeBase

    folder = settings.kb.expanduser().absolute()
    try:
        opened = KnowledgeBase.open(settings, create=False)
    except MissingBaseError:
        yield Finding("base", True, f"there is none at {folder} yet; silmari add makes it")
        return
    with opened as base:
        state = base.status()
        counts = state.engine_counts
        problem = base.catalog.check()
        yield Finding(
            "catalog",
            problem is None,
            problem or f"{state.documents:,} documents, {state.passages:,} passages, sound",
            f"move {folder} away and add your files again; vectors come from the cache",
        )
        complete = counts["texts"] == state.passages and not state.lag
        yield Finding(
            "engine",
            complete,
            f"{state.engine} holds {counts['texts']:,} of {state.passages:,} passages,"
            f" {counts['vectors']:,} vectors, {state.lag:,} changes behind",
            "run silmari reindex: it makes the index anew from the catalog",
        )
        waiting = sum(state.pending.values())
        yield Finding("pending", not waiting, f"{waiting:,} texts wait for a vector", "run silmari build")
        yield Finding(
            "files",
            not state.failed,
            f"{len(state.failed):,} failed, {len(state.skipped):,} skipped",
            "see silmari status for the reason of each",
        )
