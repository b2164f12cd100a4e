"""The report's plots as inline SVG: no script, no font and no colour that the page's style does not set.

Colours are the CSS variables ``--way-0`` to ``--way-7`` of the page, so that plots follow light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from silmari.evaluation.metrics import METRICS
from silmari.evaluation.runner import Report, Summary
from silmari.evaluation.table import heading, milliseconds, share

COLOURS = 8

_PANEL = 330
_NAMES = 108
_ROW = 26
_TOP = 30
_FOOT = 26

_WIDE = 860
_TALL = 380
_LEFT = 56
_RIGHT = 110


def quality_panels(report: Report) -> list[str]:
    """One SVG for each metric: the ways below each other, a dot for the mean, a bar for its 95 % interval."""
    low, high = _axis(report, METRICS)
    return [_panel(report, metric, low, high) for metric in METRICS]


def _panel(report: Report, metric: str, low: float, high: float) -> str:
    height = _TOP + _ROW * len(report.ways) + _FOOT
    bottom = height - _FOOT
    span = _PANEL - _NAMES - 24

    def x(value: float) -> float:
        return _NAMES + (value - low) / (high - low) * span

    parts = [f'<text class="head" x="{_NAMES}" y="16">{heading(metric)}</text>']
    for tick in _tenths(low, high):
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:.1f}</text>')
    for at, (name, summary) in enumerate(report.ways.items()):
        y = _TOP + _ROW * (at + 0.5)
        start, end = summary.intervals[metric]
        mean = summary.metrics[metric]
        tip = f"{escape(name)}: {share(mean)} ({share(start)}–{share(end)})"
        parts.append(
            f'<g style="color:var(--way-{at % COLOURS})"><title>{tip}</title>'
            f'<text class="name" x="{_NAMES - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(name))}</text>'
            f'<path class="bar" d="M{x(start):.1f} {y:.1f}H{x(end):.1f}"/>'
            f'<circle class="dot" cx="{x(mean):.1f}" cy="{y:.1f}" r="5"/></g>'
        )
    label = f"{heading(metric)} by way with 95 % intervals"
    return _svg(_PANEL, height, label, parts)


def quality_against_time(report: Report, metric: str = "ndcg@10") -> str:
    """One SVG: a dot for each way at its median time (logarithmic) and mean, a thin line on to its p95 time."""
    ways = report.ways
    times = [max(time, 0.001) for one in ways.values() for time in one.times.values()]
    decades = (math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)) + 1e-9))
    if decades[0] == decades[1]:
        decades = (decades[0], decades[1] + 1)
    low, high = _axis(report, [metric])
    bottom = _TALL - 46

    def x(ms: float) -> float:
        part = (math.log10(max(ms, 0.001)) - decades[0]) / (decades[1] - decades[0])
        return _LEFT + part * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - 24)

    parts = []
    for decade in range(decades[0], decades[1] + 1):
        at = x(10.0**decade)
        parts.append(f'<path class="grid" d="M{at:.1f} 24V{bottom}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**decade:g}</text>')
    for tick in _tenths(low, high):
        parts.append(f'<path class="grid" d="M{_LEFT} {y(tick):.1f}H{_WIDE - _RIGHT}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>')
    middle = (_LEFT + _WIDE - _RIGHT) / 2
    parts.append(
        f'<text class="tick" x="{middle:.0f}" y="{_TALL - 8}" text-anchor="middle">'
        "milliseconds per question: median, and p95 at the line's end (logarithmic)</text>"
    )
    parts.append(f'<text class="head" x="{_LEFT - 40}" y="14">{heading(metric)}</text>')
    places = _label_places([(x(one.times["p50_ms"]), y(one.metrics[metric])) for one in ways.values()])
    for at, ((name, one), place) in enumerate(zip(ways.items(), places, strict=True)):
        parts.append(_point(at, name, one, metric, x(one.times["p50_ms"]), x(one.times["p95_ms"]), y, place))
    return _svg(_WIDE, _TALL, f"{heading(metric)} against search time by way", parts)


def _point(
    at: int,
    name: str,
    one: Summary,
    metric: str,
    middle: float,
    slow: float,
    y: Callable[[float], float],
    place: tuple[float, float],
) -> str:
    mean, (low, high) = one.metrics[metric], one.intervals[metric]
    tip = f"{escape(name)}: {share(mean)} at {milliseconds(one.times['p50_ms'])} ms"
    return (
        f'<g style="color:var(--way-{at % COLOURS})"><title>{tip}</title>'
        f'<path class="whisker" d="M{middle:.1f} {y(low):.1f}V{y(high):.1f}M{middle:.1f} {y(mean):.1f}H{slow:.1f}"/>'
        f'<circle class="dot" cx="{middle:.1f}" cy="{y(mean):.1f}" r="6"/>'
        f'<text class="name" x="{place[0]:.1f}" y="{place[1]:.1f}">{escape(_short(name))}</text></g>'
    )


def _label_places(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Right above each point, moved up as long as an earlier label stands there."""
    places: list[tuple[float, float]] = []
    for x, y in points:
        spot = (x + 10, y - 8)
        while any(abs(spot[0] - other[0]) < 90 and abs(spot[1] - other[1]) < 15 for other in places):
            spot = (spot[0], spot[1] - 3)
        places.append(spot)
    return places


def _axis(report: Report, metrics: Sequence[str]) -> tuple[float, float]:
    """Both ends of the axis that shows all intervals of these metrics, in tenths."""
    ends = [end for one in report.ways.values() for metric in metrics for end in one.intervals[metric]]
    low, high = math.floor(min(ends) * 10) / 10, math.ceil(max(ends) * 10) / 10
    return (low, high) if low < high else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def _tenths(low: float, high: float) -> list[float]:
    """Every tenth, or every second one where there are many."""
    first, last = round(low * 10), round(high * 10)
    return [number / 10 for number in range(first, last + 1, 1 if last - first <= 6 else 2)]


def _short(name: str) -> str:
    return name if len(name) <= 13 else f"{name[:11].rstrip()}…"


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )
