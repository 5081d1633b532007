"""The section of each scenario: its description, curves of rate, response time and processor time, peaks, and all
values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ostler.lab.scenarios.model import Scenario
from ostler.pipeline.report import numbers
from ostler.pipeline.report.channel_figures import channel_figures
from ostler.pipeline.report.charts.charts import Axis, ChartLine, FittedCurve, LineChart
from ostler.pipeline.report.charts.curves import (
    CHANNEL_SWEEPS,
    CLIENTS,
    ChartSweep,
    Curve,
    choose_sweep,
    curves,
    middle,
)
from ostler.pipeline.report.charts.panels import Panel, panel_dot, panels, up_axis
from ostler.pipeline.report.charts.sentences import limit_words
from ostler.pipeline.report.charts.spreads import ValueSpread
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import (
    Context,
    described,
    message_words,
    milliseconds_cell,
    number_cell,
    percent_cell,
    text_cell,
    whole_cell,
)
from ostler.pipeline.report.curve_sentences import curve_sentence, told_limits
from ostler.pipeline.report.drivers import driver_words, product_of
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Fold,
    Heading,
    Hyperlink,
    Inline,
    Paragraph,
    ReportFigure,
    Section,
    Strong,
    Text,
)
from ostler.pipeline.report.rows import LIMIT, PointRow, ScalingRow
from ostler.pipeline.report.sections.channels import channel_table
from ostler.pipeline.report.sections.copies import copies_table
from ostler.pipeline.report.sections.failovers import failover_table
from ostler.pipeline.report.sections.operations import operation_table
from ostler.pipeline.report.sections.results import result_figure, result_table
from ostler.pipeline.report.sections.scenario_setup import setup_blocks, source_words
from ostler.pipeline.report.time_figures import story_figure, time_figure
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

_GROUPS_DRAWN: Final = 8
_FIT_POINTS: Final = 60
_LOG_ACROSS_FROM: Final = 8
_TWO: Final = 2
# A run that ended early and is complete was resumed.
_LIMITS_TOLD: Final = 8
_PARTIAL: Final = "partial:"
_RESUMED: Final = "the run was resumed, so its figures are from several parts of the run"


def scenarios_section(context: Context) -> Section:
    return Section(
        "scenarios",
        "Scenarios",
        (
            Paragraph(
                "Each scenario is shown by the newest complete run of it. Lines join medians of repetitions; bands are "
                "their 95 % confidence intervals, or the range where there were two repetitions. Grey dashed lines are "
                "limits of the machine, measured in the same run with nothing in between."
            ),
        ),
        tuple(_scenario(context, name, run) for name, run in context.speaking.items()),
    )


def _scenario(context: Context, name: str, run: str) -> Section:
    points = context.points_of[run]
    sweep = choose_sweep(points, *_swept(context.scenario(name)), is_idle=not context.has_rates(name))
    found = curves(points, sweep)
    blocks: list[Block] = [*_introduction(context, name, run)]
    groups = list(dict.fromkeys(curve.group for curve in found))
    rates, times = channel_figures(context, name, run) if context.queue_managers(name) == _TWO else ([], [])
    blocks += [*rates, *times]
    if sweep is not None:
        figures: list[Block] = []
        for group in groups[:_GROUPS_DRAWN]:
            members = sorted(
                (curve for curve in found if curve.group == group),
                key=lambda each: contestant_order(each.contestant, each.kind),
            )
            if _is_drawn(members):
                figures.append(_figure(context, name, members, sweep))
        # Curves that were drawn together are folded one by one.
        blocks += [Fold("Each curve by itself, with limits of the machine", tuple(figures))] if rates else figures
    if len(groups) > _GROUPS_DRAWN and sweep is not None:
        left = ", ".join(groups[_GROUPS_DRAWN:])
        blocks.append(Paragraph(f"Not drawn, but in the tables: {left}.", "small"))
    for course in (time_figure(context, name, run), story_figure(context, name, run)):
        if course is not None:
            blocks.append(course)
    if context.peaks_of.get(run):
        caption = f"Peaks of {described(context.title(name), groups[0]) if len(groups) == 1 else context.title(name)}"
        blocks.append(peak_table(context, caption, [run]))
    told = told_limits(context, found, sweep, groups[:_GROUPS_DRAWN])
    limits = _limit_sentences(context, run, told)
    if limits:
        whose = "each other curve" if told else "each curve"
        blocks += [Paragraph(f"What limited {whose} at its peak:"), Bullets(tuple(limits))]
    copies = copies_table(context, name, run)
    if copies is not None:
        blocks.append(copies)
    failovers = failover_table(context, name, run)
    if failovers is not None:
        blocks.append(failovers)
    batches = channel_table(context, name, run)
    if batches is not None:
        blocks.append(batches)
    if not context.has_rates(name):
        results = result_figure(context, name, run)
        blocks += [results] if results is not None else []
    others = result_table(context, name, run)
    if others is not None:
        blocks.append(others)
    operations = operation_table(context, name, run, sweep)
    if operations is not None:
        blocks.append(operations)
    if found:
        blocks.append(Fold("All figures of this scenario", (_value_table(context, name, run, found, sweep),)))
    return Section(f"scenario-{name}", context.title(name), tuple(blocks))


def _is_drawn(members: Sequence[Curve]) -> bool:
    """Return whether charts show more than tables do: several steps, or several products at one."""
    steps = {at for curve in members for at, _ in curve.steps}
    products = {product_of(curve.contestant) for curve in members if curve.kind != LIMIT}
    return len(steps) > 1 or len(products) > 1


def _swept(scenario: Scenario | None) -> tuple[tuple[str, ...], str]:
    """Return the sweeps of a scenario in their order, and the number of clients for each swept thing."""
    if scenario is None:
        return (), ""
    swept = tuple(sweep.name for sweep in scenario.sweeps)
    role = next((role for role in scenario.roles if role.per and role.counts and role.counts[0] > 1), None)
    is_named = role is not None and f"{role.per.replace(' ', '_')}s" in swept
    return swept, f"{role.counts[0]} for each {role.per}" if role is not None and is_named else ""


def _introduction(context: Context, name: str, run: str) -> list[Block]:
    row, scenario = context.runs[run], context.scenario(name)
    blocks: list[Block] = [Paragraph(" ".join(scenario.summary.split()))] if scenario else []
    blocks.append(Paragraph(source_words(context, name, run), "small"))
    if context.queue_managers(name) == _TWO:
        together = (
            "Near is the queue manager, or node, of requesters or producers, and far the other one. Where nothing else "
            "is said, processor time, log and memory of the broker are those of both together."
        )
        blocks.append(Paragraph(together, "small"))
    doubts = [_RESUMED if row.is_complete and each.startswith(_PARTIAL) else each.rstrip(".") for each in row.flags]
    if not row.is_complete:
        doubts.insert(0, f"the run is {row.condition}: not all of it was measured")
    if row.is_quick:
        doubts.insert(0, "the run is the quick form, too short for figures to be quoted")
    flagged = sum(1 for point in context.points_of[run] if point.flags)
    if flagged:
        names = sorted({flag for point in context.points_of[run] for flag in point.flags})
        doubts.append(f"{flagged} of {len(context.points_of[run])} points are flagged ({', '.join(names)})")
    if doubts:
        blocks.append(Paragraph(f"Read with care: {'; '.join(doubts)}.", "doubt"))
    return [*blocks, *setup_blocks(context, name, run)]


# -- charts ------------------------------------------------------------------------------------------------------------


def _figure(context: Context, name: str, members: Sequence[Curve], sweep: ChartSweep) -> ReportFigure:
    shown = panels(members[0].operation, context.queue_managers(name) == _TWO, context.has_rates(name))
    charts = [_chart(context, panel, members, sweep) for panel in shown]
    run = members[0].run
    fits = any(chart is not None and chart.curves for chart in charts)
    note: tuple[Inline, ...] = ("Run ", context.report.run(run), ": ", Code(context.runs[run].command))
    if fits:
        note = ("The dotted line is the fit of the Universal Scalability Law. ", *note)
    caption = f"{described(context.title(name), members[0].group)}, by {sweep.label.partition(', ')[0]}"
    return context.report.figure(caption, [chart for chart in charts if chart is not None], [run], note)


def _chart(context: Context, panel: Panel, members: Sequence[Curve], sweep: ChartSweep) -> LineChart | None:
    lines = []
    for curve in members:
        along = curve.along(panel.value)
        if along:
            dots = tuple(panel_dot(at, each, panel, sweep) for at, each in along)
            is_flat = curve.contestant == ONE_QUEUE_MANAGER and len(dots) == 1 and sweep.name in CHANNEL_SWEEPS
            lines.append(ChartLine(curve.contestant, context.styles[curve.contestant], dots, is_flat=is_flat))
    if not lines:
        return None
    across = sorted({dot.x for line in lines for dot in line.dots})
    is_wide = len(across) > 2 and min(across) > 0 and max(across) / min(across) >= _LOG_ACROSS_FROM
    is_rate = panel.unit.endswith("/s")
    fits = _fits(context, members, across) if is_rate and sweep.name == CLIENTS else ()
    return LineChart(
        panel.title,
        Axis(sweep.label, is_wide, tuple(across), sweep.is_size),
        up_axis(panel, [dot.y for line in lines for dot in line.dots]),
        tuple(lines),
        fits,
        curve_sentence(context, panel, members, sweep),
        is_detail=panel.is_detail,
    )  # fmt: skip


def usl(row: ScalingRow, clients: float) -> float | None:
    """Return the rate that the fitted law predicts."""
    if row.lambda_ is None or row.sigma is None or row.kappa is None:
        return None
    return row.lambda_ * clients / (1 + row.sigma * (clients - 1) + row.kappa * clients * (clients - 1))


def _fits(context: Context, members: Sequence[Curve], across: Sequence[float]) -> tuple[FittedCurve, ...]:
    """Return the fit of Ostler only: a chart has room for one curve more."""
    main = context.main_contestant(members[0].run)
    curve = next((each for each in members if each.contestant == main), None)
    if curve is None or min(across) <= 0:
        return ()
    for row in context.tables.scalings:
        if (row.run, row.contestant, row.series) == (curve.run, main, curve.series) and row.is_fitted:
            factor = (max(across) / min(across)) ** (1 / _FIT_POINTS)
            places = [min(across) * factor**number for number in range(_FIT_POINTS + 1)]
            points = tuple((each, rate) for each in places if (rate := usl(row, each)) is not None)
            return (FittedCurve("Universal Scalability Law", context.styles[main], points),)
    return ()


def _limit_sentences(context: Context, run: str, told: Collection[tuple[str, str]]) -> list[Text]:
    """Return what limited each curve, Ostler first, without those whose chart says so."""
    if not context.has_rates(context.runs[run].scenario):
        return []
    rows = sorted(
        (
            row
            for row in context.tables.scalings
            if row.run == run and row.kind != LIMIT and row.why and (row.contestant, row.series) not in told
        ),
        key=lambda each: (
            contestant_order(each.contestant, each.kind),
            each.message_bytes,
            each.persistent,
            each.series,
        ),
    )
    found: list[Text] = []
    for row in rows[:_LIMITS_TOLD]:
        words = message_words(row.message_bytes, row.persistent, row.series)
        found.append((Strong(f"{row.contestant}"), f", {words}: {limit_words(row.limited_by, row.why)}."))
    if len(rows) > _LIMITS_TOLD:
        more = f"{numbers.count(len(rows) - _LIMITS_TOLD, 'curve')} more: "
        found.append((more, Hyperlink("where the limit is", "scaling-law"), "."))
    return found


# -- tables ------------------------------------------------------------------------------------------------------------

_PEAK_HEADINGS: Final = (
    Heading("Scenario"),
    Heading("Contestant"),
    Heading("Driver", title="compare lean drivers with lean drivers, and libraries with libraries"),
    Heading("Messages"),
    Heading("Peak, a second", True, "highest median rate of a step"),
    Heading("Clients there", True),
    Heading("Busy, %", True, "of all cores, at the peak"),
    Heading("Broker, µs", True, "processor time of the broker for each operation, at the peak"),
    Heading("99 %, ms", True, "99th percentile of the response time at the peak"),
    Heading("Fewest clients, ms", True, "mean response time with the fewest clients that were measured"),
    Heading("Run"),
)


def peak_table(context: Context, caption: str, runs: Sequence[str]) -> Block:
    peaks = [peak for run in runs for peak in context.peaks_of.get(run, [])]
    rows = []
    for peak in peaks:
        words = message_words(peak.message_bytes, peak.persistent, peak.series)
        rows.append(
            (
                context.scenario_cell(peak.scenario),
                text_cell(peak.contestant),
                text_cell(driver_words(peak.contestant, peak.kind)),
                Cell(words, peak.message_bytes),
                number_cell(peak.peak_rate),
                whole_cell(peak.peak_clients),
                percent_cell(peak.peak_busy_percent),
                number_cell(peak.peak_broker_cpu_us, "µs"),
                milliseconds_cell(peak.peak_p99_ns),
                milliseconds_cell(peak.single_mean_ns),
                context.report.run_cell(peak.run),
            )
        )
    # Values that are the same in all rows are in the caption.
    same = ("Scenario", "Messages") if len(runs) == 1 else ()
    return context.report.table(caption, _PEAK_HEADINGS, rows, [peak.run for peak in peaks], unless_same=same)


# Columns that are omitted where they are the same everywhere.
_SELDOM: Final = ("Messages", "Near, µs", "Far, µs", "Leader, µs", "Followers, µs", "Other site, µs", "Log, µs")


def _value_table(
    context: Context, name: str, run: str, found: Sequence[Curve], sweep: ChartSweep | None
) -> Block:  # fmt: skip
    headings = (
        Heading("Contestant"),
        Heading("Messages"),
        Heading(sweep.label.capitalize() if sweep else "Clients", True),
        Heading("Rate, 1/s", True, "completed operations a second, median of repetitions"),
        Heading("± %", True, "half of the confidence interval, or of the range, of the rate"),
        Heading("Mean, ms", True, "mean response time"),
        Heading("50 %, ms", True, "median response time"),
        Heading("90 %, ms", True, "90th percentile"),
        Heading("99 %, ms", True, "99th percentile"),
        Heading("99.9 %, ms", True, "99.9th percentile"),
        Heading("Broker, µs", True, "processor time of the broker for each operation"),
        Heading("Near, µs", True, "of it, of two with channels between them, the one that requests go in at"),
        Heading("Far, µs", True, "of it, of two with channels between them, the other one"),
        Heading("Leader, µs", True, "of it, of copies, the instance that applications use"),
        Heading("Followers, µs", True, "of it, of copies, all instances that follow at this site"),
        Heading("Other site, µs", True, "of it, of copies, the instance at another site"),
        Heading("Log, µs", True, "of it, of the threads that write the log"),
        Heading("Driver, µs", True, "processor time of the load drivers for each operation"),
        Heading("Steal, %", True, "of all cores, taken by the hypervisor"),
    )
    rows = []
    for curve in found:
        rates = dict(curve.along(lambda point: point.rate))
        for at, points in curve.steps:
            rows.append(_value_row(curve, at, points, rates.get(at), sweep))
    groups = {curve.group for curve in found}
    title = described(context.title(name), found[0].group) if len(groups) == 1 else context.title(name)
    note: tuple[Inline, ...] = ("Run ", context.report.run(run), ".")
    return context.report.table(f"All figures of {title}", headings, rows, [run], note, _SELDOM)


def _value_row(
    curve: Curve, at: float, points: Sequence[PointRow], rate: ValueSpread | None, sweep: ChartSweep | None
) -> tuple[Cell, ...]:
    half = None
    if rate is not None and rate.low is not None and rate.high is not None and rate.middle:
        half = 50 * (rate.high - rate.low) / rate.middle
    across = Cell(numbers.size(at), at) if sweep and sweep.is_size else whole_cell(at if sweep else points[0].clients)
    return (
        text_cell(curve.contestant),
        text_cell(curve.group),
        across,
        number_cell(rate.middle if rate else None),
        percent_cell(half),
        milliseconds_cell(middle(points, lambda point: point.mean_ns)),
        milliseconds_cell(middle(points, lambda point: point.p50_ns)),
        milliseconds_cell(middle(points, lambda point: point.p90_ns)),
        milliseconds_cell(middle(points, lambda point: point.p99_ns)),
        milliseconds_cell(middle(points, lambda point: point.p999_ns)),
        number_cell(middle(points, lambda point: point.broker_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.near_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.far_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.leader_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.follower_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.recovery_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.log_cpu_us) or None, "µs"),
        number_cell(middle(points, lambda point: point.driver_cpu_us), "µs"),
        percent_cell(middle(points, lambda point: point.steal_percent)),
    )
