"""The log and the disk: bytes and forces of the log, sizes of its writes, and how busy the disk was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.context import (
    Context,
    message_words,
    milliseconds_cell,
    number_cell,
    percent_cell,
    size_cell,
    text_cell,
    whole_cell,
)
from ostler.pipeline.report.disclosures import environment_of
from ostler.pipeline.report.html.document import Cell, Heading, Paragraph, Section
from ostler.pipeline.report.peak_points import peak_points
from ostler.pipeline.report.rows import LIMIT, PointRow, RunRow

_MEGABYTE: Final = 1024 * 1024
_MICROSECOND_NS: Final = 1000.0
_MICROSECONDS: Final = 1e6
_LOG_COLUMNS: Final = ("Log, MB/s", "Log, bytes", "Per force", "Forces/s", "A force, ms", "A write")
# Runs of older laboratories do not have these.
_NEWER: Final = ("A force, ms", "Requests", "Wait, ms", "In queue")


def storage_section(context: Context) -> Section | None:
    """Return the section; None where no run wrote to storage."""
    found = [
        (name, points)
        for name, run in context.speaking.items()
        for points in peak_points([each for each in context.points_of[run] if each.kind != LIMIT])
        if _has_storage(points)
    ]
    if not found:
        return None
    headings = (
        Heading("Curve", is_wide=True),
        Heading("Contestant"),
        Heading("Clients", True),
        Heading("Log, MB/s", True, "written to the log"),
        Heading("Log, bytes", True, "written to the log for each operation"),
        Heading("Per force", True, "operations that shared a force of the log"),
        Heading("Forces/s", True, "forces of the log a second"),
        Heading("A force, ms", True, "mean time of a force of the log"),
        Heading("A write", True, "mean size of a write of the log"),
        Heading("Disk, MB/s", True, "written by the whole machine"),
        Heading("Disk, KB an operation", True, "written by the whole machine, for each operation"),
        Heading("Requests", True, "of the disk for each operation: reads, writes and flushes of the whole machine"),
        Heading("Wait, ms", True, "mean time of a request of the disk, from when it was queued until it was done"),
        Heading("In queue", True, "requests of the disk in progress, on average"),
        Heading("Disk busy", True, "of the window"),
        Heading("Busy, µs", True, "time that the disk was busy for each operation"),
        Heading("Run"),
    )
    rows = [_row(context, name, points) for name, points in found]
    runs = [points[0].run for _, points in found]
    text = (
        "At the peak of each curve with persistent messages, or with writes of the queue manager's log. A force is "
        "waiting until what was written is on storage: operations that wait at the same time share one, so that a "
        "slower disk means larger writes before it means lower rates."
    )
    probes = _force_words(context, [context.runs[run] for run in dict.fromkeys(runs)])
    has_log = any(point.log_bytes for _, points in found for point in points)
    has_requests = any(point.disk_writes is not None for _, points in found for point in points)
    left_out = (*(() if has_log else _LOG_COLUMNS), *(() if has_requests else _NEWER))
    table = context.report.table("Log and disk at the peak", headings, rows, runs, probes, left_out)
    return Section("costs-storage", "Log and disk", (Paragraph(text), table))


def _has_storage(points: Sequence[PointRow]) -> bool:
    return any(point.log_forces for point in points) or (
        points[0].persistent and any(point.disk_written_bytes for point in points)
    )


def _row(context: Context, name: str, points: Sequence[PointRow]) -> tuple[Cell, ...]:
    first = points[0]
    words = message_words(first.message_bytes, first.persistent, first.series)
    return (
        Cell((context.scenario_link(name), f": {words}"), name),
        text_cell(first.contestant),
        whole_cell(first.clients),
        number_cell(middle(points, lambda point: _a_second(point, point.log_bytes, _MEGABYTE)), "MB/s"),
        number_cell(middle(points, lambda point: _each(point, point.log_bytes)), "bytes"),
        number_cell(middle(points, lambda point: point.count / point.log_forces if point.log_forces else None)),
        number_cell(middle(points, lambda point: _a_second(point, point.log_forces, 1))),
        milliseconds_cell(middle(points, _force_ns)),
        size_cell(middle(points, _write_bytes)),
        number_cell(middle(points, lambda point: _a_second(point, point.disk_written_bytes, _MEGABYTE)), "MB/s"),
        number_cell(middle(points, lambda point: _each(point, point.disk_written_bytes, 1024)), "KB"),
        number_cell(middle(points, _disk_requests)),
        milliseconds_cell(middle(points, lambda point: _times(point.disk_wait_us, _MICROSECOND_NS))),
        number_cell(middle(points, lambda point: point.disk_queue)),
        percent_cell(middle(points, lambda point: point.disk_busy_percent)),
        number_cell(middle(points, _busy_us), "µs"),
        context.report.run_cell(first.run),
    )


def _each(point: PointRow, value: float | None, unit: int = 1) -> float | None:
    return None if not value or not point.count else value / point.count / unit


def _a_second(point: PointRow, value: float | None, unit: int) -> float | None:
    return None if not value or not point.seconds else value / point.seconds / unit


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _force_ns(point: PointRow) -> float | None:
    """Return the mean time of a force; None where the laboratory did not keep it."""
    return point.log_force_us * _MICROSECOND_NS / point.log_forces if point.log_force_us and point.log_forces else None


def _write_bytes(point: PointRow) -> float | None:
    """Return the mean size of a write: older runs counted forces only, and every force has a write."""
    writes = point.log_writes or point.log_forces
    return round(point.log_bytes / writes) if point.log_bytes and writes else None


def _disk_requests(point: PointRow) -> float | None:
    known = [each for each in (point.disk_reads, point.disk_writes, point.disk_flushes) if each is not None]
    return sum(known) / point.count if known and point.count else None


def _busy_us(point: PointRow) -> float | None:
    if point.disk_busy_percent is None or not point.count:
        return None
    return point.disk_busy_percent / 100 * point.seconds * _MICROSECONDS / point.count


def force_words(run: RunRow) -> str:
    """Return what a force took on the disk of a run, measured at its begin; empty where the run did not keep it."""
    force = environment_of(run).get("force")
    if not isinstance(force, dict) or not isinstance(force.get("median_us"), int | float):
        return ""
    middle_us, high_us = float(force["median_us"]), force.get("p99_us")
    high = (
        f", 99 % within {numbers.duration(float(high_us) * _MICROSECOND_NS)}"
        if isinstance(high_us, int | float)
        else ""
    )
    size = force.get("bytes")
    what = numbers.size(size) if isinstance(size, int) else "a page"
    return f"{what} in {numbers.duration(middle_us * _MICROSECOND_NS)} (median{high})"


def _force_words(context: Context, runs: Sequence[RunRow]) -> str:
    found = [f"{context.report.run_names[run.run]} {words}" for run in runs if (words := force_words(run))]
    return f"A write and force of the bare disk, before each run: {'; '.join(found)}." if found else ""
