"""`ostler lab run` and `ostler lab resume`: measure scenarios, and go on with runs that ended early.

Both end with 0 when all was measured, 1 when something was not, 2 when it cannot be done as asked, and 130 after
control-C.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli import commands
from ostler.cli.lab.runs import RUNS, add_runs_option, find_run

if TYPE_CHECKING:
    from rich.console import Console

    from ostler.cli.lab.sitting import Account
    from ostler.lab.runner.contract import Settings
    from ostler.lab.scenarios.model import Scenario

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE: Final = 2
_SECONDS_MAX: Final = 3600.0
_REPETITIONS_MAX: Final = 100
_DRIVERS_MAX: Final = 64
_PACKAGES: Final = ("psutil", "pyarrow")

_DESCRIPTION: Final = """\
Measure scenarios: Ostler, other brokers and the limits of this machine in turn, step after step. Each run is kept in a
directory of its own below --output. Control-C ends a run early; what was measured is kept, and ostler lab resume goes
on with the rest."""
_RESUME_DESCRIPTION: Final = """\
Go on with a run that ended early, in the way it was begun. What was measured is kept; what was not, or failed, is
measured now."""


class Refused(Exception):
    """It cannot be done as asked; the words say why and what can."""


def add_command(subparsers: Subparsers) -> None:
    running = commands.add_command(subparsers, "run", "measure scenarios", _DESCRIPTION, USAGE)
    running.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="ostler lab list --runnable shows them")
    running.add_argument("--quick", action="store_true", help="a few points, short and twice each")
    running.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=V,V...",
        help="other points of a sweep, such as requesters=1,20",
    )
    running.add_argument(
        "--peers", metavar="NAMES", help="other brokers, with commas between; all; none (those that are already here)"
    )
    running.add_argument("--fetch", action="store_true", help="download and unpack peers that are not here")
    running.add_argument("--no-limits", action="store_true", help="without probes of the machine's limits")
    running.add_argument("--no-libraries", action="store_true", help="without the usual Python client libraries")
    running.add_argument("--seconds", type=_seconds, metavar="N", help="how long each point is measured (10; quick: 1)")
    running.add_argument("--warm-up", type=_seconds_or_none, metavar="N", help="seconds before that (2; quick: 0.3)")
    running.add_argument("--cool-down", type=_seconds_or_none, metavar="N", help="seconds after that (0.5; quick: 0.1)")
    running.add_argument("--repetitions", type=_repetitions, metavar="N", help="times of each point (3; quick: 2)")
    running.add_argument("--drivers", type=_drivers, metavar="N", help="processes that share a load (1)")
    running.add_argument("--accounting", action="store_true", help="queue managers collect accounting and statistics")
    running.add_argument("--output", type=Path, default=RUNS, metavar="DIR", help="where runs are kept (%(default)s)")
    running.add_argument("--json", action="store_true", dest="is_json", help="a JSON object for each run at its end")
    running.set_defaults(run=_run)
    resuming = commands.add_command(subparsers, "resume", "go on with a run", _RESUME_DESCRIPTION, USAGE)
    resuming.add_argument("directory", metavar="RUN", help="its directory, or its name")
    add_runs_option(resuming)
    resuming.add_argument("--json", action="store_true", dest="is_json", help="a JSON object at the end")
    resuming.set_defaults(run=_resume)


def _within(text: str, least: float, most: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    # Whatever is no number is not between two numbers either.
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least:g} to {most:g}")
    return value


def _seconds(text: str) -> float:
    return _within(text, 0.1, _SECONDS_MAX, "a number of seconds")


def _seconds_or_none(text: str) -> float:
    return _within(text, 0.0, _SECONDS_MAX, "a number of seconds")


def _whole(text: str, most: int) -> int:
    value = _within(text, 1, most, "a whole number")
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
    return int(value)


def _repetitions(text: str) -> int:
    return _whole(text, _REPETITIONS_MAX)


def _drivers(text: str) -> int:
    return _whole(text, _DRIVERS_MAX)


# -- run ---------------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    if not _has_packages():
        return 1
    from ostler.cli.lab.sitting import consoles, sit
    from ostler.lab.scenarios.steps import ParametersError
    from ostler.lab.store.manifest import RunUnreadable

    console, out = consoles(arguments.is_json)
    try:
        scenarios = _scenarios(arguments.scenarios)
        chosen = _chosen(arguments.set)
        settings = _settings(arguments)
        plans = [_plan(each, settings, chosen) for each in scenarios]
        settings = replace(settings, peers=_peers(arguments.peers, arguments.fetch, console))
    except (Refused, ParametersError) as refused:
        print(f"ostler lab run: {refused}", file=sys.stderr)
        return USAGE
    command = ("ostler", *sys.argv[1:])
    worst = 0
    for number, scenario in enumerate(scenarios):
        console.print(plans[number], soft_wrap=True, markup=False)
        try:
            account = sit(scenario, settings, chosen, arguments.output.absolute(), console, command)
        except (ParametersError, RunUnreadable) as refused:
            print(f"ostler lab run: {refused}", file=sys.stderr)
            return USAGE
        worst = max(worst, _tell("run", account, console, out))
        rest = ", ".join(each.id for each in scenarios[number + 1 :])
        if account.is_over_for_all and rest:
            print(f"Not begun: {rest}.", file=sys.stderr)
        if account.is_over_for_all:
            break
    return worst


def _has_packages() -> bool:
    if all(find_spec(name) is not None for name in _PACKAGES):
        return True
    print("ostler lab needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
    return False


def _scenarios(names: Sequence[str]) -> list[Scenario]:
    from ostler.lab.scenarios.loader import UnknownScenario, catalogue

    known = catalogue()
    found: list[Scenario] = []
    for name in dict.fromkeys(names):
        try:
            scenario = known.find(name)
        except UnknownScenario as unknown:
            hint = f"Did you mean {' or '.join(unknown.near)}?" if unknown.near else "ostler lab list shows all."
            raise Refused(f"there is no scenario {unknown.name!r}. {hint}") from None
        readiness = known.readiness(scenario)
        if not scenario.is_measured:
            raise Refused(f"{name} is not measured: it is kept as {scenario.kind.value}. ostler lab show {name}")
        if readiness.verdict == "foreign":
            raise Refused(f"{name} belongs to another platform: it needs {readiness.missing[0].name}.")
        if not readiness.can_run:
            raise Refused(f"{name} cannot run yet: it needs {', '.join(readiness.needs())}. ostler lab show {name}")
        found.append(scenario)
    return found


def _chosen(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, points = text.partition("=")
        if not equals or not name or not all(points.split(",")):
            raise Refused(f"--set {text}: NAME=V,V... is wanted, such as requesters=1,20.")
        if name in found:
            raise Refused(f"--set {name} is there twice: give all its points at once.")
        found[name] = tuple(points.split(","))
    return found


def _settings(arguments: argparse.Namespace) -> Settings:
    from ostler.lab.runner.contract import QUICK, Settings

    given = {
        "measured_seconds": arguments.seconds,
        "warm_up_seconds": arguments.warm_up,
        "cool_down_seconds": arguments.cool_down,
        "repetitions": arguments.repetitions,
        "drivers": arguments.drivers,
    }
    return replace(
        QUICK if arguments.quick else Settings(),
        libraries=not arguments.no_libraries,
        limits=not arguments.no_limits,
        accounting=arguments.accounting,
        **{name: value for name, value in given.items() if value is not None},
    )


def _plan(scenario: Scenario, settings: Settings, chosen: Mapping[str, Sequence[str]]) -> str:
    """What is going to happen, in a sentence. ParametersError when it cannot."""
    from ostler.lab.runner.figure_text import duration
    from ostler.lab.scenarios.loader import catalogue
    from ostler.lab.scenarios.steps import steps

    planned = steps(scenario, catalogue().readiness(scenario), settings.is_quick, chosen)
    each = settings.warm_up_seconds + settings.measured_seconds + settings.cool_down_seconds
    count = f"{len(planned)} step{'' if len(planned) == 1 else 's'}"
    times = "once" if settings.repetitions == 1 else f"{settings.repetitions} times"
    whole = duration(len(planned) * settings.repetitions * each)
    return f"{scenario.id}: {count}, {times}, {each:g} s each: at most {whole} for each contestant."


def _peers(text: str | None, fetch: bool, console: Console) -> tuple[str, ...]:
    """Who takes part beside Ostler. Peers that were named must be here; of all others, those that are."""
    from ostler.lab.peers.registry import KNOWN, NAMES, look
    from ostler.lab.scenarios.loader import near_names

    if text == "none":
        return ()
    named = NAMES if text in (None, "all") else tuple(dict.fromkeys((text or "").split(",")))
    for name in named:
        if name not in NAMES:
            near = near_names(name, NAMES)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(NAMES)}; all; none."
            raise Refused(f"there is no peer {name!r}. {hint}")
    wanted = [each for each in KNOWN if each.name in named]
    if fetch:
        for peer in wanted:
            _fetch(peer.name, text not in (None, "all"), console)
    usable: list[str] = []
    for found in map(look, wanted):
        if found.is_usable:
            usable.append(found.peer.name)
        elif text not in (None, "all"):
            raise Refused(f"{found.peer.name} cannot take part: {found.state}. Do this first: {found.advice}")
        elif text == "all":
            console.print(f"Without {found.peer.name}: {found.state}. {found.advice}", soft_wrap=True, markup=False)
    return tuple(usable)


def _fetch(name: str, is_named: bool, console: Console) -> None:
    from ostler.lab.peers.packages import PeerUnavailable
    from ostler.lab.peers.registry import KNOWN, fetch

    peer = next(each for each in KNOWN if each.name == name)
    try:
        fetch(peer)
    except PeerUnavailable as why:
        if is_named:
            raise Refused(str(why)) from None
        console.print(f"Without {name}: {why}", soft_wrap=True, markup=False)


# -- resume ------------------------------------------------------------------------------------------------------------


def _resume(arguments: argparse.Namespace) -> int:
    if not _has_packages():
        return 1
    from ostler.cli.lab.sitting import consoles, sit_again
    from ostler.lab.scenarios.steps import ParametersError
    from ostler.lab.store.manifest import RunUnreadable

    console, out = consoles(arguments.is_json)
    try:
        account = sit_again(find_run(arguments.directory, arguments.runs).absolute(), console)
    except (ParametersError, RunUnreadable) as refused:
        print(f"ostler lab resume: {refused}", file=sys.stderr)
        return USAGE
    return _tell("resume", account, console, out)


def _tell(task: str, account: Account, console: Console, out: Console | None) -> int:
    """What a run came to: a table for people, or an object on standard output. The exit status."""
    from ostler.lab.runner.run_table import as_json, show_run, shown_path
    from ostler.lab.store.run_reader import read_run

    run = read_run(account.directory) if account.directory is not None else None
    if run is not None and run.keys:
        show_run(run, console)
    if run is not None and out is not None:
        out.print(json.dumps(as_json(run)), soft_wrap=True, markup=False, highlight=False)
    if account.why:
        began = "Ended early" if run is not None and run.keys else "Nothing measured"
        print(f"ostler lab {task}: {began}: {account.why}", file=sys.stderr)
    if run is not None and run.is_partial:
        print(f"resume with: ostler lab resume {shown_path(run.directory)}", file=sys.stderr)
    return account.status or (1 if run is None or run.is_partial else 0)
