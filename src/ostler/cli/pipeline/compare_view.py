"""Comparisons as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from ostler.cli.pipeline.comparisons import KINDS, NOT_COMPARABLE, RATIO, WORSE, Row, ShownComparisons
from ostler.lab.runner.formatting import figure, percent
from ostler.lab.runner.text_table import TextColumn, TextTable, show
from ostler.pipeline.errors import count_text

_WIDTH_WITHOUT_TERMINAL: Final = 220
# Wider intervals are shown as open: they only mean that little is known. A rate cannot fall by 100 %.
_LOWEST_PERCENT: Final = -99.9
_HIGHEST_PERCENT: Final = 1000.0
_LEFT_OUT: Final = {
    "--published": ("published ratio without one of ours", "published ratios without one of ours"),
    "--history": ("comparison of earlier runs", "comparisons of earlier runs"),
    "--all": ("figure other than a rate at a peak", "figures other than rates at peaks"),
}


def show_comparisons(comparisons: ShownComparisons) -> None:
    """Prints a table for each kind, and the counts of the rest."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    for kind, title in KINDS.items():
        listed = [row for row in comparisons.rows if row["kind"] == kind]
        if listed:
            console.print(title, markup=False, style="bold")
            show(_ratio_table(title, listed) if kind == RATIO else _table(title, listed), console)
            console.print()
    for line in foot(comparisons):
        console.print(line, markup=False, soft_wrap=True)


def foot(comparisons: ShownComparisons) -> list[str]:
    """Returns lines with the number of comparisons by verdict, and of those not shown."""
    judged = [row["verdict"] for row in comparisons.rows if row["kind"] != RATIO or row["our_ratio"] is not None]
    if judged:
        counts = ", ".join(f"{judged.count(each)} {each}" for each in ("better", WORSE, "same", NOT_COMPARABLE))
        lines = [f"{count_text(len(judged), 'comparison')} with figures of ours: {counts}."]
    else:
        lines = ["Nothing of ours to compare: measure a scenario again, with an option, or beside other products."]
    for option, (one, many) in _LEFT_OUT.items():
        number = comparisons.left_out.get(option, 0)
        if number:
            lines.append(f"Not shown: {number:,} {one if number == 1 else many}. {option} shows {_them(number)}.")
    return lines


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _table(title: str, rows: Sequence[Row]) -> TextTable:
    columns = (
        TextColumn("what", right=False, group=True, least=20),
        TextColumn("scenario", right=False, group=True),
        TextColumn("series", right=False, keep=4, least=16),
        TextColumn("runs", right=False, keep=1, least=21),
        TextColumn("clients"),
        TextColumn("figure", right=False, least=12),
        TextColumn("first", keep=5),
        TextColumn("second", keep=5),
        TextColumn("change"),
        TextColumn("95 % interval", right=False, keep=3),
        TextColumn("times", keep=2),
        TextColumn("tolerance", keep=2),
        TextColumn("verdict", right=False),
    )
    cells = tuple(
        (
            row["subject"],
            row["scenario"],
            row["series"],
            runs_text(row),
            "peak" if row["clients"] is None else str(row["clients"]),
            row["metric"],
            figure(row["left_value"]),
            figure(row["right_value"]),
            percent(row["change_percent"], signed=True),
            interval_text(row),
            _times(row),
            tolerance_text(row["tolerance_percent"]),
            row["verdict"],
        )
        for row in rows
    )
    return TextTable(title, columns, cells)


def runs_text(row: Row) -> str:
    """Returns the runs without the scenario name they begin with; one if both values are of the same run."""
    left, right = (row[name].removeprefix(f"{row['scenario']}-") for name in ("left_run", "right_run"))
    return right if left == right else f"{left} and {right}"


def interval_text(row: Row) -> str:
    """Returns the interval, or the reason why there is none."""
    low, high = row["low_percent"], row["high_percent"]
    if low is None or high is None:
        counts = [row[name] for name in ("left_repetitions", "right_repetitions")]
        return "none, measured once" if 1 in counts else ""
    return f"{_end(low)} to {_end(high)}"


def tolerance_text(tolerance_percent: float) -> str:
    """Returns the range of changes that count as the same: a fall to a half is as far as a rise to the double."""
    fall = 100 * (1 / (1 + tolerance_percent / 100) - 1)
    return f"{percent(fall, signed=True)} to {percent(tolerance_percent, signed=True)}"


def _end(value: float) -> str:
    if value < _LOWEST_PERCENT:
        return f"below {_LOWEST_PERCENT} %"
    if value > _HIGHEST_PERCENT:
        return f"above +{_HIGHEST_PERCENT:,.0f} %"
    # From 99.5 on, a whole number would read as a fall to zero.
    return f"{value:.1f} %" if value < -99 else percent(value, signed=True)


def _times(row: Row) -> str:
    """Returns the number of repetitions of both sides."""
    counts = [row[name] for name in ("left_repetitions", "right_repetitions") if row[name] is not None]
    return ", ".join(str(each) for each in counts)


def _ratio_table(title: str, rows: Sequence[Row]) -> TextTable:
    columns = (
        TextColumn("what", right=False, group=True, least=20),
        TextColumn("scenario", right=False, group=True),
        TextColumn("series", right=False, least=16),
        TextColumn("published"),
        TextColumn("ours"),
        TextColumn("verdict", right=False),
        TextColumn("runs", right=False, keep=2, least=21),
        TextColumn("times", keep=2),
        TextColumn("source", right=False, keep=1, least=24),
    )
    cells = tuple(
        (
            row["subject"],
            row["scenario"],
            row["series"],
            _ratio(row["published_ratio"]),
            _ratio(row["our_ratio"]),
            row["verdict"] if row["our_ratio"] is not None else "",
            runs_text(row) if row["our_ratio"] is not None else "",
            _times(row),
            row["published_source"] or "",
        )
        for row in rows
    )
    return TextTable(title, columns, cells)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
