"""`ostler makehaprimary`: resolves a partition in favour of this instance."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import replicated_manager, send
from ostler.model.replication import Resolve


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "makehaprimary",
        "resolve a partition: this machine is right",
        "Resolve a partition of an HA group: this instance is right. The data of the others are set aside, and they "
        "take a copy of this one.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", help="the queue manager, or QMGR@INSTANCE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory, _ = replicated_manager(arguments.name)
    send(directory, Resolve(), CommandOutput())
    return Status.DONE
