"""The options of crtmqm for instances of a replicated queue manager: -lr, --replica, -sx, -sxs.

-lr INSTANCE is Native HA's: the instance is created, and the others are named in qm.ini later. -sx is the appliance's
and RDQM's: the instance is named as this node of the HA group, and qm.ini gets the whole group. The first instance has
a log; the others are created empty with --replica or -sxs, and take the log of the first.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ostler.cli.framework.commands import CommandFailed, CommandOutput, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import replicated_managers, require_group
from ostler.model.connection_names import PORT_MAX
from ostler.server.config import replication_ini
from ostler.server.config.directories import QueueManagerDirectory, instance_of_root
from ostler.server.config.ha_group import HaGroup, key_repository_of
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.instance_names import is_instance_name
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.replica.certificates import check_repository
from ostler.server.tls.certificate_maker import CertificateError


@dataclass(frozen=True)
class PlannedInstance:
    """The instance that crtmqm is to create."""

    name: str
    is_empty: bool
    group: HaGroup | None = None
    port: int = 0


def add_options(parser: argparse.ArgumentParser, kinds: argparse._MutuallyExclusiveGroup) -> None:
    kinds.add_argument(
        "-lr", dest="instance", metavar="INSTANCE", help="a log that is copied: create this instance of the group"
    )
    parser.add_argument(
        "--replica",
        dest="is_replica",
        action="store_true",
        help="with -lr: create the instance empty; it takes its log from the active instance",
    )
    parser.add_argument("-sx", dest="is_ha", action="store_true", help="create it in the HA group of this machine")
    parser.add_argument(
        "-sxs", dest="is_ha_secondary", action="store_true", help="as -sx on the other machines: create it empty"
    )
    parser.add_argument(
        "--replication-port",
        dest="replication_port",
        type=whole_number,
        metavar="PORT",
        help="with -sx, -sxs: where the first node takes the log, if another queue manager has the group's port",
    )


def plan_instance(
    directory: QueueManagerDirectory, arguments: argparse.Namespace, has_definitions: bool
) -> PlannedInstance | None:
    """Returns the instance that the options ask for, checked before anything is created; None for none."""
    given = [option for option, is_given in _given(arguments) if is_given]
    if not given:
        _refuse_without_instance(directory, arguments)
        return None
    if len(given) > 1:
        raise _wrong(given[1], f"it excludes {given[0]}.")
    is_empty = arguments.is_replica or arguments.is_ha_secondary
    if is_empty and has_definitions:
        raise _wrong(given[0], "an empty instance takes attributes and listeners from the active one; give none here.")
    if arguments.instance is not None:
        return _native(directory, arguments, is_empty)
    return _in_group(directory, arguments, given[0], is_empty)


def _given(arguments: argparse.Namespace) -> list[tuple[str, bool]]:
    return [("-lr", arguments.instance is not None), ("-sx", arguments.is_ha), ("-sxs", arguments.is_ha_secondary)]


def _refuse_without_instance(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    if arguments.is_replica:
        raise _wrong("--replica", "it belongs to -lr; in an HA group use -sxs.")
    if arguments.replication_port is not None:
        raise _wrong("--replication-port", "it belongs to -sx and -sxs; with -lr the addresses are in qm.ini.")
    instance = instance_of_root(directory.root)[1]
    if instance:
        raise _wrong(directory.typed_name, f"only an instance of a group has such a name; give -lr {instance} or -sx.")


def _native(directory: QueueManagerDirectory, arguments: argparse.Namespace, is_empty: bool) -> PlannedInstance:
    name = str(arguments.instance)
    if not is_instance_name(name):
        raise _wrong(f"-lr {name}", "an instance has a name of 1 to 48 letters, digits, '.', '_' and '-'.")
    if arguments.replication_port is not None:
        raise _wrong("--replication-port", "it belongs to -sx and -sxs; with -lr the addresses are in qm.ini.")
    instance = instance_of_root(directory.root)[1]
    if instance and instance != name:
        raise _wrong(f"-lr {name}", f"{directory.typed_name} is instance {instance}.")
    return PlannedInstance(name, is_empty)


def _in_group(
    directory: QueueManagerDirectory, arguments: argparse.Namespace, option: str, is_empty: bool
) -> PlannedInstance:
    if arguments.is_replica:
        raise _wrong("--replica", f"{option} is for the HA group; use -sxs for an empty instance.")
    group = require_group(directory.root)
    instance = instance_of_root(directory.root)[1]
    if instance and group.node(instance) is None:
        raise no_node(group, instance)
    port = arguments.replication_port or 0
    planned = PlannedInstance(group.local_node, is_empty, group, port)
    check_port(directory, planned)
    try:
        check_repository(key_repository_of(directory.root, planned.name), planned.name)
    except CertificateError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ6119E", why=f"{error}.") from error
    return planned


def no_node(group: HaGroup, node: str) -> CommandFailed:
    nodes = ", ".join(each.name for each in group.nodes)
    return CommandFailed(Status.PARAMETER_WRONG, "no-node", group=group.name, node=node, nodes=nodes)


def check_port(directory: QueueManagerDirectory, planned: PlannedInstance) -> None:
    """Fails when a port cannot be, or another queue manager of this machine has it."""
    assert planned.group is not None
    wanted = planned.group.addresses(planned.port)
    for each in wanted.values():
        if not 1 <= each.port <= PORT_MAX:
            raise _wrong("--replication-port", f"{each.port} would be a port; ports are 1 to {PORT_MAX}.")
    own = wanted[planned.name]
    for other, settings in replicated_managers():
        if other != directory and settings.address_of(settings.instance) == own:
            why = f"{own} is taken by queue manager {other.typed_name}; choose another port."
            raise _wrong("--replication-port", why)


def write_stanzas(directory: QueueManagerDirectory, planned: PlannedInstance) -> None:
    """Writes the group into the qm.ini of an instance; with -lr there is none yet."""
    if planned.group is None:
        return
    repository = key_repository_of(directory.root, planned.name)
    ini = QueueManagerIni.read(directory.ini)
    try:
        ini.change_stanzas(planned.group.stanzas(planned.name, repository, planned.port))
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    ini.write(directory.ini)


def print_next_steps(directory: QueueManagerDirectory, planned: PlannedInstance, output: CommandOutput) -> None:
    """Tells how the other instances are created, and warns of a pair without arbiter."""
    if planned.group is None:
        output.line(
            f"Name all instances in {directory.ini}: a stanza {replication_ini.INSTANCE} for each. "
            f"Create the others on their machines: ostler crtmqm -lr INSTANCE --replica {directory.name}"
        )
        return
    others = [each.name for each in planned.group.nodes if each.name != planned.name]
    command = secondary_command(directory, planned)
    output.message(
        "taken-in",
        name=directory.name,
        group=planned.group.name,
        instance=planned.name,
        command=f"`{command}`",
        nodes=" and ".join(others),
    )
    if not planned.group.arbiter:
        output.message("AMQ3283W", name=directory.name)


def secondary_command(directory: QueueManagerDirectory, planned: PlannedInstance) -> str:
    """Returns the command that creates another instance, with the options that must be the same everywhere."""
    log = QueueManagerIni.read(directory.ini).settings.log
    port = f" --replication-port {planned.port}" if planned.port else ""
    at = "@NODE" if instance_of_root(directory.root)[1] else ""
    sizes = f"-lf {log.file_pages} -lp {log.primary_files} -ls {log.secondary_files}"
    return f"ostler crtmqm -sxs {sizes}{port} {directory.name}{at}"


def _wrong(option: str, why: str) -> CommandFailed:
    return CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option=option, why=why)
