"""The stanzas of qm.ini about copies of a queue manager: MQ's for Native HA, and our own.

    NativeHALocalInstance:          this instance; written by crtmqm -lr
       Name=alpha
    NativeHAInstance:               one for each instance of the group, two or three, this one included
       Name=alpha
       ReplicationAddress=host1(4444)
    NativeHARecoveryGroup:          the group at another site
       GroupName=south
       ReplicationAddress=host9(4444)
    Arbiter:                        ours: who decides which instance leads
       Type=Etcd
       Endpoints=http://host1:2379,http://host2:2379,http://host3:2379
    Replication:                    ours: how many copies, and what slow ones may cost
       Copies=2

Values are checked when the file is read. A file that is valid but not complete can be read and edited; `missing` then
says what an instance needs before it can start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from ostler.model.connection_names import Address, LocalAddress, parse_connection_names, parse_local_address
from ostler.model.errors import MQError
from ostler.model.replication import SIDE_SETS, Acknowledgement, GroupRole
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.ini_rules import Rule, Values
from ostler.server.config.instance_names import is_instance_name

LOCAL: Final = "NativeHALocalInstance"
INSTANCE: Final = "NativeHAInstance"
RECOVERY_GROUP: Final = "NativeHARecoveryGroup"
ARBITER: Final = "Arbiter"
REPLICATION: Final = "Replication"
REPEATED: Final = frozenset((INSTANCE.lower(), RECOVERY_GROUP.lower()))
"""Stanzas that a file may have several times."""
STANZAS: Final = (LOCAL, INSTANCE, RECOVERY_GROUP, ARBITER, REPLICATION)

INSTANCES_MIN: Final = 2
INSTANCES_MAX: Final = 3
RECOVERY_GROUPS_MAX: Final = 1
LEASE_SECONDS_MIN: Final = 2
"""etcd grants no shorter lease."""
_KEYS: Final = "ha"  # the key repository of the group, in the directory of the queue manager
_HEARTBEAT_MS: Final = 5_000
_ANY_ADDRESS: Final = LocalAddress("", 0, 0)
_ENDPOINTS_MAX: Final = 16
_ENDPOINT: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:[0-9]{1,5})?/?", re.ASCII)


class ArbiterType(StrEnum):
    ETCD = "Etcd"
    FILE = "File"
    NONE = "None"


class ReplicationType(StrEnum):
    """The copy to a recovery group: never waited for, or waited for (crtmqm -rt, crtdrprimary -t)."""

    ASYNCHRONOUS = "Asynchronous"
    SYNCHRONOUS = "Synchronous"


class LagAction(StrEnum):
    """The reaction to a recovery group that is further behind than it may be."""

    TELL = "Tell"
    SLOW = "Slow"


@dataclass(frozen=True)
class InstanceSection:
    """A NativeHAInstance stanza: an instance of the group, and where it takes the log."""

    name: str
    address: Address


@dataclass(frozen=True)
class RecoveryGroupSection:
    """A NativeHARecoveryGroup stanza: the group at another site. It has an address for each of its instances."""

    name: str
    addresses: tuple[Address, ...]
    is_enabled: bool = True
    type: ReplicationType = ReplicationType.ASYNCHRONOUS


@dataclass(frozen=True)
class ArbiterSection:
    """The Arbiter stanza. `path` is the directory of a file arbiter; instances on other machines cannot use it."""

    type: ArbiterType = ArbiterType.NONE
    endpoints: tuple[str, ...] = ()
    lease_seconds: int = 5
    path: str = ""
    user: str = ""
    password_file: str = ""
    """The password of the user at etcd is the first line of this file, which only its owner can read."""
    ca_file: str = ""
    """The authority that etcd's certificate is of, for https endpoints; empty for those of the machine."""
    certificate_file: str = ""
    key_file: str = ""


@dataclass(frozen=True)
class ReplicationSection:
    """All settings of an instance of a replicated queue manager."""

    instance: str
    instances: tuple[InstanceSection, ...] = ()
    recovery_groups: tuple[RecoveryGroupSection, ...] = ()
    arbiter: ArbiterSection = ArbiterSection()
    has_arbiter: bool = False
    """The file has an Arbiter stanza: three instances cannot be without."""
    group_name: str = ""
    group_role: GroupRole = GroupRole.LIVE
    """The requested role; the effective one is in the status."""
    key_repository: str = ""
    """The certificates of the group; empty for the directory `ha` of the queue manager."""
    key_repository_password: str = field(default="", repr=False)
    certificate_label: str = ""
    """The certificate of this instance; empty for the one named as the instance."""
    cipher_spec: str = "ANY"
    local_address: LocalAddress = _ANY_ADDRESS
    heartbeat_ms: int = _HEARTBEAT_MS
    heartbeat_timeout_ms: int = 2 * _HEARTBEAT_MS
    retry_ms: int = 2 * _HEARTBEAT_MS
    copies: int = 1
    acknowledgement: Acknowledgement = Acknowledgement.DISK
    keep_extents: int = 8
    """Log extents that are kept for a copy that is behind; then it is let go and needs a base."""
    lag_megabytes: int | None = None
    lag_seconds: int | None = None
    lag_action: LagAction = LagAction.TELL
    address_command: str = ""
    """A program for floating addresses: it is run with "up" when this instance leads, with "down" when it ceases."""
    listener_address: str = ""
    """The address of this machine at which TCP listeners listen here, in place of IPADDR: definitions are copied."""
    side_files: frozenset[str] = frozenset(SIDE_SETS)
    """Files beside the log that this instance takes over from the active one."""

    def address_of(self, name: str) -> Address | None:
        for each in self.instances:
            if each.name == name:
                return each.address
        return None

    def repository(self, directory: Path) -> Path | None:
        """Return the key repository of the group, in a queue manager's directory if none is named; None without one."""
        if self.key_repository:
            return Path(self.key_repository)
        default = directory / _KEYS
        return default if default.exists() else None

    def copies_side_files(self, directory: Path) -> bool:
        """Return True when files beside the log are copied: there are keys among them, so links must be secured."""
        return self.repository(directory) is not None

    def own_address(self) -> Address:
        """Return where this instance takes the log: of a group as the group has it, else LocalAddress."""
        return self.address_of(self.instance) or Address(self.local_address.host, self.local_address.port_low)

    def missing(self) -> str:
        """Return what an instance needs before it can start, as a sentence; empty when it has everything."""
        if not self.instances and not self.recovery_groups:
            return (
                f"AMQ3205E: The stanza {INSTANCE} is missing: qm.ini has to name every instance of the group, or a "
                f"{RECOVERY_GROUP}. `ostler sethagrp -i` writes them."
            )
        if not self.instances and not self.local_address.port_low:
            return (
                f"AMQ3205E: LocalAddress is missing in the stanza {LOCAL}: it has the port at which this instance "
                "takes the log, such as (4444)."
            )
        if len(self.instances) > INSTANCES_MIN and not self.has_arbiter:
            return (
                f"AMQ3205E: The stanza {ARBITER} is missing: {len(self.instances)} instances need one that decides "
                "which of them leads. Only a pair can be without."
            )
        return ""


_ALL: Final = "ALL"
_NONE: Final = "NONE"
_ADDRESS: Final = "an address with a port, such as host1(4444)"
RULES: Final[tuple[Rule, ...]] = (
    Rule(LOCAL, "Name", any_text=True),
    Rule(LOCAL, "KeyRepository", any_text=True),
    Rule(LOCAL, "KeyRepositoryPassword", any_text=True),
    Rule(LOCAL, "CertificateLabel", any_text=True),
    Rule(LOCAL, "CipherSpec", any_text=True),
    Rule(LOCAL, "LocalAddress", any_text=True),
    Rule(LOCAL, "HeartbeatInterval", 500, 60_000),
    Rule(LOCAL, "HeartbeatTimeout", 500, 120_000),
    Rule(LOCAL, "RetryInterval", 500, 120_000),
    Rule(LOCAL, "GroupName", any_text=True),
    Rule(LOCAL, "GroupRole", words=(GroupRole.LIVE, GroupRole.RECOVERY)),
    Rule(INSTANCE, "Name", any_text=True),
    Rule(INSTANCE, "ReplicationAddress", any_text=True),
    Rule(RECOVERY_GROUP, "GroupName", any_text=True),
    Rule(RECOVERY_GROUP, "ReplicationAddress", any_text=True),
    Rule(RECOVERY_GROUP, "Enabled", words=("Yes", "No")),
    Rule(RECOVERY_GROUP, "ReplicationType", words=tuple(ReplicationType)),
    Rule(ARBITER, "Type", words=tuple(ArbiterType)),
    Rule(ARBITER, "Endpoints", any_text=True),
    Rule(ARBITER, "LeaseSeconds", LEASE_SECONDS_MIN, 600),
    Rule(ARBITER, "Path", any_text=True),
    Rule(ARBITER, "User", any_text=True),
    Rule(ARBITER, "PasswordFile", any_text=True),
    Rule(ARBITER, "CaFile", any_text=True),
    Rule(ARBITER, "CertificateFile", any_text=True),
    Rule(ARBITER, "KeyFile", any_text=True),
    Rule(REPLICATION, "Copies", 1, INSTANCES_MAX),
    Rule(REPLICATION, "ReplicationAck", words=tuple(Acknowledgement)),
    Rule(REPLICATION, "ReplicationKeep", 1, 510),
    Rule(REPLICATION, "RecoveryLagMB", 1, 999_999, words=("OFF",)),
    Rule(REPLICATION, "RecoveryLagSeconds", 1, 86_400, words=("OFF",)),
    Rule(REPLICATION, "RecoveryLagAction", words=tuple(LagAction)),
    Rule(REPLICATION, "AddressCommand", any_text=True),
    Rule(REPLICATION, "ListenerAddress", any_text=True),
    Rule(REPLICATION, "SideFiles", words=(_ALL, _NONE, *(each.upper() for each in SIDE_SETS)), several=True),
)


@dataclass
class FoundStanzas:
    """The stanzas of a file about copies, with the lines they begin in."""

    single: dict[str, tuple[int, Values]] = field(default_factory=dict)
    """By name in lower case."""
    repeated: list[tuple[str, int, Values]] = field(default_factory=list)


def read_replication(file: IniFile, found: FoundStanzas, is_replicated: bool) -> ReplicationSection | None:
    """Return the settings of the stanzas; None without any. `is_replicated`: LogType is REPLICATED.

    Raises ConfigurationError, which names the line.
    """
    return _StanzaReader(file, found).section(is_replicated)


class _StanzaReader:
    def __init__(self, file: IniFile, found: FoundStanzas) -> None:
        self._file = file
        self._found = found

    def section(self, is_replicated: bool) -> ReplicationSection | None:
        local = self._found.single.get(LOCAL.lower())
        if local is None:
            self._refuse_without_local(is_replicated)
            return None
        line, values = local
        if not is_replicated:
            raise self._error(line, f"{LOCAL} needs LogType=REPLICATED in the stanza Log")
        name = self._name(line, LOCAL, "Name", values)
        instances = self._instances(name)
        groups = self._recovery_groups()
        group_name = values.text("GroupName", "")
        if group_name and not is_instance_name(group_name):
            raise self._error(self._line(LOCAL, "GroupName", line), _not_a_name("GroupName", group_name))
        if groups and not group_name:
            raise self._error(line, f"{LOCAL} needs GroupName, as there is a {RECOVERY_GROUP}")
        if any(each.name == group_name for each in groups):
            raise self._error(line, f"GroupName={group_name} is the name of the {RECOVERY_GROUP} as well")
        arbiter_line, arbiter = self._arbiter()
        if arbiter_line and arbiter.type is ArbiterType.NONE and len(instances) > INSTANCES_MIN:
            raise self._error(arbiter_line, f"Type=None is for a pair; {len(instances)} instances need an arbiter")
        interval = values.number("HeartbeatInterval", _HEARTBEAT_MS)
        timeout = values.number("HeartbeatTimeout", 2 * interval)
        if timeout < interval:
            problem = f"HeartbeatTimeout={timeout} is shorter than HeartbeatInterval, which is {interval}"
            raise self._error(self._line(LOCAL, "HeartbeatTimeout", line), problem)
        own = self._single(REPLICATION)
        return ReplicationSection(
            instance=name,
            instances=instances,
            recovery_groups=groups,
            arbiter=arbiter,
            has_arbiter=arbiter_line > 0,
            group_name=group_name,
            group_role=GroupRole(values.text("GroupRole", GroupRole.LIVE)),
            key_repository=values.text("KeyRepository", ""),
            key_repository_password=values.text("KeyRepositoryPassword", ""),
            certificate_label=values.text("CertificateLabel", ""),
            cipher_spec=values.text("CipherSpec", "") or "ANY",
            local_address=self._local_address(line, values),
            heartbeat_ms=interval,
            heartbeat_timeout_ms=timeout,
            retry_ms=values.number("RetryInterval", 2 * interval),
            copies=self._copies(own, len(instances)),
            acknowledgement=Acknowledgement(own.text("ReplicationAck", Acknowledgement.DISK)),
            keep_extents=own.number("ReplicationKeep", ReplicationSection.keep_extents),
            lag_megabytes=own.number_or_off("RecoveryLagMB", None),
            lag_seconds=own.number_or_off("RecoveryLagSeconds", None),
            lag_action=LagAction(own.text("RecoveryLagAction", LagAction.TELL)),
            address_command=own.text("AddressCommand", ""),
            listener_address=own.text("ListenerAddress", ""),
            side_files=self._side_files(own),
        )

    def _refuse_without_local(self, is_replicated: bool) -> None:
        others = [(line, name) for name, (line, _) in self._found.single.items()]
        others += [(line, name) for name, line, _ in self._found.repeated]
        if is_replicated:
            raise self._error(self._line("Log", "LogType", 0), f"LogType=REPLICATED needs a stanza {LOCAL}")
        if others:
            line, name = min(others)
            shown = next(each for each in STANZAS if each.lower() == name)
            raise self._error(line, f"{shown} needs a stanza {LOCAL}, which names this instance")

    def _instances(self, local: str) -> tuple[InstanceSection, ...]:
        found: dict[str, InstanceSection] = {}
        last = 0
        for name, line, values in self._found.repeated:
            if name != INSTANCE.lower():
                continue
            last = line
            instance = self._name(line, INSTANCE, "Name", values)
            if instance in found:
                raise self._error(line, f"{INSTANCE} {instance} is in the file twice")
            address = self._addresses(line, INSTANCE, values, 1)[0]
            taken = [each.name for each in found.values() if each.address == address]
            if taken:
                raise self._error(line, f"{instance} has the ReplicationAddress {address} of {taken[0]}")
            found[instance] = InstanceSection(instance, address)
        if not found:
            return ()
        if not INSTANCES_MIN <= len(found) <= INSTANCES_MAX:
            problem = f"{INSTANCE} is in the file for {len(found)}; a group has {INSTANCES_MIN} or {INSTANCES_MAX}"
            raise self._error(last, problem)
        if local not in found:
            problem = f"no {INSTANCE} has the Name of this instance, {local}; there are {', '.join(found)}"
            raise self._error(self._line(LOCAL, "Name", last), problem)
        return tuple(found.values())

    def _recovery_groups(self) -> tuple[RecoveryGroupSection, ...]:
        groups: list[RecoveryGroupSection] = []
        for name, line, values in self._found.repeated:
            if name != RECOVERY_GROUP.lower():
                continue
            if len(groups) == RECOVERY_GROUPS_MAX:
                raise self._error(line, f"{RECOVERY_GROUP} is in the file twice; one group can be recovered to")
            group = self._name(line, RECOVERY_GROUP, "GroupName", values)
            addresses = self._addresses(line, RECOVERY_GROUP, values, INSTANCES_MAX)
            kind = ReplicationType(values.text("ReplicationType", ReplicationType.ASYNCHRONOUS))
            groups.append(RecoveryGroupSection(group, addresses, values.text("Enabled", "Yes") == "Yes", kind))
        return tuple(groups)

    def _arbiter(self) -> tuple[int, ArbiterSection]:
        """Return the line and the settings of the arbiter; line 0 without one."""
        found = self._found.single.get(ARBITER.lower())
        if found is None:
            return 0, ArbiterSection()
        line, values = found
        kind = ArbiterType(values.text("Type", ArbiterType.ETCD))
        endpoints = tuple(each.strip() for each in values.text("Endpoints", "").split(",") if each.strip())
        for each in endpoints:
            if not _ENDPOINT.fullmatch(each):
                problem = f"Endpoints: {each[:60]} is not an address such as http://127.0.0.1:2379"
                raise self._error(self._line(ARBITER, "Endpoints", line), problem)
        if len(endpoints) > _ENDPOINTS_MAX:
            problem = f"Endpoints has {len(endpoints)} addresses; at most {_ENDPOINTS_MAX} can be"
            raise self._error(self._line(ARBITER, "Endpoints", line), problem)
        path = values.text("Path", "")
        if kind is ArbiterType.ETCD and not endpoints:
            raise self._error(line, "Type=Etcd needs Endpoints, such as http://127.0.0.1:2379")
        if kind is ArbiterType.FILE and not path.startswith("/"):
            raise self._error(line, "Type=File needs Path, the absolute path of a directory that all instances share")
        lease_seconds = values.number("LeaseSeconds", ArbiterSection.lease_seconds)
        files = {name: values.text(name, "") for name in ("PasswordFile", "CaFile", "CertificateFile", "KeyFile")}
        for name, file in files.items():
            if file and not file.startswith("/"):
                problem = f"{name}={file[:60]} is not allowed; allowed is an absolute path"
                raise self._error(self._line(ARBITER, name, line), problem)
        user = values.text("User", "")
        if bool(user) != bool(files["PasswordFile"]):
            raise self._error(line, "User and PasswordFile belong together")
        if files["KeyFile"] and not files["CertificateFile"]:
            raise self._error(line, "KeyFile needs CertificateFile")
        return line, ArbiterSection(kind, endpoints, lease_seconds, path, user, *files.values())

    def _side_files(self, own: Values) -> frozenset[str]:
        words = own.words("SideFiles", (_ALL,))
        if len(words) > 1 and (_ALL in words or _NONE in words):
            line = self._line(REPLICATION, "SideFiles", 0)
            raise self._error(line, f"SideFiles={','.join(words)} is not allowed; {_ALL} and {_NONE} stand alone")
        if words == (_NONE,):
            return frozenset()
        return frozenset(SIDE_SETS) if words == (_ALL,) else frozenset(each.lower() for each in words)

    def _copies(self, own: Values, instances: int) -> int:
        copies = own.number("Copies", INSTANCES_MIN if instances else 1)
        if copies > max(instances, 1):
            line = self._line(REPLICATION, "Copies", 0)
            raise self._error(line, f"Copies={copies} cannot be with {max(instances, 1)} instances")
        return copies

    def _name(self, line: int, stanza: str, attribute: str, values: Values) -> str:
        name = values.text(attribute, "")
        if not name:
            raise self._error(line, f"{stanza} needs {attribute}")
        if not is_instance_name(name):
            raise self._error(line, _not_a_name(attribute, name))
        return name

    def _addresses(self, line: int, stanza: str, values: Values, count_max: int) -> tuple[Address, ...]:
        text = values.text("ReplicationAddress", "")
        if not text:
            raise self._error(line, f"{stanza} needs ReplicationAddress, {_ADDRESS}")
        try:
            addresses = parse_connection_names(text)
        except MQError:
            addresses = []
        has_ports = text.count("(") == len(addresses)
        if not addresses or not has_ports or len(addresses) > count_max:
            several = "" if count_max == 1 else f", or up to {count_max} of them joined by commas"
            problem = f"ReplicationAddress={text[:100]} is not allowed; allowed is {_ADDRESS}{several}"
            raise self._error(line, problem)
        return tuple(addresses)

    def _local_address(self, line: int, values: Values) -> LocalAddress:
        text = values.text("LocalAddress", "")
        try:
            return parse_local_address(text)
        except MQError:
            problem = f"LocalAddress={text[:100]} is not allowed; allowed is an address, a port in parentheses, or both"
            raise self._error(self._line(LOCAL, "LocalAddress", line), problem) from None

    def _single(self, stanza: str) -> Values:
        found = self._found.single.get(stanza.lower())
        return Values() if found is None else found[1]

    def _line(self, stanza: str, attribute: str, otherwise: int) -> int:
        found = self._file.stanza(stanza)
        entry = found.find(attribute) if found else None
        return entry.line if entry else otherwise

    def _error(self, line: int, problem: str) -> ConfigurationError:
        return ConfigurationError(self._file.name, line, problem)


def _not_a_name(attribute: str, name: str) -> str:
    return (
        f"{attribute}={name[:60]} is not allowed; allowed are 1 to 48 letters, digits, '.', '_' and '-', the first of "
        "them a letter or digit"
    )
