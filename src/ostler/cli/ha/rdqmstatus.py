"""`ostler rdqmstatus`: shows the replicated queue managers of this machine, one of them, or the nodes."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.dsphagrp import group_statuses, node_status
from ostler.cli.ha.engine import not_replicated, replicated_managers, require_group
from ostler.cli.ha.views import current_location, manager_state, shown_instance, status_lines


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rdqmstatus",
        "show replicated queue managers and nodes",
        "Show the replicated queue managers of this machine, one of them in detail, or the nodes of the HA group.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="this queue manager in detail")
    parser.add_argument("-a", dest="shows_failures", action="store_true", help="with -m: and what has failed")
    parser.add_argument("-n", dest="shows_nodes", action="store_true", help="the nodes of the HA group")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.shows_failures and arguments.name is None:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-a", why="it needs -m.")
    if arguments.shows_nodes and arguments.name is not None:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-n", why="it excludes -m.")
    if arguments.shows_nodes:
        return _show_nodes()
    if arguments.name is not None:
        return _show_manager(arguments.name, arguments.shows_failures)
    for number, (directory, _) in enumerate(replicated_managers()):
        shown = shown_instance(directory)
        if number:
            print()
        print(f"Queue manager name:             {directory.typed_name}")
        print(f"Queue manager status:           {manager_state(shown)}")
        print(f"HA current location:            {current_location(shown)}")
    return Status.DONE


def _show_nodes() -> int:
    group = require_group()
    statuses = group_statuses()
    for each in group.nodes:
        print(f"Node {each.name} is {node_status(group, each.name, statuses).lower()}")
    return Status.DONE


def _show_manager(name: str, shows_failures: bool) -> int:
    directory = existing_manager(name)
    shown = shown_instance(directory)
    if shown.known is None:
        raise not_replicated(directory)
    for line in status_lines(shown):
        print(line)
    if shows_failures:
        print()
        print(f"Failures are in the error log: {directory.errors}")
    return Status.DONE
