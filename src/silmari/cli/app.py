"""The command ``silmari``: its commands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import os
import signal
import sys

import typer

from silmari import __version__
from silmari.cli import (
    add,
    ask,
    build,
    chat,
    compare,
    demo,
    doctor,
    documents,
    entities,
    evaluate,
    reindex,
    remove,
    search,
    show,
    status,
    sync,
)
from silmari.cli.common import INTERRUPTED, NOTHING_DONE, harmless
from silmari.errors import SilmariError
from silmari.panics import is_panic

_STOPPED = "Stopped. What was reported as done is kept; the same command goes on with the rest."

app = typer.Typer(
    name="silmari",
    help="Answers with proof from your own files, in Korean and English.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("add")(add.add)
app.command("sync")(sync.sync)
app.command("remove")(remove.remove)
app.command("build")(build.build)
app.command("reindex")(reindex.reindex)
app.command("list")(documents.documents)
app.command("show")(show.show)
app.command("entities")(entities.entities)
app.command("search")(search.search)
app.command("ask")(ask.ask)
app.command("chat")(chat.chat)
app.command("compare")(compare.compare)
app.command("status")(status.status)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("eval")(evaluate.evaluate)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"silmari {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Answers with proof from your own files, in Korean and English."""


def main() -> None:
    """Run the command line as this process's only task."""
    _hush()
    # A service manager's polite end is Ctrl-C: progress bars are taken down, and what is in hand is stored.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run()


def run() -> None:
    """Run the command line; every error ends as one sentence on standard error and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # what typer makes of Ctrl-C
            _end(_STOPPED, INTERRUPTED)
        raise
    except SilmariError as error:
        _end(str(error), NOTHING_DONE)
    except KeyboardInterrupt:
        _end(_STOPPED, INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as in `silmari list | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except BaseException as error:
        if os.environ.get("SILMARI_DEBUG") or not (isinstance(error, Exception) or is_panic(error)):
            raise
        _end(
            f"Something unforeseen went wrong ({type(error).__name__}: {error}). What was done is kept;"
            " set SILMARI_DEBUG=1 to see the details and report them.",
            NOTHING_DONE,
        )


def _hush() -> None:
    """Let only Python write to standard error: libraries in other languages would print their panics there."""
    if sys.stderr is None or os.environ.get("SILMARI_DEBUG"):
        return
    own = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="replace", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stderr = own


def _end(message: str, code: int) -> None:
    typer.echo(f"silmari: {harmless(message)}", err=True)
    sys.exit(code)
