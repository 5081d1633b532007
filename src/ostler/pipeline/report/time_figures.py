"""The figure of a scenario over time: how rate, response time, processors and disk went in the measured window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Chart
from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.charts.over_time import TimeValue, time_chart
from ostler.pipeline.report.charts.panels import operations_word
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import Inline, ReportFigure
from ostler.pipeline.report.rows import LIMIT, PointRow, SecondRow

_NANOSECONDS: Final = 1e6
_MEGABYTE: Final = 1024 * 1024
_WHOLE_PERCENT: Final = 100.0
# Fewer moments are no course.
_MOMENTS_LEAST: Final = 5


@dataclass(frozen=True)
class _Course:
    """A value of every second: its chart's title, axis and unit."""

    title: str
    label: str
    unit: str
    value: Callable[[SecondRow], float | None]
    top: float | None = None


def _milliseconds(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / _NANOSECONDS


def _written(row: SecondRow) -> float | None:
    return row.disk_written_bytes / _MEGABYTE / row.seconds if row.disk_written_bytes and row.seconds else None


def _courses(operation: str) -> tuple[_Course, ...]:
    word = operations_word(operation)
    return (
        _Course("Rate over time", f"{word} a second", f"{word}/s", lambda row: row.rate),
        _Course("Response time, mean", "milliseconds", "ms", lambda row: _milliseconds(row.mean_ns)),
        _Course("Response time, 99th percentile", "milliseconds", "ms", lambda row: _milliseconds(row.p99_ns)),
        _Course("Processor use of the broker", "% of one core", "%", lambda row: row.broker_core_percent),
        _Course("Processors busy", "% of all cores", "%", lambda row: row.machine_busy_percent, _WHOLE_PERCENT),
        _Course("Disk, written", "megabytes a second", "MB/s", _written),
        _Course("Disk busy", "% of the time", "%", lambda row: row.disk_busy_percent, _WHOLE_PERCENT),
    )


def time_figure(context: Context, name: str, run: str) -> ReportFigure | None:
    """Return the busiest step of each contestant over time; None where windows were too short for a course."""
    kinds = {point.contestant: point.kind for point in context.points_of[run] if point.kind != LIMIT}
    found: list[SecondRow] = []
    words = ""
    for contestant in sorted(kinds, key=lambda each: contestant_order(each, kinds[each])):
        best = _typical([point for point in context.points_of[run] if point.contestant == contestant])
        rows = context.seconds_of.get((run, contestant, best.step, best.repetition), [])
        if len(rows) >= _MOMENTS_LEAST:
            found += rows
            words = words or numbers.count(best.clients, "client")
    if not found:
        return None
    charts = [chart for course in _courses(found[0].operation) if (chart := _chart(context, course, found)) is not None]
    note: tuple[Inline, ...] = (
        "One repetition, that with the median rate, of the step with the highest rate of each. Run ",
        context.report.run(run),
        ".",
    )
    caption = f"{context.title(name)}: the measured window over time, {found[0].contestant} with {words}"
    return context.report.figure(caption, charts, [run], note)


def _typical(points: Sequence[PointRow]) -> PointRow:
    """Return the repetition with the median rate of the step with the highest median rate."""
    steps: dict[int, list[PointRow]] = defaultdict(list)
    for point in points:
        steps[point.step].append(point)
    best = max(steps.values(), key=lambda each: middle(each, lambda point: point.rate) or 0.0)
    ordered = sorted(best, key=lambda point: (point.rate, point.repetition))
    return ordered[(len(ordered) - 1) // 2]


def _chart(context: Context, course: _Course, rows: Sequence[SecondRow]) -> Chart | None:
    values = [TimeValue(row.second, course.value(row), row.contestant) for row in rows]
    return time_chart(course.title, course.label, values, course.unit, context.styles, top=course.top)
