"""`ostler lab run` and `ostler lab resume`: measure scenarios, and resume runs that ended early.

Exit statuses: 0 when everything was measured, 1 when something was not, 2 for wrong usage, 130 after control-C, 143
after SIGTERM or SIGHUP.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.lab.runs import RUNS, add_runs_option, find_run

if TYPE_CHECKING:
    from rich.console import Console

    from ostler.lab.runner.contract import Settings, View
    from ostler.lab.scenarios.model import Scenario
    from ostler.lab.scenarios.sets import Member, Windows

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE: Final = 2
FAILED: Final = 1
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_SECONDS_MAX: Final = 3600.0
_REPETITIONS_MAX: Final = 100
_DRIVERS_MAX: Final = 64
_PACKAGES: Final = ("psutil", "pyarrow")
_WIDTH_WITHOUT_TERMINAL: Final = 200

_DESCRIPTION: Final = """\
Measure scenarios: Ostler, other brokers and the limits of this machine in turn, step after step. Each run is kept in a
directory of its own below --output. Control-C ends a run early; what was measured is kept, and ostler lab resume goes
on with the rest."""
_RESUME_DESCRIPTION: Final = """\
Go on with a run that ended early, in the way it was begun. What was measured is kept; what was not, or failed, is
measured now."""


class RunRefused(Exception):
    """The command line asks for something impossible; the text gives the reason and the alternatives."""


def add_command(subparsers: Subparsers) -> None:
    running = commands.add_command(subparsers, "run", "measure scenarios", _DESCRIPTION, USAGE)
    running.add_argument(
        "scenarios", nargs="+", metavar="SCENARIO", help="ostler lab list --runnable shows them; @NAME for a named set"
    )
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
    # NaN is not between the two either.
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
    from ostler.lab.scenarios.steps import ParametersError
    from ostler.lab.store.manifest import RunUnreadable

    console, out = _consoles(arguments.is_json)
    try:
        chosen = _chosen(arguments.set)
        wanted = [
            _Wanted(scenario, _settings(arguments, member.windows), {**member.points, **chosen})
            for scenario, member in _scenarios(arguments.scenarios, console)
        ]
        plans = [_plan(each.scenario, each.settings, each.chosen) for each in wanted]
        peers = _peers(arguments.peers, arguments.fetch, console)
    except (RunRefused, ParametersError) as refused:
        print(f"ostler lab run: {refused}", file=sys.stderr)
        return USAGE
    command = ("ostler", *sys.argv[1:])
    worst = 0
    for number, each in enumerate(wanted):
        console.print(plans[number], soft_wrap=True, markup=False)
        settings = replace(each.settings, peers=peers)
        try:
            outcome = run(each.scenario, settings, each.chosen, arguments.output.absolute(), console, command)
        except (ParametersError, RunUnreadable) as refused:
            print(f"ostler lab run: {refused}", file=sys.stderr)
            return USAGE
        worst = max(worst, _report("run", outcome, console, out))
        rest = ", ".join(each.scenario.id for each in wanted[number + 1 :])
        if outcome.ends_all and rest:
            print(f"Not begun: {rest}.", file=sys.stderr)
        if outcome.ends_all:
            break
    return worst


def _has_packages() -> bool:
    if all(find_spec(name) is not None for name in _PACKAGES):
        return True
    print("ostler lab needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
    return False


@dataclass(frozen=True)
class _Wanted:
    """A scenario that is to be measured, and in which way."""

    scenario: Scenario
    settings: Settings
    chosen: Mapping[str, Sequence[str]]


def _scenarios(names: Sequence[str], console: Console) -> list[tuple[Scenario, Member]]:
    """Returns scenarios as they were asked for. Of a set, those that cannot run yet are told and left out."""
    from ostler.lab.scenarios.loader import UnknownScenario, catalogue
    from ostler.lab.scenarios.sets import UnknownSet, expand

    known = catalogue()
    found: list[tuple[Scenario, Member]] = []
    try:
        expanded = expand(names)
    except UnknownSet as unknown_set:
        raise RunRefused(str(unknown_set)) from None
    for member in expanded:
        name = member.scenario
        try:
            scenario = known.find(name)
        except UnknownScenario as unknown:
            hint = f"Did you mean {' or '.join(unknown.near)}?" if unknown.near else "ostler lab list shows all."
            raise RunRefused(f"there is no scenario {unknown.name!r}. {hint}") from None
        readiness = known.readiness(scenario)
        if not scenario.is_measured:
            raise RunRefused(f"{name} is not measured: it is kept as {scenario.kind.value}. ostler lab show {name}")
        if readiness.verdict == "foreign":
            raise RunRefused(f"{name} belongs to another platform: it needs {readiness.missing[0].name}.")
        if not readiness.can_run:
            why = f"{name} cannot run yet: it needs {', '.join(readiness.needs())}. ostler lab show {name}"
            if name in names:
                raise RunRefused(why)
            console.print(f"Left out: {why}", soft_wrap=True, markup=False)
            continue
        found.append((scenario, member))
    return found


def _chosen(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, points = text.partition("=")
        if not equals or not name or not all(points.split(",")):
            raise RunRefused(f"--set {text}: expected NAME=V,V..., such as requesters=1,20.")
        if name in found:
            raise RunRefused(f"--set {name} is given twice: give all its points at once.")
        found[name] = tuple(points.split(","))
    return found


def _settings(arguments: argparse.Namespace, windows: Windows | None) -> Settings:
    """Returns the settings of a scenario: those of the command line before those of its set, before the usual ones."""
    from ostler.lab.runner.contract import QUICK, Settings

    usual = QUICK if arguments.quick else Settings()
    if windows is not None:
        usual = replace(QUICK, **asdict(windows))

    given = {
        "measured_seconds": arguments.seconds,
        "warm_up_seconds": arguments.warm_up,
        "cool_down_seconds": arguments.cool_down,
        "repetitions": arguments.repetitions,
        "drivers": arguments.drivers,
    }
    return replace(
        usual,
        libraries=not arguments.no_libraries,
        limits=usual.limits and not arguments.no_limits,
        accounting=arguments.accounting,
        **{name: value for name, value in given.items() if value is not None},
    )


def _plan(scenario: Scenario, settings: Settings, chosen: Mapping[str, Sequence[str]]) -> str:
    """Returns a sentence on steps and duration. Raises ParametersError for points that the scenario does not have."""
    from ostler.lab.runner.formatting import duration
    from ostler.lab.runner.windows import window_seconds
    from ostler.lab.scenarios.loader import catalogue
    from ostler.lab.scenarios.steps import steps

    planned = steps(scenario, catalogue().readiness(scenario), settings.is_quick, chosen)
    each = settings.warm_up_seconds + window_seconds(scenario, settings) + settings.cool_down_seconds
    count = f"{len(planned)} step{'' if len(planned) == 1 else 's'}"
    times = "once" if settings.repetitions == 1 else f"{settings.repetitions} times"
    whole = duration(len(planned) * settings.repetitions * each)
    return f"{scenario.id}: {count}, {times}, {each:g} s each: at most {whole} for each contestant."


def _peers(text: str | None, fetch: bool, console: Console) -> tuple[str, ...]:
    """Returns the peers that take part. Peers that are named must be usable here; without names, those that are."""
    from ostler.lab.peers.registry import KNOWN, NAMES, inspect_peer
    from ostler.lab.scenarios.loader import near_names

    if text == "none":
        return ()
    named = NAMES if text in (None, "all") else tuple(dict.fromkeys((text or "").split(",")))
    for name in named:
        if name not in NAMES:
            near = near_names(name, NAMES)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(NAMES)}; all; none."
            raise RunRefused(f"there is no peer {name!r}. {hint}")
    wanted = [each for each in KNOWN if each.name in named]
    if fetch:
        for peer in wanted:
            _fetch(peer.name, text not in (None, "all"), console)
    usable: list[str] = []
    for found in map(inspect_peer, wanted):
        if found.is_usable:
            usable.append(found.peer.name)
        elif text not in (None, "all"):
            raise RunRefused(f"{found.peer.name} cannot take part: {found.state}. Do this first: {found.advice}")
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
            raise RunRefused(str(why)) from None
        console.print(f"Without {name}: {why}", soft_wrap=True, markup=False)


# -- resume ------------------------------------------------------------------------------------------------------------


def _resume(arguments: argparse.Namespace) -> int:
    if not _has_packages():
        return 1
    from ostler.lab.scenarios.steps import ParametersError
    from ostler.lab.store.manifest import RunUnreadable

    console, out = _consoles(arguments.is_json)
    try:
        outcome = resume(find_run(arguments.directory, arguments.runs).absolute(), console)
    except (ParametersError, RunUnreadable) as refused:
        print(f"ostler lab resume: {refused}", file=sys.stderr)
        return USAGE
    return _report("resume", outcome, console, out)


def _report(task: str, outcome: RunOutcome, console: Console, out: Console | None) -> int:
    """Shows the outcome of a run, as a table or as a JSON object; returns the exit status."""
    from ostler.lab.runner.run_table import as_json, show_run, shown_path
    from ostler.lab.store.run_reader import read_run

    stored = read_run(outcome.directory) if outcome.directory is not None else None
    if stored is not None and stored.keys:
        show_run(stored, console)
    if stored is not None and out is not None:
        out.print(json.dumps(as_json(stored)), soft_wrap=True, markup=False, highlight=False)
    if outcome.why:
        began = "Ended early" if stored is not None and stored.keys else "Nothing measured"
        print(f"ostler lab {task}: {began}: {outcome.why}", file=sys.stderr)
    if stored is not None and stored.is_partial:
        print(f"resume with: ostler lab resume {shown_path(stored.directory)}", file=sys.stderr)
    return outcome.status or (1 if stored is None or stored.is_partial else 0)


# -- one run, with a view and signals ----------------------------------------------------------------------------------


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: handled as control-C, but for the exit status."""


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run. `directory` is None if none was created; `status` is 0 if the run came to its end."""

    directory: Path | None
    status: int = 0
    why: str = ""
    ends_all: bool = False
    """Other scenarios would end in the same way, and are not begun."""


def _consoles(is_json: bool) -> tuple[Console, Console | None]:
    """Returns the console for people, and that for JSON if wanted; people then get standard error."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False, stderr=is_json)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    return console, Console(highlight=False, emoji=False, file=sys.stdout) if is_json else None


def run(
    scenario: Scenario,
    settings: Settings,
    chosen: Mapping[str, Sequence[str]],
    output: Path,
    console: Console,
    command: tuple[str, ...],
) -> RunOutcome:
    """Runs a scenario."""
    from ostler.lab.runner.runner import run_scenario

    # Other runs may write to the same directory, so a new one there need not be of this run.
    created: list[Path] = []

    def start(view: View) -> Path:
        return run_scenario(scenario, settings, chosen, output, view, command, made=created.append)

    return _run_with_view(start, lambda: created[-1] if created else None, scenario, settings.repetitions, console)


def resume(directory: Path, console: Console) -> RunOutcome:
    """Resumes a run. Raises RunUnreadable for a run that cannot be resumed."""
    from ostler.lab.runner.run_parameters import settings_from
    from ostler.lab.runner.runner import resume_run
    from ostler.lab.scenarios.loader import UnknownScenario, catalogue
    from ostler.lab.store.manifest import RunUnreadable, read_manifest

    manifest = read_manifest(directory)
    try:
        scenario = catalogue().find(manifest.scenario)
    except UnknownScenario as unknown:
        raise RunUnreadable(f"{directory.name} is of a scenario {unknown.name!r} that is not known here.") from None
    repetitions = settings_from(manifest.parameters).repetitions

    def start(view: View) -> Path:
        return resume_run(directory, view)

    return _run_with_view(start, lambda: directory, scenario, repetitions, console)


def _run_with_view(
    start: Callable[[View], Path],
    directory: Callable[[], Path | None],
    scenario: Scenario,
    repetitions: int,
    console: Console,
) -> RunOutcome:
    from ostler.lab.runner.contract import RunAborted
    from ostler.lab.runner.live_view import view_for
    from ostler.lab.sampling.observer import ObservingFailed
    from ostler.lab.store.segments import RunNotWritten

    try:
        with _signals_as_interrupts(), view_for(console, scenario, repetitions) as view:
            return RunOutcome(start(view))
    except KeyboardInterrupt as interruption:
        status = TERMINATED if isinstance(interruption, Terminated) else INTERRUPTED
        return RunOutcome(directory(), status, "interrupted.", ends_all=True)
    except RunAborted as over:
        return RunOutcome(directory(), FAILED, str(over))
    except RunNotWritten as failure:
        return RunOutcome(directory(), FAILED, str(failure), ends_all=True)
    except ObservingFailed as failure:
        return RunOutcome(directory(), FAILED, f"{failure}.")
    except OSError as failure:
        # The directory of runs cannot be created or written.
        return RunOutcome(directory(), FAILED, f"{failure}.", ends_all=True)


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Ends a run at SIGTERM and SIGHUP as control-C does."""

    def end(_number: int, _frame: object) -> None:
        raise Terminated

    # A signal that is ignored, as under nohup, stays ignored.
    handled = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
