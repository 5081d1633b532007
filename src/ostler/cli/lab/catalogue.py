"""`ostler lab list` and `ostler lab show`: the catalogue of scenarios, for people and for scripts.

Exit statuses: 0, or 2 for an unknown scenario, family or report.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ostler.cli.framework import commands

if TYPE_CHECKING:
    from ostler.lab.scenarios.features import Readiness
    from ostler.lab.scenarios.loader import Catalogue
    from ostler.lab.scenarios.model import Deviation, Scenario

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE: Final = 2
_STYLES: Final = {"ready": "green", "needs-driver": "cyan", "needs-features": "yellow", "foreign": "red"}
_STATES: Final = ("ready", "needs-driver", "needs-features", "foreign", "not-measured")


def add_command(subparsers: Subparsers) -> None:
    listing = commands.add_command(
        subparsers,
        "list",
        "all scenarios, and which can run today",
        "All scenarios of the reports, and which can run today; those that cannot say what they need.",
        USAGE,
    )
    listing.add_argument("set", nargs="?", metavar="@SET", help="only those of a named set, such as @micro")
    listing.add_argument("--family", metavar="NAME", help="only those that the same code runs, such as request-reply")
    listing.add_argument("--report", metavar="NAME", help="only those of one report, such as windows-v53")
    listing.add_argument("--runnable", action="store_true", help="only those that can run today")
    listing.add_argument("--state", choices=_STATES, help="only those in this state")
    listing.add_argument("--all", action="store_true", dest="is_all", help="calculations, advice and the like, too")
    listing.add_argument("--json", action="store_true", help="one JSON object for each scenario, on a line of its own")
    listing.set_defaults(run=_run_list)
    showing = commands.add_command(
        subparsers,
        "show",
        "one scenario, with all that is known of it",
        "What a scenario does: roles, load, what is swept and when it stops, where it comes from, and what it needs.",
        USAGE,
    )
    showing.add_argument("scenario", metavar="SCENARIO", help="its name; ostler lab list shows them")
    showing.add_argument("--json", action="store_true", help="as one JSON object")
    showing.set_defaults(run=_run_show)


def _console() -> Console:
    """Returns a console; without a terminal lines are not wrapped."""
    return Console(highlight=False, emoji=False)


# -- list --------------------------------------------------------------------------------------------------------------


def _run_list(arguments: argparse.Namespace) -> int:
    from ostler.lab.scenarios.families import FAMILIES
    from ostler.lab.scenarios.loader import catalogue
    from ostler.lab.scenarios.sets import SETS, SIGN

    known = catalogue()
    for kind, name, names in (
        ("set", arguments.set, tuple(SIGN + each for each in SETS)),
        ("family", arguments.family, tuple(FAMILIES)),
        ("report", arguments.report, tuple(known.reports)),
    ):
        if name is not None and name not in names:
            return _refuse("list", kind, name, names)
    selected = list(_select(known, arguments))
    if arguments.json:
        from ostler.lab.scenarios.as_json import summary

        for scenario, readiness in selected:
            print(json.dumps(summary(scenario, readiness)))
        return 0
    console = _console()
    if console.is_terminal:
        _print_tables(selected, console)
    else:
        _print_lines(selected)
    console.print(_counts(selected), soft_wrap=True)
    if console.is_terminal and arguments.set is None:
        sets = "; ".join(f"{SIGN}{each.name}: {each.title}" for each in SETS.values())
        console.print(f"Named sets, for ostler lab run and ostler lab list: {sets}.", soft_wrap=True, markup=False)
    return 0


def _select(known: Catalogue, arguments: argparse.Namespace) -> Iterable[tuple[Scenario, Readiness]]:
    from ostler.lab.scenarios.sets import expand

    is_all = arguments.is_all or arguments.state == "not-measured"
    wanted = None if arguments.set is None else {each.scenario for each in expand([arguments.set])}
    for scenario in known.scenarios.values():
        readiness = known.readiness(scenario)
        if (
            (scenario.is_measured or is_all)
            and (wanted is None or scenario.id in wanted)
            and arguments.family in (None, scenario.family)
            and arguments.report in (None, scenario.report.name)
            and arguments.state in (None, readiness.verdict.value)
            and (readiness.can_run or not arguments.runnable)
        ):
            yield scenario, readiness


def _today(scenario: Scenario, readiness: Readiness) -> str:
    """Returns the readiness of a scenario in a few words."""
    if not scenario.is_measured:
        return scenario.kind.value
    if readiness.can_run:
        return f"ready, but for {readiness.left_out[0].name}" if readiness.left_out else "ready"
    if readiness.verdict == "foreign":
        return f"not on this platform: {readiness.missing[0].name}"
    return f"needs {', '.join(readiness.needs())}"


def _print_tables(selected: list[tuple[Scenario, Readiness]], console: Console) -> None:
    reports = dict.fromkeys(scenario.report for scenario, _ in selected)
    for report in reports:
        table = Table(
            title=f"{report.title} ({report.name})",
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        table.add_column("scenario", no_wrap=True)
        table.add_column("family", no_wrap=True)
        table.add_column("today")
        table.add_column("what", ratio=1)
        for scenario, readiness in selected:
            if scenario.report is report:
                today = Text(_today(scenario, readiness), style=_STYLES.get(readiness.verdict.value, "dim"))
                table.add_row(scenario.id, scenario.family, today, scenario.title)
        console.print(table)


def _print_lines(selected: list[tuple[Scenario, Readiness]]) -> None:
    rows = [
        (scenario.id, scenario.family or "-", _today(scenario, each), scenario.title) for scenario, each in selected
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))


def _counts(selected: list[tuple[Scenario, Readiness]]) -> str:
    of = Counter(readiness.verdict.value for _, readiness in selected)
    measured = len(selected) - of["not-measured"]
    parts = [f"{measured} scenario{'' if measured == 1 else 's'}: {of['ready']} can run today"]
    for state, words in (
        ("needs-driver", "lacking only a driver"),
        ("needs-features", "lacking features"),
        ("foreign", "of another platform"),
    ):
        if of[state]:
            parts.append(f"{words} {of[state]}")
    if of["not-measured"]:
        parts.append(f"{of['not-measured']} other entries")
    return ", ".join(parts) + "."


def _refuse(task: str, kind: str, name: str, names: tuple[str, ...]) -> int:
    from ostler.lab.scenarios.loader import near_names

    near = near_names(name, names)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    print(f"ostler lab {task}: there is no {kind} {name!r}. {hint}", file=sys.stderr)
    return USAGE


# -- show --------------------------------------------------------------------------------------------------------------


def _run_show(arguments: argparse.Namespace) -> int:
    from ostler.lab.scenarios.loader import UnknownScenario, catalogue

    known = catalogue()
    try:
        scenario = known.find(arguments.scenario)
    except UnknownScenario as unknown:
        hint = f"Did you mean {' or '.join(unknown.near)}?" if unknown.near else "ostler lab list shows all."
        print(f"ostler lab show: there is no scenario {unknown.name!r}. {hint}", file=sys.stderr)
        return USAGE
    readiness = known.readiness(scenario)
    if arguments.json:
        from ostler.lab.scenarios.as_json import plain, whole

        found = whole(scenario, readiness) | {"deviations_here": plain(_deviations_here(scenario, readiness))}
        print(json.dumps(found, indent=2))
        return 0
    from ostler.cli.lab.scenario_text import rows

    console = _console()
    today = _today(scenario, readiness)
    expected = _deviations_here(scenario, readiness)
    if not console.is_terminal:
        print(f"{scenario.id}: {scenario.title}\n\n{scenario.summary}\n")
        for label, text in rows(scenario, readiness, today, expected):
            print(f"{label:<16}{text}".rstrip())
        return 0
    console.print(Text.assemble((scenario.id, "bold"), f": {scenario.title}\n\n{scenario.summary}\n"))
    table = Table.grid(padding=(0, 2))
    for label, text in rows(scenario, readiness, today, expected):
        style = _STYLES.get(readiness.verdict.value, "") if label == "today" else ""
        table.add_row(Text(label, style="dim"), Text(text, style=style))
    console.print(table)
    return 0


def _deviations_here(scenario: Scenario, readiness: Readiness) -> Sequence[Deviation]:
    """Return the deviations of a run on this machine; none without the packages that runs need."""
    try:
        from ostler.lab.runner.expected_deviations import expected_deviations
    except ModuleNotFoundError:
        return ()
    return expected_deviations(scenario, readiness)
