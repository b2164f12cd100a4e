"""Moves a knowledge base to another engine; the former one serves until the new one is complete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from silmari.engine import LOCAL, open_engine, remembered, shown
from silmari.engine.mirror import Mirror
from silmari.ingest import AddReport, OnProgress, Progress

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog


def move(
    catalog: Catalog, mirror: Mirror, folder: Path, url: str, report: AddReport, on_progress: OnProgress | None
) -> AddReport:
    """Fill another engine from the catalog, then say that the base lives there.

    What others add meanwhile goes to both: the former engine is followed as always, and the new one catches up
    before and after the switch.

    Args:
        catalog: Of the base.
        mirror: Of the engine that serves now; it is on the new one afterwards.
        folder: Of the base.
        url: Of the new engine.
        report: Is added to.
        on_progress: Told how many changes are written.

    Raises:
        UsageError: The URL is wrong.
        MissingExtraError: The engine's package is not installed.
        BusyError: Another process is moving the base.
        KnowledgeBaseError: The new engine cannot be reached or written, or holds another base.
    """
    plain, secret = remembered(url, folder)
    former = mirror.url

    def told(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(Progress("index", done, total))

    target = Mirror(
        catalog,
        # Not the base's own lease: adding and embedding go on meanwhile.
        lambda wait: catalog.try_lease("moving", wait),
        lambda place: open_engine(place, folder),
        url,
    )
    try:
        target.fill(told)
        catalog.set_engine(plain)
    finally:
        target.close()
    mirror.go_to(url if secret else plain, pinned=secret)
    mirror.follow(wait=5.0)
    report.notes.append(f"The base is on {shown(url, folder)} now. {_leftover(former, folder)}")
    if secret:
        report.notes.append(_SECRET)
    return report


_SECRET = (
    "Keys and passwords are not kept with the base: set SILMARI_ENGINE_TOKEN (Milvus), or SILMARI_ENGINE_API_KEY or "
    "SILMARI_ENGINE_LOGIN (Elasticsearch), where it is used."
)


def _leftover(former: str, folder: Path) -> str:
    if former == LOCAL:
        return f"The former index is no longer used; {folder / 'engine'} can be deleted."
    return f"The former index on {shown(former, folder)} is no longer used and can be deleted there."
