"""Parts of drawings: texts, rules, markers, dots, legends and scales.

Colours are the page's, so that light, dark and paper look right. Every dot has its value as attributes, for the script
that shows values under the pointer, and as a `title`, for pages without a script.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from ostler.pipeline.report.charts.charts import Axis, Dot, Style
from ostler.pipeline.report.charts.labels import text_pixels, wrap_pixels
from ostler.pipeline.report.charts.scales import Scale, evenly, linear, logarithmic, tick_text

WIDTH: Final = 410
LABEL_SIZE: Final = 11.5
HEADING_SIZE: Final = 14.0
_HEADING_LEFT: Final = 8
_TICK_GAP: Final = 8.0
_LEGEND_LEFT: Final = 14.0
_LEGEND_LINE: Final = 19.0
_SAMPLE: Final = 22.0
DASHES: Final = ("", "6 3", "2 3", "8 3 2 3")


def opening(width: int, height: int, title: str, text: str, anchor: str) -> str:
    """Return the begin of a drawing, with its name and description for those who hear the page."""
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" style="max-width:{width * 1.25:.0f}px" role="img" '
        f'tabindex="0" aria-labelledby="{anchor}-t {anchor}-d"><title id="{anchor}-t">{escape(title)}</title>'
        f'<desc id="{anchor}-d">{escape(text)}</desc>'
    )


def heading(title: str) -> str:
    """Return the title of a chart, whole in its tooltip where it is too long for one line."""
    (words,) = wrap_pixels(title, WIDTH - 2 * _HEADING_LEFT, 1, HEADING_SIZE, is_bold=True)
    drawn = text(_HEADING_LEFT, 16, words, "heading")
    return drawn if words == title else f"<g>{drawn}<title>{escape(title)}</title></g>"


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def rule(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def paint(style: Style) -> str:
    return "limit" if style.is_limit else f"c{style.colour}"


def marker(x: float, y: float, style: Style, more: str = "", title: str = "", kind: str = "") -> str:
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
    kinds = " ".join(filter(None, ("dot" if more else "key", paint(style), kind)))
    path = shapes[style.marker % len(shapes)]
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{path}" class="{kinds}"{more}>{inside}</path>'


def dot_mark(x: float, y: float, name: str, style: Style, dot: Dot, kind: str = "") -> str:
    fields = {"name": name, "across": dot.across, "value": dot.text, "spread": dot.spread, "basis": dot.basis}
    attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in fields.items() if value)
    sure = ", ".join(each for each in (dot.spread, dot.basis) if each)
    title = f"{name}, {dot.across}: {dot.text}" + (f" ({sure})" if sure else "")
    return marker(x, y, style, f' data-x="{x:.1f}"{attributes}', title, kind)


def tick_room(value: float, *, is_size: bool = False) -> float:
    """Return the space of a tick's text to both sides."""
    return text_pixels(tick_text(value, is_size=is_size)) / 2 + _TICK_GAP / 2


def axis_scale(axis: Axis, values: Sequence[float], begin: float, end: float) -> Scale:
    """Return the scale of an axis for values, of which those of its domain are some."""
    known = [each for each in (*values, *axis.domain) if math.isfinite(each)]
    if axis.is_even and len(set(axis.ticks)) > 1:
        return evenly(axis.ticks, begin, end)
    positive = [each for each in known if each > 0]
    if axis.is_log and positive:
        return logarithmic(positive, begin, end)
    return Scale(0.0, axis.top, begin, end, False) if axis.top is not None else linear(known, begin, end)


def legend(styles: Mapping[str, Style], top: float, *, has_lines: bool = False) -> tuple[list[str], float]:
    """Return a legend and the height where it ends. `has_lines` shows how lines are dashed, too."""
    parts: list[str] = []
    x, y = _LEGEND_LEFT, top
    before = _SAMPLE if has_lines else 9.0
    room = WIDTH - _LEGEND_LEFT - before
    for name, style in styles.items():
        (words,) = wrap_pixels(name, room, 1, LABEL_SIZE, is_bold=True)
        width = before + text_pixels(words, LABEL_SIZE, is_bold=True) + 14
        if x + width > WIDTH + 12 and x > _LEGEND_LEFT:
            x, y = _LEGEND_LEFT, y + _LEGEND_LINE
        if has_lines:
            dash = DASHES[style.dash % len(DASHES)]
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            parts.append(f'<path d="M{x - 8:.1f},{y:.1f}h24" class="line {paint(style)}"{dashed}/>')
        shape = marker(x + 4 if has_lines else x, y, style)
        parts += [
            shape,
            f"<g>{text(x + before, y + 4, words, f'label {paint(style)}')}<title>{escape(name)}</title></g>",
        ]
        x += width
    return parts, y + 14
