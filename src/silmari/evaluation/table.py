"""The evaluation as one table in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from silmari.evaluation.metrics import METRICS
from silmari.evaluation.runner import TIMES, Report, Summary

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

HEADINGS = {"ndcg@10": "nDCG@10", "mrr@10": "MRR@10"}
SIGNIFICANT = 0.05


def heading(metric: str) -> str:
    """How a metric is written for people: ``recall@5`` as ``Recall@5``."""
    return HEADINGS.get(metric, metric.capitalize())


def share(value: float) -> str:
    """A value between 0 and 1 as the tables of papers show it: ``.684``."""
    return f"{value:.3f}".replace("0.", ".", 1)


def milliseconds(value: float) -> str:
    """Three significant figures, never an exponent."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def dollars(value: float) -> str:
    """Two significant figures, never an exponent."""
    return f"{value:.2g}" if value >= 0.0001 or not value else f"{value:.6f}"


def mark(summary: Summary, metric: str) -> str:
    """▲ or ▼ where the way is above or below the first one with p < .05, else nothing."""
    difference = summary.versus_first.get(metric)
    if difference is None or difference.p >= SIGNIFICANT:
        return ""
    return "▲" if difference.mean > 0 else "▼"


def make_table(report: Report) -> Table:
    """One column a way; each mean with its 95 % interval below, so that six ways fit 80 characters.

    The best mean of a row is bold; ▲ and ▼ mark what the paired bootstrap finds above or below the first way.
    """
    from rich.table import Table
    from rich.text import Text

    first = next(iter(report.ways))
    table = Table(
        title=Text(
            f"{report.dataset.name}: {len(report.queries):,} questions, {len(report.dataset.documents):,} documents"
        ),
        caption=Text(f"Below each value its 95 % bootstrap interval. ▲ ▼: above or below {first}, paired, p < .05."),
    )
    table.add_column("", no_wrap=True)
    for name in report.ways:
        table.add_column(Text(name), justify="right")
    for metric in METRICS:
        best = max(summary.metrics[metric] for summary in report.ways.values())
        table.add_row(heading(metric), *(_quality(summary, metric, best) for summary in report.ways.values()))
    for name in TIMES:
        table.add_row(
            name.replace("_", " "),
            *(_effort(one.times[name], one.intervals[name], milliseconds) for one in report.ways.values()),
        )
    table.add_row(
        "model calls",
        *(_effort(one.model_calls, one.intervals["model_calls"], "{:.2f}".format) for one in report.ways.values()),
    )
    table.add_row("US$", *(_effort(one.cost, one.intervals["cost"], dollars) for one in report.ways.values()))
    return table


def _quality(summary: Summary, metric: str, best: float) -> Text:
    value, ends = summary.metrics[metric], summary.intervals[metric]
    return _cell(mark(summary, metric), share(value), "bold" if value == best else "", ends, share)


def _effort(value: float, ends: tuple[float, float], show: Callable[[float], str]) -> Text:
    return _cell("", show(value) if value or any(ends) else "0", "", ends if value or any(ends) else None, show)


def _cell(sign: str, value: str, style: str, ends: tuple[float, float] | None, show: Callable[[float], str]) -> Text:
    """The value, and below it its interval."""
    from rich.text import Text

    interval = (f"\n{show(ends[0])}–{show(ends[1])}", "dim") if ends else ""
    return Text.assemble(sign, (value, style), interval)
