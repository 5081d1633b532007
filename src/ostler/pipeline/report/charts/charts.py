"""The content of charts: axes, lines and dots, independent of drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ostler.pipeline.report.charts.topology import TopologyDrawing

# Values further apart than this need a logarithmic axis.
_LOGARITHMIC_FROM: Final = 20.0
# Rows of a dot chart with a single dot.
_STRIPS_OF_ONE: Final = 6


@dataclass(frozen=True)
class Axis:
    """An axis. `ticks` are the values to mark where they are known; else they are chosen. A linear axis begins at 0,
    and ends at `top` where that is known. `domain` are values that it must include: charts side by side share an axis.
    On an `is_even` axis ticks are equally spaced, whatever they are: 0, 1, 10 and 50."""

    label: str
    is_log: bool = False
    ticks: tuple[float, ...] = ()
    is_size: bool = False
    top: float | None = None
    domain: tuple[float, ...] = ()
    is_even: bool = False


@dataclass(frozen=True)
class Style:
    """The style of a contestant in all charts. `colour` and `marker` are numbers; a limit is grey and dashed."""

    colour: int
    marker: int
    is_limit: bool = False
    dash: int = 0


@dataclass(frozen=True)
class Dot:
    """A measured value. `text` is the value as text, `spread` its uncertainty, `basis` the source of that."""

    x: float
    y: float
    low: float | None
    high: float | None
    across: str
    text: str
    spread: str = ""
    basis: str = ""


@dataclass(frozen=True)
class ChartLine:
    """A line. `is_secondary` lines are thin and without a label: the 99th percentile above a median. One with `is_flat`
    has one dot, and is constant along the axis. One with `is_dense` has so many dots that they are shown under the
    pointer only: a value of every second. Lines of one `group` belong into one panel of small multiples."""

    name: str
    style: Style
    dots: tuple[Dot, ...]
    is_secondary: bool = False
    is_flat: bool = False
    is_dense: bool = False
    group: str = ""


@dataclass(frozen=True)
class FittedCurve:
    """A calculated curve: thin, dotted, without dots."""

    name: str
    style: Style
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Moment:
    """Something that happened at a place of the axis across: an upright line with its name."""

    at: float
    name: str


@dataclass(frozen=True)
class LineChart:
    """Lines with their axes. `sentence` says what the figures show. `backdrop` are lines of other panels: thin, grey,
    without labels. A chart of details is not split into panels; of too many lines it shows some. `moments` are in
    order."""

    title: str
    across: Axis
    up: Axis
    lines: tuple[ChartLine, ...]
    curves: tuple[FittedCurve, ...] = ()
    sentence: str = ""
    backdrop: tuple[ChartLine, ...] = ()
    is_detail: bool = False
    moments: tuple[Moment, ...] = ()


@dataclass(frozen=True)
class Strip:
    """A row of a dot chart: its label, and its dots, each with a style and a name."""

    label: str
    dots: tuple[tuple[str, Style, Dot], ...]


@dataclass(frozen=True)
class DotChart:
    """Values by name, one row each. `reference` is marked by a line: no change, or the same ratio."""

    title: str
    across: Axis
    strips: tuple[Strip, ...]
    reference: float | None = None
    is_joined: bool = False
    sentence: str = ""


@dataclass(frozen=True)
class BarPart:
    """A part of a bar: its name and its value; `text` is the value as text."""

    name: str
    style: Style
    value: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart. Its parts follow one another; `text` is their total."""

    label: str
    parts: tuple[BarPart, ...]
    text: str = ""


@dataclass(frozen=True)
class BarChart:
    """The parts of a whole, one row for each whole."""

    title: str
    across: Axis
    bars: tuple[Bar, ...]
    sentence: str = ""


Chart = LineChart | DotChart | BarChart | TopologyDrawing


def side_by_side(
    title: str, axis: Axis, strips: Sequence[Strip], reference: float | None = None, *, is_joined: bool = False
) -> list[DotChart]:
    """Return one chart, or two with one axis where one would be too long for a screen or a page."""
    values = [each for strip in strips for _, _, dot in strip.dots for each in (dot.x, dot.low, dot.high)]
    known = [each for each in values if each is not None]
    shared = replace(axis, domain=(min(known), max(known)))
    half = len(strips) if len(strips) <= _STRIPS_OF_ONE else (len(strips) + 1) // 2
    return [
        DotChart(title if not begin else f"{title}, continued", shared, tuple(strips[begin : begin + half]), reference,
                 is_joined)
        for begin in range(0, len(strips), half)
    ]  # fmt: skip


def spans_decades(values: Iterable[float]) -> bool:
    """Return whether values are so far apart that only a logarithmic axis shows all of them."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) / min(known) >= _LOGARITHMIC_FROM
