"""Prints comparisons as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from ostler.lab.common.comparison import (
    BROKER_COST,
    FAR_COST,
    MEAN,
    NEAR_COST,
    P99,
    RATE,
    ChangeVerdict,
    MetricChange,
    RunComparison,
    StepComparison,
    step_key,
)
from ostler.lab.runner import formatting
from ostler.lab.runner.contract import ContestantKind
from ostler.lab.runner.run_table import constants, sweep_names
from ostler.lab.runner.step_results import StepResult
from ostler.lab.runner.text_table import TextColumn, TextTable, show
from ostler.lab.store.run_reader import StoredRun

_CHANGES: Final = (RATE, MEAN, P99, BROKER_COST, NEAR_COST, FAR_COST)
# Parts of another value, which are left out first on a narrow terminal.
_PARTS: Final = (MEAN, NEAR_COST, FAR_COST)


def change_text(compared: StepComparison, figure: str) -> str:
    """Returns a change in percent with its verdict; "same" within the tolerance. Limits have no verdict."""
    change = compared.change(figure)
    if change is None:
        return ""
    if change.verdict is ChangeVerdict.SAME:
        return "same"
    percent = formatting.percent(change.percent, signed=True)
    return percent if compared.other.kind is ContestantKind.LIMIT else f"{percent} {change.verdict.value}"


def show_contestants(
    run: StoredRun, base: str, results: Sequence[StepResult], changes: Sequence[StepComparison], console: Console
) -> None:
    """Prints, for each step, the base contestant and then the others."""
    fixed = constants(results)
    sweeps = [name for name in sweep_names(results) if name not in fixed]
    columns = (
        *(TextColumn(name, group=True) for name in sweeps),
        TextColumn("contestant", right=False, least=16),
        TextColumn("rate/s"),
        TextColumn("p99", keep=1),
        TextColumn("broker us", keep=2),
        TextColumn("near us", keep=1),
        TextColumn("far us", keep=1),
        *(TextColumn(f"{name} change", keep=3 if name in _PARTS else 0) for name in _CHANGES),
        TextColumn("doubts", right=False, keep=4, least=16, style="yellow"),
    )
    rows: list[tuple[str, ...]] = []
    bases = {step_key(each): each for each in results if each.contestant == base and each.is_main}
    for at, first in bases.items():
        rows.append((*_head(first, sweeps), *("" for _ in _CHANGES), ", ".join(first.flags)))
        rows += [
            (
                *_head(each.other, sweeps),
                *(change_text(each, name) for name in _CHANGES),
                ", ".join(each.other.flags),
            )
            for each in changes
            if step_key(each.other) == at
        ]
    show(TextTable(f"{run.manifest.run}: against {base}", columns, tuple(rows)), console)
    if fixed:
        console.print(f"Everywhere: {formatting.points(fixed)}.", soft_wrap=True, markup=False)


def _head(each: StepResult, sweeps: Sequence[str]) -> tuple[str, ...]:
    return (
        *(each.points.get(name, "") for name in sweeps),
        each.contestant,
        formatting.rate(each.rate_per_second),
        formatting.response_time(each.p99_ns.median),
        formatting.cost(each.broker_us.median),
        formatting.cost(each.costs.near_us.median),
        formatting.cost(each.costs.far_us.median),
    )


def show_runs(first: StoredRun, other: StoredRun, found: RunComparison, console: Console) -> None:
    """Prints each contestant of two runs, before and after."""
    results = [each.base for each in found.changes]
    fixed = constants(results)
    sweeps = [name for name in sweep_names(results) if name not in fixed]
    has_operations = len({each.operation for each in results}) > 1
    columns = (
        *(TextColumn(name, group=True) for name in sweeps),
        TextColumn("contestant", right=False, least=16),
        *((TextColumn("operation", right=False),) if has_operations else ()),
        TextColumn("rate/s before", keep=2),
        TextColumn("rate/s after", keep=3),
        *(TextColumn(f"{name} change", keep=1 if name in _PARTS else 0) for name in _CHANGES),
        TextColumn("doubts", right=False, keep=4, least=16, style="yellow"),
    )
    rows = tuple(
        (
            *(each.base.points.get(name, "") for name in sweeps),
            each.base.contestant,
            *((each.base.operation,) if has_operations else ()),
            formatting.rate(each.base.rate_per_second),
            formatting.rate(each.other.rate_per_second),
            *(change_text(each, name) for name in _CHANGES),
            ", ".join(each.flags),
        )
        for each in found.changes
    )
    show(TextTable(f"{first.manifest.run}, then {other.manifest.run}", columns, rows), console)
    if fixed:
        console.print(f"Everywhere: {formatting.points(fixed)}.", soft_wrap=True, markup=False)


def show_figures(changes: Sequence[MetricChange], console: Console) -> None:
    """Figures that are no rates, before and after."""
    sweeps = sweep_names(each.base for each in changes)
    columns = (
        *(TextColumn(name, group=True) for name in sweeps),
        TextColumn("contestant", right=False, group=True, least=16),
        TextColumn("figure", right=False),
        TextColumn("before", keep=1),
        TextColumn("after", keep=2),
        TextColumn("change"),
    )
    rows = tuple(
        (
            *(each.base.points.get(name, "") for name in sweeps),
            each.base.contestant,
            each.base.name,
            formatting.figure(each.base.values.median),
            formatting.figure(each.other.values.median),
            "same" if each.is_same else formatting.percent(each.percent, signed=True) or "new",
        )
        for each in changes
    )
    if not console.is_terminal:
        console.print()
    show(TextTable("Figures that are no rates", columns, rows), console)
