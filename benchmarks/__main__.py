"""``make bench``: every comparison, both sides in one process, as tables; ``python -m benchmarks NAME …`` for some."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from typing import Any

NAMES = (
    "startup",
    "memory",
    "engine",
    "milvus",
    "reading_tables",
    "reading_pdf",
    "embedding",
    "graph",
    "graph_questions",
    "asking",
)


def main(names: list[str]) -> None:
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores\n")
    for name in names or NAMES:
        print(f"## {name}\n")
        print(table(importlib.import_module(f"benchmarks.{name}").run()), flush=True)
        print()


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table; columns in the order in which they first come."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([_shown(row.get(column)) for column in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
