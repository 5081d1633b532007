"""`ostler lab doctor`: reports what limits runs on this machine, and what can be done about it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ostler.lab.sampling.doctor import Finding

_DESCRIPTION: Final = """\
Examine this machine for a few seconds: cores, descriptors, ports, disk, forced writes, governor, clock, steal, other
work, memory, swap, noise, and the installation. Each finding states what it limits and what can be done. The exit
status is 1 when something is bad: runs would fail or mean little.

With -m, a queue manager is examined instead, by the tuning advice of the performance reports: its log, buffers and
disks, and while it runs its log use and its queues."""

USAGE: Final = 2
_SECONDS: Final = 2.0
_SECONDS_MAX: Final = 60.0
_COLOURS: Final = {"good": "green", "unknown": "dim", "limited": "yellow", "bad": "red"}
_NAME_WIDTH: Final = 15
FIT: Final = "fit for measuring"


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("doctor", help="report what limits runs on this machine", description=_DESCRIPTION)
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="where queue managers will be made; the disk that is looked at"
    )
    parser.add_argument("--seconds", type=_seconds, metavar="N", help=f"how long to watch for steal ({_SECONDS:g})")
    parser.add_argument("-m", dest="manager", metavar="QMGR", help="examine the tuning of this queue manager instead")
    parser.add_argument("--json", action="store_true", dest="is_json", help="findings as JSON")
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= _SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds up to {_SECONDS_MAX:.0f}")
    return value


def run(arguments: argparse.Namespace) -> int:
    console = Console(highlight=False)
    if arguments.manager is None:
        return _report(_examine_machine(arguments, console), arguments.is_json, console, FIT)
    if arguments.scratch is not None or arguments.seconds is not None:
        print("ostler lab doctor: --scratch and --seconds are for the machine; leave them out with -m", file=sys.stderr)
        return USAGE
    return _report(_examine_manager(arguments.manager), arguments.is_json, console, "tuned")


def _examine_manager(name: str) -> list[Finding]:
    """Examines a queue manager: whole while it runs, otherwise its configuration."""
    from ostler.cli.framework.commands import existing_manager, request_action
    from ostler.lab.sizing.tuning import examine_tuning
    from ostler.lab.sizing.tuning_facts import gather_tuning
    from ostler.server.config.directories import running_process

    directory = existing_manager(name)

    def mqsc(text: str) -> list[str]:
        replies = request_action(directory, "mqsc", text=text, echo=False)
        return [str(reply["line"]) for reply in replies if "line" in reply]

    is_running, _ = running_process(directory)
    return examine_tuning(gather_tuning(directory, mqsc if is_running else None))


def _examine_machine(arguments: argparse.Namespace, console: Console) -> list[Finding]:
    from ostler.lab.sampling.clock import SystemClock
    from ostler.lab.sampling.doctor import examine
    from ostler.lab.sampling.facts import gather

    # Runs go below the current directory by default; a directory that does not exist is on its parent's disk.
    wanted = (arguments.scratch or Path.cwd()).absolute()
    scratch = next(each for each in (wanted, *wanted.parents) if each.exists())
    seconds = _SECONDS if arguments.seconds is None else arguments.seconds
    if console.is_terminal and not arguments.is_json:
        with console.status(f"Watching for {seconds:g} s, then writing to {scratch}"):
            return examine(gather(scratch, seconds, SystemClock()))
    return examine(gather(scratch, seconds, SystemClock()))


def _report(findings: list[Finding], is_json: bool, console: Console, fit: str) -> int:
    """Prints the findings, and returns the exit status. `fit` is the word for a good result."""
    from ostler.lab.sampling.doctor import Fitness, worst

    verdict = worst(findings)
    if is_json:
        json.dump({"verdict": verdict, "findings": [each.as_json() for each in findings]}, sys.stdout, indent=2)
        print()
    elif console.is_terminal:
        show_table(findings, console, fit)
    else:
        _show_lines(findings, fit)
    return 1 if verdict == Fitness.BAD else 0


def show_table(findings: list[Finding], console: Console, fit: str = FIT) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "", "found", "what it limits, and what can be done"):
        table.add_column(heading)
    for each in findings:
        words = Text(each.limits)
        if each.advice:
            words.append(f"\n{each.advice}", style="dim")
        table.add_row(Text(each.verdict, style=_COLOURS[each.verdict]), each.name, Text(each.found), words)
    console.print(table)
    console.print(summary(findings, fit), markup=False)


def _show_lines(findings: list[Finding], fit: str) -> None:
    for each in findings:
        print(f"{each.verdict:<9}{each.name:<{_NAME_WIDTH}}{each.found}")
        for words in (each.limits, each.advice):
            if words:
                print(" " * (9 + _NAME_WIDTH) + words)
    print(summary(findings, fit))


def summary(findings: list[Finding], fit: str = FIT) -> str:
    """Returns a summary line. `fit` is the word for a good result."""
    from ostler.lab.sampling.doctor import Fitness

    bad = [each.name for each in findings if each.verdict == Fitness.BAD]
    limited = [each.name for each in findings if each.verdict == Fitness.LIMITED]
    if bad:
        return f"Not {fit} now: {', '.join(bad)}." + (f" Limited: {', '.join(limited)}." if limited else "")
    if limited:
        return f"{fit.capitalize()}, within limits: {', '.join(limited)}."
    return f"{fit.capitalize()}."
