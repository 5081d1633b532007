"""`ostler rdqmadm`: RDQM's words for the HA group: configure, remove, suspend, resume, preferred location."""

from __future__ import annotations

import argparse
import shutil
import socket
from pathlib import Path
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, root
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.crthagrp import create_group
from ostler.cli.ha.engine import address, replicated_manager, replicated_managers, require_group, send
from ostler.cli.ha.sethagrp import set_suspended
from ostler.model.replication import Prefer
from ostler.server.config.ha_group import Node, certificates_of, group_file
from ostler.server.config.ini_file import ConfigurationError, IniFile

_FILE: Final = "rdqm.ini"
_PORT: Final = 4444
"""The port on which a node takes the log, if rdqm.ini names none."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "rdqmadm",
        "administer the HA group in RDQM's words",
        "Configure the HA group from rdqm.ini in OSTLER_DATA, remove it, suspend or resume a node, or set the "
        "preferred location of a queue manager.",
        Status.PARAMETER_WRONG,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-c", dest="configures", action="store_true", help="make the group that rdqm.ini describes")
    what.add_argument("-u", dest="removes", action="store_true", help="remove the group from this machine")
    what.add_argument("-s", dest="suspends", action="store_true", help="suspend a node")
    what.add_argument("-r", dest="resumes", action="store_true", help="resume a node")
    what.add_argument("-p", dest="prefers", action="store_true", help="set the preferred location of a queue manager")
    parser.add_argument("-n", dest="node", metavar="NODE", help="the node (this one)")
    parser.add_argument("-m", dest="name", metavar="QMGR", help="with -p: the queue manager")
    parser.add_argument("-d", dest="clears", action="store_true", help="with -p: no location is preferred")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput()
    if not arguments.prefers and (arguments.name is not None or arguments.clears):
        option = "-m" if arguments.name is not None else "-d"
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option=option, why="it belongs to -p.")
    if (arguments.configures or arguments.removes) and arguments.node is not None:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-n", why="it belongs to -s, -r and -p.")
    if arguments.configures:
        return _configure(output)
    if arguments.removes:
        return _remove(output)
    if arguments.prefers:
        return _prefer(arguments, output)
    return set_suspended(arguments.suspends, arguments.node, output)


def _configure(output: CommandOutput) -> int:
    path = group_file(root())
    if path.exists():
        raise CommandFailed(Status.EXISTS, "group-exists", file=path)
    source = path.with_name(_FILE)
    try:
        nodes, settings = _read(source)
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=f"{error}.") from error
    here = socket.gethostname()
    names = [each.name for each in nodes]
    if here in names[1:]:
        first = names[0]
        why = f"{_FILE} is configured on its first node, {first}, which makes the certificates of all."
        instead = f"copy the directory ha/{here} from {first} to this machine, then ostler crthagrp --join {here}"
        raise CommandFailed(
            Status.PARAMETER_WRONG, "use-instead", command="rdqmadm -c on this node", why=why, instead=instead
        )
    return create_group("RDQM", nodes, settings, output)


def _read(path: Path) -> tuple[list[Node], tuple[tuple[str, str], ...]]:
    """Returns the nodes of rdqm.ini, and the arbiter, which is our addition. Raises ConfigurationError."""
    file = IniFile.read(path)
    nodes: list[Node] = []
    for stanza in file.stanzas:
        if stanza.name.lower() != "node":
            continue
        found = {each.name.lower(): each.value for each in stanza.attributes}
        where = found.get("ha_replication") or found.get("ha_primary") or ""
        name = found.get("name") or where
        if not where:
            raise ConfigurationError(file.name, stanza.line, "Node needs HA_Replication, the address of the node")
        try:
            nodes.append(Node(name, address(where if "(" in where else f"{where}({_PORT})")))
        except argparse.ArgumentTypeError as error:
            raise ConfigurationError(file.name, stanza.line, f"HA_Replication: {error}") from None
    arbiter = file.stanza("Arbiter")
    return nodes, tuple((each.name, each.value) for each in arbiter.attributes) if arbiter is not None else ()


def _remove(output: CommandOutput) -> int:
    group = require_group()
    names = [directory.typed_name for directory, _ in replicated_managers()]
    if names:
        raise CommandFailed(Status.PARAMETER_WRONG, "still-replicated", group=group.name, names=", ".join(names))
    group_file(root()).unlink()
    shutil.rmtree(certificates_of(root()), ignore_errors=True)
    output.message("group-removed", group=group.name)
    return Status.DONE


def _prefer(arguments: argparse.Namespace, output: CommandOutput) -> int:
    if arguments.name is None:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-p", why="it needs -m QMGR.")
    if arguments.clears and arguments.node is not None:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-d", why="it excludes -n.")
    directory, settings = replicated_manager(arguments.name)
    wanted = "" if arguments.clears else arguments.node or settings.instance
    if wanted and settings.address_of(wanted) is None:
        why = f"queue manager {directory.typed_name} has no instance {wanted}."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option=f"-n {wanted}", why=why)
    send(directory, Prefer(wanted), output)
    return Status.DONE
