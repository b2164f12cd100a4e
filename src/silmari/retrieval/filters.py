"""From what a user says may be found to the filter that engines apply."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime
from typing import Any
from unicodedata import normalize

from silmari.errors import UsageError
from silmari.model import CATEGORIES, Filter

FIELDS = ("category", "since", "until", "documents", "undated")
Now = date | str | None


def build_filter(
    filters: Filter | Mapping[str, Any] | None,
    known: Callable[[], Collection[str]],
    document_ids: Callable[[Iterable[str]], Collection[int]],
) -> Filter:
    """Check what the user gave and make a `Filter` of it.

    Args:
        filters: A ready filter, or a mapping with any of ``category`` (one or several), ``since`` and
            ``until`` (ISO dates), ``documents`` (paths, folders, globs or record uris), ``undated`` (True for
            only what has no date).
        known: The categories that the base holds; asked only for one that is not Silmari's own.
        document_ids: The numbers of the documents that paths name.

    Raises:
        UsageError: Naming the field and what is allowed.
    """
    if filters is None:
        return Filter()
    if isinstance(filters, Filter):
        return filters
    unknown = sorted(set(filters) - set(FIELDS))
    if unknown:
        raise UsageError(f"There is no filter named {unknown[0]}; the filters are {', '.join(FIELDS)}.")
    since, until = _day("since", filters.get("since")), _day("until", filters.get("until"))
    if since and until and since > until:
        raise UsageError(f"The filter since ({since}) is after until ({until}); swap them.")
    documents = filters.get("documents")
    return Filter(
        categories=_categories(filters.get("category"), known),
        since=since,
        until=until,
        documents=None if documents is None else _documents(_several(documents), document_ids),
        undated=bool(filters.get("undated")),
    )


def day_of(now: Now, otherwise: date | None) -> date:
    """The day that counts as today: what is given, else `otherwise`, else the clock's.

    Raises:
        UsageError: `now` is text that is no date.
    """
    if now is None:
        return otherwise or date.today()
    if isinstance(now, datetime):
        return now.date()
    if isinstance(now, date):
        return now
    try:
        return date.fromisoformat(now)
    except (TypeError, ValueError):
        raise UsageError(f"now is {now!r}, which is no date; write it as 2024-01-31.") from None


def _documents(names: Collection[str], document_ids: Callable[[Iterable[str]], Collection[int]]) -> frozenset[int]:
    found: set[int] = set()
    for name in names:
        ids = document_ids([name])
        if not ids:  # a slip of the pen must not look like "your documents do not say"
            raise UsageError(f"{name}: no document in the base has this path; silmari list shows what is there.")
        found.update(ids)
    return frozenset(found)


def _several(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _categories(value: Any, known: Callable[[], Collection[str]]) -> frozenset[str] | None:
    if not value:
        return None
    wanted = frozenset(normalize("NFC", name) for name in _several(value))
    strange = wanted - set(CATEGORIES)
    if strange:
        present = set(known())
        if strange - present:
            allowed = ", ".join(sorted(present | set(CATEGORIES)))
            raise UsageError(f"There is no category named {min(strange - present)}; the categories are {allowed}.")
    return wanted


def _day(name: str, value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, date):
        return value.strftime("%Y-%m-%d")
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UsageError(f"The filter {name} is {value!r}, which is no date; write it as 2024-01-31.") from None
