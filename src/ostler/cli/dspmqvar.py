"""`ostler dspmqvar`: shows the environment variables that are stored for a queue manager, or for all."""

from __future__ import annotations

import argparse
import json

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager, root
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.variables import global_file, manager_file, read_variables


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspmqvar",
        "show environment variables of queue managers",
        "Show the environment variables that are stored for a queue manager, or without -m those for all.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (all)")
    parser.add_argument("-k", dest="variable", metavar="NAME", help="only this variable")
    parser.add_argument("--json", dest="is_json", action="store_true", help="for programs: as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    path = manager_file(existing_manager(arguments.name)) if arguments.name else global_file(root())
    found = read_variables(path)
    if arguments.variable:
        if arguments.variable not in found:
            raise CommandFailed(Status.STANZA_MISSING, "no-variable", variable=arguments.variable, file=path)
        found = {arguments.variable: found[arguments.variable]}
    if arguments.is_json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            print(f"{name}={value}")
    return Status.DONE
