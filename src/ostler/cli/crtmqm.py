"""`ostler crtmqm`: creates a queue manager with its log, its default objects and optionally a TCP listener."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ostler.cli.dltmqm import remove_files
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, manager_directory, refuse_options, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha import replication
from ostler.cli.ha.replication import PlannedInstance
from ostler.cli.setmqsize import megabytes
from ostler.log.errors import LogRefused, LogSpace
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.server.config import directories
from ostler.server.config.default_manager import mqs_ini, set_default
from ostler.server.config.directories import (
    QueueManagerDirectory,
    QueueManagerExistsError,
)
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, new_qm_ini
from ostler.server.queue_manager import QueueManager, create_queue_manager

LISTENER: Final = "SYSTEM.LISTENER.TCP.1"
"""The listener that crtmqm -p defines."""
_LOOPBACK: Final = "127.0.0.1"

_LOG_KINDS: Final = {
    "lc": (LogType.CIRCULAR, LogManagement.MANUAL),
    "ll": (LogType.LINEAR, LogManagement.MANUAL),
    "lla": (LogType.LINEAR, LogManagement.AUTOMATIC),
    "lln": (LogType.LINEAR, LogManagement.ARCHIVE),
}

# Attributes of the queue manager that have an option: option, attribute, placeholder of the value, help, conversion.
_ATTRIBUTES: Final[tuple[tuple[str, str, str, str, Callable[[str], object]], ...]] = (
    ("-c", "DESCR", "TEXT", "a description, up to 64 characters", str),
    ("-d", "DEFXMITQ", "QUEUE", "the default transmission queue", str),
    ("-u", "DEADQ", "QUEUE", "the dead-letter queue", str),
    ("-h", "MAXHANDS", "N", "handles that one connection may have (256)", whole_number),
    ("-t", "TRIGINT", "MS", "the trigger interval in milliseconds (999999999)", whole_number),
    ("-x", "MAXUMSGS", "N", "uncommitted messages of one unit of work (10000)", whole_number),
)

_SERVICE: Final = "the service manager of the operating system starts it; see docs/how-to/run-as-a-service.md"
_RECOVERY: Final = (
    "create it with -lr or -sx, then `ostler crtdrprimary` gives it a recovery group and prints the command for the "
    "other site"
)
_REFUSED_ALONE: Final = dict.fromkeys(("-sa", "-sax", "-sd", "-si", "-ss"), _SERVICE)
_REFUSED_WITH_VALUE: Final = {
    "-a": "access groups exist on Windows only",
    "-g": "there are no application groups; the owner of the files administers the queue manager",
    "-md": "queue managers live below OSTLER_DATA; set that instead",
    "-ic": "run the file with `ostler runmqsc -f` once the queue manager has started",
    "-ii": "use `ostler setmqini` instead",
    "-iv": "it belongs to -ic, which is not supported",
    **dict.fromkeys(("-rr", "-rt", "-rl", "-ri", "-rn", "-rp"), _RECOVERY),
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "crtmqm",
        "create a queue manager",
        "Create a queue manager: its directory, its recovery log and its default objects.",
        Status.PARAMETER_WRONG,
        # -h is the number of handles.
        add_help=False,
    )
    parser.add_argument("--help", action="help", help="show this help and exit")
    parser.add_argument("name", metavar="QMGR", help="its name")
    for option, attribute, placeholder, purpose, convert in _ATTRIBUTES:
        parser.add_argument(option, dest=attribute, type=convert, metavar=placeholder, help=purpose)
    parser.add_argument("-q", dest="is_default", action="store_true", help="make it the default queue manager")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "-oa", dest="entities", metavar="user", help="users have authorities of their own, as always here"
    )
    kinds = parser.add_mutually_exclusive_group()
    for option, purpose in (
        ("lc", "a circular log (the default)"),
        ("ll", "a linear log whose extents you manage"),
        ("lla", "a linear log that manages its extents itself"),
        ("lln", "a linear log whose extents are reused once they are marked as archived"),
    ):
        kinds.add_argument(f"-{option}", dest="log_kind", action="store_const", const=option, help=purpose)
    replication.add_options(parser, kinds)
    parser.add_argument("-ld", dest="log_path", metavar="DIR", help="the directory of the log")
    parser.add_argument(
        "-lf", dest="log_file_pages", type=whole_number, metavar="PAGES", help="pages of an extent (4096)"
    )
    parser.add_argument("-lp", dest="log_primary", type=whole_number, metavar="N", help="primary extents (3)")
    parser.add_argument("-ls", dest="log_secondary", type=whole_number, metavar="N", help="secondary extents (2)")
    parser.add_argument(
        "-fs",
        dest="file_system_megabytes",
        type=megabytes,
        metavar="SIZE",
        help="the disk space that it may use, such as 64 or 64G (gigabytes) or 512M; setmqsize increases it (all)",
    )
    parser.add_argument("-p", dest="port", type=whole_number, metavar="PORT", help="make a TCP listener on this port")
    parser.add_argument(
        "--address",
        default=_LOOPBACK,
        metavar="IP",
        help="where that listener listens; '*' is everywhere (%(default)s)",
    )
    refuse_options(parser, _REFUSED_ALONE, 0)
    refuse_options(parser, _REFUSED_WITH_VALUE, "?")
    parser.set_defaults(run=run, log_kind="lc")


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    directory = manager_directory(arguments.name)
    if directory.path.exists():
        raise CommandFailed(Status.EXISTS, "AMQ8110E", name=directory.typed_name)
    if arguments.entities not in (None, "user"):
        why = "users have authorities of their own, beside those of their groups."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option=f"-oa {arguments.entities}", why=why)
    changes = _manager_attributes(directory.name, arguments)
    listener = _listener_attributes(arguments)
    instance = replication.plan_instance(directory, arguments, bool(changes) or listener is not None)
    log = _log_section(directory.name, arguments, instance)
    _make_files(directory, log, arguments.file_system_megabytes, instance)
    try:
        if instance is not None:
            replication.write_stanzas(directory, instance)
        is_whole = instance is None or not instance.is_empty
        count = _make_objects(directory, changes, listener) if is_whole else 0
    except BaseException:
        # No half-made queue manager is left behind.
        remove_files(directory)
        raise
    if instance is not None and instance.is_empty:
        output.message("instance-created", instance=instance.name, name=directory.name)
        output.message("directory-created", path=directory.path)
        return Status.DONE
    output.message("AMQ8001I", name=directory.name)
    output.message("directory-created", path=directory.path)
    output.message("default-objects", count=count)
    if instance is not None:
        replication.print_next_steps(directory, instance, output)
    if arguments.port is not None:
        output.message("will-listen", listener=LISTENER, address=arguments.address, port=arguments.port)
    if arguments.is_default:
        return _make_default(directory, output)
    return Status.DONE


def _manager_attributes(name: str, arguments: argparse.Namespace) -> dict[str, Value]:
    """Returns the attributes given as options, checked before anything is created."""
    given: dict[str, Value] = {}
    for _, attribute, _, _, _ in _ATTRIBUTES:
        value = getattr(arguments, attribute)
        if value is not None:
            given[attribute] = value
    try:
        new_definition(ObjectType.QMGR, name, given)
    except MQError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.detail or error) from error
    return given


def _listener_attributes(arguments: argparse.Namespace) -> dict[str, Value] | None:
    if arguments.port is None:
        return None
    if not 1 <= arguments.port <= 65_535:
        why = f"-p {arguments.port} is not a port: ports are 1 to 65535."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    from ostler.model import constants as mq

    address = str(arguments.address)
    listener: dict[str, Value] = {"PORT": arguments.port, "IPADDR": address, "CONTROL": mq.MQSVC_CONTROL_Q_MGR}
    try:
        new_definition(ObjectType.LISTENER, LISTENER, listener)
    except MQError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.detail or error) from error
    return listener


def _log_section(name: str, arguments: argparse.Namespace, instance: PlannedInstance | None) -> LogSection:
    kind, management = _LOG_KINDS[arguments.log_kind]
    if instance is not None:
        kind, management = LogType.REPLICATED, LogManagement.AUTOMATIC
    default = LogSection()
    section = LogSection(
        primary_files=_or(arguments.log_primary, default.primary_files),
        secondary_files=_or(arguments.log_secondary, default.secondary_files),
        file_pages=_or(arguments.log_file_pages, default.file_pages),
        type=kind,
        management=management,
        path=str(Path(arguments.log_path).absolute()) if arguments.log_path else "",
    )
    try:
        new_qm_ini(name, section, instance.name if instance is not None else "")
    except (ConfigurationError, ValueError) as error:
        why = error.problem if isinstance(error, ConfigurationError) else error
        raise CommandFailed(Status.LOG_SIZE, "AMQ7073E", why=why) from error
    if section.path and (Path(section.path) / directories.directory_name(name)).exists():
        why = "the directory exists; name another one with -ld."
        raise CommandFailed(Status.LOG_LOCATION, "AMQ7064E", path=section.path, why=why)
    return section


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _make_files(
    directory: QueueManagerDirectory,
    log: LogSection,
    file_system_megabytes: int | None,
    instance: PlannedInstance | None,
) -> None:
    name, is_empty = (instance.name, instance.is_empty) if instance is not None else ("", False)
    try:
        create_queue_manager(directory.root, directory.name, log, file_system_megabytes, name, is_empty)
    except QueueManagerExistsError as error:
        raise CommandFailed(Status.EXISTS, "AMQ8110E", name=directory.name) from error
    except (LogRefused, DiskFull, LogSpace, DiskFailed, OSError) as error:
        is_made = directory.exists()
        if is_made:
            remove_files(directory)
        if isinstance(error, (DiskFull, LogSpace)):
            raise CommandFailed(Status.STORAGE_NOT_AVAILABLE, "AMQ7065E", why=error) from error
        if is_made and log.path:
            raise CommandFailed(Status.LOG_LOCATION, "AMQ7064E", path=log.path, why=error) from error
        status = Status.NOT_AUTHORIZED if isinstance(error, PermissionError) else Status.UNEXPECTED
        raise CommandFailed(status, "AMQ7019E", name=directory.name, why=error) from error


def _make_objects(
    directory: QueueManagerDirectory, changes: dict[str, Value], listener: dict[str, Value] | None
) -> int:
    """Starts the queue manager once to define its objects, and ends it; returns the number of objects."""
    manager = QueueManager(directory)
    try:
        manager.start(is_founding=True)
        try:
            if changes:
                manager.define(manager.engine.manager.with_changes(changes), replace=True)
            if listener is not None:
                manager.define(new_definition(ObjectType.LISTENER, LISTENER, listener))
            with manager.turn:
                return sum(len(table) for table in manager.engine.definitions.values())
        finally:
            manager.end("immediate")
    except (DiskFull, LogSpace) as error:
        raise CommandFailed(Status.STORAGE_NOT_AVAILABLE, "AMQ7065E", why=error) from error
    except (MQError, DiskFailed, LogRefused, OSError) as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7019E", name=directory.name, why=error) from error


def _make_default(directory: QueueManagerDirectory, output: CommandOutput) -> int:
    try:
        set_default(directory.root, directory.name)
    except ConfigurationError as error:
        raise CommandFailed(
            Status.DEFAULT_NOT_SET, "done-but", name=directory.name, file=mqs_ini(directory.root), why=error
        ) from error
    output.message("is-default", name=directory.name)
    return Status.DONE
