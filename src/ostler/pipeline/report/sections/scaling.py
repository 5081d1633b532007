"""Scaling: the number of clients served, the Universal Scalability Law, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import ChartSweep as SweepOf
from ostler.pipeline.report.charts.curves import curves, middle
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.charts.styles import contestant_order
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
from ostler.pipeline.report.html.document import Block, Cell, Heading, Paragraph, Section
from ostler.pipeline.report.rows import LIMIT, PeakRow, PointRow, ScalingRow
from ostler.pipeline.report.sections.predictions import predictions_section

CONNECT_RATE: Final = "connections per second"
"""The figure of experiments in which clients connect once."""

_CONNECT: Final = "connect"
_THOUSAND: Final = 1000.0
_SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"


def scaling_section(context: Context) -> Section:
    made = (_connections(context), _served(context), _law(context), predictions_section(context))
    inner = [each for each in made if each is not None]
    text = "How rates grow with clients, how many clients can be served, and what stops the growth."
    if not inner:
        text = "No run has enough steps yet to say how it scales: run a scenario without --quick."
    return Section("scaling", "Connection scaling and limits", (Paragraph(text),), tuple(inner))


def _served(context: Context) -> Section | None:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Messages"),
        Heading("Within a second", True, "most clients whose mean response time is within one second"),
        Heading("Knee", True, "clients where the curve bends: the step furthest above the chord"),
        Heading("Peak at", True, "clients at the highest rate"),
        Heading("Peak, a second", True),
        Heading("Fewest clients, a second", True, "rate of the fewest clients"),
        Heading("Growth", True, "peak to the rate of the fewest clients"),
        Heading("Run"),
    )
    rows: list[tuple[Cell, ...]] = []
    runs = []
    for name, run in context.speaking.items():
        most = _most_clients(context.points_of.get(run, []))
        for peak in context.peaks_of.get(run, []):
            if peak.steps > 1 and peak.kind != LIMIT:
                growth = peak.peak_rate / peak.single_rate if peak.single_rate else None
                runs.append(run)
                rows.append(
                    (
                        context.scenario_cell(name),
                        text_cell(peak.contestant),
                        Cell(_messages(peak), peak.message_bytes),
                        _within_cell(peak.clients_within_second, most.get((peak.contestant, peak.series), 0)),
                        whole_cell(peak.knee_clients),
                        whole_cell(peak.peak_clients),
                        number_cell(peak.peak_rate),
                        number_cell(peak.single_rate),
                        Cell(numbers.times(growth), growth),
                        context.report.run_cell(run),
                    )
                )
    if not rows:
        return None
    note = "≥: more clients than that were not tried."
    table = context.report.table("Clients served", headings, rows, runs, note, ("Knee",))
    return Section("scaling-clients", "Clients served", (table,))


def _most_clients(points: Sequence[PointRow]) -> dict[tuple[str, str], int]:
    """Return the most clients of each curve."""
    found: dict[tuple[str, str], int] = {}
    for point in points:
        key = (point.contestant, point.series)
        found[key] = max(found.get(key, 0), point.clients)
    return found


def _within_cell(clients: int | None, most: int) -> Cell:
    """Return the clients within a second: a lower bound where the last step still is."""
    if clients is None:
        return Cell(numbers.NOTHING)
    return Cell(f"≥ {clients:,}" if clients >= most else f"{clients:,}", clients)


def _connecting_rate(context: Context, name: str, points: Sequence[PointRow]) -> float | None:
    """Return the connections a second. Where clients connect once, that is what the experiment found: in a window they
    are as many as there are clients."""
    if context.has_rates(name):
        return middle(points, lambda point: point.rate)
    first = points[0]
    found = spread(
        row.value
        for row in context.tables.results
        if (row.run, row.contestant, row.step, row.name) == (first.run, first.contestant, first.step, CONNECT_RATE)
    )
    return None if found is None else found.middle


def _connections(context: Context) -> Section | None:
    """Return the rates of connecting, where a scenario timed it."""
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Clients", True),
        Heading("Connections, a second", True),
        Heading("50 %, ms", True),
        Heading("99 %, ms", True),
        Heading("Broker memory", True, "most resident memory"),
        Heading("KB a client", True, "memory of the broker divided by clients: an upper bound"),
        Heading("Run"),
    )
    rows: list[tuple[Cell, ...]] = []
    runs = []
    for name, run in context.speaking.items():
        points = [
            each
            for each in context.tables.points
            if each.run == run and each.operation == _CONNECT and each.kind != LIMIT
        ]
        for curve in curves(points, SweepOf("clients", "clients")):
            runs.append(run)
            for clients, found in curve.steps:
                memory = middle(found, _memory)
                rows.append(
                    (
                        context.scenario_cell(name),
                        text_cell(curve.contestant),
                        whole_cell(clients),
                        number_cell(_connecting_rate(context, name, found)),
                        milliseconds_cell(middle(found, lambda point: point.p50_ns)),
                        milliseconds_cell(middle(found, lambda point: point.p99_ns)),
                        size_cell(memory),
                        # One client that connects again and again says nothing of memory.
                        number_cell(memory / clients / 1024 if memory and clients > 1 else None, "KB"),
                        context.report.run_cell(run),
                    )
                )
    if not rows:
        return None
    return Section("scaling-connections", "Connecting", (context.report.table("Connecting", headings, rows, runs),))


def _messages(row: PeakRow | ScalingRow) -> str:
    return message_words(row.message_bytes, row.persistent, row.series)


def _memory(point: PointRow) -> float | None:
    return point.broker_memory_bytes


def _law(context: Context) -> Section | None:
    rows = _limited_rows(context)
    if not rows:
        return None
    blocks: list[Block] = [
        Paragraph(
            f"The Universal Scalability Law says rate(N) = λN / (1 + {_SIGMA}(N {numbers.MINUS} 1) + "
            f"κN(N {numbers.MINUS} 1)): λ is the rate of one client, {_SIGMA} how much they wait for one another, κ "
            "what keeping them in step costs. A prediction beyond the measured clients is calculated, not measured."
        )
    ]
    fitted = [row for row in rows if row.is_fitted]
    if fitted:
        blocks.append(_fit_table(context, fitted))
    blocks.append(_limit_table(context))
    left = len(rows) - len(fitted)
    if left:
        blocks.append(
            Paragraph(
                f"{left} of {numbers.count(len(rows), 'curve')} "
                f"{'has' if left == 1 else 'have'} too few steps for a fit, or it did not converge.",
                "small",
            )
        )
    return Section("scaling-law", "Fits, and where the limit is", tuple(blocks))


def _limited_rows(context: Context) -> list[ScalingRow]:
    """Return rows of the representative runs, in the order of scenarios, Ostler first, without limits of the
    machine."""
    order = list(context.speaking.values())
    return sorted(
        (row for row in context.tables.scalings if row.run in order and row.kind != LIMIT),
        key=lambda each: (order.index(each.run), each.message_bytes, each.persistent, each.series,
                          contestant_order(each.contestant, each.kind)),
    )  # fmt: skip


def _fit_table(context: Context, fitted: Sequence[ScalingRow]) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Messages"),
        Heading("λ, a second", True, "operations a second of one client"),
        Heading(_SIGMA, True, "contention"),
        Heading("κ · 1000", True, "coherence, times a thousand"),
        Heading("r²", True, "how well it fits: 1 is perfect"),
        Heading("Residual", True, "root mean square of the residuals, of the mean rate"),
        Heading("Predicted peak", True, "operations a second, by the fit"),
        Heading("at clients", True),
        Heading("Run"),
    )
    rows = [
        (
            context.scenario_cell(row.scenario),
            text_cell(row.contestant),
            Cell(_messages(row), row.message_bytes),
            number_cell(row.lambda_),
            number_cell(row.sigma),
            number_cell(None if row.kappa is None else row.kappa * _THOUSAND),
            number_cell(row.r_squared),
            percent_cell(row.residual_percent),
            number_cell(row.predicted_peak_rate),
            whole_cell(row.predicted_peak_clients),
            context.report.run_cell(row.run),
        )
        for row in fitted
    ]
    return context.report.table("Fits of the Universal Scalability Law", headings, rows, [row.run for row in fitted])


def _limit_table(context: Context) -> Block:
    headings = (
        Heading("Curve", is_wide=True),
        Heading("Contestant"),
        Heading("Limited by"),
        Heading("Why", is_wide=True),
        Heading("Full cores at", True, "operations a second at which the broker's cores would be full"),
        Heading("Cost growth", True, "processor time for each operation from the first step to the last"),
        Heading("Run"),
    )
    limited = _limited_rows(context)
    rows = [
        (
            Cell((context.scenario_link(row.scenario), f": {_messages(row)}"), row.scenario),
            text_cell(row.contestant),
            text_cell(row.limited_by),
            text_cell(row.why.replace("%", "\N{NO-BREAK SPACE}%")),
            number_cell(row.cpu_limit_rate),
            percent_cell(row.cpu_growth_percent, signed=True),
            context.report.run_cell(row.run),
        )
        for row in limited
    ]
    return context.report.table("Where the limit is", headings, rows, [row.run for row in limited])
