"""`ostler sethagrp`: suspends and resumes a node of the HA group, and takes queue managers in and out."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, root, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import (
    read_ini,
    replicated_managers,
    replication_of,
    require_ended,
    require_group,
    send,
    write_ini,
)
from ostler.cli.ha.replication import PlannedInstance, check_port, no_node, print_next_steps
from ostler.model.replication import Resume, Suspend
from ostler.server.config import replication_ini
from ostler.server.config.directories import running_process
from ostler.server.config.ha_group import HaGroup, group_file, key_repository_of
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogType
from ostler.server.replica.base_wanted import wants_base
from ostler.server.replica.certificates import check_repository
from ostler.server.tls.certificate_maker import CertificateError


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "sethagrp",
        "suspend and resume nodes, take queue managers in and out",
        "Suspend or resume a node of the HA group, or take a queue manager into the group or out of it.",
        Status.PARAMETER_WRONG,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-s", dest="suspends", action="store_true", help="suspend: other nodes lead until it is resumed")
    what.add_argument("-r", dest="resumes", action="store_true", help="resume")
    what.add_argument("-i", dest="taken_in", metavar="QMGR", help="take an ended queue manager in (linear log)")
    what.add_argument("-e", dest="taken_out", metavar="QMGR", help="take an ended queue manager out: it runs alone")
    parser.add_argument("-n", dest="node", metavar="NODE", help="with -s, -r: another node than this one")
    parser.add_argument(
        "--replication-port",
        dest="replication_port",
        type=whole_number,
        metavar="PORT",
        help="with -i: where the first node takes the log, if another queue manager has the group's port",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput()
    moves = arguments.suspends or arguments.resumes
    if arguments.node is not None and not moves:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-n", why="it belongs to -s and -r.")
    if arguments.replication_port is not None and arguments.taken_in is None:
        why = "it belongs to -i."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="--replication-port", why=why)
    if moves:
        return set_suspended(arguments.suspends, arguments.node, output)
    if arguments.taken_in is not None:
        return _take_in(arguments.taken_in, arguments.replication_port or 0, output)
    return _take_out(arguments.taken_out, output)


def set_suspended(suspends: bool, given: str | None, output: CommandOutput) -> int:
    """Suspends or resumes a node: its running instances are asked, and the group file keeps it for their next start."""
    group = require_group()
    node = given or group.local_node
    if group.node(node) is None:
        raise no_node(group, node)
    asked = 0
    for directory, settings in replicated_managers():
        if running_process(directory)[0] and settings.address_of(node) is not None:
            # An instance on the node itself is asked if it runs here; others pass the request on to the arbiter.
            send(directory, Suspend(node) if suspends else Resume(node), output)
            asked += 1
    if node != group.local_node and not asked:
        why = f"no queue manager of the group runs here to pass it on; run the command on node {node}."
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ5203E", option=f"-n {node}", why=why)
    if node == group.local_node:
        _write_group(replace(group, is_suspended=suspends))
    output.message("node-suspended" if suspends else "node-resumed", node=node)
    return Status.DONE


def _write_group(group: HaGroup) -> None:
    try:
        group.write(group_file(root()))
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error


def _take_in(name: str, port: int, output: CommandOutput) -> int:
    directory = existing_manager(name)
    group = require_group(directory.root)
    require_ended(directory)
    ini = read_ini(directory)
    if ini.settings.replication is not None and ini.settings.replication.instances:
        why = f"queue manager {directory.typed_name} has other instances already."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    if not ini.settings.log.is_linear:
        why = (
            f"queue manager {directory.typed_name} has a circular log, which cannot be copied. Save its definitions "
            "(ostler dmpmqcfg), move its messages, and create it again with -lla or -sx."
        )
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    planned = PlannedInstance(group.local_node, False, group, port)
    check_port(directory, planned)
    repository = key_repository_of(directory.root, planned.name)
    try:
        check_repository(repository, planned.name)
        ini.change_stanzas(group.stanzas(planned.name, repository, port), LogType.REPLICATED)
    except (CertificateError, ConfigurationError) as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"{error}.") from error
    write_ini(directory, ini)
    print_next_steps(directory, planned, output)
    return Status.DONE


def _take_out(name: str, output: CommandOutput) -> int:
    directory = existing_manager(name)
    replication_of(directory)
    require_ended(directory)
    if wants_base(directory.path):
        why = f"instance {directory.typed_name} is empty and cannot run alone. `ostler dltmqm` deletes it."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    ini = read_ini(directory)
    try:
        ini.change_stanzas({stanza: [] for stanza in replication_ini.STANZAS}, LogType.LINEAR)
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    write_ini(directory, ini)
    output.message("taken-out", name=directory.typed_name)
    return Status.DONE
