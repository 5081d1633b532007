"""`ostler crtdrsecondary`: creates the copy of a queue manager at the recovery site."""

from __future__ import annotations

import argparse
from pathlib import Path

from ostler.cli.dltmqm import remove_files
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, manager_directory, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.disaster import TYPES, take_repository
from ostler.cli.ha.engine import add_manager, addresses, read_ini, write_ini
from ostler.cli.setmqsize import megabytes
from ostler.model.connection_names import PORT_MAX
from ostler.model.replication import GroupRole
from ostler.server.config import replication_ini
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.instance_names import is_instance_name
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import create_queue_manager


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "crtdrsecondary",
        "create the copy of a queue manager at the recovery site",
        "Create the copy of a queue manager at the recovery site. All arguments are those that crtdrprimary prints.",
        Status.PARAMETER_WRONG,
    )
    add_manager(parser)
    parser.add_argument("-r", dest="recovery", metavar="NAME", required=True, help="the name of this site")
    parser.add_argument("-l", dest="live", metavar="NAME", required=True, help="the name of the live site")
    parser.add_argument("-i", dest="addresses", metavar="IP[,IP]", required=True, help="where the live site is")
    parser.add_argument("-p", dest="port", type=whole_number, metavar="PORT", required=True, help="where this site is")
    parser.add_argument("-t", dest="type", choices=tuple(TYPES), default="asynchronous", help="as at the live site")
    parser.add_argument("--local", metavar="IP", default="", help="take the log at this address only (all)")
    parser.add_argument("-k", dest="keys", type=Path, metavar="DIR", required=True, help="the copied key repository")
    parser.add_argument(
        "-lf", dest="log_file_pages", type=whole_number, metavar="PAGES", default=4096, help="pages of an extent (4096)"
    )
    parser.add_argument(
        "-lp", dest="log_primary", type=whole_number, metavar="N", default=3, help="primary extents (3)"
    )
    parser.add_argument(
        "-ls", dest="log_secondary", type=whole_number, metavar="N", default=2, help="secondary extents (2)"
    )
    parser.add_argument("-s", dest="file_system_megabytes", type=megabytes, metavar="SIZE", help="the file system size")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = manager_directory(arguments.name, default=False)
    if directory.path.exists():
        raise CommandFailed(Status.EXISTS, "AMQ8110E", name=directory.typed_name)
    for name in (arguments.recovery, arguments.live):
        if not is_instance_name(name):
            why = f"{name!r} is not the name of a site: letters, digits, '.', '_' and '-'."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    if not 1 <= arguments.port <= PORT_MAX:
        why = f"-p {arguments.port} is not a port: ports are 1 to {PORT_MAX}."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    _create(directory, arguments)
    output = CommandOutput()
    output.message("instance-created", instance=arguments.recovery, name=directory.name)
    output.message("directory-created", path=directory.path)
    return Status.DONE


def _create(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    live = addresses(arguments.addresses, arguments.port)
    repository = take_repository(arguments.keys, directory.root, arguments.recovery)
    log = LogSection(
        primary_files=arguments.log_primary,
        secondary_files=arguments.log_secondary,
        file_pages=arguments.log_file_pages,
        type=LogType.REPLICATED,
        management=LogManagement.AUTOMATIC,
    )
    own = [
        ("Name", arguments.recovery),
        ("KeyRepository", str(repository)),
        ("CertificateLabel", arguments.recovery),
        ("LocalAddress", f"{arguments.local}({arguments.port})"),
        ("GroupName", arguments.recovery),
        ("GroupRole", str(GroupRole.RECOVERY)),
    ]
    other = [
        ("GroupName", arguments.live),
        ("ReplicationAddress", ",".join(str(each) for each in live)),
        ("ReplicationType", str(TYPES[arguments.type])),
    ]
    try:
        create_queue_manager(
            directory.root, directory.name, log, arguments.file_system_megabytes, arguments.recovery, wants_base=True
        )
    except ConfigurationError as error:
        raise CommandFailed(Status.LOG_SIZE, "AMQ7073E", why=error.problem) from error
    try:
        ini = read_ini(directory)
        ini.change_stanzas({replication_ini.LOCAL: [own], replication_ini.RECOVERY_GROUP: [other]})
        write_ini(directory, ini)
    except ConfigurationError as error:
        remove_files(directory)
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.problem) from error
    except BaseException:
        remove_files(directory)
        raise
