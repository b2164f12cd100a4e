"""What the base was built with, as read at the start of a transaction, and small helpers for SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection

from silmari.catalog.schema import get_meta

T = TypeVar("T")
CHUNK = 900  # parameters of one IN list; SQLite's oldest limit is 999


class Rules(NamedTuple):
    """The settings that every write depends on; another process may have changed them."""

    embedder: str | None
    splitter: str
    file_time_dates: bool

    @classmethod
    def read(cls, connection: Connection) -> Rules:
        """The rules that hold in this transaction."""
        meta = get_meta(connection)
        return cls(
            meta.get("fingerprint.embedder"), meta.get("fingerprint.splitter", ""), meta["file_time_dates"] == "1"
        )


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """The items in lists of at most `size`."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def to_json(value: Any) -> str:
    """Compact JSON that keeps Hangul readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
