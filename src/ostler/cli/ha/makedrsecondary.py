"""`ostler makedrsecondary`: makes this site the one that receives copies."""

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
        "makedrsecondary",
        "make this site the secondary of a queue manager",
        "Make the group at this site a recovery group. If the sites are partitioned, its data are set aside.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return change_role(arguments.name, GroupRole.RECOVERY, False, CommandOutput())
