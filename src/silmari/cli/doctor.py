"""``silmari doctor``."""

from __future__ import annotations

import typer

from silmari.cli.common import OK, SOME_FAILED, EmbedderName, Json, Kb, console, print_json


def doctor(kb: Kb = None, embedder: EmbedderName = None, as_json: Json = False) -> None:
    """Check the environment, the embedder and the base, and say how to mend what is wrong."""
    from silmari.diagnosis import diagnose
    from silmari.settings import Settings

    findings = diagnose(Settings.load(kb=kb, embedder=embedder))
    healthy = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": healthy, "findings": [finding.as_json() for finding in findings]})
    else:
        out = console()
        for finding in findings:
            out.print(f"{'ok  ' if finding.ok else 'BAD '} {finding.subject}: {finding.says}", soft_wrap=True)
            if not finding.ok:
                out.print(f"     To mend it: {finding.remedy}", soft_wrap=True)
    raise typer.Exit(OK if healthy else SOME_FAILED)
