"""`ostler clearhapreferred`: clears the preferred instance of a queue manager."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import replicated_manager, send
from ostler.model.replication import Prefer


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "clearhapreferred",
        "prefer no machine for a queue manager",
        "Clear the preferred instance of a queue manager: it stays where it is until that machine fails.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", help="the queue manager, or QMGR@INSTANCE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory, _ = replicated_manager(arguments.name)
    send(directory, Prefer(), CommandOutput())
    return Status.DONE
