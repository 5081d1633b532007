"""Replication as plain data: roles and states with MQ's words and numbers, rows of displays, and requests of commands.

An instance is one copy of a queue manager, with a directory of its own. The leader runs (Active), the others follow it
(Replica). Instances of one site are a group; the group that works is Live, one at another site is a recovery group.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ostler.model import constants as mq

UNKNOWN_BACKLOG: Final = mq.MQNHABACKLOG_UNKNOWN
"""The backlog of a copy that has not told how far it is."""
SWITCH_OVER_SECONDS: Final = 10.0
"""A replica has this long to get everything before a switch over is given up."""
_KILOBYTE: Final = 1024

# Sets of files that a queue manager has beside its log.
PASSWORDS: Final = "passwords"  # its users
KEYS: Final = "keys"  # key repositories of channels
VARIABLES: Final = "variables"  # of its process and of its services
SETTINGS: Final = "settings"  # the stanzas of qm.ini that are the queue manager's, not the instance's
SIDE_SETS: Final = (PASSWORDS, KEYS, VARIABLES, SETTINGS)


class InstanceRole(StrEnum):
    """The role of an instance, ROLE in displays."""

    UNKNOWN = "Unknown"
    ACTIVE = "Active"
    REPLICA = "Replica"
    LEADER = "Leader"
    """It leads a recovery group: it receives the log and ships it on, but runs no applications."""
    NOT_CONFIGURED = "Not configured"
    """The queue manager has no other copies."""


class GroupRole(StrEnum):
    """The role of a group, GRPROLE in displays."""

    UNKNOWN = "Unknown"
    NOT_CONFIGURED = "Not configured"
    LIVE = "Live"
    RECOVERY = "Recovery"
    PENDING_LIVE = "Pending live"
    PENDING_RECOVERY = "Pending recovery"


class ReplicaState(StrEnum):
    """The state of a copy as its source sees it: HASTATUS of an instance, GRSTATUS of a group."""

    UNKNOWN = "Unknown"
    NORMAL = "Normal"
    CHECKING = "Checking"
    SYNCHRONIZING = "Synchronizing"
    REBASING = "Rebasing"
    DISK_FULL = "Disk full"
    DISCONNECTED = "Disconnected"
    PARTITIONED = "Partitioned"
    SYNC_FAILED = "Sync failed"


class HaStatus(StrEnum):
    """The status of a pair or of disaster recovery, in the words of the appliance and of rdqmstatus."""

    NORMAL = "Normal"
    SYNCHRONIZING = "Synchronization in progress"
    PARTITIONED = "Partitioned"
    REMOTE_UNAVAILABLE = "Remote unavailable"
    PAUSED = "Paused"
    REMOTE_SITE_UNAVAILABLE = "Remote appliance(s) unavailable"
    """Of disaster recovery: the other site does not answer."""
    INACTIVE = "Inactive"
    """Both sides are secondary."""
    INCONSISTENT = "Inconsistent"
    """Of a secondary: no base is under way, and the copy cannot be used before one is whole. Its link was lost, or none
    was ever made."""
    UNKNOWN = "Unknown"


class GroupConnection(StrEnum):
    """The connection to a recovery group, CONNGRP in displays."""

    NO = "no"
    YES = "yes"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"


class Acknowledgement(StrEnum):
    """The place of the log at a copy when the copy acknowledges it (ReplicationAck)."""

    DISK = "Disk"
    MEMORY = "Memory"


INSTANCE_ROLE_NUMBERS: Final[dict[InstanceRole, int]] = {
    InstanceRole.UNKNOWN: mq.MQNHAROLE_UNKNOWN,
    InstanceRole.ACTIVE: mq.MQNHAROLE_ACTIVE,
    InstanceRole.REPLICA: mq.MQNHAROLE_REPLICA,
    InstanceRole.LEADER: mq.MQNHAROLE_LEADER,
    InstanceRole.NOT_CONFIGURED: mq.MQNHAROLE_UNKNOWN,
}
GROUP_ROLE_NUMBERS: Final[dict[GroupRole, int]] = {
    GroupRole.UNKNOWN: mq.MQNHAGRPROLE_UNKNOWN,
    GroupRole.NOT_CONFIGURED: mq.MQNHAGRPROLE_NOT_CONFIGURED,
    GroupRole.LIVE: mq.MQNHAGRPROLE_LIVE,
    GroupRole.RECOVERY: mq.MQNHAGRPROLE_RECOVERY,
    GroupRole.PENDING_LIVE: mq.MQNHAGRPROLE_PENDING_LIVE,
    GroupRole.PENDING_RECOVERY: mq.MQNHAGRPROLE_PENDING_RECOVERY,
}
REPLICA_STATE_NUMBERS: Final[dict[ReplicaState, int]] = {
    ReplicaState.UNKNOWN: mq.MQNHASTATUS_UNKNOWN,
    ReplicaState.NORMAL: mq.MQNHASTATUS_NORMAL,
    ReplicaState.CHECKING: mq.MQNHASTATUS_CHECKING,
    ReplicaState.SYNCHRONIZING: mq.MQNHASTATUS_SYNCHRONIZING,
    ReplicaState.REBASING: mq.MQNHASTATUS_REBASING,
    ReplicaState.DISK_FULL: mq.MQNHASTATUS_DISK_FULL,
    ReplicaState.DISCONNECTED: mq.MQNHASTATUS_DISCONNECTED,
    ReplicaState.PARTITIONED: mq.MQNHASTATUS_PARTITIONED,
    ReplicaState.SYNC_FAILED: mq.MQNHASTATUS_SYNC_FAILED,
}
GROUP_CONNECTION_NUMBERS: Final[dict[GroupConnection, int]] = {
    GroupConnection.NO: mq.MQNHACONNGRP_NO,
    GroupConnection.YES: mq.MQNHACONNGRP_YES,
    GroupConnection.SUSPENDED: mq.MQNHACONNGRP_SUSPENDED,
}


def mqsc_word(state: str) -> str:
    """Return the word of MQSC for a role or state: its letters without blanks, in capitals."""
    return state.replace(" ", "").upper()


# -- rows of displays --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InstanceStatus:
    """One instance of a group, as the instance that was asked knows it. Times are milliseconds since 1970, 0: never."""

    name: str
    role: InstanceRole = InstanceRole.UNKNOWN
    address: str = ""
    """The address at which it takes the log (REPLADDR), as host(port)."""
    is_connected: bool = False
    """It is connected to the active instance (CONNACTV)."""
    is_linked: bool = False
    """It is connected to the instance that was asked (CONNINST)."""
    is_in_sync: bool = False
    backlog_bytes: int = UNKNOWN_BACKLOG
    forced_lsn: int = 0
    """It has acknowledged the log up to here (ACKLSN)."""
    applied_lsn: int = 0
    state: ReplicaState = ReplicaState.UNKNOWN
    altered_ms: int = 0
    """The last time that it told of itself (ALTDATE and ALTTIME)."""
    in_sync_ms: int = 0
    """The last time that it was in sync (SYNCTIME)."""
    client_address: str = ""
    """The address of its applications while it leads, as host(port); empty when it is not known."""
    is_suspended: bool = False
    base_percent: int = 0
    """Rebasing: so much of the base was sent."""

    @property
    def backlog_kilobytes(self) -> int:
        return _kilobytes(self.backlog_bytes)


@dataclass(frozen=True)
class RecoveryGroupStatus:
    """A group that is connected to this one for disaster recovery. Times are milliseconds since 1970, 0: never."""

    name: str
    role: GroupRole = GroupRole.UNKNOWN
    address: str = ""
    version: str = ""
    """The version of its leader (GRPVER)."""
    state: ReplicaState = ReplicaState.UNKNOWN
    connection: GroupConnection = GroupConnection.UNKNOWN
    is_in_sync: bool = False
    backlog_bytes: int = UNKNOWN_BACKLOG
    recovered_lsn: int = 0
    """It has the log up to here (RCOVLSN)."""
    recovered_ms: int = 0
    in_sync_ms: int = 0
    altered_ms: int = 0
    is_synchronous: bool = False
    base_percent: int = 0
    """Rebasing: so much of the base was sent, or received."""

    @property
    def backlog_kilobytes(self) -> int:
        return _kilobytes(self.backlog_bytes)


@dataclass(frozen=True)
class GroupStatus:
    """A queue manager and its copies, as one of its instances knows them."""

    queue_manager: str
    instance: str
    """The instance that was asked."""
    role: InstanceRole = InstanceRole.UNKNOWN
    instances: tuple[InstanceStatus, ...] = ()
    """All instances of this group, in the order of qm.ini."""
    copies: int = 1
    """The disks that must have a record before its application is told."""
    group_lsn: int = 0
    """As many copies as are needed have forced the log up to here (GRPLSN)."""
    group_name: str = ""
    group_role: GroupRole = GroupRole.NOT_CONFIGURED
    ha_status: HaStatus = HaStatus.UNKNOWN
    dr_status: HaStatus = HaStatus.UNKNOWN
    recovery_groups: tuple[RecoveryGroupStatus, ...] = ()
    preferred: str = ""
    """The instance that leads while it can; empty for none."""
    is_suspended: bool = False
    acknowledgement: Acknowledgement = Acknowledgement.DISK
    arbiter: str = ""
    """The arbiter in words, such as "etcd http://127.0.0.1:2379"; empty for none."""
    arbiter_notice: str = ""
    """A weakness of the arbiter that people should know, such as its only member being on this machine."""
    term: int = 0
    initial_lsn: int = 0
    """The end of the log when the group first became active (HAINITL)."""
    initial_ms: int = 0
    live_ms: int = 0
    """The time at which the group became live (LIVETIME)."""
    fork_lsn: int = -1
    """Partitioned: the LSN at which the pedigrees part; -1 when they do not."""

    @property
    def in_sync_count(self) -> int:
        return sum(1 for each in self.instances if each.is_in_sync)

    @property
    def quorum(self) -> str:
        """QUORUM: the instances in sync and the instances configured."""
        return f"{self.in_sync_count}/{len(self.instances)}"

    def find(self, name: str) -> InstanceStatus | None:
        for each in self.instances:
            if each.name == name:
                return each
        return None

    def local(self) -> InstanceStatus:
        """Return the row of the instance that was asked."""
        return self.find(self.instance) or InstanceStatus(self.instance, self.role)

    def leader(self) -> InstanceStatus | None:
        """Return the instance that leads; None when none is known to."""
        for each in self.instances:
            if each.role in (InstanceRole.ACTIVE, InstanceRole.LEADER):
                return each
        return None

    def leader_address(self) -> str:
        """Return where the leader can be reached by people and programs; empty when none is known to lead."""
        leader = self.leader()
        return "" if leader is None else leader.client_address or leader.address


def lsn_text(lsn: int) -> str:
    """Return an LSN as MQ shows it: four numbers of 16 bits."""
    return f"<{lsn >> 48 & 0xFFFF}:{lsn >> 32 & 0xFFFF}:{lsn >> 16 & 0xFFFF}:{lsn & 0xFFFF}>"


def _kilobytes(size_bytes: int) -> int:
    return UNKNOWN_BACKLOG if size_bytes < 0 else -(-size_bytes // _KILOBYTE)


# -- requests of commands ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SwitchOver:
    """endmqm -s: this instance is about to end, and an in-sync replica takes over in order."""

    reconnects: bool = False
    """Clients reconnect to the new leader (endmqm -r)."""
    wait_seconds: float = SWITCH_OVER_SECONDS
    """An in-sync replica has this long to have everything; then the request is refused and nothing has changed."""


@dataclass(frozen=True)
class Suspend:
    """sethagrp -s, rdqmadm -s: an instance does not lead until it is resumed. A leader hands over first."""

    instance: str = ""
    """The instance that was asked, if empty."""


@dataclass(frozen=True)
class Resume:
    """sethagrp -r, rdqmadm -r: an instance may lead again."""

    instance: str = ""


@dataclass(frozen=True)
class Prefer:
    """sethapreferred, clearhapreferred, rdqmadm -p: the instance that leads while it can; empty for none."""

    instance: str = ""


@dataclass(frozen=True)
class Resolve:
    """makehaprimary: the instance that was asked is right. The data of the others are set aside, not deleted."""


@dataclass(frozen=True)
class ChangeRole:
    """makedrprimary, makedrsecondary, rdqmdr -p and -s: the group becomes LIVE or RECOVERY.

    A group that becomes RECOVERY while it is partitioned has its own data set aside, and takes a base.
    """

    role: GroupRole
    forces: bool = False
    """Become LIVE although the live group runs and the link works: what it has not sent is lost, or forks."""


ReplicationRequest = SwitchOver | Suspend | Resume | Prefer | Resolve | ChangeRole
