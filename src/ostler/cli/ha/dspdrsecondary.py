"""`ostler dspdrsecondary`: prints the command that creates the secondary at the other site again."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.disaster import print_secondary_command
from ostler.cli.ha.engine import add_manager, replicated_manager


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspdrsecondary",
        "print the crtdrsecondary command again",
        "Print the crtdrsecondary command for the other site again.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory, _ = replicated_manager(arguments.name)
    print_secondary_command(directory, CommandOutput())
    return Status.DONE
