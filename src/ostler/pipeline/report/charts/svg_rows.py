"""Charts with a row for each name, as SVG: dots with intervals, and bars of parts.

Names of rows are above them, not beside: so the chart can be read on a phone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from itertools import accumulate
from typing import Final

from ostler.pipeline.report.charts.charts import Bar, BarChart, DotChart, Strip
from ostler.pipeline.report.charts.labels import LINE_HEIGHT, wrap_pixels
from ostler.pipeline.report.charts.scales import Scale, linear, thinned, tick_text, ticks
from ostler.pipeline.report.charts.svg_parts import (
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

_STRIP_LEFT: Final = 18
_STRIP_RIGHT: Final = 22
_STRIP_HEIGHT: Final = 40
_ROW_PIXELS: Final = WIDTH - 12.0
_LEGEND_TOP: Final = 36.0

# The total is written beside a bar.
_BAR_RIGHT: Final = 64
_BAR_HEIGHT: Final = 13


def _description(chart: DotChart | BarChart, names: str) -> str:
    return f"{chart.across.label} of {names or 'nothing measured'}. {chart.sentence}".rstrip()


def dot_chart(chart: DotChart, anchor: str) -> str:
    """Return a chart of dots. Dots without a finite value are left out; their rows stay."""
    chart = replace(chart, strips=tuple(_finite(strip) for strip in chart.strips))
    dots = [dot for strip in chart.strips for _, _, dot in strip.dots]
    values = [each for dot in dots for each in (dot.x, dot.low, dot.high) if each is not None]
    if chart.reference is not None:
        values.append(chart.reference)
    scale = axis_scale(chart.across, values, _STRIP_LEFT, WIDTH - _STRIP_RIGHT)
    # The dots drawn last, on top, are named first.
    keys, top = legend({name: style for strip in chart.strips for name, style, _ in reversed(strip.dots)}, _LEGEND_TOP)
    places = list(accumulate((_strip_height(strip) for strip in chart.strips), initial=0.0))[1:]
    bottom = top + (places[-1] if places else 0.0)
    names = ", ".join(strip.label for strip in chart.strips)
    parts = [
        opening(WIDTH, round(bottom) + 48, chart.title, _description(chart, names), anchor),
        heading(chart.title),
        *keys,
    ]
    for value in thinned(ticks(scale), scale, tick_room):
        x = scale.at(value)
        parts.append(rule(x, top + 6, x, bottom, "grid"))
        parts.append(text(x, bottom + 17, tick_text(value), "tick", "middle"))
    if chart.reference is not None:
        x = scale.at(chart.reference)
        parts.append(rule(x, top - 4, x, bottom + 2, "zero"))
    label = chart.across.label + (" (log)" if scale.is_log else "")
    parts.append(text((_STRIP_LEFT + WIDTH - _STRIP_RIGHT) / 2, bottom + 38, label, "axis", "middle"))
    for strip, place in zip(chart.strips, places, strict=True):
        parts += _strip(strip, top + place - 12, scale, chart.is_joined)
    return "".join([*parts, "</svg>"])


def _finite(strip: Strip) -> Strip:
    return replace(strip, dots=tuple(each for each in strip.dots if math.isfinite(each[2].x)))


def _wrapped(label: str) -> tuple[str, ...]:
    return wrap_pixels(label, _ROW_PIXELS, 2)


def _strip_height(strip: Strip) -> float:
    return _STRIP_HEIGHT + (len(_wrapped(strip.label)) - 1) * LINE_HEIGHT


def _strip(strip: Strip, y: float, scale: Scale, is_joined: bool) -> list[str]:
    words = _wrapped(strip.label)
    label = "".join(
        text(8, y - 10 - (len(words) - 1 - number) * LINE_HEIGHT, word, "name") for number, word in enumerate(words)
    )
    parts = [
        rule(_STRIP_LEFT, y, WIDTH - _STRIP_RIGHT, y, "row"),
        f"<g>{label}<title>{escape(strip.label)}</title></g>",
    ]
    if is_joined and len(strip.dots) > 1:
        places = [scale.at(dot.x) for _, _, dot in strip.dots]
        parts.append(rule(min(places), y, max(places), y, "joint"))
    for name, style, dot in strip.dots:
        if dot.low is not None and dot.high is not None:
            low, high = scale.at(dot.low), scale.at(dot.high)
            parts.append(f'<path d="M{low:.1f},{y:.1f}H{high:.1f}" class="whisker {paint(style)}"/>')
        parts.append(dot_mark(scale.at(dot.x), y, name, style, dot))
    return parts


# -- bars --------------------------------------------------------------------------------------------------------------


def bar_chart(chart: BarChart, anchor: str) -> str:
    keys, top = legend({part.name: part.style for bar in chart.bars for part in bar.parts}, _LEGEND_TOP)
    wholes = [sum(part.value for part in bar.parts) for bar in chart.bars]
    scale = linear(wholes, _STRIP_LEFT, WIDTH - _BAR_RIGHT)
    bottom = top + len(chart.bars) * _STRIP_HEIGHT
    names = ", ".join(bar.label for bar in chart.bars)
    parts = [
        opening(WIDTH, round(bottom) + 48, chart.title, _description(chart, names), anchor),
        heading(chart.title),
        *keys,
    ]
    for value in thinned(ticks(scale), scale, tick_room):
        x = scale.at(value)
        parts.append(rule(x, top + 6, x, bottom, "zero" if value == 0 else "grid"))
        parts.append(text(x, bottom + 17, tick_text(value), "tick", "middle"))
    parts.append(text((scale.begin + scale.end) / 2, bottom + 38, chart.across.label, "axis", "middle"))
    for number, bar in enumerate(chart.bars):
        parts += _bar(bar, top + number * _STRIP_HEIGHT, scale)
    return "".join([*parts, "</svg>"])


def _bar(bar: Bar, top: float, scale: Scale) -> list[str]:
    (label,) = wrap_pixels(bar.label, _ROW_PIXELS, 1)
    parts = [f"<g>{text(_STRIP_LEFT, top + 17, label, 'name')}<title>{escape(bar.label)}</title></g>"]
    ends = list(accumulate((part.value for part in bar.parts), initial=0.0))
    for part, begin, end in zip(bar.parts, ends, ends[1:], strict=False):
        x, width = scale.at(begin), scale.at(end) - scale.at(begin)
        fields = {"name": part.name, "across": bar.label, "value": part.text}
        attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in fields.items())
        parts.append(
            f'<rect x="{x:.1f}" y="{top + 22:.1f}" width="{width:.1f}" height="{_BAR_HEIGHT}" '
            f'class="dot {paint(part.style)}" data-x="{x:.1f}"{attributes}>'
            f"<title>{escape(f'{bar.label}, {part.name}: {part.text}')}</title></rect>"
        )
    parts.append(text(scale.at(ends[-1]) + 6, top + 22 + _BAR_HEIGHT - 2, bar.text, "tick"))
    return parts
