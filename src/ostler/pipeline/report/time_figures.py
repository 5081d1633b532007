"""The figure of a scenario over time: how rate, response time, processors and disk went in the measured window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from ostler.lab.store.courses import MOMENT, TENTH, TENTHS_PER_SECOND
from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Chart, LineChart, Moment
from ostler.pipeline.report.charts.curves import middle, parameter_words, series_parts
from ostler.pipeline.report.charts.over_time import TimeValue, time_chart
from ostler.pipeline.report.charts.panels import operations_word
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import Inline, ReportFigure
from ostler.pipeline.report.rows import LIMIT, CourseRow, PointRow, SecondRow

_NANOSECONDS: Final = 1e6
_MEGABYTE: Final = 1024 * 1024
_WHOLE_PERCENT: Final = 100.0
# Fewer moments are no course.
_MOMENTS_LEAST: Final = 5
# Sweeps of what happens to instances while clients work.
_STORY_SWEEPS: Final = ("event", "away_seconds")
# More charts than this are looked at by nobody.
_STORIES_MAX: Final = 12


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
    """Return every step of Ostler in tenths of a second, with its moments, where something happens within the window,
    such as a failover; else None."""
    if not _is_story(context, name):
        return None
    main = context.main_contestant(run)
    steps: dict[int, list[PointRow]] = defaultdict(list)
    for point in context.points_of[run]:
        if point.contestant == main:
            steps[point.step].append(point)
    series = [series_parts(points[0].series) for points in steps.values()]
    constant = (
        {name for name in series[0] if len({each.get(name) for each in series}) == 1} if len(series) > 1 else set()
    )
    drawn: list[LineChart] = []
    left_out = 0
    for _, points in sorted(steps.items()):
        typical = _typical(points)
        rows = context.courses_of.get((run, main, typical.step, typical.repetition), [])
        chart = _story_chart(rows, typical, constant)
        if chart is not None and len(drawn) < _STORIES_MAX:
            drawn.append(chart)
        elif chart is not None:
            left_out += 1
    if not drawn:
        return None
    top = max(dot.y for chart in drawn for line in chart.lines for dot in line.dots)
    same = [replace(chart, up=replace(chart.up, is_log=False, domain=(top,))) for chart in drawn]
    rest = f" {numbers.count(left_out, 'step')} more are in the tables." if left_out else ""
    words = ", ".join(parameter_words(name, series[0][name]) for name in series[0] if name in constant)
    common = f" Everywhere: {words}." if words else ""
    note: tuple[Inline, ...] = (
        f"One repetition of each step, that with the median rate, in tenths of a second.{rest}{common} Run ",
        context.report.run(run),
        ".",
    )
    return context.report.figure(f"{context.title(name)}: every step over time", same, [run], note)


def _story_chart(rows: Sequence[CourseRow], point: PointRow, constant: Set[str]) -> LineChart | None:
    """Return a chart of one window. Its title has the parameters that are not the same in all windows."""
    tenths = [row for row in rows if row.kind == TENTH]
    if len(tenths) < _MOMENTS_LEAST:
        return None
    word = operations_word(point.operation)
    values = [TimeValue(row.at, row.rate, point.contestant) for row in tenths]
    varied = [parameter_words(*each) for each in series_parts(point.series).items() if each[0] not in constant]
    title = ", ".join((*varied, numbers.count(point.clients, "client")))
    chart = time_chart(title, f"{word} a second", values, f"{word}/s")
    if chart is None:
        return None
    # What happened behind the window has no place in it.
    moments = tuple(Moment(row.at, row.name) for row in rows if row.kind == MOMENT and row.at <= tenths[-1].at)
    return replace(chart, moments=moments, sentence=_gap_sentence([row.rate or 0.0 for row in tenths], word))


def _gap_sentence(rates: Sequence[float], word: str) -> str:
    """Return the median rate, and the longest time in which nothing ended."""
    longest, begins, run = 0, 0, 0
    for number, rate in enumerate(rates):
        run = 0 if rate else run + 1
        if run > longest:
            longest, begins = run, number - run + 1
    text = f"Median {numbers.figure(median(rates))} {word}/s"
    if not longest:
        return f"{text}; some ended in every tenth of a second."
    seconds, at = longest / TENTHS_PER_SECOND, begins / TENTHS_PER_SECOND
    return f"{text}; none ended for {seconds:g} s, from second {at:g} on."


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
