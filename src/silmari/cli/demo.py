"""``silmari demo``: a small office, and questions whose answers you can check."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from silmari.cli.common import OK, SOME_FAILED, EmbedderName, Json, Llm, console, print_json


def demo(
    embedder: EmbedderName = None,
    llm: Llm = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the demo's base in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Add the files of a small invented office and answer questions about them, with sources."""
    from silmari.cli.ask import show
    from silmari.cli.progress import ProgressBars
    from silmari.cli.report import summary
    from silmari.examples import office, questions
    from silmari.knowledge_base import KnowledgeBase

    out = console()
    folder = keep or Path(tempfile.mkdtemp(prefix="silmari-demo-"))
    passed, results = 0, []
    try:
        with KnowledgeBase.open(folder, embedder=embedder, llm=llm, catalog="sqlite") as base:
            if not as_json:
                out.print(f"Adding the files in {office()}", soft_wrap=True)
            with ProgressBars() as bars:
                report = base.add(office(), on_progress=bars)
            if not as_json:
                out.print(summary(report))
            asked = [json.loads(line) for line in questions().read_text("utf-8").splitlines() if line.strip()]
            for number, expected in enumerate(asked, 1):
                if as_json:
                    answer = base.ask(expected["question"])
                else:
                    out.print()
                    out.print(f"{number}. {expected['question']}", style="bold cyan")
                    answer = show(base.stream(expected["question"]))
                right = _right(answer, expected)
                passed += right
                results.append({**answer.as_json(), "right": right})
                if not as_json:
                    out.print("✓ as expected" if right else "✗ not as expected", style="green" if right else "red")
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        print_json({"questions": len(results), "right": passed, "answers": results})
    else:
        out.print()
        out.print(f"{passed} of {len(results)} answers are as expected.")
    raise typer.Exit(OK if passed == len(results) else SOME_FAILED)


def _right(answer: object, expected: dict[str, object]) -> bool:
    """Whether an answer says what the demo's key says, from the file that the key names."""
    from silmari.answering.answer import Answer

    assert isinstance(answer, Answer)
    if expected.get("found") is False:
        return not answer.found
    wanted = expected["answer_contains"]
    assert isinstance(wanted, list)
    sources = {Path(cited.source.uri.split("#")[0]).name for cited in answer.sources}
    return answer.found and all(part in answer.text for part in wanted) and expected["source"] in sources
