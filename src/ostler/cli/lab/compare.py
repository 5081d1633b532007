"""`ostler lab compare`: compares contestants of a run with Ostler, or runs of a scenario with the first of them.

Exit statuses: 0, or 2 if the runs cannot be compared. A worse result is not an error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.lab.runs import add_runs_option, find_run

if TYPE_CHECKING:
    from rich.console import Console

    from ostler.lab.common.comparison import MetricChange, RunComparison, StepComparison
    from ostler.lab.runner.step_results import StepResult
    from ostler.lab.store.run_reader import StoredRun

USAGE: Final = 2
_WIDTH_WITHOUT_TERMINAL: Final = 200

_DESCRIPTION: Final = """\
Compare what was measured. With one run, its contestants against Ostler; with several runs of one scenario, all against
the first, each contestant with itself. Differences that the machine could have made by itself are called the same:
below 15 %, below the noise, below what the limits of the machine moved, or smaller than those of the repetitions."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "compare", "contestants of a run, or runs, against one another", _DESCRIPTION, USAGE
    )
    parser.add_argument("names", nargs="+", metavar="RUN", help="the directory of a run, or its name")
    parser.add_argument("--against", metavar="CONTESTANT", default="", help="with one run: another one than Ostler")
    add_runs_option(parser)
    parser.add_argument("--json", action="store_true", dest="is_json", help="as one JSON object")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _LoadedRun:
    run: StoredRun
    results: list[StepResult]
    noise_percent: float | None


def run(arguments: argparse.Namespace) -> int:
    if find_spec("pyarrow") is None:
        print("ostler lab needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
        return 1
    from rich.console import Console

    from ostler.lab.common.comparison import NothingToCompare
    from ostler.lab.store.manifest import RunUnreadable

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    try:
        loaded = [_load(name, arguments) for name in arguments.names]
        if len(loaded) == 1:
            result = _one_run(loaded[0], arguments.against, None if arguments.is_json else console)
        else:
            _check_same(loaded, arguments.against)
            result = _several_runs(loaded, None if arguments.is_json else console)
    except (NothingToCompare, RunUnreadable) as refused:
        print(f"ostler lab compare: {refused}", file=sys.stderr)
        return USAGE
    if arguments.is_json:
        print(json.dumps(result, indent=2))
    return 0


def _load(name: str, arguments: argparse.Namespace) -> _LoadedRun:
    from ostler.lab.common.comparison import NothingToCompare
    from ostler.lab.runner.step_results import noise_percent, step_results
    from ostler.lab.store.run_reader import read_run

    found = read_run(find_run(name, arguments.runs))
    results = step_results(found)
    if not results:
        raise NothingToCompare(f"Nothing was measured in {found.directory.name}: {found.condition.value}.")
    return _LoadedRun(found, results, noise_percent(found))


def _check_same(loaded: Sequence[_LoadedRun], against: str) -> None:
    from ostler.lab.common.comparison import NothingToCompare

    if against:
        raise NothingToCompare("--against is for the contestants of one run; several runs are compared with the first.")
    directories = [each.run.directory.resolve() for each in loaded]
    if len(set(directories)) != len(directories):
        raise NothingToCompare("The same run is named twice.")
    first, *others = (each.run.manifest for each in loaded)
    for other in others:
        if other.scenario != first.scenario:
            raise NothingToCompare(
                f"{other.run} is of another scenario than {first.run}: {other.scenario}, not {first.scenario}."
            )


# -- one run -----------------------------------------------------------------------------------------------------------


def _one_run(loaded: _LoadedRun, against: str, console: Console | None) -> dict[str, object]:
    from ostler.lab.common.comparison import compare_contestants, reference

    base = reference(loaded.results, against)
    changes = compare_contestants(loaded.results, base, loaded.noise_percent or 0.0)
    if console is not None:
        from ostler.cli.lab.compare_text import show_contestants

        show_contestants(loaded.run, base, loaded.results, changes, console)
        _foot(changes, [loaded], console)
    return {
        "scenario": loaded.run.manifest.scenario,
        "run": loaded.run.manifest.run,
        "against": base,
        "noise_percent": loaded.noise_percent,
        "compared": [each.as_json() for each in changes],
    }


# -- several runs ------------------------------------------------------------------------------------------------------


def _several_runs(loaded: Sequence[_LoadedRun], console: Console | None) -> dict[str, object]:
    from ostler.lab.common.comparison import compare_metrics, compare_runs
    from ostler.lab.runner.step_results import step_metrics

    first, *others = loaded
    compared: list[dict[str, object]] = []
    for other in others:
        noise = max(first.noise_percent or 0.0, other.noise_percent or 0.0)
        found = compare_runs(first.results, other.results, noise)
        differences = environment_differences(first.run, other.run)
        figures = compare_metrics(step_metrics(first.run), step_metrics(other.run))
        compared.append({**_as_json(other, noise, found, differences), "figures": [each.as_json() for each in figures]})
        if console is not None:
            _show_runs(first, other, found, differences, console)
            _show_figures(figures, console)
    manifest = first.run.manifest
    return {"scenario": manifest.scenario, "base": manifest.run, "runs": compared}


def _as_json(other: _LoadedRun, noise: float, found: RunComparison, differences: list[str]) -> dict[str, object]:
    return {
        "run": other.run.manifest.run,
        "noise_percent": noise,
        "limits_percent": {name: round(percent, 2) for name, percent in found.limits.items()},
        "differences": differences,
        "only_base": found.only_base,
        "only_other": found.only_other,
        "compared": [each.as_json() for each in found.changes],
    }


def _show_runs(
    first: _LoadedRun, other: _LoadedRun, found: RunComparison, differences: list[str], console: Console
) -> None:
    from ostler.cli.lab.compare_text import show_runs
    from ostler.lab.runner.formatting import percent

    show_runs(first.run, other.run, found, console)
    _foot(found.changes, [first, other], console)
    for name, moved in found.limits.items():
        _print_line(console, f"The machine itself: {name} changed by {percent(moved, signed=True)}.")
    if found.only_base or found.only_other:
        text = f"Without a counterpart: {found.only_base} rows of the first run, {found.only_other} of the other."
        _print_line(console, text)
    for text in differences:
        _print_line(console, f"Not alike: {text}.", "yellow")


def _show_figures(figures: Sequence[MetricChange], console: Console) -> None:
    from ostler.cli.lab.compare_text import show_figures

    if figures:
        show_figures(figures, console)


_COMPARED_FACTS: Final = ("machine", "kernel", "versions", "compiled", "revision")


def environment_differences(first: StoredRun, other: StoredRun) -> list[str]:
    """Returns differences between two runs other than time: machine, versions, flavour, settings."""
    ours, theirs = _facts(first), _facts(other)
    return [
        f"{name} was {ours.get(name, 'unknown')}, then {theirs.get(name, 'unknown')}"
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]


def _facts(run: StoredRun) -> dict[str, object]:
    environment = run.manifest.environment
    found: dict[str, object] = {}
    for fact in _COMPARED_FACTS:
        value = environment.get(fact)
        if isinstance(value, dict):
            found |= {f"{fact} {name}": each for name, each in value.items()}
        elif value is not None:
            found[fact] = value
    return found | dict(run.manifest.parameters)


def _foot(changes: Sequence[StepComparison], loaded: Sequence[_LoadedRun], console: Console) -> None:
    from ostler.lab.common.comparison import LEAST_PERCENT, RATE, ChangeVerdict, summary
    from ostler.lab.runner.formatting import percent

    counts = summary(changes)
    rates = ", ".join(
        f"{counts[each]} {each.value}" for each in (ChangeVerdict.BETTER, ChangeVerdict.WORSE, ChangeVerdict.SAME)
    )
    _print_line(console, f"By {RATE}: {rates}.")
    thresholds = [change.threshold_percent for each in changes for change in each.changes]
    text = f"Called the same: differences below {percent(LEAST_PERCENT)}"
    if max(thresholds, default=0.0) > LEAST_PERCENT:
        text += f", or below {percent(max(thresholds))} where the machine differed that much"
    _print_line(console, text + ", and all where repetitions of both overlap.", "dim")
    for each in loaded:
        name = each.run.manifest.run
        if each.noise_percent is not None:
            _print_line(console, f"Noise of {name}: {percent(each.noise_percent)}.", "dim")
        if each.run.is_partial:
            _print_line(console, f"{name} is {each.run.condition.value}: not all of it was measured.", "yellow")


def _print_line(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)
