"""What calls of chat models have cost the base, summed up by model."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Connection

from silmari.catalog.rules import to_json
from silmari.catalog.schema import get_meta, set_meta

_KEY = "usage"


def read(connection: Connection) -> dict[str, dict[str, float]]:
    """The counts of each model, by its name."""
    found: dict[str, dict[str, float]] = json.loads(get_meta(connection).get(_KEY, "{}"))
    return found


def add(connection: Connection, model: str, counts: Mapping[str, float]) -> None:
    """Add to the counts of a model."""
    kept = read(connection)
    known = kept.get(model, {})
    kept[model] = known | {name: known.get(name, 0) + value for name, value in counts.items()}
    set_meta(connection, _KEY, to_json(kept))
