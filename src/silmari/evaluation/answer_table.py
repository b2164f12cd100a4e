"""The evaluation of answers as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from silmari.evaluation.answers import MEASURES
from silmari.evaluation.table import dollars, milliseconds, share

if TYPE_CHECKING:
    from rich.table import Table

    from silmari.evaluation.answers import AnswerReport

HEADINGS = {
    "exact": "exact match",
    "f1": "F1",
    "contains": "contains the answer",
    "citation_precision": "citation precision",
    "citation_recall": "citation recall",
    "declined_wrongly": "declined, answerable",
    "declined_rightly": "declined, unanswerable",
}


def make_table(report: AnswerReport) -> Table:
    """One column a way; each mean with its 95 % interval and the number of questions it stands on."""
    from rich.table import Table

    table = Table(title=f"{report.dataset.name}: answers", caption="Below each mean its 95 % bootstrap interval.")
    table.add_column("")
    summaries = {way: report.summary(way) for way in report.answers}
    for way in summaries:
        table.add_column(way, justify="right")
    for name in MEASURES:
        shown = [one[name] for one in summaries.values() if name in one]
        if not shown:
            continue
        table.add_row(
            f"{HEADINGS[name]} ({shown[0]['questions']})",
            *(
                f"{share(one[name]['mean'])}\n{share(one[name]['interval'][0])}–{share(one[name]['interval'][1])}"
                if name in one
                else ""
                for one in summaries.values()
            ),
        )
    table.add_row("characters", *(f"{one['characters']:.0f}" for one in summaries.values()))
    table.add_row("p50 ms", *(milliseconds(one["p50_ms"]) for one in summaries.values()))
    table.add_row("model calls", *(f"{one['model_calls']:,}" for one in summaries.values()))
    table.add_row("US$", *("unknown" if one["cost"] is None else dollars(one["cost"]) for one in summaries.values()))
    return table
