"""``silmari list``."""

from __future__ import annotations

from silmari.cli.common import (
    Category,
    EmbedderName,
    Json,
    Kb,
    Only,
    Since,
    UntilDate,
    console,
    filters,
    open_base,
    print_json,
    shown,
)


def documents(
    kb: Kb = None,
    category: Category = None,
    since: Since = None,
    until_date: UntilDate = None,
    document: Only = None,
    embedder: EmbedderName = None,
    as_json: Json = False,
) -> None:
    """List the documents in the base, with their dates and sizes."""
    from rich.table import Table

    with open_base(kb, embedder=embedder) as base:
        entries = base.documents(filters=filters(category, since, until_date, document))
    if as_json:
        print_json({"documents": [entry.as_json() for entry in entries]})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("category", "date", "passages", "relations", "title", "where"):
        table.add_column(name, justify="right" if name == "passages" else "left", overflow="fold")
    for entry in entries:
        dated = f"{entry.date} ({entry.date_source})" if entry.date else "–"
        table.add_row(entry.category, dated, f"{entry.passages:,}", entry.relations, entry.title, shown(entry.uri))
    out = console()
    out.print(table)
    out.print(f"{len(entries):,} documents.")
