"""Large messages: peak rates and bytes a second by the size of messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, ChartLine, Dot, LineChart, spans_decades
from ostler.pipeline.report.context import (
    Context,
    described,
    milliseconds_cell,
    number_cell,
    percent_cell,
    size_cell,
    text_cell,
    whole_cell,
)
from ostler.pipeline.report.html.document import Block, Code, Heading, Paragraph, ReportFigure, Section
from ostler.pipeline.report.rows import LIMIT, PeakRow

_MEGABYTE: Final = 1024 * 1024
# The small size of the reports; a scenario with nothing larger is not shown here.
_SMALL_BYTES: Final = 2048


def sizes_section(context: Context) -> Section | None:
    """Return the section; None when there were small messages only."""
    found = {
        name: [peak for peak in context.peaks_of.get(run, []) if peak.kind != LIMIT]
        for name, run in context.speaking.items()
    }
    large = {
        name: peaks for name, peaks in found.items() if any(peak.message_bytes > _SMALL_BYTES for peak in peaks)
    }  # fmt: skip
    if not large:
        return None
    text = "Megabytes a second count requests only: the size of messages is theirs, and replies are as large."
    blocks: list[Block] = [Paragraph(text)]
    for name, peaks in large.items():
        for persistent in (False, True):
            figure = _figure(context, name, [peak for peak in peaks if peak.persistent == persistent])
            if figure is not None:
                blocks.append(figure)
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Size", True),
        Heading("Persistent"),
        Heading("Peak, a second", True),
        Heading("MB/s", True, "size times rate"),
        Heading("Clients", True),
        Heading("Busy, %", True),
        Heading("Broker, µs", True),
        Heading("99 %, ms", True),
        Heading("Run"),
    )
    rows = [
        (
            context.scenario_cell(name),
            text_cell(peak.contestant),
            size_cell(peak.message_bytes),
            text_cell("yes" if peak.persistent else "no"),
            number_cell(peak.peak_rate),
            number_cell(_megabytes(peak)),
            whole_cell(peak.peak_clients),
            percent_cell(peak.peak_busy_percent),
            number_cell(peak.peak_broker_cpu_us, "µs"),
            milliseconds_cell(peak.peak_p99_ns),
            context.report.run_cell(peak.run),
        )
        for name, peaks in large.items()
        for peak in peaks
    ]
    runs = [peak.run for peaks in large.values() for peak in peaks]
    blocks.append(context.report.table("Peaks by size of messages", headings, rows, runs))
    return Section("sizes", "Large messages", tuple(blocks))


def _megabytes(peak: PeakRow) -> float:
    return peak.peak_rate * peak.message_bytes / _MEGABYTE


def _figure(context: Context, name: str, peaks: Sequence[PeakRow]) -> ReportFigure | None:
    sizes = sorted({peak.message_bytes for peak in peaks})
    if len(sizes) < 2:
        return None
    lines: dict[str, dict[int, PeakRow]] = defaultdict(dict)
    for peak in peaks:
        kept = lines[peak.contestant].get(peak.message_bytes)
        if kept is None or kept.peak_rate < peak.peak_rate:
            lines[peak.contestant][peak.message_bytes] = peak
    across = Axis("message size", True, tuple(float(each) for each in sizes), True)
    charts = []
    for title, label, value in (
        ("Peak rate by size", "operations a second", lambda peak: peak.peak_rate),
        ("Bytes by size", "megabytes a second", _megabytes),
    ):
        drawn = []
        for contestant, by_size in lines.items():
            dots = tuple(
                Dot(size, value(peak), None, None, numbers.size(size), f"{numbers.figure(value(peak))} {label}",
                    numbers.count(peak.peak_clients, "client"))
                for size, peak in sorted(by_size.items())
            )  # fmt: skip
            drawn.append(ChartLine(contestant, context.styles[contestant], dots))
        values = [dot.y for line in drawn for dot in line.dots]
        charts.append(LineChart(title, across, Axis(label, spans_decades(values)), tuple(drawn)))
    run = peaks[0].run
    words = "persistent" if peaks[0].persistent else "nonpersistent"
    note = ("Run ", context.report.run(run), ": ", Code(context.runs[run].command))
    return context.report.figure(
        f"{described(context.title(name), words)}: peaks by size of messages", charts, [run], note
    )
