"""``silmari ask``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from silmari.cli.common import (
    SOME_FAILED,
    Category,
    Degree,
    EmbedderName,
    Entities,
    ExpansionOption,
    Explain,
    Json,
    K,
    Kb,
    Llm,
    MaxCost,
    NoTime,
    Only,
    PolicyName,
    Rerank,
    Since,
    UntilDate,
    WayName,
    console,
    filters,
    open_base,
    parameters,
    print_json,
    print_line,
    several,
    shown,
    where,
)
from silmari.cli.search import show_trace
from silmari.errors import UsageError
from silmari.model import WAYS

if TYPE_CHECKING:
    from rich.console import Console

    from silmari.answering.answer import Answer
    from silmari.knowledge_base import KnowledgeBase

QuestionFile = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Answer many questions, one a line; - reads standard input."),
]
AtOnce = Annotated[
    int | None,
    typer.Option("--concurrency", min=1, max=256, help="Questions of --file in flight at once.  [default: 16]"),
]


def ask(
    question: Annotated[str | None, typer.Argument(help="The question.")] = None,
    file: QuestionFile = None,
    concurrency: AtOnce = None,
    kb: Kb = None,
    k: K = None,
    way: WayName = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    rerank: Rerank = None,
    entities: Entities = None,
    degree: Degree = None,
    expansion: ExpansionOption = None,
    category: Category = None,
    since: Since = None,
    until_date: UntilDate = None,
    document: Only = None,
    policy: PolicyName = None,
    no_time: NoTime = False,
    embedder: EmbedderName = None,
    explain: Explain = False,
    as_json: Json = False,
) -> None:
    """Answer a question from the documents, each sentence with its sources; with --file, many at once."""
    if (question is None) == (file is None):
        raise UsageError("Give one question, or --file with many; not both.")
    questions = None if file is None else read_questions(file)
    options: dict[str, Any] = {
        "way": way,
        "k": k,
        "filters": filters(category, since, until_date, document),
        "entities": several(entities),
        "rerank": rerank,
        "expansion": parameters(degree, expansion),
        "policy": policy,
        "time": False if no_time else None,
    }
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base:
        if questions is not None:
            check(base, options)
            many(base, questions, concurrency, options, as_json, explain)
        elif question is None:
            raise AssertionError("one of the two is there")
        elif as_json:
            print_json(base.ask(question, **options).as_json())
        else:
            show(base.stream(question, **options), explain)


def check(base: KnowledgeBase, options: dict[str, Any]) -> None:
    """See before the first of several questions whether the options can be.

    Raises:
        UsageError: One is wrong.
    """
    from silmari.retrieval.presets import choose

    known_way(options["way"])
    choose(options["policy"] or base.settings.default_policy, base.settings.policy)
    if options["filters"]:
        base.documents(filters=options["filters"])


def known_way(value: str | None) -> None:
    """Raise a UsageError for a way that there is not."""
    if value and value not in WAYS:
        raise UsageError(f"There is no way named {value}; the ways are {', '.join(WAYS)}.")


def read_questions(file: Path) -> list[str]:
    """The lines of a file, or of standard input for ``-``, without empty ones.

    Raises:
        UsageError: It cannot be read, or holds no question.
    """
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--file {file}: it cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UsageError(f"--file {file}: it is not UTF-8 text; save it as UTF-8, one question a line.") from None
    if not (questions := [line.strip() for line in text.splitlines() if line.strip()]):
        raise UsageError(f"--file {file}: it holds no question; write one a line.")
    return questions


def many(
    base: KnowledgeBase,
    questions: list[str],
    concurrency: int | None,
    options: dict[str, Any],
    as_json: bool,
    explain: bool,
) -> None:
    """Print the answers in the order of the questions, each as soon as those before it are printed.

    Raises:
        typer.Exit: Some questions could not be answered.
    """
    from silmari.cli.progress import ProgressBars
    from silmari.many import Fault

    failed = 0
    with ProgressBars() as bars:
        results = base.ask_each(questions, concurrency=concurrency, **options)
        for result in _in_order(results, bars, len(questions)):
            failed += isinstance(result, Fault)
            if as_json:
                print_line(result.as_json())
            else:
                _show_one(result, explain)
    if failed:
        console(stderr=True).print(f"{failed:,} of {len(questions):,} questions could not be answered.", style="red")
        raise typer.Exit(SOME_FAILED)


def _in_order(results: Iterator[tuple[int, Any]], bars: Any, total: int) -> Iterator[Any]:
    early: dict[int, Any] = {}
    following = 0
    for done, (place, result) in enumerate(results, start=1):
        bars.show("answers", done, total)
        early[place] = result
        while following in early:
            yield early.pop(following)
            following += 1


def _show_one(result: Any, explain: bool) -> None:
    from silmari.answering.answer import Answer

    out = console()
    out.print(f"> {result.question}", style="bold", soft_wrap=True)
    if isinstance(result, Answer):
        show([result.text, result], explain)
    else:
        out.print(f"silmari: {result}", style="red", soft_wrap=True)
    out.print()


def show(pieces: Any, explain: bool = False) -> Any:
    """Print an answer as it comes, then its sources; returns the finished answer."""
    from silmari.answering.answer import Answer

    out = console()
    answer: Any = None
    for piece in pieces:
        if isinstance(piece, Answer):
            answer = piece
        else:
            out.print(piece, end="", soft_wrap=True)
    out.print()
    if answer.sources:
        out.print()
        show_sources(out, answer)
    show_doubts(out, answer)
    show_trace(answer.trace, explain)
    return answer


def show_doubts(out: Console, answer: Answer) -> None:
    """Print the sentences of an answer that its sources do not support."""
    from silmari.answering.wording import language_of

    if not answer.unsupported:
        return
    korean = language_of(answer.question) == "ko"
    out.print("\n출처가 뒷받침하지 않는 문장" if korean else "\nNot supported by the sources", style="bold yellow")
    for sentence in answer.unsupported:
        out.print(f"- {' '.join(sentence.split())}", style="yellow", soft_wrap=True)


def show_sources(out: Console, answer: Answer) -> None:
    """Print the sources that an answer cites."""
    from silmari.answering.answer import tier_told
    from silmari.answering.wording import language_of

    korean = language_of(answer.question) == "ko"
    out.print("출처" if korean else "Sources", style="bold")
    for cited in answer.sources:
        place = where(cited.source.locator, "ko" if korean else "en")
        dated = f", {cited.source.known_date}" if cited.source.known_date else ""
        title = cited.source.title or shown(cited.source.uri)
        out.print(f"[{cited.n}] {title}{dated}" + (f", {place}" if place else ""), soft_wrap=True)
        taken = f"  ({tier_told(cited.tier)})" if cited.tier else ""
        out.print(f"    {shown(cited.source.uri)}{taken}", style="dim", soft_wrap=True)
        for other in cited.source.also:
            out.print(f"    {shown(other)}", style="dim", soft_wrap=True)
