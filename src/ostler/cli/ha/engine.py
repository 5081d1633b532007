"""The engine behind the commands: it edits the stanzas of an instance, and passes requests to one that runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from ostler.cli.framework.commands import (
    CommandFailed,
    CommandOutput,
    existing_manager,
    request_action,
    root,
)
from ostler.cli.framework.exit_statuses import Status
from ostler.model import constants as mq
from ostler.model.connection_names import Address, parse_connection_names
from ostler.model.errors import MQError
from ostler.model.replication import GroupStatus, ReplicationRequest
from ostler.server.config.directories import (
    QueueManagerDirectory,
    data_roots,
    describe_process,
    queue_managers,
    running_process,
)
from ostler.server.config.ha_group import HaGroup, read_group
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.replica.control_codec import decode_status, encode_request

_HOST_COLON_PORT: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:()\[\]]+):(?P<port>[0-9]{1,5})")
ACTION: Final = "replication"


# -- files -------------------------------------------------------------------------------------------------------------


def current_group() -> HaGroup | None:
    """Returns the group of this machine; None without one. A damaged file fails the command."""
    try:
        return read_group(root())
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error


def require_group(data_root: Path | None = None) -> HaGroup:
    """Returns the group of this machine, or of a data root; fails without one."""
    try:
        group = read_group(data_root or root())
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    if group is None:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-group")
    return group


def read_ini(directory: QueueManagerDirectory) -> QueueManagerIni:
    try:
        return QueueManagerIni.read(directory.ini)
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error


def replication_of(directory: QueueManagerDirectory) -> ReplicationSection:
    """Returns the settings of an instance; fails for a queue manager that is not replicated."""
    found = read_ini(directory).settings.replication
    if found is None:
        raise not_replicated(directory)
    return found


def not_replicated(directory: QueueManagerDirectory) -> CommandFailed:
    return CommandFailed(Status.NATIVE_HA_NOT_AVAILABLE, "AMQ5708E", name=directory.typed_name)


def replicated_managers() -> list[tuple[QueueManagerDirectory, ReplicationSection]]:
    """Returns all instances on this machine: in the data root, and in those of instances below it."""
    found: list[tuple[QueueManagerDirectory, ReplicationSection]] = []
    for each in data_roots(root()):
        for entry in queue_managers(each):
            directory = QueueManagerDirectory(each, entry.name)
            settings = read_ini(directory).settings.replication
            if settings is not None:
                found.append((directory, settings))
    return found


def require_ended(directory: QueueManagerDirectory) -> None:
    """Fails while a process runs the queue manager."""
    is_running, process = running_process(directory)
    if is_running:
        where = f" in {describe_process(process)}" if process else ""
        raise CommandFailed(Status.RUNNING, "end-it-first", name=directory.typed_name, where=where)


def write_ini(directory: QueueManagerDirectory, ini: QueueManagerIni) -> None:
    try:
        ini.write(directory.ini)
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error


# -- a running instance ------------------------------------------------------------------------------------------------


def instance_status(directory: QueueManagerDirectory) -> GroupStatus | None:
    """Returns the copies as a running instance knows them; None when it does not run or has none."""
    if not running_process(directory)[0]:
        return None
    try:
        for answer in request_action(directory, ACTION, request="status"):
            found = answer.get("replication")
            if isinstance(found, dict):
                return decode_status(found)
    except CommandFailed:
        return None  # it has no socket: it is embedded, or about to start or end
    except MQError as error:
        if error.reason != mq.MQRCCF_NHA_NOT_AVAILABLE:
            raise
    return None


def send(directory: QueueManagerDirectory, request: ReplicationRequest, output: CommandOutput) -> None:
    """Passes a request to the running instance, and prints its answer. Fails when it is refused."""
    try:
        for answer in request_action(directory, ACTION, Status.NOT_AVAILABLE, **encode_request(request)):
            line = answer.get("line")
            if isinstance(line, str):
                output.line(line)
    except MQError as error:
        raise refused(directory, error) from error


def refused(directory: QueueManagerDirectory, error: MQError) -> CommandFailed:
    """Returns the failure for a request that an instance refused."""
    if error.reason == mq.MQRCCF_NHA_NOT_AVAILABLE:
        return not_replicated(directory)
    return CommandFailed(Status.UNEXPECTED, "AMQ3279E", name=directory.typed_name, why=error.detail or error)


# -- arguments ---------------------------------------------------------------------------------------------------------


def add_manager(parser: argparse.ArgumentParser) -> None:
    """Adds -m QMGR, as the commands of disaster recovery have it."""
    parser.add_argument("-m", dest="name", metavar="QMGR", required=True, help="the queue manager, or QMGR@INSTANCE")


def replicated_manager(name: str | None) -> tuple[QueueManagerDirectory, ReplicationSection]:
    """Returns the instance that an argument names; fails when there is none, or it is not replicated."""
    directory = existing_manager(name)
    return directory, replication_of(directory)


def address(text: str) -> Address:
    """Converts host(port) or host:port, for argparse."""
    colon = _HOST_COLON_PORT.fullmatch(text)
    written = f"{colon['host']}({colon['port']})" if colon else text
    try:
        found = parse_connection_names(written)
    except MQError:
        found = []
    if len(found) != 1 or "(" not in written:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address with a port, such as host1:4444")
    return found[0]


def addresses(text: str, port: int) -> tuple[Address, ...]:
    """Returns the addresses of a list such as 10.0.0.1,10.0.0.2; those without a port have `port`."""
    found: list[Address] = []
    for part in text.split(","):
        colon = _HOST_COLON_PORT.fullmatch(part.strip())
        written = part.strip() if "(" in part else f"{part.strip()}({port})"
        if colon is not None:
            written = f"{colon['host']}({colon['port']})"
        try:
            found += parse_connection_names(written)
        except MQError as error:
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.detail) from error
    return tuple(found)
