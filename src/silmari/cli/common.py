"""What the commands share: options, opening a base, output."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from silmari.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from silmari.knowledge_base import KnowledgeBase

# Controls but for tab and line end, the marks that turn the direction of writing around, and what is invisible.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")

OK, SOME_FAILED, NOTHING_DONE, INTERRUPTED = 0, 1, 2, 130

Kb = Annotated[
    Path | None,
    typer.Option("--kb", metavar="DIR", help="Folder of the knowledge base (or SILMARI_KB).  [default: .silmari]"),
]
EmbedderName = Annotated[
    str | None, typer.Option("--embedder", metavar="NAME", help="Embedder, such as bundled or openai:NAME.")
]
Llm = Annotated[
    str | None,
    typer.Option("--llm", metavar="NAME", help="Chat model, such as openai:gpt-4o-mini; without one none is called."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", min=0.0, help="US dollars that calls of the chat model may cost."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before a chat model is used that costs more than $1.")]
K = Annotated[int | None, typer.Option("-k", "--k", min=1, max=1000, help="How many passages.  [default: 5]")]
WayName = Annotated[
    str | None,
    typer.Option("--way", metavar="WAY", help="sparse, dense, cascade, expansion, graph or fused.  [default: fused]"),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="WHEN",
        help="Let the chat model reorder what expansion and graph found: always, never, or auto.  [default: auto]",
    ),
]
Entities = Annotated[
    str | None,
    typer.Option("--entities", metavar="NAME,…", help="Names that the question holds.  [default: they are found]"),
]
Degree = Annotated[
    int | None, typer.Option("--degree", min=1, max=2, help="Steps over the graph in the way expansion.  [default: 1]")
]
ExpansionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--expansion",
        metavar="NAME=NUMBER",
        help="Parameter of the way expansion: top_k, degree, budget, rerank, entity_threshold, relation_threshold.",
    ),
]
Category = Annotated[
    list[str] | None, typer.Option("--category", metavar="NAME", help="Only these: pdf, excel, csv, text, record.")
]
Since = Annotated[str | None, typer.Option("--since", metavar="DATE", help="Only dated on or after, as 2024-01-31.")]
UntilDate = Annotated[
    str | None, typer.Option("--until-date", metavar="DATE", help="Only dated on or before, as 2024-12-31.")
]
Only = Annotated[
    list[str] | None, typer.Option("--document", metavar="PATH", help="Only in these files, folders or globs.")
]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME", help="What comes first: best, fresh, latest or yours.  [default: best]"),
]
NoTime = Annotated[
    bool, typer.Option("--no-time", help="Take times in the question, such as last month, as words only.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each stage did.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Pass over names or paths that match.")
]
UntilStage = Annotated[
    str,
    typer.Option("--until", metavar="STAGE", help="read: return when BM25 answers; all: with vectors."),
]
Relations = Annotated[
    str | None,
    typer.Option(
        "--relations",
        metavar="MODE",
        help="Where relations come from: given (the documents' triplets), sentences, or triplets (--llm).",
    ),
]


def open_base(kb: Path | None, *, create: bool = False, **options: Any) -> KnowledgeBase:
    """Open the base that the options and settings name.

    Raises:
        UsageError: There is none and `create` is False.
    """
    from silmari.knowledge_base import KnowledgeBase

    return KnowledgeBase.open(kb, create=create, **options)


def filters(
    category: list[str] | None, since: str | None, until_date: str | None, only: list[str] | None
) -> dict[str, Any]:
    """The mapping that `KnowledgeBase.search` takes as filters."""
    given = {"category": category, "since": since, "until": until_date, "documents": only}
    return {name: value for name, value in given.items() if value}


def parameters(degree: int | None, given: list[str] | None) -> dict[str, Any]:
    """The mapping that `KnowledgeBase.search` takes as parameters of the way expansion."""
    found: dict[str, Any] = {} if degree is None else {"degree": degree}
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"--expansion {one}: write NAME=NUMBER, such as top_k=5.")
        found[name.strip()] = value.strip()
    return found


def several(text: str | None) -> list[str] | None:
    """What stands between commas; None when nothing was given."""
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()]


def print_json(value: Any) -> None:
    """One JSON document on standard output, in UTF-8 whatever the terminal speaks."""
    _write_json(value, indent=2)


def print_line(value: Any) -> None:
    """One line of JSON Lines on standard output, at once."""
    _write_json(value, indent=None)


def _write_json(value: Any, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    # Escaped, so that programs read what the document has and a terminal is not steered.
    text = _STEERING.sub(lambda match: json.dumps(match[0])[1:-1], text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: brackets in documents are no markup, and nothing steers the terminal."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(harmless(text), **options)

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False)


def harmless(text: str) -> str:
    """Text without the characters that steer a terminal: the name of a file may hold them."""
    return _STEERING.sub("\ufffd", text)


def shown(uri: str) -> str:
    """A path as short as it can be: seen from the working folder if it lies below it."""
    path = Path(uri)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else uri


def where(locator: Any, language: str = "en") -> str:
    """A locator as people say it: ``p. 3``, ``sheet 인사, rows 2–40``."""
    korean = language == "ko"
    parts = []
    if "page" in locator:
        parts.append(f"{locator['page']}쪽" if korean else f"p. {locator['page']}")
    if "sheet" in locator:
        parts.append(f"시트 {locator['sheet']}" if korean else f"sheet {locator['sheet']}")
    if "rows" in locator:
        first, last = locator["rows"]
        span = f"{first}" if first == last else f"{first}–{last}"
        parts.append(f"{span}행" if korean else f"row {span}" if first == last else f"rows {span}")
    if "heading" in locator:
        parts.append(str(locator["heading"]))
    return ", ".join(parts)
