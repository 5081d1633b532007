"""Failovers and switches of a scenario: how long nothing was acknowledged, and what was lost. A row for each step."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ostler.lab.store import courses
from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import middle, series_words
from ostler.pipeline.report.context import Context, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import PointRow

_WHOLE: Final = (courses.LOST, courses.DOUBLED, courses.IN_DOUBT)
_COLUMNS: Final = {
    courses.NO_SERVICE: Heading("Without service, s", True, "the longest time in which nothing was acknowledged"),
    courses.LEADS: Heading("Another leads, s", True, "from the loss, or the command, until an instance says so"),
    courses.IN_SYNC: Heading("In sync, s", True, "from the start of the lost instance until it has everything"),
    courses.SWITCHED: Heading("Switch, s", True, "until the other site leads"),
    courses.SWITCHED_BACK: Heading("Switch back, s", True, "until this site leads again"),
    courses.NOT_SENT: Heading("Not sent, bytes", True, "what the other site did not have when it was asked to lead"),
    courses.LOST: Heading("Lost", True, "acknowledged messages that nobody got, of all repetitions the most"),
    courses.DOUBLED: Heading("Twice", True, "messages got twice, of all repetitions the most"),
    courses.IN_DOUBT: Heading("In doubt", True, "puts whose answer was lost with the connection"),
}


def failover_table(context: Context, name: str, run: str) -> Block | None:
    """Return the table; None where nothing was lost, ended or switched."""
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in context.tables.results:
        if row.run == run and row.name in _COLUMNS:
            found[row.step][row.name].append(row.value)
    if not any(courses.NO_SERVICE in values for values in found.values()):
        return None
    points: dict[int, list[PointRow]] = defaultdict(list)
    for point in context.points_of[run]:
        points[point.step].append(point)
    rows = [_row(points[step], values) for step, values in sorted(found.items()) if points[step]]
    headings = (
        Heading("What happened", is_wide=True),
        Heading("Clients", True),
        Heading("Rate, 1/s", True, "of the whole window"),
        *_COLUMNS.values(),
    )
    columns = zip(headings, zip(*rows, strict=True), strict=True)
    empty = [heading.text for heading, cells in columns if all(cell.text == numbers.NOTHING for cell in cells)]
    note = ("Medians of repetitions. Run ", context.report.run(run), ".")
    return context.report.table(f"Losses and switches in {context.title(name)}", headings, rows, [run], note, empty)


def _row(points: list[PointRow], values: dict[str, list[float]]) -> tuple[Cell, ...]:
    return (
        text_cell(series_words(points[0].series)),
        whole_cell(points[0].clients),
        number_cell(middle(points, lambda point: point.rate)),
        *(_cell(name, values.get(name, [])) for name in _COLUMNS),
    )


def _cell(name: str, values: list[float]) -> Cell:
    if not values:
        return Cell(numbers.NOTHING)
    if name in _WHOLE:
        return whole_cell(max(values))
    return number_cell(sorted(values)[(len(values) - 1) // 2])
