"""The cost of an operation: processor time by role, log and memory from the samples, and verbs from accounting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.context import Context, message_words, number_cell, size_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading, Paragraph, Section
from ostler.pipeline.report.peak_points import peak_points
from ostler.pipeline.report.rows import LIMIT, PointRow
from ostler.pipeline.report.sections.storage import storage_section
from ostler.pipeline.report.sections.verbs import accounted_blocks

# Columns that are empty in most reports.
_SELDOM: Final = ("Near, µs", "Far, µs", "Log, µs")
_MEGABYTE: Final = 1024 * 1024


def costs_section(context: Context) -> Section:
    text = (
        "Processor time of a role divided by the operations that completed, at the peak of each curve. The driver is "
        "what makes the load: where it costs more than the broker, it may be what was measured."
    )
    table = _processor_table(context)
    storage = storage_section(context)
    inner = [] if storage is None else [storage]
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


def _processor_table(context: Context) -> Block:
    headings = (
        Heading("Curve", is_wide=True),
        Heading("Contestant"),
        Heading("Clients", True),
        Heading("Broker, µs", True, "processor time of the broker for each operation"),
        Heading("Near, µs", True, "of it, of two with channels between them, the one that requests go in at"),
        Heading("Far, µs", True, "of it, of two with channels between them, the other one"),
        Heading("User, µs", True, "of the broker's time, in user mode"),
        Heading("System, µs", True, "of the broker's time, in the kernel: network and disk"),
        Heading("Log, µs", True, "of the threads that write the log"),
        Heading("Driver, µs", True, "of the load drivers"),
        Heading("MB/s", True, "size of messages times rate: requests only"),
        Heading("Broker, µs a MB", True, "processor time of the broker for each megabyte of messages"),
        Heading("Memory", True, "most resident memory of the broker"),
        Heading("Run"),
    )
    rows = [
        _processor_row(context, name, points)
        for name, run in context.speaking.items()
        for points in peak_points([each for each in context.points_of[run] if each.kind != LIMIT])
    ]
    runs = list(context.speaking.values())
    note = (
        "Whoever needs a record on storage first writes and forces the log for all who wait, so most of the log's "
        "processor time is in that of the broker; the log's own threads are shown where they had any. Where a scenario "
        "has several queue managers or nodes, all other figures are those of all of them together."
    )
    return context.report.table("Costs of an operation at the peak", headings, rows, runs, note, _SELDOM)


def _system_us(point: PointRow) -> float | None:
    if point.broker_cpu_us is None or point.broker_user_us is None:
        return None
    return max(point.broker_cpu_us - point.broker_user_us, 0.0)


def _megabytes_a_second(point: PointRow) -> float | None:
    return point.message_bytes * point.rate / _MEGABYTE if point.message_bytes else None


def _us_a_megabyte(point: PointRow) -> float | None:
    if point.broker_cpu_us is None or not point.message_bytes:
        return None
    return point.broker_cpu_us * _MEGABYTE / point.message_bytes


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
        number_cell(middle(points, _system_us), "µs"),
        number_cell(middle(points, lambda point: point.log_cpu_us) or None, "µs"),
        number_cell(middle(points, lambda point: point.driver_cpu_us), "µs"),
        number_cell(middle(points, _megabytes_a_second), "MB/s"),
        number_cell(middle(points, _us_a_megabyte), "µs"),
        size_cell(middle(points, lambda point: point.broker_memory_bytes)),
        context.report.run_cell(first.run),
    )
