"""Results of a scenario besides rates and response times, such as memory of a connection or the time of a restart."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Chart, Dot, DotChart, Strip, Style, spans_decades
from ostler.pipeline.report.charts.curves import group_name, series_words, swept_words
from ostler.pipeline.report.charts.sentences import is_same
from ostler.pipeline.report.charts.spreads import ValueSpread, spread
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading, ReportFigure
from ostler.pipeline.report.rows import LIMIT, PointRow

_CHARTS_MAX: Final = 6
_STRIPS_MAX: Final = 16

_Step = tuple[int, str]


def result_figure(context: Context, name: str, run: str) -> ReportFigure | None:
    """Return a chart for each result of a scenario without rates that differs between steps; None where none does. They
    are what it is about: memory of a connection, processor time of a minute."""
    kinds = {each.contestant: each.kind for each in context.points_of[run]}
    values: dict[str, dict[int, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    labels: dict[int, str] = {}
    for row in context.tables.results:
        if row.run == run and kinds.get(row.contestant) != LIMIT:
            values[row.name][row.step][row.contestant].append(row.value)
            labels[row.step] = series_words(row.series or "")
    charts: list[Chart] = []
    for figure, steps in values.items():
        strips = [
            Strip(labels[step], _dots(context, found))
            for step, found in sorted(steps.items())[:_STRIPS_MAX]
            if labels[step]
        ]
        dots = [dot.x for strip in strips for _, _, dot in strip.dots]
        if len(strips) > 1 and not is_same(min(dots), max(dots), 0.0):
            charts.append(DotChart(_capital(figure), Axis("", spans_decades(dots)), tuple(strips)))
    if not charts:
        return None
    note = ("Run ", context.report.run(run), ". Other results are in the table.")
    return context.report.figure(f"{context.title(name)}: results by step", charts[:_CHARTS_MAX], [run], note)


def _dots(context: Context, found: dict[str, list[float]]) -> tuple[tuple[str, Style, Dot], ...]:
    made = []
    for contestant, values in found.items():
        middle = spread(values)
        if middle is not None:
            made.append((contestant, context.styles[contestant], _dot(middle)))
    return tuple(made)


def _dot(found: ValueSpread) -> Dot:
    return Dot(found.middle, 0.0, found.low, found.high, "", numbers.figure(found.middle), basis=found.words)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def result_table(context: Context, name: str, run: str) -> Block | None:
    """Return a row for each value of each step and contestant; None where there were none."""
    found: dict[_Step, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    series: dict[int, str] = {}
    for row in context.tables.results:
        if row.run == run:
            found[row.step, row.contestant][row.name].append(row.value)
            series[row.step] = row.series or ""
    if not found:
        return None
    points: dict[_Step, PointRow] = {(each.step, each.contestant): each for each in context.points_of[run]}
    kinds = {each.contestant: each.kind for each in context.points_of[run]}
    order = sorted(found, key=lambda each: (each[0], contestant_order(each[1], kinds.get(each[1], ""))))
    rows = [
        _row(step, _messages(step, points.get(step), series), points.get(step), figure, found[step][figure])
        for step in order
        for figure in found[step]
    ]
    headings = (
        Heading("Messages", is_wide=True),
        Heading("Clients", True),
        Heading("Contestant"),
        Heading("Figure", is_wide=True),
        Heading("Median", True),
        Heading("From", True, "lower end of the 95 % confidence interval, or of the range of two repetitions"),
        Heading("To", True, "upper end"),
    )
    note = ("Run ", context.report.run(run), ".")
    return context.report.table(f"Other figures of {context.title(name)}", headings, rows, [run], note)


def _messages(step: _Step, point: PointRow | None, series: dict[int, str]) -> str:
    """Return what was measured: of a step without operations, the points of its sweeps."""
    if point is not None:
        return group_name(point, None)
    return ", ".join(swept_words(series[step[0]])) or f"step {step[0]}"


def _row(step: _Step, messages: str, point: PointRow | None, figure: str, values: list[float]) -> tuple[Cell, ...]:
    found = spread(values)
    return (
        text_cell(messages),
        whole_cell(point.clients if point is not None else None),
        text_cell(step[1]),
        text_cell(figure),
        number_cell(found.middle if found is not None else None),
        number_cell(found.low if found is not None else None),
        number_cell(found.high if found is not None else None),
    )
