"""Results of a scenario besides rates and response times, such as memory of a connection or the time of a restart."""

from __future__ import annotations

from collections import defaultdict

from ostler.pipeline.report.charts.curves import group_name, swept_words
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import PointRow

_Step = tuple[int, str]


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
