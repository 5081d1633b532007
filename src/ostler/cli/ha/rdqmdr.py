"""`ostler rdqmdr`: RDQM's words for disaster recovery: make primary, make secondary, print the command again."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.disaster import change_role, print_secondary_command
from ostler.cli.ha.engine import add_manager, replicated_manager
from ostler.model.replication import GroupRole


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rdqmdr",
        "change the role of a site in RDQM's words",
        "Make this site the primary or the secondary of a queue manager, or print the crtdrsecondary command again.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-p", dest="is_primary", action="store_true", help="this site works (makedrprimary)")
    what.add_argument("-s", dest="is_secondary", action="store_true", help="this site receives (makedrsecondary)")
    what.add_argument("-d", dest="displays", action="store_true", help="print the command for the other site")
    parser.add_argument("--force", action="store_true", help="with -p: although the other site runs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput()
    if arguments.force and not arguments.is_primary:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="--force", why="it belongs to -p.")
    if arguments.displays:
        print_secondary_command(replicated_manager(arguments.name)[0], output)
        return Status.DONE
    role = GroupRole.LIVE if arguments.is_primary else GroupRole.RECOVERY
    return change_role(arguments.name, role, arguments.force, output)
