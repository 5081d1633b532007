"""`ostler rdqmint`: refused; a program of yours moves floating addresses (AddressCommand)."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import add_manager, replicated_manager


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rdqmint",
        "refused: AddressCommand in qm.ini moves floating addresses",
        "Not needed here. Clients have all addresses in their connection list; a floating address needs the rights of "
        "root, so a program of yours moves it (AddressCommand in the stanza Replication of qm.ini).",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-a", dest="adds", action="store_true", help="taken as in MQ: add an address")
    what.add_argument("-d", dest="deletes", action="store_true", help="taken as in MQ: delete it")
    parser.add_argument("-f", dest="address", metavar="IP", help="taken as in MQ: the address")
    parser.add_argument("-l", dest="interface", metavar="NAME", help="taken as in MQ: the interface")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory, _ = replicated_manager(arguments.name)
    change = "-v PROGRAM" if arguments.adds else "-d"
    instead = f"ostler setmqini -m {directory.typed_name} -s Replication -k AddressCommand {change}"
    why = "a program of yours moves floating addresses: it is run with up and down."
    raise CommandFailed(Status.PARAMETER_WRONG, "use-instead", command="rdqmint", why=why, instead=instead)
