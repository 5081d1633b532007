"""A line chart as SVG, on logarithmic axes: enough for a result to be looked at beside its file."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from ostler.lab.bench.result import Chart

_WIDTH, _HEIGHT = 790, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 220, 44, 54
_COLOURS = (
    "#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#9a6700", "#57606a", "#0a7ea4", "#bf3989", "#e16f24", "#24292f",
)  # fmt: skip


class _Axis:
    """Whole decades from the lowest to the highest value, spread over some pixels."""

    def __init__(self, values: list[float], begin: int, end: int) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._begin + share * (self._end - self._begin)

    def decades(self) -> list[int]:
        return [10**power for power in range(max(self._low, 0), self._high + 1)]


def svg(chart: Chart) -> str:
    """The chart as a whole SVG file. Values must be above 0."""
    points = [point for line in chart.lines.values() for point in line]
    across = _Axis([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 24, chart.title, 'font-size="15"'),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, chart.across, 'text-anchor="middle"'),
        _text(0, 0, chart.up, f'text-anchor="middle" transform="translate(18 {_HEIGHT / 2}) rotate(-90)"'),
    ]
    for value in across.decades():
        parts.append(_rule(across.at(value), _TOP, across.at(value), _HEIGHT - _BOTTOM))
        parts.append(_text(across.at(value), _HEIGHT - _BOTTOM + 18, f"{value:,}", 'text-anchor="middle"'))
    for value in up.decades():
        parts.append(_rule(_LEFT, up.at(value), _WIDTH - _RIGHT, up.at(value)))
        parts.append(_text(_LEFT - 8, up.at(value) + 4, f"{value:,}", 'text-anchor="end"'))
    for number, (name, line) in enumerate(chart.lines.items()):
        parts += _line(name, [(across.at(x), up.at(y)) for x, y in line], number)
    return "\n".join([*parts, "</svg>", ""])


def _line(name: str, points: list[tuple[float, float]], number: int) -> list[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    legend = _TOP + 16 + 20 * number
    at = _WIDTH - _RIGHT + 16
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points),
        f'<rect x="{at}" y="{legend - 9}" width="12" height="10" fill="{colour}"/>',
        _text(at + 18, legend, name, ""),
    ]


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#d0d7de"/>'


def _text(x: float, y: float, words: str, attributes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(words)}</text>'
