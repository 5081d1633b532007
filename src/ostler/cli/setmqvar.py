"""`ostler setmqvar`: stores or removes an environment variable for a queue manager, or for all."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, root
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.framework.side_files import refuse_on_replica
from ostler.model.replication import VARIABLES
from ostler.server.config.variables import (
    VariableRefused,
    delete_variable,
    global_file,
    manager_file,
    set_variable,
)


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "setmqvar",
        "set environment variables of queue managers",
        "Store an environment variable for a queue manager, or without -m for all of them, or remove it. It takes "
        "effect when a queue manager is started.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (all)")
    parser.add_argument("-k", dest="variable", metavar="NAME", required=True, help="the variable")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("-v", dest="value", metavar="VALUE", help="its value")
    change.add_argument("-d", dest="is_removed", action="store_true", help="remove it")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    path = global_file(root())
    if arguments.name:
        directory = existing_manager(arguments.name)
        refuse_on_replica(directory, VARIABLES)
        path = manager_file(directory)
    try:
        if arguments.is_removed:
            if not delete_variable(path, arguments.variable):
                raise CommandFailed(Status.STANZA_MISSING, "no-variable", variable=arguments.variable, file=path)
            output.message("variable-gone", variable=arguments.variable)
        else:
            set_variable(path, arguments.variable, arguments.value)
            output.message("variable-set", variable=arguments.variable, value=arguments.value)
    except VariableRefused as refusal:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=refusal) from refusal
    except FileNotFoundError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"there is no directory {path.parent}.") from error
    return Status.DONE
