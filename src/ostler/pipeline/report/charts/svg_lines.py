"""Line charts as SVG: axes, bands of uncertainty, lines with dots, and the names of lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Final

from ostler.pipeline.report.charts.charts import Axis, ChartLine, Dot, FittedCurve, LineChart, Moment
from ostler.pipeline.report.charts.labels import LINE_HEIGHT, PlacedLabel, label_column, text_pixels
from ostler.pipeline.report.charts.scales import Scale, thinned, tick_text, ticks
from ostler.pipeline.report.charts.svg_parts import (
    DASHES,
    LABEL_SIZE,
    WIDTH,
    axis_scale,
    dot_mark,
    heading,
    legend,
    opening,
    paint,
    rule,
    text,
    tick_room,
)

_HEIGHT: Final = 300
_LEFT_LEAST: Final = 44
_RIGHT_LABELS: Final = 108
_RIGHT_BARE: Final = 18
_LABEL_PIXELS: Final = 95.0
_TOP: Final = 50
_BOTTOM: Final = 46


def line_chart(chart: LineChart, anchor: str) -> str:
    """Return a chart. Dots without a finite value are left out; a chart without any says so."""
    lines, backdrop = _drawable(chart.lines), _drawable(chart.backdrop)
    named = [line for line in lines if not line.is_secondary]
    heights = [each for line in (*lines, *backdrop) for dot in line.dots for each in (dot.y, dot.low, dot.high)]
    up = axis_scale(chart.up, [each for each in heights if each is not None], _HEIGHT - _BOTTOM, _TOP)
    labels = label_column(
        [line.name for line in named], [up.at(line.dots[-1].y) for line in named],
        _TOP - 8, _HEIGHT - _BOTTOM + 12, _LABEL_PIXELS, LABEL_SIZE,
    )  # fmt: skip
    left = max(_LEFT_LEAST, math.ceil(max(text_pixels(tick_text(each)) for each in ticks(up))) + 12)
    right = WIDTH - (_RIGHT_LABELS if labels else _RIGHT_BARE)
    places = [dot.x for line in (*lines, *backdrop) for dot in line.dots]
    across = axis_scale(chart.across, places, left, right)
    keys, height = ([], float(_HEIGHT)) if labels else _legend(named)
    parts = [
        opening(WIDTH, round(height), chart.title, _description(chart, named), anchor),
        heading(chart.title),
        *_up_axis(chart.up, up, left, right),
        *_across_axis(chart.across, across),
        *_moments(chart.moments, across),
        *(_backdrop(line, across, up) for line in backdrop),
        *(_band(line, across, up) for line in lines),
        *(_curve(curve, across, up) for curve in chart.curves),
        *(each for line in lines for each in _line(line, across, up)),
        *(_labels(named, labels, across) if labels else keys),
    ]
    if not lines:
        parts.append(text((left + right) / 2, (_TOP + _HEIGHT - _BOTTOM) / 2, "nothing measured", "axis", "middle"))
    parts.append(f'<line class="cross" x1="0" x2="0" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/></svg>')
    return "".join(parts)


def _drawable(lines: Sequence[ChartLine]) -> list[ChartLine]:
    kept = [replace(line, dots=tuple(_finite(dot) for dot in line.dots if _is_finite(dot))) for line in lines]
    return [line for line in kept if line.dots]


def _is_finite(dot: Dot) -> bool:
    return math.isfinite(dot.x) and math.isfinite(dot.y)


def _finite(dot: Dot) -> Dot:
    """Return a dot without an interval of which an end is unknown."""
    is_known = all(each is not None and math.isfinite(each) for each in (dot.low, dot.high))
    return dot if is_known else replace(dot, low=None, high=None)


def _description(chart: LineChart, named: Sequence[ChartLine]) -> str:
    names = ", ".join(dict.fromkeys(line.name for line in named)) or "nothing measured"
    happened = "".join(f" At {each.at:.1f}: {each.name}." for each in chart.moments)
    return f"{chart.up.label} by {chart.across.label}: {names}.{happened} {chart.sentence}".rstrip()


# -- axes --------------------------------------------------------------------------------------------------------------


def _height_room(value: float) -> float:
    return LINE_HEIGHT / 2 + 2


def _up_axis(axis: Axis, scale: Scale, left: float, right: float) -> list[str]:
    parts = []
    for value in thinned(ticks(scale), scale, _height_room):
        y = scale.at(value)
        parts.append(rule(left, y, right, y, "zero" if value == 0 else "grid"))
        parts.append(text(left - 7, y + 4, tick_text(value), "tick", "end"))
    # Above the axis, not rotated along it.
    parts.append(text(8, 33, axis.label + (" (log)" if scale.is_log else ""), "axis"))
    return parts


def _across_axis(axis: Axis, scale: Scale) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    wanted = list(axis.ticks) or ticks(scale)
    parts = [rule(scale.begin, bottom, scale.end, bottom, "zero")]
    for value in thinned(wanted, scale, lambda value: tick_room(value, is_size=axis.is_size)):
        x = scale.at(value)
        parts.append(rule(x, bottom, x, bottom + 4, "zero"))
        parts.append(text(x, bottom + 17, tick_text(value, is_size=axis.is_size), "tick", "middle"))
    label = axis.label + (" (log)" if scale.is_log else " (not to scale)" if scale.marks else "")
    parts.append(text((scale.begin + scale.end) / 2, bottom + 37, label, "axis", "middle"))
    return parts


def _moments(moments: Sequence[Moment], scale: Scale) -> list[str]:
    """Return upright lines. A name stands to the right of its line, or to the left where there is more room, and lower
    than the one before where both would meet."""
    lines: list[str] = []
    names: list[str] = []
    ends: list[float] = []
    for each in moments:
        x = scale.at(each.at)
        width = text_pixels(each.name, LABEL_SIZE)
        is_left = x + width + 4 > scale.end
        begin = x - width - 4 if is_left else x + 4
        row = next((number for number, end in enumerate(ends) if end < begin), len(ends))
        ends[row : row + 1] = [begin + width]
        place = _TOP + 10 + row * LINE_HEIGHT
        lines.append(rule(x, _TOP, x, _HEIGHT - _BOTTOM, "moment"))
        names.append(text(x - 4 if is_left else x + 4, place, each.name, "tick name", "end" if is_left else "start"))
    return [*lines, *names]


# -- lines -------------------------------------------------------------------------------------------------------------


def _path(line: ChartLine, across: Scale, up: Scale) -> str:
    if line.is_flat:
        height = up.at(line.dots[0].y)
        return f"{across.begin:.1f},{height:.1f} {across.end:.1f},{height:.1f}"
    return " ".join(f"{across.at(dot.x):.1f},{up.at(dot.y):.1f}" for dot in line.dots)


def _backdrop(line: ChartLine, across: Scale, up: Scale) -> str:
    return (
        f'<polyline points="{_path(line, across, up)}" class="backdrop"><title>{escape(line.name)}</title></polyline>'
    )


def _band(line: ChartLine, across: Scale, up: Scale) -> str:
    """Return the uncertainty of values: a band along a line, a bar where there is one dot only."""
    known = [(dot, dot.low, dot.high) for dot in line.dots if dot.low is not None and dot.high is not None]
    if len(known) == 1:
        dot, low, high = known[0]
        x = across.at(dot.x)
        return f'<path d="M{x:.1f},{up.at(low):.1f}V{up.at(high):.1f}" class="whisker {paint(line.style)}"/>'
    if not known:
        return ""
    over = [f"{across.at(dot.x):.1f},{up.at(high):.1f}" for dot, _, high in known]
    under = [f"{across.at(dot.x):.1f},{up.at(low):.1f}" for dot, low, _ in reversed(known)]
    return f'<polygon points="{" ".join(over + under)}" class="band {paint(line.style)}"/>'


def _line(line: ChartLine, across: Scale, up: Scale) -> list[str]:
    dash = "3 3" if line.is_secondary else DASHES[line.style.dash % len(DASHES)]
    kind = f"line {paint(line.style)}" + (" secondary" if line.is_secondary or line.is_dense else "")
    drawn = f'<polyline points="{_path(line, across, up)}" class="{kind}"'
    drawn += (f' stroke-dasharray="{dash}"' if dash else "") + "/>"
    hidden = "dense" if line.is_dense else ""
    return [
        drawn,
        *(dot_mark(across.at(dot.x), up.at(dot.y), line.name, line.style, dot, hidden) for dot in line.dots),
    ]


def _curve(curve: FittedCurve, across: Scale, up: Scale) -> str:
    path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve.points if math.isfinite(y))
    title = f"<title>{escape(curve.name)}</title>"
    return f'<polyline points="{path}" class="fit {paint(curve.style)}">{title}</polyline>'


# -- names -------------------------------------------------------------------------------------------------------------


def _labels(lines: Sequence[ChartLine], labels: Sequence[PlacedLabel], across: Scale) -> list[str]:
    """Return names beside the ends of the lines, each with a thin line that leads to it."""
    left = WIDTH - _RIGHT_LABELS + 12
    parts = []
    for line, label in zip(lines, labels, strict=True):
        x = across.end if line.is_flat else across.at(line.dots[-1].x)
        parts.append(f'<path d="M{x + 5:.1f},{label.wanted:.1f}L{left - 3:.1f},{label.place:.1f}" class="leader"/>')
        first = label.place - (len(label.words) - 1) * LINE_HEIGHT / 2 + 4
        parts += [
            text(left, first + number * LINE_HEIGHT, word, f"label {paint(line.style)}")
            for number, word in enumerate(label.words)
        ]
    return parts


def _legend(lines: Sequence[ChartLine]) -> tuple[list[str], float]:
    parts, end = legend({line.name: line.style for line in lines}, _HEIGHT + 8.0, has_lines=True)
    return (parts, end) if lines else ([], float(_HEIGHT))
