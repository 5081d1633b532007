"""How far it scales: clients that can be served, what the Universal Scalability Law says, and where the limit is."""

from __future__ import annotations

from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.context import (
    Context,
    milliseconds_cell,
    number_cell,
    percent_cell,
    size_cell,
    text_cell,
    whole_cell,
)
from ostler.pipeline.report.curves import Sweep as SweepOf
from ostler.pipeline.report.curves import curves, middle
from ostler.pipeline.report.document import Block, Cell, Heading, Paragraph, Section
from ostler.pipeline.report.rows import LIMIT, PointRow

_CONNECT: Final = "connect"
_THOUSAND: Final = 1000.0
_SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"


def scaling_section(context: Context) -> Section:
    inner = [each for each in (_connections(context), _served(context), _law(context)) if each is not None]
    text = "How rates grow with clients, how many clients can be served, and what stops the growth."
    if not inner:
        text = "No run has enough steps yet to say how it scales: run a scenario without --quick."
    return Section("scaling", "Connection scaling and limits", (Paragraph(text),), tuple(inner))


def _served(context: Context) -> Section | None:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Size", True),
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
        for peak in context.peaks_of.get(run, []):
            if peak.steps > 1 and peak.kind != LIMIT:
                growth = peak.peak_rate / peak.single_rate if peak.single_rate else None
                runs.append(run)
                rows.append(
                    (
                        context.scenario_cell(name),
                        text_cell(peak.contestant),
                        size_cell(peak.message_bytes),
                        whole_cell(peak.clients_within_second),
                        whole_cell(peak.knee_clients),
                        whole_cell(peak.peak_clients),
                        number_cell(peak.peak_rate),
                        number_cell(peak.single_rate),
                        Cell(numbers.times(growth), growth),
                        context.book.run_cell(run),
                    )
                )
    if not rows:
        return None
    table = context.book.table("Clients served", headings, rows, runs)
    return Section("scaling-clients", "Clients served", (table,))


def _connections(context: Context) -> Section | None:
    """Connecting itself, where a scenario timed it."""
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
                        number_cell(middle(found, lambda point: point.rate)),
                        milliseconds_cell(middle(found, lambda point: point.p50_ns)),
                        milliseconds_cell(middle(found, lambda point: point.p99_ns)),
                        size_cell(memory),
                        number_cell(memory / clients / 1024 if memory and clients else None, "KB"),
                        context.book.run_cell(run),
                    )
                )
    if not rows:
        return None
    return Section("scaling-connections", "Connecting", (context.book.table("Connecting", headings, rows, runs),))


def _memory(point: PointRow) -> float | None:
    return point.broker_memory_bytes


def _law(context: Context) -> Section | None:
    rows = [row for row in context.tables.scalings if row.run in set(context.speaking.values())]
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
        blocks.append(_fit_table(context))
    blocks.append(_limit_table(context))
    left = len(rows) - len(fitted)
    if left:
        blocks.append(
            Paragraph(f"{left} of {len(rows)} curves have too few steps for a fit, or it did not converge.", "small")
        )
    return Section("scaling-law", "Fits and predictions", tuple(blocks))


def _fit_table(context: Context) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Size", True),
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
            size_cell(row.message_bytes),
            number_cell(row.lambda_),
            number_cell(row.sigma),
            number_cell(None if row.kappa is None else row.kappa * _THOUSAND),
            number_cell(row.r_squared),
            percent_cell(row.residual_percent),
            number_cell(row.predicted_peak_rate),
            whole_cell(row.predicted_peak_clients),
            context.book.run_cell(row.run),
        )
        for row in context.tables.scalings
        if row.is_fitted and row.run in set(context.speaking.values())
    ]
    runs = [row.run for row in context.tables.scalings if row.is_fitted and row.run in set(context.speaking.values())]
    return context.book.table("Fits of the Universal Scalability Law", headings, rows, runs)


def _limit_table(context: Context) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Size", True),
        Heading("Limited by"),
        Heading("Why", is_wide=True),
        Heading("Full cores at", True, "operations a second at which the broker's cores would be full"),
        Heading("Cost growth", True, "processor time for each operation from the first step to the last"),
        Heading("Run"),
    )
    told = [row for row in context.tables.scalings if row.kind != LIMIT and row.run in context.speaking.values()]
    rows = [
        (
            context.scenario_cell(row.scenario),
            text_cell(row.contestant),
            size_cell(row.message_bytes),
            text_cell(row.limited_by),
            text_cell(row.why),
            number_cell(row.cpu_limit_rate),
            percent_cell(row.cpu_growth_percent, signed=True),
            context.book.run_cell(row.run),
        )
        for row in told
    ]
    return context.book.table("Where the limit is", headings, rows, [row.run for row in told])
