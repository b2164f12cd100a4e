"""``silmari entities``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from silmari.cli.common import EmbedderName, Json, Kb, console, open_base, print_json
from silmari.errors import UsageError

if TYPE_CHECKING:
    from silmari.entities import EntityInfo

_SHOWN_SPELLINGS = 4
_SHOWN_ALIASES = 6

Two = tuple[str, str]


def entities(
    pattern: Annotated[str, typer.Argument(help="A part of a name, or a glob of all of it.")] = "",
    merge: Annotated[
        Two | None, typer.Option("--merge", metavar="A B", help="Say that two names mean the same.")
    ] = None,
    split: Annotated[
        Two | None, typer.Option("--split", metavar="A B", help="Say that two names do not mean the same.")
    ] = None,
    forget: Annotated[
        Two | None, typer.Option("--forget", metavar="A B", help="Take back what you said of two names.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many to list.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many to pass over.")] = 0,
    kb: Kb = None,
    embedder: EmbedderName = None,
    as_json: Json = False,
) -> None:
    """List the names that relations tie, with other names that may mean the same; join them or keep them apart."""
    asked = [option for option in (merge, split, forget) if option]
    if len(asked) > 1 or (asked and pattern):
        raise UsageError("entities: give a pattern to list, or one of --merge, --split and --forget.")
    with open_base(kb, embedder=embedder) as base:
        if merge:
            base.merge_entities(*merge)
        elif split:
            base.split_entities(*split)
        elif forget:
            base.forget_alias(*forget)
        else:
            found = base.entities(pattern, limit=limit, offset=offset)
    if asked:
        _tell(asked[0], "same" if merge else "different" if split else None, as_json)
        return
    if as_json:
        print_json(found.as_json())
        return
    out = console()
    for entity in found.entities:
        _show(entity)
    last = offset + len(found.entities)
    if found.total > last:
        out.print(f"{offset + 1:,} to {last:,} of {found.total:,} names; --offset {last} goes on.")
    else:
        out.print(f"{found.total:,} names.")


def _tell(names: Two, verdict: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"names": list(names), "verdict": verdict})
        return
    a, b = names
    said = {
        "same": f"{a} and {b} count as the same from now on",
        "different": f"{a} and {b} are kept apart from now on",
        None: f"What you said of {a} and {b} is forgotten",
    }[verdict]
    hint = "" if verdict is None else "; silmari entities --forget takes it back"
    console().print(f"{said}{hint}.", soft_wrap=True)


def _show(entity: EntityInfo) -> None:
    out = console()
    counts = f"{_counted(entity.relations, 'relation')} in {_counted(entity.passages, 'passage')}"
    out.print(f"{entity.name}  ({counts})", style="bold", soft_wrap=True)
    others = [f"{name} ({uses:,})" for name, uses in entity.spellings.items() if name != entity.name]
    if others:
        out.print(f"  also spelled {_some(others, _SHOWN_SPELLINGS)}", soft_wrap=True)
    for alias in entity.aliases[:_SHOWN_ALIASES]:
        out.print(f"  {alias.score:.2f}  {alias.name}  ({alias.reason})", soft_wrap=True)
    if len(entity.aliases) > _SHOWN_ALIASES:
        out.print(f"  and {len(entity.aliases) - _SHOWN_ALIASES:,} more, see --json")
    if entity.apart:
        out.print(f"  not {_some(entity.apart, _SHOWN_SPELLINGS)}", soft_wrap=True)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _some(names: list[str] | tuple[str, ...], count: int) -> str:
    more = f" and {len(names) - count:,} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more
