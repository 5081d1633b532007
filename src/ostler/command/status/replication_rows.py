"""Rows of QMSTATUS about copies: TYPE(NATIVEHA) for instances and groups, and what TYPE(QMGR) shows of them."""

from __future__ import annotations

import datetime
from typing import Final

from ostler.command.admin.objects import date_and_time
from ostler.model.attributes import Value
from ostler.model.replication import (
    GroupConnection,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceStatus,
    RecoveryGroupStatus,
    ReplicaState,
    lsn_text,
    mqsc_word,
)

INSTANCE: Final = "INSTANCE"
GROUP: Final = "GROUP"
ALL: Final = "ALL"
_STATES: Final = {
    HaStatus.NORMAL: ReplicaState.NORMAL,
    HaStatus.SYNCHRONIZING: ReplicaState.SYNCHRONIZING,
    HaStatus.PARTITIONED: ReplicaState.PARTITIONED,
    HaStatus.REMOTE_UNAVAILABLE: ReplicaState.DISCONNECTED,
}


def manager_columns(status: GroupStatus) -> dict[str, Value]:
    """Returns what QMSTATUS TYPE(QMGR) shows of an instance."""
    return {
        "INSTANCE": status.instance,
        "ROLE": mqsc_word(status.role),
        "INSYNC": _yes(status.local().is_in_sync),
        "QUORUM": status.quorum,
        "GRPLSN": lsn_text(status.group_lsn),
        "GRPNAME": status.group_name,
        "GRPROLE": mqsc_word(status.group_role),
    }


def native_ha_rows(status: GroupStatus, what: str) -> list[dict[str, Value]]:
    """Returns QMSTATUS TYPE(NATIVEHA): NHATYPE(INSTANCE), NHATYPE(GROUP), or both."""
    rows: list[dict[str, Value]] = []
    if what in (INSTANCE, ALL):
        rows += [_instance_row(status, each) for each in status.instances]
    if what in (GROUP, ALL):
        rows.append(_own_group_row(status))
        rows += [_group_row(status, each) for each in status.recovery_groups]
    return rows


def _instance_row(status: GroupStatus, instance: InstanceStatus) -> dict[str, Value]:
    date, time = date_and_time(status.initial_ms)
    return {
        "QMNAME": status.queue_manager,
        "TYPE": "NATIVEHA",
        "NHATYPE": INSTANCE,
        "INSTANCE": instance.name,
        "ROLE": mqsc_word(instance.role),
        "REPLADDR": instance.address,
        "CONNACTV": _yes(instance.is_connected),
        "INSYNC": _yes(instance.is_in_sync),
        "BACKLOG": instance.backlog_kilobytes,
        "HASTATUS": mqsc_word(instance.state),
        "ACKLSN": lsn_text(instance.forced_lsn),
        "SYNCTIME": _iso_time(instance.in_sync_ms),
        "GRPNAME": status.group_name,
        "GRPROLE": mqsc_word(status.group_role),
        "HAINITDA": date,
        "HAINITTI": time,
        "HAINITL": lsn_text(status.initial_lsn),
    }


def _own_group_row(status: GroupStatus) -> dict[str, Value]:
    return {
        "QMNAME": status.queue_manager,
        "TYPE": "NATIVEHA",
        "NHATYPE": GROUP,
        "GRPNAME": status.group_name,
        "GRPROLE": mqsc_word(status.group_role),
        "GRPADDR": status.leader_address(),
        "GRSTATUS": mqsc_word(_STATES.get(status.ha_status, ReplicaState.UNKNOWN)),
        "INSYNC": _yes(status.in_sync_count >= status.copies),
        "GRPLSN": lsn_text(status.group_lsn),
        "INITTIME": _iso_time(status.initial_ms),
        "LIVETIME": _iso_time(status.live_ms),
    }


def _group_row(status: GroupStatus, group: RecoveryGroupStatus) -> dict[str, Value]:
    row: dict[str, Value] = {
        "QMNAME": status.queue_manager,
        "TYPE": "NATIVEHA",
        "NHATYPE": GROUP,
        "GRPNAME": group.name,
        "GRPROLE": mqsc_word(group.role),
        "GRPADDR": group.address,
        "GRPVER": group.version,
        "GRSTATUS": mqsc_word(group.state),
        "INSYNC": _yes(group.is_in_sync),
        "SYNCTIME": _iso_time(group.in_sync_ms),
    }
    if group.connection is not GroupConnection.UNKNOWN:
        row["CONNGRP"] = mqsc_word(group.connection)
    if group.role is not GroupRole.LIVE:
        row["BACKLOG"] = group.backlog_kilobytes
        row["RCOVLSN"] = lsn_text(group.recovered_lsn)
        row["RCOVTIME"] = _iso_time(group.recovered_ms)
    return row


def _yes(truth: bool) -> str:
    return "YES" if truth else "NO"


def _iso_time(milliseconds: int) -> str:
    """Returns a time as MQ writes it with date and fraction; empty for never."""
    if milliseconds <= 0:
        return ""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
