"""`ostler makedrprimary`: makes this site the one that works."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.disaster import change_role
from ostler.cli.ha.engine import add_manager
from ostler.model.replication import GroupRole


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "makedrprimary",
        "make this site the primary of a queue manager",
        "Make the group at this site live. A queue manager that is not running takes the role when it is started.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="although the other site runs and the link works; what it has not sent is lost",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return change_role(arguments.name, GroupRole.LIVE, arguments.force, CommandOutput())
