"""Charts over time: values of every second of a measured window, one line for each series."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, ChartLine, Dot, LineChart, Style, spans_decades
from ostler.pipeline.report.charts.sentences import course_sentence, drift_sentence
from ostler.pipeline.report.charts.styles import COLOURS

# More points than this cannot be told apart in a chart.
_POINTS_MAX: Final = 120
_DENSE_FROM: Final = 25


@dataclass(frozen=True)
class TimeValue:
    """A value at so many seconds from the begin. It may be unknown: then the line goes on with the next."""

    seconds: float
    value: float | None
    series: str


def time_chart(
    title: str,
    label: str,
    rows: Iterable[TimeValue],
    unit: str = "",
    styles: Mapping[str, Style] | None = None,
    *,
    top: float | None = None,
    words: Callable[[float | None], str] = numbers.figure,
) -> LineChart | None:
    """Return a chart of values over time; None when fewer than two moments are known. Of a long window, a dot is the
    median of some seconds, and its band their range."""
    by_series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.value is not None and math.isfinite(row.value) and math.isfinite(row.seconds):
            by_series[row.series].append((row.seconds, row.value))
    if len({at for values in by_series.values() for at, _ in values}) < 2:
        return None
    known = styles or {}
    lines = []
    for number, (name, values) in enumerate(by_series.items()):
        style = known.get(name, Style(number % COLOURS, number, dash=number // COLOURS))
        dots = tuple(_dot(members, unit, words) for members in _thinned(sorted(values)))
        lines.append(ChartLine(name, style, dots, is_dense=len(dots) >= _DENSE_FROM))
    heights = [dot.y for line in lines for dot in line.dots]
    kept_top = top if top is not None and max(heights) <= top else None
    up = Axis(label, kept_top is None and spans_decades(heights), top=kept_top)
    across = Axis("seconds since the window began", top=_end(by_series.values()))
    return LineChart(title, across, up, tuple(lines), sentence=_sentence(by_series, unit))


def _end(series: Iterable[Sequence[tuple[float, float]]]) -> float:
    """Return the end of the window: the last value is that of a whole interval."""
    moments = sorted({at for values in series for at, _ in values})
    return moments[-1] + min(after - before for before, after in pairwise(moments))


def _sentence(by_series: Mapping[str, Sequence[tuple[float, float]]], unit: str) -> str:
    """Return the course of the first line, and of others where they drift."""
    (first, values), *others = by_series.items()
    drifts = (drift_sentence(name, found) for name, found in others)
    return " ".join(filter(None, (course_sentence(first, values, unit), *drifts)))


def _thinned(values: Sequence[tuple[float, float]]) -> list[Sequence[tuple[float, float]]]:
    """Return neighbours together, so that there are at most as many groups as a chart can show."""
    size = -(-len(values) // _POINTS_MAX)
    return [values[begin : begin + size] for begin in range(0, len(values), size)]


def _dot(members: Sequence[tuple[float, float]], unit: str, words: Callable[[float | None], str]) -> Dot:
    heights = [value for _, value in members]
    at, value = members[0][0], median(heights)
    text = f"{words(value)} {unit}".rstrip()
    if len(members) == 1:
        return Dot(at, value, None, None, f"second {at:g}", text)
    across = f"seconds {at:g} to {members[-1][0]:g}"
    spread = f"{words(min(heights))} to {words(max(heights))}"
    return Dot(at, value, min(heights), max(heights), across, text, spread, f"median of {len(members)} values")
