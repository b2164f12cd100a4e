"""``silmari chat``: questions and answers in the terminal, one after another."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from silmari.cli.ask import check, known_way, show, show_sources
from silmari.cli.common import (
    Category,
    EmbedderName,
    Explain,
    Kb,
    Llm,
    MaxCost,
    NoTime,
    Only,
    PolicyName,
    Since,
    UntilDate,
    WayName,
    console,
    filters,
    open_base,
    shown,
)
from silmari.errors import BudgetError, SilmariError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from silmari.answering.answer import Answer
    from silmari.knowledge_base import KnowledgeBase

HELP = """/way NAME      search in another way (alone: say which)
/policy NAME   prefer others: best, fresh, latest or yours (alone: say which)
/sources       the sources of the last answer, with what they say
/history       what was asked so far
/clear         forget what was said; the next question begins anew
/help          this
/quit          leave (or Ctrl-D); Ctrl-C stops an answer"""

HistoryFile = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Keep the conversation in a JSON Lines file, and go on with it."),
]


def chat(
    kb: Kb = None,
    llm: Llm = None,
    max_cost: MaxCost = None,
    way: WayName = None,
    policy: PolicyName = None,
    category: Category = None,
    since: Since = None,
    until_date: UntilDate = None,
    document: Only = None,
    no_time: NoTime = False,
    history: HistoryFile = None,
    embedder: EmbedderName = None,
    explain: Explain = False,
) -> None:
    """Ask one question after another; a follow-up such as "그럼 그 다음 해는?" is understood from those before."""
    options = {
        "way": way,
        "policy": policy,
        "filters": filters(category, since, until_date, document),
        "time": False if no_time else None,
    }
    kept = [] if history is None else read_history(history)
    with open_base(kb, embedder=embedder, llm=llm, max_cost=max_cost) as base, _polite_end():
        check(base, options)
        Chat(base, console(), options, kept, history, explain).run()


def read_history(path: Path) -> list[tuple[str, str]]:
    """The turns in a file of `Chat`; none if it is not there yet.

    Raises:
        UsageError: It is no such file, or cannot be read.
    """
    turns: list[tuple[str, str]] = []
    try:
        # Not splitlines: what was asked may hold one of the other signs that it takes for the end of a line.
        lines = path.read_text("utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--history {path}: it cannot be read ({error}); name another file.") from None
    for number, line in enumerate(lines, start=1):
        try:
            turn = json.loads(line) if line.strip() else None
        except ValueError:
            turn = ()
        if turn is None:
            continue
        if not isinstance(turn, dict) or not all(isinstance(turn.get(name), str) for name in ("question", "answer")):
            raise UsageError(f"--history {path}: line {number} is no turn with question and answer; name another file.")
        turns.append((turn["question"], turn["answer"]))
    return turns


@contextmanager
def _polite_end() -> Iterator[None]:
    """A service manager's polite end leaves the program, while Ctrl-C only stops an answer."""

    def leave(*_: object) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass
class Chat:
    """One conversation.

    Attributes:
        options: Of each question, as `KnowledgeBase.ask` takes them; commands change them.
        turns: What was said, oldest first.
        file: Where it is kept; None for nowhere.
        explain: Whether each stage is shown.
    """

    base: KnowledgeBase
    out: Console
    options: dict[str, Any]
    turns: list[tuple[str, str]] = field(default_factory=list)
    file: Path | None = None
    explain: bool = False
    last: Answer | None = None

    def run(self) -> None:
        """Until the input ends."""
        person = sys.stdin.isatty()
        if person:
            going = f" Going on after {len(self.turns):,} questions." if self.turns else ""
            self.out.print(
                f"{self.base.status().documents:,} documents.{going} /help shows what you can do.", style="dim"
            )
        for line in _lines(person):
            if not (text := line.strip()):
                continue
            if not person:
                self.out.print(f"> {text}", style="bold", soft_wrap=True)
            try:
                if not text.startswith("/"):
                    self.answer(text)
                elif not self.command(text):
                    return
            except BudgetError:
                raise
            except SilmariError as error:
                self.out.print(f"silmari: {error}", style="red", soft_wrap=True)
            except KeyboardInterrupt:
                self.out.print("\nStopped.", style="yellow")

    def answer(self, question: str) -> None:
        """Answer, show it as it comes, and remember it."""
        self.last = show(self.base.stream(question, history=self.turns, **self.options), self.explain)
        self.out.print()
        assert self.last is not None
        turn = (question, self.last.text)
        self.turns.append(turn)
        if self.file is not None:
            try:
                # Bytes of another encoding reach us as halves of characters, which UTF-8 cannot hold.
                with self.file.open("a", encoding="utf-8", errors="replace") as file:
                    json.dump({"question": question, "answer": turn[1]}, file, ensure_ascii=False)
                    file.write("\n")
            except OSError as error:
                raise UsageError(f"--history {self.file}: it cannot be written ({error}).") from None

    def command(self, text: str) -> bool:
        """Do what a line that begins with a slash says; False to leave."""
        name, _, value = text[1:].partition(" ")
        value = value.strip()
        match name.lower():
            case "quit" | "exit" | "q":
                return False
            case "way":
                self._way(value)
            case "policy":
                self._policy(value)
            case "sources":
                self._sources()
            case "history":
                for number, (question, _) in enumerate(self.turns, start=1):
                    self.out.print(f"{number}. {question}", soft_wrap=True)
                if not self.turns:
                    self.out.print("Nothing was asked yet.")
            case "clear":
                self.turns.clear()
                self.last = None
                self.out.print("Forgotten. The file keeps what it has." if self.file else "Forgotten.")
            case "help" | "?":
                self.out.print(HELP)
            case _:
                raise UsageError(f"There is no command /{name}; /help shows them.")
        return True

    def _way(self, value: str) -> None:
        known_way(value)
        self.options["way"] = value or self.options.get("way")
        self.out.print(f"way: {self.options['way'] or self.base.settings.way}")

    def _policy(self, value: str) -> None:
        from silmari.retrieval.presets import choose

        if value:
            choose(value, self.base.settings.policy)
            self.options["policy"] = value
        self.out.print(f"policy: {self.options.get('policy') or self.base.settings.default_policy}")

    def _sources(self) -> None:
        if self.last is None or not self.last.sources:
            self.out.print("There are no sources yet." if self.last is None else "The last answer has no sources.")
            return
        show_sources(self.out, self.last)
        for cited in self.last.sources:
            self.out.print(f"[{cited.n}] {shown(cited.source.uri)}", style="dim", soft_wrap=True)
            self.out.print(f"    {' '.join(cited.quote.split())}", soft_wrap=True)


def _lines(person: bool) -> Iterator[str]:
    """Lines of the input; a person's are asked for, and Ctrl-C there only begins a new line."""
    if not person:
        yield from sys.stdin
        return
    with suppress(ImportError):
        importlib.import_module("readline")  # gives input() its history and editing, where there is one
    while True:
        try:
            yield input("> ")
        except EOFError:
            sys.stdout.write("\n")
            return
        except KeyboardInterrupt:
            sys.stdout.write("\n(/quit or Ctrl-D leaves)\n")
