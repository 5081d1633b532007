"""What a chart shows: axes, lines and dots, with no thought yet of how it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

# Values further apart than this are told apart on a logarithmic axis only.
_LOGARITHMIC_FROM: Final = 20.0
# Rows of a dot chart that stand alone.
_STRIPS_OF_ONE: Final = 6


@dataclass(frozen=True)
class Axis:
    """`ticks` are the values to mark where they are known; else they are chosen. A linear axis begins at 0, and ends at
    `top` where that is known. `domain` are values that must have a place on it: charts side by side share an axis.
    On an `is_even` axis its ticks are equally far from one another, whatever they are: 0, 1, 10 and 50."""

    label: str
    is_log: bool = False
    ticks: tuple[float, ...] = ()
    is_size: bool = False
    top: float | None = None
    domain: tuple[float, ...] = ()
    is_even: bool = False


@dataclass(frozen=True)
class Style:
    """How a contestant looks in all charts. `colour` and `marker` are numbers; a limit is grey and dashed."""

    colour: int
    marker: int
    is_limit: bool = False
    dash: int = 0


@dataclass(frozen=True)
class Dot:
    """A measured value. `text` is the value as it is told, `spread` how sure it is, `basis` by what that is known."""

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
    """`is_secondary` lines are thin and without a label: the 99th percentile above a median. One with `is_flat` has one
    dot, and is the same all along the axis."""

    name: str
    style: Style
    dots: tuple[Dot, ...]
    is_secondary: bool = False
    is_flat: bool = False


@dataclass(frozen=True)
class FittedCurve:
    """A calculated curve: thin, dotted, and nothing on it to point at."""

    name: str
    style: Style
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class LineChart:
    title: str
    across: Axis
    up: Axis
    lines: tuple[ChartLine, ...]
    curves: tuple[FittedCurve, ...] = ()


@dataclass(frozen=True)
class Strip:
    """A row of a dot chart: what it is about, and the dots on it, each of a look and a name."""

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


@dataclass(frozen=True)
class BarPart:
    """A part of a bar: whose it is, and how large; `text` is that as it is told."""

    name: str
    style: Style
    value: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A row of a chart of bars. Its parts follow one another; `text` tells all of them together."""

    label: str
    parts: tuple[BarPart, ...]
    text: str = ""


@dataclass(frozen=True)
class BarChart:
    """What a whole consists of, one row for each whole."""

    title: str
    across: Axis
    bars: tuple[Bar, ...]


Chart = LineChart | DotChart | BarChart


def side_by_side(
    title: str, axis: Axis, strips: Sequence[Strip], reference: float | None = None, *, is_joined: bool = False
) -> list[DotChart]:
    """One chart, or two of one axis where one would be too long for a screen or a page."""
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
    """Whether values are so far apart that only a logarithmic axis shows all of them."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) / min(known) >= _LOGARITHMIC_FROM
