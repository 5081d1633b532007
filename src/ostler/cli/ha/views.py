"""Copies as text: the fields of dspmq -o ha, dr and nativeha, and the lines of rdqmstatus."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ostler.cli.ha.engine import instance_status
from ostler.model.replication import (
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    RecoveryGroupStatus,
    ReplicaState,
    lsn_text,
)
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.process_file import ManagerState, state_of
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.replica.site.state import read_site

_LABEL_WIDTH = 32
# Where RDQM has another word than the appliance.
_RDQM_WORDS = {HaStatus.REMOTE_SITE_UNAVAILABLE: "Remote system unavailable"}
THIS_NODE = "This node"


@dataclass(frozen=True)
class ShownInstance:
    """An instance of this machine: its settings, and its status if it runs."""

    directory: QueueManagerDirectory
    settings: ReplicationSection | None
    status: GroupStatus | None

    @property
    def known(self) -> GroupStatus | None:
        """The status; for an instance that does not run what its settings tell. None without copies."""
        if self.status is not None or self.settings is None:
            return self.status
        settings = self.settings
        return GroupStatus(
            self.directory.name,
            settings.instance,
            InstanceRole.UNKNOWN,
            tuple(InstanceStatus(each.name, address=str(each.address)) for each in settings.instances),
            settings.copies,
            group_name=settings.group_name,
            group_role=GroupRole.UNKNOWN if settings.recovery_groups else GroupRole.NOT_CONFIGURED,
            recovery_groups=tuple(
                RecoveryGroupStatus(each.name, address=",".join(str(at) for at in each.addresses))
                for each in settings.recovery_groups
            ),
        )


def shown_instance(directory: QueueManagerDirectory) -> ShownInstance:
    """Returns an instance to show. A damaged qm.ini shows as one without copies: dspmq lists it all the same."""
    try:
        settings = QueueManagerIni.read(directory.ini).settings.replication
    except ConfigurationError:
        settings = None
    status = instance_status(directory) if settings is not None or state_of(directory) in _ANSWERING else None
    return ShownInstance(directory, settings, status)


_ANSWERING = (ManagerState.RUNNING, ManagerState.REPLICA, ManagerState.QUIESCING)


def ha_field(shown: ShownInstance) -> str:
    """Returns HA(Replicated) for a queue manager with instances, as dspmq -o ha shows it."""
    known = shown.known
    return "HA(Replicated)" if known is not None and known.instances else "HA()"


def dr_field(shown: ShownInstance) -> str:
    """Returns DRROLE(Primary) or DRROLE(Secondary) for one with a recovery group, as dspmq -o dr shows it."""
    return f"DRROLE({dr_role(shown)})"


def dr_role(shown: ShownInstance) -> str:
    known = shown.known
    if known is None or not known.recovery_groups:
        return ""
    role = known.group_role
    if shown.status is None and shown.settings is not None:
        try:
            role = read_site(shown.directory.path, shown.settings).role
        except ConfigurationError:
            role = GroupRole.UNKNOWN
    return "Primary" if role in (GroupRole.LIVE, GroupRole.PENDING_RECOVERY) else "Secondary"


def native_ha_fields(shown: ShownInstance) -> str:
    """Returns the fields of dspmq -o nativeha for the queue manager."""
    known = shown.known
    if known is None:
        return f"ROLE({InstanceRole.NOT_CONFIGURED})"
    fields = [
        f"ROLE({known.role})",
        f"INSTANCE({known.instance})",
        f"INSYNC({_yes(known.local().is_in_sync)})",
        f"QUORUM({known.quorum})",
        f"GRPLSN({lsn_text(known.group_lsn)})",
        f"GRPNAME({known.group_name})",
        f"GRPROLE({known.group_role})",
    ]
    return " ".join(fields)


def instance_lines(shown: ShownInstance) -> list[str]:
    """Returns a line for each instance, as dspmq -o nativeha -x shows them."""
    known = shown.known
    if known is None:
        return []
    return [
        f" INSTANCE({each.name}) ROLE({each.role}) REPLADDR({each.address}) CONNACTV({_yes(each.is_connected)}) "
        f"INSYNC({_yes(each.is_in_sync)}) BACKLOG({_backlog(each.backlog_kilobytes)}) "
        f"CONNINST({_yes(each.is_linked)}) {_altered(each.altered_ms)}"
        for each in known.instances
    ]


def group_lines(shown: ShownInstance) -> list[str]:
    """Returns a line for each group, as dspmq -o nativeha -g shows them."""
    known = shown.known
    if known is None:
        return []
    lines = [f" GRPNAME({known.group_name}) GRPROLE({known.group_role}) GRPADDR({known.leader_address()})"]
    lines += [
        f" GRPNAME({each.name}) GRPROLE({each.role}) GRPADDR({each.address}) GRPVER({each.version}) "
        f"GRSTATUS({each.state}) CONNGRP({each.connection}) BACKLOG({_backlog(each.backlog_kilobytes)}) "
        f"RCOVLSN({lsn_text(each.recovered_lsn)}) RCOVTIME({_time(each.recovered_ms)}) {_altered(each.altered_ms)}"
        for each in known.recovery_groups
    ]
    return lines


def as_json(shown: ShownInstance) -> dict[str, object] | None:
    """Returns the copies for programs (dspmq --json); None without any."""
    known = shown.known
    if known is None:
        return None
    return {
        "role": str(known.role),
        "instance": known.instance,
        "in_sync": known.local().is_in_sync,
        "quorum": known.quorum,
        "group": known.group_name,
        "group_role": str(known.group_role),
        "leader": known.leader_address(),
        "instances": [
            {"name": each.name, "role": str(each.role), "address": each.address, "in_sync": each.is_in_sync}
            for each in known.instances
        ],
    }


# -- rdqmstatus --------------------------------------------------------------------------------------------------------


def manager_state(shown: ShownInstance) -> str:
    """Returns the status of the queue manager: on a node that follows it runs elsewhere."""
    state = state_of(shown.directory)
    if state is ManagerState.REPLICA:
        return "Running elsewhere"
    return str(state)


def status_lines(shown: ShownInstance, shows_others: bool = True) -> list[str]:
    """Returns the lines of rdqmstatus -m for a queue manager with copies."""
    known = shown.known
    assert known is not None
    local = known.local()
    lines = [_line("Node", known.instance), _line("Queue manager status", manager_state(shown))]
    if known.instances:
        lines += [
            _line("HA role", "Primary" if known.role is InstanceRole.ACTIVE else "Secondary"),
            _line("HA status", known.ha_status),
            _line("HA control", "Disabled" if known.is_suspended or local.is_suspended else "Enabled"),
            _line("HA current location", _location(known, _leader_name(known))),
            _line("HA preferred location", _location(known, known.preferred)),
        ]
    if local.state is ReplicaState.REBASING:
        lines.append(_line("HA synchronization progress", f"{local.base_percent}%"))
    if known.fork_lsn >= 0:
        lines.append(_line("Partitioned at", lsn_text(known.fork_lsn)))
    if known.acknowledgement != "Disk":
        lines.append(_line("Acknowledged from", "memory"))
    for each in known.recovery_groups:
        lines += _recovery_lines(shown, known, each)
    for other in known.instances if shows_others else ():
        if other.name != known.instance:
            lines += ["", _line("Node", other.name), _line("HA status", _node_status(known, other))]
            if other.state is ReplicaState.REBASING:
                lines.append(_line("HA synchronization progress", f"{other.base_percent}%"))
            elif other.backlog_kilobytes > 0:
                lines.append(_line("HA out of sync data", f"{other.backlog_kilobytes}KB"))
    return lines


def _recovery_lines(shown: ShownInstance, known: GroupStatus, group: RecoveryGroupStatus) -> list[str]:
    lines = [
        _line("DR role", dr_role(shown)),
        _line("DR status", _RDQM_WORDS.get(known.dr_status, str(known.dr_status))),
        _line("DR type", "Synchronous" if group.is_synchronous else "Asynchronous"),
        _line("DR remote IP address list", group.address),
    ]
    if group.state is ReplicaState.REBASING:
        lines.append(_line("DR synchronization progress", f"{group.base_percent}%"))
    elif group.backlog_kilobytes > 0:
        lines.append(_line("DR out of sync data", f"{group.backlog_kilobytes}KB"))
    return lines


def _node_status(known: GroupStatus, instance: InstanceStatus) -> str:
    if known.ha_status is HaStatus.PARTITIONED:
        return HaStatus.PARTITIONED
    if not (instance.is_linked or instance.is_connected):
        return HaStatus.REMOTE_UNAVAILABLE
    return HaStatus.NORMAL if instance.is_in_sync else HaStatus.SYNCHRONIZING


def _leader_name(known: GroupStatus) -> str:
    leader = known.leader()
    return "" if leader is None else leader.name


def current_location(shown: ShownInstance) -> str:
    known = shown.known
    return "" if known is None else _location(known, _leader_name(known))


def _location(known: GroupStatus, name: str) -> str:
    if not name:
        return "None"
    return THIS_NODE if name == known.instance else name


def _line(label: str, value: object) -> str:
    return f"{label}:".ljust(_LABEL_WIDTH) + str(value)


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _backlog(kilobytes: int) -> str:
    return "Unknown" if kilobytes < 0 else str(kilobytes)


def _altered(milliseconds: int) -> str:
    if milliseconds <= 0:
        return "ALTDATE() ALTTIME()"
    moment = time.gmtime(milliseconds / 1000)
    return f"ALTDATE({time.strftime('%Y-%m-%d', moment)}) ALTTIME({time.strftime('%H.%M.%S', moment)})"


def _time(milliseconds: int) -> str:
    return "" if milliseconds <= 0 else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds / 1000))
