"""Two figures side by side: releases, options, products, and the same again; with what the difference means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts import Axis, Dot, DotChart, Look, Strip
from ostler.pipeline.report.context import Context, number_cell, percent_cell, text_cell
from ostler.pipeline.report.curves import series_words
from ostler.pipeline.report.document import Block, Cell, Figure, Fold, Heading, Inline, Mark, Paragraph, Section
from ostler.pipeline.report.rows import ComparisonRow

RATIO: Final = "ratio"
_STRIPS_MAX: Final = 16
_ROWS_MAX: Final = 2000
_RATE: Final = "rate"
# Beyond these, changes in percent crowd on one side of a linear axis.
_FAR_PERCENT: Final = 200.0
_NEAR_NOTHING_PERCENT: Final = -75.0
_LEAST_RATIO: Final = 0.001
_BETTER, _WORSE, _SAME = "better", "worse", "same"

_KINDS: Final = {
    "release": ("Release to release", "The same scenario on the same machine with another release of Ostler."),
    "option": ("Option to option", "The same scenario with one setting changed: TLS, logging, persistence, distance."),
    "product": (
        "Product to product",
        "Other brokers and limits of the machine in the same run. What they promise differs: see the contestants.",
    ),
    "repeat": ("The same again", "The same release measured twice: what differs here is the machine, not Ostler."),
}  # fmt: skip

_LOOKS: Final = {_BETTER: Look(2, 2), _WORSE: Look(1, 4), _SAME: Look(0, 0)}


def comparisons_section(context: Context) -> Section:
    text = (
        "Change is that of the second against the first, in percent, with the 95 % confidence interval from repeated "
        "runs. A change within the tolerance is called the same: 6 %, widened by the noise that was measured."
    )
    rows = sorted((row for row in context.tables.comparisons if row.kind != RATIO), key=_order)
    if not rows:
        none = "Nothing to compare yet: run a scenario twice, with another option, or beside other brokers."
        return Section("comparisons", "Comparisons", (Paragraph(none),))
    kinds = sorted(
        {row.kind for row in rows}, key=lambda each: (list(_KINDS).index(each) if each in _KINDS else 9, each)
    )
    inner = tuple(_kind(context, kind, [row for row in rows if row.kind == kind]) for kind in kinds)
    return Section("comparisons", "Comparisons", (Paragraph(text),), inner)


def _order(row: ComparisonRow) -> tuple[str, str, str, int, str]:
    return (row.scenario, row.subject, row.series, row.clients or 0, row.metric)


def _kind(context: Context, kind: str, rows: Sequence[ComparisonRow]) -> Section:
    title, text = _KINDS.get(kind, (kind.capitalize(), ""))
    blocks: list[Block] = [Paragraph(text)] if text else []
    figure = _figure(context, title, rows)
    if figure is not None:
        blocks.append(figure)
    peaks = [row for row in rows if row.clients is None]
    steps = [row for row in rows if row.clients is not None]
    if peaks:
        blocks.append(_table(context, f"{title}, at the peak", peaks))
    if steps:
        told = steps[:_ROWS_MAX]
        left = f", {len(told):,} of {len(steps):,}" if len(steps) > len(told) else ""
        table = _table(context, f"{title}, at the same number of clients{left}", told)
        # As long as it is, it is for looking things up: paper has it where there is nothing else.
        blocks.append(Fold(f"At each number of clients ({len(steps):,} rows)", (table,), not peaks))
    return Section(f"comparisons-{kind}", title, tuple(blocks))


def _at(row: ComparisonRow) -> str:
    at = "at the peak" if row.clients is None else f"{row.clients:,} client{'' if row.clients == 1 else 's'}"
    return f"{series_words(row.series)}, {at}" if row.series else at


def _place(context: Context, row: ComparisonRow) -> tuple[Inline, ...]:
    return (context.scenario_link(row.scenario), f": {_at(row)}")


def verdict_cell(verdict: str) -> Cell:
    meaning = verdict if verdict in _LOOKS else "doubtful"
    return Cell((Mark(verdict, meaning),), verdict)


def _interval_cell(row: ComparisonRow) -> Cell:
    if row.low_percent is None or row.high_percent is None:
        return Cell(numbers.NOTHING)
    low, high = numbers.percent(row.low_percent, signed=True), numbers.percent(row.high_percent, signed=True)
    return Cell(f"{low.removesuffix(' %')} to {high}", row.low_percent)


def _table(context: Context, title: str, rows: Sequence[ComparisonRow]) -> Block:
    headings = (
        Heading("What"),
        Heading("Where", is_wide=True),
        Heading("Metric"),
        Heading("First", True, "median of the baseline"),
        Heading("Second", True, "median of what is held against it"),
        Heading("Change", True),
        Heading("95 % interval", True),
        Heading("Tolerance", True, "6 %, widened by the noise"),
        Heading("Verdict"),
        Heading("Runs"),
    )
    body = [
        (
            Cell(row.subject, row.subject.lower(), f"{row.left_name} → {row.right_name}"),
            Cell(_place(context, row), row.scenario),
            text_cell(row.metric.replace(", us", ", µs")),
            number_cell(row.left_value),
            number_cell(row.right_value),
            percent_cell(row.change_percent, signed=True),
            _interval_cell(row),
            percent_cell(row.tolerance_percent),
            verdict_cell(row.verdict),
            Cell(context.book.runs((row.left_run, row.right_run))),
        )
        for row in rows
    ]  # fmt: skip
    runs = [run for row in rows for run in (row.left_run, row.right_run)]
    return context.book.table(title, headings, body, runs)


def _figure(context: Context, title: str, rows: Sequence[ComparisonRow]) -> Figure | None:
    """Changes of rates with their intervals; the most telling ones when there are too many for a chart."""
    rates = [row for row in rows if row.metric == _RATE]
    rates = [row for row in rates if row.clients is None] or rates
    drawn = sorted(rates, key=lambda each: -abs(each.change_percent))[:_STRIPS_MAX]
    if len(drawn) < 2:
        return None
    kept = [row for row in rates if row in drawn]
    dots = [_change_dot(row) for row in kept]
    is_far = max(dot.x for dot in dots) > _FAR_PERCENT or min(dot.x for dot in dots) < _NEAR_NOTHING_PERCENT
    if is_far:
        dots = [_as_ratio(dot) for dot in dots]
    strips = tuple(
        Strip(f"{row.subject} · {row.scenario}, {_at(row)}", ((row.verdict, _look(row.verdict), dot),))
        for row, dot in zip(kept, dots, strict=True)
    )
    axis = Axis("ratio of the second to the first", True) if is_far else Axis("change, %")
    chart = DotChart("Change of the rate", axis, strips, reference=1.0 if is_far else 0.0)
    runs = [run for row in kept for run in (row.left_run, row.right_run)]
    left = "" if len(kept) == len(rates) else f" The {len(kept)} greatest of {len(rates)}; the table has all."
    return context.book.figure(
        f"{title}: change of the rate", [chart], runs, f"Bars are 95 % confidence intervals.{left}"
    )


def _as_ratio(dot: Dot) -> Dot:
    """The same change as a ratio, for a logarithmic axis: a tenth and ten times are equally far from the same."""
    low, high = (None if each is None else _ratio(each) for each in (dot.low, dot.high))
    return replace(dot, x=_ratio(dot.x), low=low, high=high)


def _ratio(percent: float) -> float:
    return max(1 + percent / 100, _LEAST_RATIO)


def _look(verdict: str) -> Look:
    return _LOOKS.get(verdict, Look(0, 3, True))


def _change_dot(row: ComparisonRow) -> Dot:
    values = f"{numbers.figure(row.left_value)} → {numbers.figure(row.right_value)}"
    words = f"{numbers.percent(row.change_percent, signed=True)}: {values}"
    interval = ""
    if row.low_percent is not None and row.high_percent is not None:
        low, high = numbers.percent(row.low_percent, signed=True), numbers.percent(row.high_percent, signed=True)
        interval = f"95 % interval {low} to {high}"
    across = f"{row.left_name} → {row.right_name}"
    return Dot(row.change_percent, 0.0, row.low_percent, row.high_percent, across, words, interval)
