"""`ostler simulate`: runs whole queue managers in a simulated world, with faults from a seed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import whole_number
from ostler.cli.framework.exit_statuses import Status

if TYPE_CHECKING:
    from ostler.testing.simulation.runner import SeedReport

_SEEDS: Final = 100
_FAILED: Final = 1
_DESCRIPTION: Final = """Run two queue managers with channels and client programs on a simulated disk, network and
clock, kill and cut them as a seed decides, and hold what is there in the end against what the programs were told. The
same seed gives the same run. The exit status is 0 when nothing is wrong, and 1 after a seed that fails; the command
that runs it again is printed."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "simulate", "simulate queue managers with faults", _DESCRIPTION, Status.ARGUMENTS_WRONG
    )
    parser.add_argument("--seeds", type=whole_number, metavar="N", help=f"how many seeds ({_SEEDS}; with --seed 1)")
    parser.add_argument("--seed", type=whole_number, metavar="S", help="the first seed (0)")
    parser.add_argument("--steps", type=whole_number, metavar="N", help="faults in each run (6)")
    parser.add_argument("--jobs", type=whole_number, default=1, metavar="N", help="processes (%(default)s)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write every event of a single seed to a file")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from ostler.testing.simulation.runner import try_seed
    from ostler.testing.simulation.scenario import FAULTS

    first = arguments.seed or 0
    count = arguments.seeds if arguments.seeds is not None else _SEEDS if arguments.seed is None else 1
    faults = FAULTS if arguments.steps is None else arguments.steps
    if arguments.trace is not None:
        if count != 1:
            arguments.parser.error("--trace is for a single seed: give --seed, and --seeds 1 or none")
        report = try_seed(first, faults, arguments.trace)
        return _show_failure(report, arguments.steps) if report.result is None else _show_one(report)
    return _run_many(first, count, faults, arguments)


def _run_many(first: int, count: int, faults: int, arguments: argparse.Namespace) -> int:
    from ostler.cli.samples.progress import MessageProgress
    from ostler.testing.simulation.runner import run_seeds

    messages, seconds = 0, 0.0
    last: SeedReport | None = None
    reports = run_seeds(first, count, faults, max(1, arguments.jobs))
    with MessageProgress("seeds", count) as bar:
        for report in reports:
            bar.advance()
            if report.result is None:
                bar.__exit__(None, None, None)
                reports.close()  # type: ignore[attr-defined]
                return _show_failure(report, arguments.steps)
            messages += report.result.messages
            seconds += report.result.seconds
            last = report
    if count == 1 and last is not None:
        return _show_one(last)
    print(f"{count} seeds: nothing is wrong. {messages} messages, {seconds:.0f} simulated seconds.")
    return Status.DONE


def _show_one(report: SeedReport) -> int:
    result = report.result
    assert result is not None
    print(
        f"seed {report.seed}: nothing is wrong. trace {result.digest}, {result.events} events, {result.messages} "
        f"messages, {result.seconds:.1f} simulated seconds."
    )
    return Status.DONE


def _show_failure(report: SeedReport, steps: int | None) -> int:
    print(report.details, file=sys.stderr)
    print(f"seed {report.seed} fails: {report.failure}")
    more = "" if steps is None else f" --steps {steps}"
    print(f"Run it again: ostler simulate --seed {report.seed}{more} --trace seed-{report.seed}.txt")
    return _FAILED
