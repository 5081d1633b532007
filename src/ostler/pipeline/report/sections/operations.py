"""Response times of all operations of a scenario that has several: puts beside gets, and those of rated loads counted
from the put beside those from when a message was due."""

from __future__ import annotations

from typing import Final

from ostler.pipeline.report.charts.curves import ChartSweep, Curve, curves, middle
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context, milliseconds_cell, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import LIMIT, PointRow

_SINCE: Final = " since "


def operation_table(context: Context, name: str, run: str, sweep: ChartSweep | None) -> Block | None:
    """Return a row for each operation of each step and contestant; None where each contestant has one operation."""
    points = [each for each in context.tables.points if each.run == run and each.kind != LIMIT]
    if all(point.is_main for point in points):
        return None
    found = sorted(
        curves(points, sweep), key=lambda each: (contestant_order(each.contestant, each.kind), each.group, _rank(each))
    )
    rows = [
        _row(curve, at if sweep is not None else None, of_step)
        for at in dict.fromkeys(at for curve in found for at, _ in curve.steps)
        for curve in found
        for place, of_step in curve.steps
        if place == at
    ]
    headings = (
        Heading("Contestant"),
        Heading("Messages"),
        Heading(sweep.label.capitalize() if sweep else "Clients", True),
        Heading("Operation"),
        Heading("Rate, 1/s", True, "completed operations a second, median of repetitions"),
        Heading("Mean, ms", True, "mean response time"),
        Heading("50 %, ms", True, "median response time"),
        Heading("90 %, ms", True, "90th percentile"),
        Heading("99 %, ms", True, "99th percentile"),
    )
    is_timed_twice = any(_SINCE in curve.operation for curve in found)
    meaning = (
        "Since put, since call: from when it was sent; since due: from when it was due. " if is_timed_twice else ""
    )
    note = (f"{meaning}Run ", context.report.run(run), ".")
    caption = f"Operations of {context.title(name)}"
    return context.report.table(caption, headings, rows, [run], note, ("Messages",))


def _rank(curve: Curve) -> tuple[bool, str]:
    """The main operation comes first."""
    return (not curve.steps[0][1][0].is_main, curve.operation)


def _row(curve: Curve, at: float | None, points: tuple[PointRow, ...]) -> tuple[Cell, ...]:
    return (
        text_cell(curve.contestant),
        text_cell(curve.group),
        whole_cell(points[0].clients if at is None else at),
        text_cell(curve.operation),
        number_cell(middle(points, lambda point: point.rate)),
        milliseconds_cell(middle(points, lambda point: point.mean_ns)),
        milliseconds_cell(middle(points, lambda point: point.p50_ns)),
        milliseconds_cell(middle(points, lambda point: point.p90_ns)),
        milliseconds_cell(middle(points, lambda point: point.p99_ns)),
    )
