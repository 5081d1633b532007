"""The section of comparisons: releases, options, products and repeated runs, with the meaning of each difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Dot, Strip, Style, side_by_side
from ostler.pipeline.report.charts.curves import series_words
from ostler.pipeline.report.context import Context, number_cell, text_cell
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Cell,
    Fold,
    Heading,
    Inline,
    Mark,
    Paragraph,
    ReportFigure,
    Section,
    Strong,
)
from ostler.pipeline.report.rows import LIMIT, ComparisonRow

RATIO: Final = "ratio"
_STRIPS_MAX: Final = 16
_ROWS_MAX: Final = 2000
_RATE: Final = "rate"
# Beyond these, changes in percent crowd on one side of a linear axis.
_FAR_PERCENT: Final = 200.0
_NEAR_NOTHING_PERCENT: Final = -75.0
# Below this, whole percents no longer distinguish values.
_NEAR_ALL_PERCENT: Final = -95.0
_WIDE_RATIO: Final = 100.0
_PRODUCT: Final = "product"
_OPTION: Final = "option"
_SIZES: Final = re.compile(r"(\d+) bytes to (\d+)(?: bytes)?")
_REVISION: Final = re.compile(r"\b([0-9a-f]{10})[0-9a-f]{30}\b")
_METRICS: Final = {
    "rate": "rate, 1/s",
    "messages put and got": "puts and gets, 1/s",
    "publications": "publications, 1/s",
    "p90 response time, us": "90 %, µs",
    "broker processor time, us": "CPU, µs",
    "mean response time, us": "mean, µs",
    "p99 response time, us": "99 %, µs",
}
_LEAST_RATIO: Final = 0.001
_BETTER, _WORSE, _SAME = "better", "worse", "same"

_KINDS: Final = {
    "release": ("Release to release", "The same scenario on the same machine with another release of Ostler."),
    "option": (
        "Option to option",
        "The same scenario with one setting changed: TLS, logging, persistence, channels, distance; and the same load "
        "on one queue manager in the place of two.",
    ),
    "product": (
        "Product to product",
        "Ostler and other brokers in the same run, lean drivers with lean drivers and libraries with libraries. They "
        "do not promise the same with an acknowledgement.",
    ),
    "repeat": ("The same again", "The same release measured twice: what differs here is the machine, not Ostler."),
}  # fmt: skip

_STYLES: Final = {_BETTER: Style(2, 2), _WORSE: Style(1, 4), _SAME: Style(0, 0)}


def comparisons_section(context: Context) -> Section:
    text = (
        "Change is that of the second against the first, with the 95 % confidence interval from repetitions: in "
        f"percent, or as a ratio ({numbers.TIMES}) where it is far from the same. Intervals are those of ratios, so "
        "their ends are not equally far from the change in percent. From two repetitions they are wide, and where the "
        "ends differ a hundredfold they are not shown: repeat the run with more repetitions. A change "
        "within the tolerance is called the same: 6 %, widened by the noise that was measured, and "
        "counted from the smaller figure."
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
    blocks += _promises(context, rows) if kind == _PRODUCT else []
    peaks = [row for row in rows if row.clients is None]
    steps = [row for row in rows if row.clients is not None]
    shown, older, limits = _split_rows(context, kind, peaks)
    figure = _figure(context, title, shown or older or [row for row in steps if row.left_name not in context.limits])
    if figure is not None:
        blocks.append(figure)
    if shown:
        blocks.append(_table(context, f"{title}, at the peak", shown))
    if older:
        blocks.append(_folded(context, f"{title}, at the peak of other runs", older, not shown))
    if limits:
        limits_shown = [row for row in limits if _is_significant(context, row)] or limits
        blocks.append(_limit_table(context, limits_shown))
    if steps:
        blocks.append(_folded(context, f"{title}, at the same number of clients", steps, not peaks))
    return Section(f"comparisons-{kind}", title, tuple(blocks))


def _promises(context: Context, rows: Sequence[ComparisonRow]) -> list[Block]:
    """Return what an acknowledgement of each product promises, in the runs that are compared."""
    names = {
        (run, name) for row in rows for run, name in ((row.left_run, row.left_name), (row.right_run, row.right_name))
    }
    found: dict[tuple[str, str], list[str]] = {}
    for each in context.tables.contestants:
        if (each.run, each.contestant) in names and each.kind != LIMIT and each.promise:
            found.setdefault((each.contestant, each.promise), []).append(each.run)
    items = [
        (Strong(name), f": {promise} (", *context.report.runs(runs), ").") for (name, promise), runs in found.items()
    ]
    return [Bullets(tuple(items))] if items else []


def _split_rows(
    context: Context, kind: str, peaks: Sequence[ComparisonRow]
) -> tuple[list[ComparisonRow], list[ComparisonRow], list[ComparisonRow]]:
    """Return the rows to show, the rows to fold, and the limits of the machine. Of several runs of a scenario with the
    same brokers or options, the representative one is shown."""
    if kind not in (_PRODUCT, _OPTION):
        return list(peaks), [], []
    limits = [row for row in peaks if row.left_name in context.limits]
    products = [row for row in peaks if row.left_name not in context.limits]
    shown = [row for row in products if _is_significant(context, row)]
    return shown, [row for row in products if not _is_significant(context, row)], limits


def _is_significant(context: Context, row: ComparisonRow) -> bool:
    return context.speaking.get(row.scenario) == row.right_run


def _folded(context: Context, title: str, rows: Sequence[ComparisonRow], is_printed: bool) -> Block:
    """Return folded rows for reference: paper has them where there is nothing else."""
    shown = rows[:_ROWS_MAX]
    left = f", {len(shown):,} of {len(rows):,}" if len(rows) > len(shown) else ""
    return Fold(f"{title} ({len(rows):,} rows)", (_table(context, f"{title}{left}", shown),), is_printed)


def _where(row: ComparisonRow) -> list[str]:
    """Return the common part of both: the series, and the number of clients unless they are peaks."""
    words = [series_words(row.series)] if row.series else []
    return words if row.clients is None else [*words, numbers.count(row.clients, "client")]


def _place(context: Context, row: ComparisonRow) -> tuple[Inline, ...]:
    words = ", ".join(_where(row))
    return (context.scenario_link(row.scenario), f": {words}" if words else "")


def subject_words(subject: str) -> str:
    """Return the subject as text: sizes as everywhere else, 64 KB to 2 KB, and shortened revisions."""
    found = _SIZES.fullmatch(subject)
    if found:
        return f"{numbers.size(int(found[1]))} to {numbers.size(int(found[2]))}"
    return _REVISION.sub(r"\1", subject)


def metric_words(metric: str) -> str:
    return _METRICS.get(metric, metric.replace(", us", ", µs"))


def verdict_cell(verdict: str) -> Cell:
    meaning = verdict if verdict in _STYLES else "doubtful"
    return Cell((Mark(verdict, meaning),), verdict)


def _interval_cell(row: ComparisonRow) -> Cell:
    if row.low_percent is None or row.high_percent is None:
        return Cell(numbers.NOTHING)
    exact = f"{numbers.exact(row.low_percent)} to {numbers.exact(row.high_percent)} %"
    return Cell(_interval(row), row.low_percent, f"{exact}{_basis(row)}")


def _basis(row: ComparisonRow) -> str:
    if row.left_repetitions is None or row.right_repetitions is None:
        return ""
    return f", from {row.left_repetitions} and {numbers.count(row.right_repetitions, 'repetition')}"


def _is_far(row: ComparisonRow) -> bool:
    """Return whether to show a ratio: twenty times is easier to read than +1,900 %, and so is a fiftieth."""
    highest = lowest = row.change_percent
    if not _is_too_wide(row):
        highest, lowest = max(highest, row.high_percent or 0.0), min(lowest, row.low_percent or 0.0)
    return highest > _FAR_PERCENT or lowest < _NEAR_ALL_PERCENT


def _is_too_wide(row: ComparisonRow) -> bool:
    """Return whether the interval only shows that there were too few repetitions: its ends differ a hundredfold."""
    if row.low_percent is None or row.high_percent is None:
        return False
    return 100 + row.high_percent > _WIDE_RATIO * (100 + row.low_percent)


def _change(row: ComparisonRow) -> str:
    is_far = _is_far(row)
    return numbers.times(1 + row.change_percent / 100) if is_far else numbers.percent(row.change_percent, signed=True)


def _interval(row: ComparisonRow) -> str:
    """Return both ends in the unit of the change."""
    assert row.low_percent is not None
    assert row.high_percent is not None
    if _is_too_wide(row):
        return "too wide"
    if _is_far(row):
        return f"{numbers.figure(1 + row.low_percent / 100)} to {numbers.times(1 + row.high_percent / 100)}"
    low, high = numbers.percent(row.low_percent, signed=True), numbers.percent(row.high_percent, signed=True)
    return f"{low.removesuffix(' %')} to {high}"


def _change_cell(row: ComparisonRow) -> Cell:
    return Cell(_change(row), row.change_percent, f"{numbers.exact(row.change_percent)} %")


def _table(context: Context, title: str, rows: Sequence[ComparisonRow]) -> Block:
    headings = (
        Heading("What"),
        Heading("Where", is_wide=True),
        Heading("Metric", title="rate: operations a second; CPU: processor time of the broker for each operation"),
        Heading("First", True, "median of the baseline"),
        Heading("Second", True, "median of what is held against it"),
        Heading("Change", True),
        Heading("95 % interval", True),
        Heading("Tolerance", True, "6 %, widened by the noise; a fall to a half is as far as a rise to the double"),
        Heading("Verdict"),
        Heading("Runs"),
    )
    body = [
        (
            Cell(subject_words(row.subject), row.subject.lower(), f"{row.left_name} → {row.right_name}"),
            Cell(_place(context, row), row.scenario),
            Cell(metric_words(row.metric), row.metric, row.metric.replace(", us", ", µs")),
            number_cell(row.left_value),
            number_cell(row.right_value),
            _change_cell(row),
            _interval_cell(row),
            _tolerance_cell(row.tolerance_percent),
            verdict_cell(row.verdict),
            Cell(context.report.runs((row.left_run, row.right_run))),
        )
        for row in rows
    ]  # fmt: skip
    runs = [run for row in rows for run in (row.left_run, row.right_run)]
    return context.report.table(title, headings, body, runs, unless_same=("Metric",))


def _tolerance_cell(percent: float) -> Cell:
    """Return both ends: a fall is never as many percent as an equally large rise."""
    fall = 100 * (1 / (1 + percent / 100) - 1)
    text = f"{numbers.percent(fall, signed=True)} to {numbers.percent(percent, signed=True)}"
    return Cell(text, percent, f"{numbers.exact(percent)} % of the smaller")


def _limit_table(context: Context, rows: Sequence[ComparisonRow]) -> Block:
    """Return how near Ostler comes to the limits of the machine, without a verdict."""
    headings = (
        Heading("Contestant"),
        Heading("Limit"),
        Heading("Where"),
        Heading("Limit, 1/s", True, "what the machine did with nothing in between"),
        Heading("Reached, 1/s", True, "at the peak"),
        Heading("Reached, %", True, "of the limit"),
        Heading("95 % interval", True),
        Heading("Run"),
    )
    shown = [row for row in rows if row.metric == _RATE and not _is_rated(context, row.right_run)]
    body = [
        (
            text_cell(row.right_name),
            text_cell(row.left_name),
            Cell(_place(context, row), row.scenario),
            number_cell(row.left_value),
            number_cell(row.right_value),
            _part_cell(row.change_percent),
            _part_interval_cell(row),
            context.report.run_cell(row.right_run),
        )
        for row in shown
    ]
    caption = "Ostler at its peak, and limits of the machine"
    return context.report.table(caption, headings, body, [row.right_run for row in shown])


def _is_rated(context: Context, run: str) -> bool:
    """Return whether the contestants of a run had a fixed rate, which is no share of a limit."""
    return any(point.asked_rate is not None for point in context.points_of[run] if point.kind != LIMIT)


def _part(change_percent: float) -> str:
    return f"{numbers.figure(100 + change_percent)}"


def _part_cell(change_percent: float) -> Cell:
    return Cell(f"{_part(change_percent)} %", change_percent)


def _part_interval_cell(row: ComparisonRow) -> Cell:
    if row.low_percent is None or row.high_percent is None:
        return Cell(numbers.NOTHING)
    if _is_too_wide(row):
        return Cell("too wide", row.low_percent)
    return Cell(f"{_part(row.low_percent)} to {_part(row.high_percent)} %", row.low_percent)


def _figure(context: Context, title: str, rows: Sequence[ComparisonRow]) -> ReportFigure | None:
    """Return changes of rates with their intervals; the largest ones when there are too many for a chart."""
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
        Strip(
            f"{subject_words(row.subject)} · {', '.join([row.scenario, *_where(row)])}",
            ((row.verdict, _style(row.verdict), dot),),
        )
        for row, dot in zip(kept, dots, strict=True)
    )
    axis = Axis("ratio of the second to the first", True) if is_far else Axis("change, %")
    charts = side_by_side("Change of the rate", axis, strips, 1.0 if is_far else 0.0)
    runs = [run for row in kept for run in (row.left_run, row.right_run)]
    left = "" if len(kept) == len(rates) else f" The {len(kept)} greatest of {len(rates)}; the table has all."
    return context.report.figure(
        f"{title}: change of the rate", charts, runs, f"Bars are 95 % confidence intervals.{left}"
    )


def _as_ratio(dot: Dot) -> Dot:
    """Return the change as a ratio, for a logarithmic axis: a tenth and ten times are equally far from the same."""
    low, high = (None if each is None else _ratio(each) for each in (dot.low, dot.high))
    return replace(dot, x=_ratio(dot.x), low=low, high=high)


def _ratio(percent: float) -> float:
    return max(1 + percent / 100, _LEAST_RATIO)


def _style(verdict: str) -> Style:
    return _STYLES.get(verdict, Style(0, 3, True))


def _change_dot(row: ComparisonRow) -> Dot:
    values = f"{numbers.figure(row.left_value)} → {numbers.figure(row.right_value)}"
    words = f"{_change(row)}: {values}"
    is_known = row.low_percent is not None and row.high_percent is not None
    interval = f"95 % interval {_interval(row)}" if is_known else ""
    across = f"{row.left_name} → {row.right_name}"
    low, high = (None, None) if _is_too_wide(row) else (row.low_percent, row.high_percent)
    return Dot(row.change_percent, 0.0, low, high, across, words, interval)
