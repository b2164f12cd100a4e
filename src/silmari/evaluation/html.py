"""The evaluation as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

from html import escape

from silmari.evaluation.metrics import METRICS
from silmari.evaluation.misses import MISS_DEPTH, Miss, MissedQuestion, missed_questions
from silmari.evaluation.plots import COLOURS, quality_against_time, quality_panels
from silmari.evaluation.runner import TIMES, Report, Summary
from silmari.evaluation.table import dollars, heading, mark, milliseconds, share

# Okabe and Ito's colours, told apart also by most colour-blind eyes, darkened for white and lightened for black.
_LIGHT = ("#0b62a4", "#c2410c", "#00785a", "#a23b7e", "#8a6d00", "#3a86c8", "#5b5b5b", "#7a3b00")
_DARK = ("#6cb6ff", "#ff9d66", "#4fd1a5", "#e58fc4", "#e6c84f", "#a5d8ff", "#bdbdbd", "#d9a066")

_STYLE = """
:root { color-scheme: light dark; --back: #fcfcfa; --ink: #1d2327; --soft: #5c6870; --line: #d9dee2; --card: #fff;
  --good: #00785a; --bad: #b3261e; WAYS_LIGHT }
@media (prefers-color-scheme: dark) { :root { --back: #14181b; --ink: #e6eaed; --soft: #9aa7b0; --line: #323a40;
  --card: #1b2024; --good: #4fd1a5; --bad: #ff8f87; WAYS_DARK } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR",
  "Noto Sans CJK KR", NanumGothic, sans-serif; word-break: keep-all; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .75rem; }
p { margin: .4rem 0; } .soft, caption { color: var(--soft); font-size: .9rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .75rem;
  overflow-x: auto; }
svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
svg text { fill: var(--ink); font-size: 12px; } svg .tick { fill: var(--soft); font-size: 11px; }
svg .head { font-weight: 600; font-size: 13px; } svg .name { fill: currentColor; font-weight: 600; }
svg .grid { stroke: var(--line); fill: none; } svg .dot { fill: currentColor; }
svg .bar { stroke: currentColor; stroke-width: 4; stroke-linecap: round; opacity: .45; fill: none; }
svg .whisker { stroke: currentColor; stroke-width: 2; opacity: .5; fill: none; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; padding-top: .5rem; }
th, td { padding: .4rem .45rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } td.text { white-space: normal; }
td small { display: block; color: var(--soft); font-size: .75rem; } th { font-weight: 600; }
.best { font-weight: 700; } .up { color: var(--good); } .down { color: var(--bad); } .way { font-weight: 600; }
details { border-bottom: 1px solid var(--line); padding: .55rem 0; }
summary { cursor: pointer; } summary .way { font-size: .8rem; margin-left: .5rem; }
details > div { padding: .5rem 0 .75rem 1.1rem; } h3 { font-size: .95rem; margin: 1rem 0 .25rem; }
ol { margin: .25rem 0; padding-left: 1.5rem; } pre { font-size: .8rem; white-space: pre-wrap; margin: .4rem 0;
  color: var(--soft); font-family: ui-monospace, "D2Coding", NanumGothicCoding, monospace; }
"""


def make_html(report: Report, max_missed: int = 300, depth: int = MISS_DEPTH) -> str:
    """The whole report: quality by way, quality against time, the table, and what each way missed and why.

    Args:
        report: Of `evaluate`.
        max_missed: How many missed questions are shown at most, those that most ways missed first.
        depth: A question counts as missed when a relevant document is not among so many.
    """
    data = report.dataset
    missed = missed_questions(report, depth)
    first = next(iter(report.ways))
    body = [
        f"<h1>{escape(data.name)}</h1>",
        f'<p class="soft">{len(report.queries):,} questions over {len(data.documents):,} documents; '
        f"{len(report.ways)} ways of searching, compared by Silmari.</p>",
        *(f'<p class="soft">{escape(note)}</p>' for note in report.notes),
        "<h2>Quality by way</h2>",
        '<p class="soft">Dot: mean over all questions. Bar: 95 % bootstrap interval.</p>',
        '<div class="panels">',
        *(f'<div class="card">{panel}</div>' for panel in quality_panels(report)),
        "</div>",
        "<h2>Quality against time</h2>",
        f'<div class="card">{quality_against_time(report)}</div>',
        "<h2>All numbers</h2>",
        f'<div class="card">{_table(report, first)}</div>',
        f"<h2>What was missed</h2>{_missed_intro(report, missed, max_missed, depth)}",
        *(_question(report, question) for question in missed[:max_missed]),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(data.name)} – Silmari evaluation</title><style>{_style()}</style></head>\n"
        f"<body>{chr(10).join(body)}</body></html>\n"
    )


def _style() -> str:
    light, dark = (
        " ".join(f"--way-{number}: {colour};" for number, colour in enumerate(colours[:COLOURS]))
        for colours in (_LIGHT, _DARK)
    )
    return _STYLE.replace("WAYS_LIGHT", light).replace("WAYS_DARK", dark)


def _way(report: Report, name: str) -> str:
    number = list(report.ways).index(name) % COLOURS
    return f'<span class="way" style="color:var(--way-{number})">{escape(name)}</span>'


def _table(report: Report, first: str) -> str:
    heads = [*map(heading, METRICS), *(name.replace("_", " ") for name in TIMES), "calls", "US$"]
    best = {metric: max(one.metrics[metric] for one in report.ways.values()) for metric in METRICS}
    rows = [
        f"<tr><td>{_way(report, name)}</td>{''.join(_quality(one, metric, best[metric]) for metric in METRICS)}"
        f"{''.join(_effort(one, column) for column in (*TIMES, 'model_calls', 'cost'))}</tr>"
        for name, one in report.ways.items()
    ]
    return (
        f"<table><caption>Below each value its 95 % bootstrap interval; the best of a column is bold. "
        f'<span class="up">▲</span> <span class="down">▼</span>: above or below {escape(first)} by the paired '
        f"bootstrap, p &lt; .05. Times, model calls and cost are per question.</caption>"
        f"<tr><th>way</th>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(rows)}</table>"
    )


def _quality(one: Summary, metric: str, best: float) -> str:
    value, (low, high) = one.metrics[metric], one.intervals[metric]
    sign = mark(one, metric)
    arrow = f'<span class="{"up" if sign == "▲" else "down"}">{sign}</span> ' if sign else ""
    tip = ""
    if metric in one.versus_first:
        against = one.versus_first[metric]
        tip = f' title="{against.mean:+.3f} ({against.low:+.3f} to {against.high:+.3f}), p {against.p:.3f}"'
    shown = f'<span class="best">{share(value)}</span>' if value == best else share(value)
    return f"<td{tip}>{arrow}{shown}<small>{share(low)}–{share(high)}</small></td>"


def _effort(one: Summary, column: str) -> str:
    show = {"model_calls": "{:.2f}".format, "cost": dollars}.get(column, milliseconds)
    value = {**one.times, "model_calls": one.model_calls, "cost": one.cost}[column]
    low, high = one.intervals[column]
    if not value and not high:
        return "<td>0</td>"
    return f"<td>{show(value)}<small>{show(low)}–{show(high)}</small></td>"


def _missed_intro(report: Report, missed: list[MissedQuestion], most: int, depth: int) -> str:
    counts = ", ".join(
        f"{_way(report, name)} {sum(any(miss.way == name for miss in one.misses) for one in missed)}"
        for name in report.ways
    )
    more = f" The {most} that most ways missed are shown." if len(missed) > most else ""
    return (
        f'<p class="soft">A question is missed when a relevant document is not among the first {depth}. '
        f"Of {len(report.queries):,} questions: {counts}.{more}</p>"
    )


def _question(report: Report, question: MissedQuestion) -> str:
    ways = "".join(_way(report, miss.way) for miss in question.misses)
    heads = "".join(f"<th>{_way(report, name)}</th>" for name in report.ways)
    rows = "".join(
        f'<tr><td class="text">{_document(report, document)}</td>'
        f"{''.join(f'<td>{rank or chr(0x2013)}</td>' for rank in ranks.values())}</tr>"
        for document, ranks in question.relevant.items()
    )
    return (
        f"<details><summary>{escape(report.dataset.queries[question.query])}{ways}</summary><div>"
        f"<table><tr><th>Relevant, and at which rank it was found</th>{heads}</tr>{rows}</table>"
        f"{''.join(_miss(report, miss) for miss in question.misses)}</div></details>"
    )


def _miss(report: Report, miss: Miss) -> str:
    instead = "".join(
        f'<li value="{rank}">{_document(report, document)} <span class="soft">score {score:.4g}</span></li>'
        for rank, document, score in miss.instead
    )
    trace = f"<pre>{escape(chr(10).join(miss.trace))}</pre>" if miss.trace else ""
    return (
        f"<h3>{_way(report, miss.way)} found instead</h3><ol>{instead}</ol>"
        f'<p class="soft">Why: {escape(miss.reason)}</p>{trace}'
    )


def _document(report: Report, document: str, length: int = 160) -> str:
    title, text = report.dataset.documents.get(document, ("", "(not in the corpus)"))
    text = " ".join(text.split())
    shown = text if len(text) <= length else f"{text[:length]}…"
    label = escape(title) if title else escape(document)
    return f'<b title="{escape(document)}">{label}</b> <span class="soft">{escape(shown)}</span>'
