"""Charts as SVG within a page. Colours are the page's, so that light, dark and paper look right.

Every dot has its value as attributes, for the script that shows values under the pointer, and as a `title`, for pages
without a script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Final

from ostler.pipeline.report.charts.charts import (
    Axis,
    Bar,
    BarChart,
    Chart,
    ChartLine,
    Dot,
    DotChart,
    FittedCurve,
    LineChart,
    Strip,
    Style,
)
from ostler.pipeline.report.charts.scales import Scale, apart, evenly, linear, logarithmic, thinned, tick_text, ticks
from ostler.pipeline.report.charts.topology import TopologyDrawing, topology_svg

_WIDTH: Final = 410
_HEIGHT: Final = 300
_LEFT: Final = 44
_RIGHT: Final = 108
_TOP: Final = 50
_BOTTOM: Final = 46
_LINE_HEIGHT: Final = 13
_LABEL_CHARACTERS: Final = 15
_LABEL_LINES: Final = 3
_DIGIT_PIXELS: Final = 7.0
_TICK_GAP: Final = 8.0

# Names of rows are above them, not beside: so the chart can be read on a phone.
_STRIP_LEFT: Final = 18
_STRIP_RIGHT: Final = 22
_STRIP_HEIGHT: Final = 40
_STRIP_CHARACTERS: Final = 58

# The total is written beside a bar.
_BAR_RIGHT: Final = 64
_BAR_HEIGHT: Final = 13

_BREAKS: Final = re.compile(r"(?<!\d) +")
_DASHES: Final = ("", "6 3", "2 3", "8 3 2 3")


def chart_svg(chart: Chart, anchor: str) -> str:
    """Return a chart as SVG. `anchor` makes the names inside unique on the page."""
    if isinstance(chart, LineChart):
        return _line_chart(chart, anchor)
    if isinstance(chart, TopologyDrawing):
        return topology_svg(chart, anchor)
    return _bar_chart(chart, anchor) if isinstance(chart, BarChart) else _dot_chart(chart, anchor)


def _opening(width: int, height: int, title: str, text: str, anchor: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" style="max-width:{width * 1.25:.0f}px" role="img" '
        f'tabindex="0" aria-labelledby="{anchor}-t {anchor}-d"><title id="{anchor}-t">{escape(title)}</title>'
        f'<desc id="{anchor}-d">{escape(text)}</desc>'
    )


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _paint(style: Style) -> str:
    return "limit" if style.is_limit else f"c{style.colour}"


def _marker(x: float, y: float, style: Style, more: str = "", title: str = "") -> str:
    """Return a marker: shapes as well as colours, for readers who see few colours and for black-and-white paper."""
    shapes = (
        "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
        "M-3.6,-3.6h7.2v7.2h-7.2z",
        "M0,-4.8L4.6,3.6H-4.6z",
        "M0,-5L5,0L0,5L-5,0z",
        "M0,4.8L4.6,-3.6H-4.6z",
        "M-1.5,-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    )
    inside = f"<title>{escape(title)}</title>" if title else ""
    kind = f"dot {_paint(style)}" if more else f"key {_paint(style)}"
    path = shapes[style.marker % len(shapes)]
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{path}" class="{kind}"{more}>{inside}</path>'


def _dot(x: float, y: float, name: str, style: Style, dot: Dot) -> str:
    fields = {"name": name, "across": dot.across, "value": dot.text, "spread": dot.spread, "basis": dot.basis}
    attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in fields.items() if value)
    sure = ", ".join(each for each in (dot.spread, dot.basis) if each)
    title = f"{name}, {dot.across}: {dot.text}" + (f" ({sure})" if sure else "")
    return _marker(x, y, style, f' data-x="{x:.1f}"{attributes}', title)


def _width_room(value: float, *, is_size: bool = False) -> float:
    return len(tick_text(value, is_size=is_size)) * _DIGIT_PIXELS / 2 + _TICK_GAP / 2


def _height_room(value: float) -> float:
    return _LINE_HEIGHT / 2 + 2


def _scale(axis: Axis, values: Sequence[float], begin: float, end: float) -> Scale:
    if axis.is_even and len(set(axis.ticks)) > 1:
        return evenly(axis.ticks, begin, end)
    positive = [each for each in values if each > 0]
    if axis.is_log and positive:
        return logarithmic(positive, begin, end)
    return Scale(0.0, axis.top, begin, end, False) if axis.top is not None else linear(values, begin, end)


# -- lines -------------------------------------------------------------------------------------------------------------


def _line_chart(chart: LineChart, anchor: str) -> str:
    dots = [dot for line in chart.lines for dot in line.dots]
    across = _scale(chart.across, [dot.x for dot in dots], _LEFT, _WIDTH - _RIGHT)
    heights = [each for dot in dots for each in (dot.y, dot.low, dot.high) if each is not None]
    up = _scale(chart.up, heights, _HEIGHT - _BOTTOM, _TOP)
    names = ", ".join(dict.fromkeys(line.name for line in chart.lines))
    parts = [
        _opening(_WIDTH, _HEIGHT, chart.title, f"{chart.up.label} by {chart.across.label}: {names}.", anchor),
        _text(8, 16, chart.title, "heading"),
        *_up_axis(chart.up, up),
        *_across_axis(chart.across, across, _TOP, _HEIGHT - _BOTTOM),
    ]
    parts += [_band(line, across, up) for line in chart.lines]
    parts += [_curve(curve, across, up) for curve in chart.curves]
    parts += [each for line in chart.lines for each in _line(line, across, up)]
    parts += _labels([line for line in chart.lines if not line.is_secondary], across, up)
    parts.append(f'<line class="cross" x1="0" x2="0" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/></svg>')
    return "".join(parts)


def _up_axis(axis: Axis, scale: Scale) -> list[str]:
    parts = []
    for value in thinned(ticks(scale), scale, _height_room):
        y = scale.at(value)
        parts.append(_rule(_LEFT, y, _WIDTH - _RIGHT, y, "zero" if value == 0 else "grid"))
        parts.append(_text(_LEFT - 7, y + 4, tick_text(value), "tick", "end"))
    # Above the axis, not rotated along it.
    parts.append(_text(8, 33, axis.label + (" (log)" if scale.is_log else ""), "axis"))
    return parts


def _across_axis(axis: Axis, scale: Scale, top: float, bottom: float) -> list[str]:
    wanted = list(axis.ticks) or ticks(scale)
    parts = [_rule(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "zero")]
    for value in thinned(wanted, scale, lambda value: _width_room(value, is_size=axis.is_size)):
        x = scale.at(value)
        parts.append(_rule(x, bottom, x, bottom + 4, "zero"))
        parts.append(_text(x, bottom + 17, tick_text(value, is_size=axis.is_size), "tick", "middle"))
    label = axis.label + (" (log)" if scale.is_log else " (not to scale)" if scale.marks else "")
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 37, label, "axis", "middle"))
    return parts


def _band(line: ChartLine, across: Scale, up: Scale) -> str:
    """Return the uncertainty of values: a band along a line, a bar where there is one dot only."""
    known = [(dot, dot.low, dot.high) for dot in line.dots if dot.low is not None and dot.high is not None]
    if len(known) == 1:
        dot, low, high = known[0]
        x = across.at(dot.x)
        return f'<path d="M{x:.1f},{up.at(low):.1f}V{up.at(high):.1f}" class="whisker {_paint(line.style)}"/>'
    if not known:
        return ""
    over = [f"{across.at(dot.x):.1f},{up.at(high):.1f}" for dot, _, high in known]
    under = [f"{across.at(dot.x):.1f},{up.at(low):.1f}" for dot, low, _ in reversed(known)]
    return f'<polygon points="{" ".join(over + under)}" class="band {_paint(line.style)}"/>'


def _line(line: ChartLine, across: Scale, up: Scale) -> list[str]:
    places = [(across.at(dot.x), up.at(dot.y)) for dot in line.dots]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    if line.is_flat:
        path = f"{across.begin:.1f},{places[0][1]:.1f} {across.end:.1f},{places[0][1]:.1f}"
    dash = "3 3" if line.is_secondary else _DASHES[line.style.dash % len(_DASHES)]
    kind = f"line {_paint(line.style)}" + (" secondary" if line.is_secondary else "")
    drawn = f'<polyline points="{path}" class="{kind}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>"
    return [drawn, *(_dot(x, y, line.name, line.style, dot) for (x, y), dot in zip(places, line.dots, strict=True))]


def _curve(curve: FittedCurve, across: Scale, up: Scale) -> str:
    path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve.points)
    title = f"<title>{escape(curve.name)}</title>"
    return f'<polyline points="{path}" class="fit {_paint(curve.style)}">{title}</polyline>'


def _labels(lines: Sequence[ChartLine], across: Scale, up: Scale) -> list[str]:
    """Return names beside the ends of the lines, so that no legend is needed."""
    wrapped = [wrap(line.name, _LABEL_CHARACTERS, _LABEL_LINES) for line in lines]
    wanted = [up.at(line.dots[-1].y) for line in lines]
    heights = [len(words) * _LINE_HEIGHT + 2.0 for words in wrapped]
    places = apart(wanted, heights, _TOP - 8, _HEIGHT - _BOTTOM + 12)
    left = _WIDTH - _RIGHT + 12
    parts = []
    for line, words, end, place in zip(lines, wrapped, wanted, places, strict=True):
        x = across.end if line.is_flat else across.at(line.dots[-1].x)
        parts.append(f'<path d="M{x + 5:.1f},{end:.1f}L{left - 3:.1f},{place:.1f}" class="leader"/>')
        first = place - (len(words) - 1) * _LINE_HEIGHT / 2 + 4
        parts += [
            _text(left, first + number * _LINE_HEIGHT, word, f"label {_paint(line.style)}")
            for number, word in enumerate(words)
        ]
    return parts


def wrap(name: str, characters: int, lines: int = 2) -> list[str]:
    """Return a name on at most this many lines; a longer one ends in an ellipsis."""
    found = [""]
    # A number stays with its unit.
    for word in _BREAKS.split(name.strip()):
        joined = f"{found[-1]} {word}".strip()
        if len(joined) <= characters or not found[-1]:
            found[-1] = joined
        else:
            found.append(word)
    kept = found[:lines]
    if len(found) > lines:
        kept[-1] += "…"
    return [each if len(each) <= characters + 1 else each[:characters] + "…" for each in kept]


# -- dots --------------------------------------------------------------------------------------------------------------


def _dot_chart(chart: DotChart, anchor: str) -> str:
    dots = [dot for strip in chart.strips for _, _, dot in strip.dots]
    values = [each for dot in dots for each in (dot.x, dot.low, dot.high) if each is not None]
    if chart.reference is not None:
        values.append(chart.reference)
    values += chart.across.domain
    scale = _scale(chart.across, values, _STRIP_LEFT, _WIDTH - _STRIP_RIGHT)
    # The dots drawn last, on top, are named first.
    keys, top = _keys({name: style for strip in chart.strips for name, style, _ in reversed(strip.dots)})
    places = list(accumulate(_strip_height(strip) for strip in chart.strips))
    bottom = top + places[-1]
    names = ", ".join(strip.label for strip in chart.strips)
    parts = [
        _opening(_WIDTH, round(bottom) + 48, chart.title, f"{chart.across.label} of {names}.", anchor),
        _text(8, 16, chart.title, "heading"),
        *keys,
    ]
    for value in thinned(ticks(scale), scale, _width_room):
        x = scale.at(value)
        parts.append(_rule(x, top + 6, x, bottom, "grid"))
        parts.append(_text(x, bottom + 17, tick_text(value), "tick", "middle"))
    if chart.reference is not None:
        x = scale.at(chart.reference)
        parts.append(_rule(x, top - 4, x, bottom + 2, "zero"))
    label = chart.across.label + (" (log)" if scale.is_log else "")
    parts.append(_text((_STRIP_LEFT + _WIDTH - _STRIP_RIGHT) / 2, bottom + 38, label, "axis", "middle"))
    for strip, place in zip(chart.strips, places, strict=True):
        parts += _strip(strip, top + place - 12, scale, chart.is_joined)
    return "".join([*parts, "</svg>"])


def _strip_height(strip: Strip) -> float:
    return _STRIP_HEIGHT + (len(wrap(strip.label, _STRIP_CHARACTERS)) - 1) * _LINE_HEIGHT


def _keys(styles: Mapping[str, Style]) -> tuple[list[str], float]:
    """Return the legend above the rows, and where the rows begin."""
    parts: list[str] = []
    x, y = 14.0, 36.0
    for name, style in styles.items():
        width = 30 + 6.9 * len(name)
        if x + width > _WIDTH + 12 and x > 14:
            x, y = 14.0, y + 19
        parts += [_marker(x, y, style), _text(x + 9, y + 4, name, f"label {_paint(style)}")]
        x += width
    return parts, y + 14


def _strip(strip: Strip, y: float, scale: Scale, is_joined: bool) -> list[str]:
    words = wrap(strip.label, _STRIP_CHARACTERS)
    label = "".join(
        _text(8, y - 10 - (len(words) - 1 - number) * _LINE_HEIGHT, word, "name") for number, word in enumerate(words)
    )
    parts = [
        _rule(_STRIP_LEFT, y, _WIDTH - _STRIP_RIGHT, y, "row"),
        f"<g>{label}<title>{escape(strip.label)}</title></g>",
    ]
    if is_joined and len(strip.dots) > 1:
        places = [scale.at(dot.x) for _, _, dot in strip.dots]
        parts.append(_rule(min(places), y, max(places), y, "joint"))
    for name, style, dot in strip.dots:
        if dot.low is not None and dot.high is not None:
            low, high = scale.at(dot.low), scale.at(dot.high)
            parts.append(f'<path d="M{low:.1f},{y:.1f}H{high:.1f}" class="whisker {_paint(style)}"/>')
        parts.append(_dot(scale.at(dot.x), y, name, style, dot))
    return parts


# -- bars --------------------------------------------------------------------------------------------------------------


def _bar_chart(chart: BarChart, anchor: str) -> str:
    keys, top = _keys({part.name: part.style for bar in chart.bars for part in bar.parts})
    wholes = [sum(part.value for part in bar.parts) for bar in chart.bars]
    scale = linear(wholes, _STRIP_LEFT, _WIDTH - _BAR_RIGHT)
    bottom = top + len(chart.bars) * _STRIP_HEIGHT
    names = ", ".join(bar.label for bar in chart.bars)
    parts = [
        _opening(_WIDTH, round(bottom) + 48, chart.title, f"{chart.across.label} of {names}.", anchor),
        _text(8, 16, chart.title, "heading"),
        *keys,
    ]
    for value in thinned(ticks(scale), scale, _width_room):
        x = scale.at(value)
        parts.append(_rule(x, top + 6, x, bottom, "zero" if value == 0 else "grid"))
        parts.append(_text(x, bottom + 17, tick_text(value), "tick", "middle"))
    parts.append(_text((scale.begin + scale.end) / 2, bottom + 38, chart.across.label, "axis", "middle"))
    for number, bar in enumerate(chart.bars):
        parts += _bar(bar, top + number * _STRIP_HEIGHT, scale)
    return "".join([*parts, "</svg>"])


def _bar(bar: Bar, top: float, scale: Scale) -> list[str]:
    (label,) = wrap(bar.label, _STRIP_CHARACTERS, 1)
    parts = [f"<g>{_text(_STRIP_LEFT, top + 17, label, 'name')}<title>{escape(bar.label)}</title></g>"]
    ends = list(accumulate((part.value for part in bar.parts), initial=0.0))
    for part, begin, end in zip(bar.parts, ends, ends[1:], strict=False):
        x, width = scale.at(begin), scale.at(end) - scale.at(begin)
        fields = {"name": part.name, "across": bar.label, "value": part.text}
        attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in fields.items())
        parts.append(
            f'<rect x="{x:.1f}" y="{top + 22:.1f}" width="{width:.1f}" height="{_BAR_HEIGHT}" '
            f'class="dot {_paint(part.style)}" data-x="{x:.1f}"{attributes}>'
            f"<title>{escape(f'{bar.label}, {part.name}: {part.text}')}</title></rect>"
        )
    parts.append(_text(scale.at(ends[-1]) + 6, top + 22 + _BAR_HEIGHT - 2, bar.text, "tick"))
    return parts
