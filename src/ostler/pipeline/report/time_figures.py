"""The figure of a scenario over time: how rate, response time, processors and disk went in the measured window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Chart
from ostler.pipeline.report.charts.curves import middle, series_words
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
# Sweeps of what happens to instances while clients work.
_STORY_SWEEPS: Final = ("event", "away_seconds")
# Rate and response times: the use of processors is that of processes which come and go.
_STORY_COURSES: Final = 3


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


def story_figure(context: Context, name: str, run: str) -> ReportFigure | None:
    """Return every step of Ostler over time where something happens within the window, such as a failover; else
    None."""
    if not _is_story(context, name):
        return None
    main = context.main_contestant(run)
    steps: dict[int, list[PointRow]] = defaultdict(list)
    for point in context.points_of[run]:
        if point.contestant == main:
            steps[point.step].append(point)
    values: dict[str, list[tuple[str, SecondRow]]] = {}
    for _, points in sorted(steps.items()):
        typical = _typical(points)
        rows = context.seconds_of.get((run, main, typical.step, typical.repetition), [])
        if len(rows) >= _MOMENTS_LEAST:
            words = series_words(typical.series) or main
            values.setdefault(words, []).extend((words, row) for row in rows)
    if not values:
        return None
    drawn = []
    for course in _courses(next(iter(values.values()))[0][1].operation)[:_STORY_COURSES]:
        found = [TimeValue(row.second, course.value(row), words) for rows in values.values() for words, row in rows]
        chart = time_chart(course.title, course.label, found, course.unit, top=course.top)
        if chart is not None:
            drawn.append(chart)
    note: tuple[Inline, ...] = (
        "One repetition of each step, that with the median rate. A second in which nothing was acknowledged is at 0. "
        "Run ",
        context.report.run(run),
        ".",
    )
    return context.report.figure(f"{context.title(name)}: every step over time", drawn, [run], note)


def _is_story(context: Context, name: str) -> bool:
    scenario = context.scenario(name)
    return scenario is not None and any(sweep.name in _STORY_SWEEPS for sweep in scenario.sweeps)


def time_figure(context: Context, name: str, run: str) -> ReportFigure | None:
    """Return the busiest step of each contestant over time; None where windows were too short for a course, or every
    step has a line of its own."""
    if _is_story(context, name):
        return None
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
