"""Disaster recovery: recovery groups in qm.ini, the command for the other site, and the roles of sites."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.cli.framework.commands import CommandFailed, CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import read_ini, replicated_manager, require_ended, send, write_ini
from ostler.model.connection_names import Address
from ostler.model.replication import ChangeRole, GroupRole
from ostler.server.config import replication_ini
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.ha_group import authority_of, key_repository_of, read_group
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.instance_names import is_instance_name
from ostler.server.config.qm_ini import LogType
from ostler.server.config.replication_ini import ReplicationSection, ReplicationType
from ostler.server.replica.certificates import check_repository, issue_certificate, make_authority
from ostler.server.replica.site.state import changed_while_ended, read_site, write_site
from ostler.server.tls.certificate_maker import CertificateError

MAIN_GROUP: Final = "MAIN"
"""The name of a live group that has none."""
TYPES: Final = {
    "a": ReplicationType.ASYNCHRONOUS,
    "asynchronous": ReplicationType.ASYNCHRONOUS,
    "s": ReplicationType.SYNCHRONOUS,
    "synchronous": ReplicationType.SYNCHRONOUS,
}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True)
class RecoverySite:
    """The site that a queue manager is copied to."""

    name: str
    addresses: tuple[Address, ...]
    port: int
    type: ReplicationType


def add_recovery_group(
    directory: QueueManagerDirectory, site: RecoverySite, group_name: str, local: tuple[Address, ...]
) -> None:
    """Gives an ended queue manager a recovery group, and makes the certificates of both sides that are missing."""
    require_ended(directory)
    ini = read_ini(directory)
    settings = ini.settings.replication
    if settings is not None and settings.recovery_groups:
        why = f"queue manager {directory.typed_name} has the recovery group {settings.recovery_groups[0].name} already."
        raise CommandFailed(Status.EXISTS, "AMQ7076E", why=why)
    if not ini.settings.log.is_linear:
        why = (
            f"queue manager {directory.typed_name} has a circular log, which cannot be copied. Create it again with "
            "-lla, -lr or -sx."
        )
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    instance = settings.instance if settings is not None else _local_name(directory)
    group_name = group_name or _group_name(directory, settings)
    for name in (site.name, group_name):
        if not is_instance_name(name):
            why = f"{name!r} is not the name of a site: letters, digits, '.', '_' and '-'."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    repository = key_repository_of(directory.root, instance)
    own = [("Name", instance), ("KeyRepository", str(repository)), ("CertificateLabel", instance)]
    if settings is not None:
        own = _present(directory, replication_ini.LOCAL, ("GroupName", "GroupRole")) or own
    else:
        own.append(("LocalAddress", str(local[0]) if local else f"({site.port})"))
    own += [("GroupName", group_name), ("GroupRole", str(GroupRole.LIVE))]
    recovery = [
        ("GroupName", site.name),
        ("ReplicationAddress", ",".join(str(each) for each in site.addresses)),
        ("ReplicationType", str(site.type)),
    ]
    try:
        ini.change_stanzas(
            {replication_ini.LOCAL: [own], replication_ini.RECOVERY_GROUP: [recovery]}, LogType.REPLICATED
        )
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.problem) from error
    local_address = local[0] if local else Address(socket.gethostname(), site.port)
    _make_certificates(directory, group_name, instance, local_address, site)
    write_ini(directory, ini)


def _local_name(directory: QueueManagerDirectory) -> str:
    """Returns the name of an instance that has no other beside it: the node, or this machine."""
    try:
        group = read_group(directory.root)
    except ConfigurationError:
        group = None
    if group is not None:
        return group.local_node
    return _NOT_IN_NAMES.sub("-", socket.gethostname().partition(".")[0]).strip("-._") or "local"


def _group_name(directory: QueueManagerDirectory, settings: ReplicationSection | None) -> str:
    if settings is not None and settings.group_name:
        return settings.group_name
    group = read_group(directory.root) if settings is not None and settings.instances else None
    return MAIN_GROUP if group is None else group.name


def _present(directory: QueueManagerDirectory, stanza: str, without: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the attributes that a stanza of qm.ini has, as they are, without some."""
    left_out = {each.lower() for each in without}
    found = read_ini(directory).attributes(stanza)
    return [(name, value) for name, value in found if name.lower() not in left_out]


def _make_certificates(
    directory: QueueManagerDirectory, group: str, instance: str, local: Address, site: RecoverySite
) -> None:
    """Issues what is missing. A node that joined a group has no authority: the first node made the other side's."""
    authority_directory = authority_of(directory.root)
    own = key_repository_of(directory.root, instance)
    theirs = key_repository_of(directory.root, site.name)
    try:
        if (own / "ca.crt").exists() and not authority_directory.exists():
            check_repository(own, instance)
            return
        authority = make_authority(authority_directory, group)
        if not own.exists():
            issue_certificate(authority, own, group, instance, local)
        if not theirs.exists():
            issue_certificate(authority, theirs, site.name, site.name, site.addresses[0])
        check_repository(own, instance)
    except CertificateError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ6119E", why=f"{error}.") from error


def print_secondary_command(directory: QueueManagerDirectory, output: CommandOutput) -> None:
    """Prints the crtdrsecondary command for the other site, and what to copy there first."""
    settings = replicated_manager(directory.typed_name)[1]
    if not settings.recovery_groups:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-recovery-group", name=directory.typed_name)
    site = settings.recovery_groups[0]
    repository = key_repository_of(directory.root, site.name)
    if repository.exists():
        output.line(f"Copy {repository} to {site.name}.")
    output.message("execute-there", recovery=site.name, command=secondary_command(directory, settings))
    others = [each.name for each in settings.instances if each.name != settings.instance]
    if others:
        output.line(f"Run crtdrprimary with the same arguments on {' and '.join(others)}: each instance may lead.")


def secondary_command(directory: QueueManagerDirectory, settings: ReplicationSection) -> str:
    site = settings.recovery_groups[0]
    log = read_ini(directory).settings
    live = [each.address for each in settings.instances] or [_own_address(settings, site.addresses[0].port)]
    words = ["ostler", "crtdrsecondary", "-m", directory.name, "-r", site.name, "-l", settings.group_name]
    words += ["-i", ",".join(typed_address(each) for each in live), "-p", str(site.addresses[0].port)]
    words += ["-t", str(site.type).lower(), "-k", site.name]
    if site.addresses[0].host == "localhost" or site.addresses[0].host.startswith("127."):
        words += ["--local", site.addresses[0].host]
    words += ["-lf", str(log.log.file_pages), "-lp", str(log.log.primary_files), "-ls", str(log.log.secondary_files)]
    if log.file_system_megabytes is not None:
        words += ["-s", f"{log.file_system_megabytes}M"]
    return shlex.join(words)


def _own_address(settings: ReplicationSection, port: int) -> Address:
    local = settings.local_address
    return Address(local.host or socket.gethostname(), local.port_low or port)


def typed_address(address: Address) -> str:
    """Returns an address that a shell takes as it is."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"


def change_role(name: str, role: GroupRole, forces: bool, output: CommandOutput) -> int:
    """Asks a running instance for the role, or notes it for the next start of one that does not run."""
    directory, settings = replicated_manager(name)
    if not settings.recovery_groups:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-recovery-group", name=directory.typed_name)
    if running_process(directory)[0]:
        send(directory, ChangeRole(role, forces), output)
        return Status.DONE
    try:
        state = changed_while_ended(read_site(directory.path, settings), settings, role, forces)
        write_site(directory.path, state)
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    except ValueError as refused:
        raise CommandFailed(Status.UNEXPECTED, "AMQ3279E", name=directory.typed_name, why=refused) from refused
    output.message("role-set", name=directory.typed_name, role=state.role)
    return Status.DONE


def take_repository(source: Path, root: Path, name: str) -> Path:
    """Copies the key repository of a site to where it belongs; returns that place."""
    target = key_repository_of(root, name)
    try:
        check_repository(source, name)
    except CertificateError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ6119E", why=f"{error}.") from error
    if source.resolve() != target.resolve():
        target.parent.mkdir(0o700, parents=True, exist_ok=True)
        shutil.copytree(source, target, dirs_exist_ok=True)
    target.chmod(0o700)
    return target
