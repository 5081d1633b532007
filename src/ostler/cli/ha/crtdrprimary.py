"""`ostler crtdrprimary`: gives a queue manager a recovery group, and prints the command for the other site."""

from __future__ import annotations

import argparse
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, refuse_options, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.disaster import TYPES, RecoverySite, add_recovery_group, print_secondary_command
from ostler.cli.ha.engine import add_manager, addresses
from ostler.model.connection_names import PORT_MAX

_FLOATING: Final = {"-f": "a program brings up addresses: AddressCommand in the stanza Replication of qm.ini"}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "crtdrprimary",
        "copy a queue manager to a recovery site",
        "Give an ended queue manager a recovery group at another site, and print the crtdrsecondary command that makes "
        "its copy there.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    parser.add_argument("-r", dest="recovery", metavar="NAME", required=True, help="the name of the recovery site")
    parser.add_argument(
        "-i", dest="addresses", metavar="IP[,IP]", required=True, help="where the copy is; IP(PORT) for another port"
    )
    parser.add_argument(
        "-p", dest="port", type=whole_number, metavar="PORT", required=True, help="the port of replication"
    )
    parser.add_argument(
        "-t", dest="type", choices=tuple(TYPES), default="asynchronous", help="whether the copy is waited for (a)"
    )
    parser.add_argument("--local", metavar="IP", help="the address of this site (its host name)")
    parser.add_argument(
        "--group", default="", metavar="NAME", help="the name of this site (that of its group, or MAIN)"
    )
    refuse_options(parser, _FLOATING, "?")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    if not 1 <= arguments.port <= PORT_MAX:
        why = f"-p {arguments.port} is not a port: ports are 1 to {PORT_MAX}."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    site = RecoverySite(
        arguments.recovery, addresses(arguments.addresses, arguments.port), arguments.port, TYPES[arguments.type]
    )
    local = addresses(arguments.local, arguments.port) if arguments.local else ()
    add_recovery_group(directory, site, arguments.group, local)
    print_secondary_command(directory, CommandOutput())
    return Status.DONE
