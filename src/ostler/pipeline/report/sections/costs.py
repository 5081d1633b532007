"""The cost of an operation: processor time by role, log and memory from the samples, and verbs from accounting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context, message_words, number_cell, size_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading, Paragraph, Section
from ostler.pipeline.report.rows import LIMIT, PointRow
from ostler.pipeline.report.sections.verbs import accounted_blocks

# Columns that are empty in most reports.
_SELDOM: Final = ("Near, µs", "Far, µs", "Log, µs")


def costs_section(context: Context) -> Section:
    text = (
        "Processor time of a role divided by the operations that completed, at the peak of each curve. The driver is "
        "what makes the load: where it costs more than the broker, it may be what was measured."
    )
    table = _processor_table(context)
    inner = []
    accounted = accounted_blocks(context)
    if accounted:
        explanation = (
            "From the counters of the queue manager at the step with most work; from its accounting and statistics "
            "records where a run was made with --accounting. These last as long as connections do, so their counts may "
            "exceed those of the window. Processor time is that of the whole queue manager, shared out by count; so is "
            "the time that a record has of a connection."
        )
        inner.append(Section("costs-verbs", "Verbs and transactions", (Paragraph(explanation), *accounted)))
    return Section("costs", "Costs", (Paragraph(text), table), tuple(inner))


def _peak_points(points: Sequence[PointRow]) -> list[list[PointRow]]:
    """Return the points of the best step of each contestant and series."""
    steps: dict[tuple[str, str], dict[int, list[PointRow]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        steps[point.contestant, point.series][point.step].append(point)
    best = [
        max(by_step.values(), key=lambda each: middle(each, lambda point: point.rate) or 0.0)
        for by_step in steps.values()
    ]
    return sorted(
        best,
        key=lambda each: (each[0].message_bytes, each[0].persistent, each[0].series,
                          contestant_order(each[0].contestant, each[0].kind)),
    )  # fmt: skip


def _processor_table(context: Context) -> Block:
    headings = (
        Heading("Curve", is_wide=True),
        Heading("Contestant"),
        Heading("Clients", True),
        Heading("Broker, µs", True, "processor time of the broker for each operation"),
        Heading("Near, µs", True, "of it, of two with channels between them, the one that requests go in at"),
        Heading("Far, µs", True, "of it, of two with channels between them, the other one"),
        Heading("User, µs", True, "of it in user mode"),
        Heading("Log, µs", True, "of the threads that write the log"),
        Heading("Driver, µs", True, "of the load drivers"),
        Heading("Log, bytes", True, "written to the log for each operation"),
        Heading("Per force", True, "operations for each force of the log"),
        Heading("Memory", True, "most resident memory of the broker"),
        Heading("Run"),
    )
    rows = [
        _processor_row(context, name, points)
        for name, run in context.speaking.items()
        for points in _peak_points([each for each in context.points_of[run] if each.kind != LIMIT])
    ]
    runs = list(context.speaking.values())
    note = (
        "Whoever needs a record on storage first writes and forces the log for all who wait, so most of the log's "
        "processor time is in that of the broker; the log's own threads are shown where they had any. Where a scenario "
        "has several queue managers or nodes, all other figures are those of all of them together."
    )
    return context.report.table("Costs of an operation at the peak", headings, rows, runs, note, _SELDOM)


def _each(point: PointRow, value: float | None) -> float | None:
    return None if not value or not point.count else value / point.count


def _processor_row(context: Context, name: str, points: Sequence[PointRow]) -> tuple[Cell, ...]:
    first = points[0]
    words = message_words(first.message_bytes, first.persistent, first.series)
    return (
        Cell((context.scenario_link(name), f": {words}"), name),
        text_cell(first.contestant),
        whole_cell(first.clients),
        number_cell(middle(points, lambda point: point.broker_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.near_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.far_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.broker_user_us), "µs"),
        number_cell(middle(points, lambda point: point.log_cpu_us) or None, "µs"),
        number_cell(middle(points, lambda point: point.driver_cpu_us), "µs"),
        number_cell(middle(points, lambda point: _each(point, point.log_bytes)), "bytes"),
        number_cell(middle(points, lambda point: point.count / point.log_forces if point.log_forces else None)),
        size_cell(middle(points, lambda point: point.broker_memory_bytes)),
        context.report.run_cell(first.run),
    )
