"""A group of three instances with a recovery group, as its leader or one of its replicas knows it."""

from __future__ import annotations

from dataclasses import replace

from ostler.model.replication import (
    GroupConnection,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    RecoveryGroupStatus,
    ReplicaState,
)

MOMENT_MS = 1_700_000_000_000  # 2023-11-14 22.13.20

SAMPLE = GroupStatus(
    queue_manager="QM1",
    instance="alpha",
    role=InstanceRole.ACTIVE,
    instances=(
        InstanceStatus(
            "alpha",
            InstanceRole.ACTIVE,
            "127.0.0.1(4441)",
            is_connected=True,
            is_linked=True,
            is_in_sync=True,
            backlog_bytes=0,
            forced_lsn=654_405,
            applied_lsn=654_405,
            state=ReplicaState.NORMAL,
            altered_ms=MOMENT_MS,
            in_sync_ms=MOMENT_MS,
            client_address="127.0.0.1(1414)",
        ),
        InstanceStatus(
            "beta",
            InstanceRole.REPLICA,
            "127.0.0.1(4442)",
            is_connected=True,
            is_linked=True,
            is_in_sync=True,
            backlog_bytes=0,
            forced_lsn=654_405,
            applied_lsn=654_000,
            state=ReplicaState.NORMAL,
            altered_ms=MOMENT_MS,
            in_sync_ms=MOMENT_MS,
            client_address="127.0.0.1(1415)",
        ),
        InstanceStatus("gamma", InstanceRole.UNKNOWN, "127.0.0.1(4443)", state=ReplicaState.DISCONNECTED),
    ),
    copies=2,
    group_lsn=654_405,
    group_name="north",
    group_role=GroupRole.LIVE,
    ha_status=HaStatus.NORMAL,
    dr_status=HaStatus.NORMAL,
    recovery_groups=(
        RecoveryGroupStatus(
            "south",
            GroupRole.RECOVERY,
            "127.0.0.1(4451)",
            "0.9",
            ReplicaState.SYNCHRONIZING,
            GroupConnection.YES,
            backlog_bytes=5000,
            recovered_lsn=650_000,
            recovered_ms=MOMENT_MS - 1000,
            in_sync_ms=MOMENT_MS - 2000,
            altered_ms=MOMENT_MS,
        ),
    ),
    preferred="alpha",
    arbiter="etcd http://127.0.0.1:2379",
    term=7,
    initial_lsn=1000,
    initial_ms=MOMENT_MS - 86_400_000,
    live_ms=MOMENT_MS - 3_600_000,
)


def as_replica(status: GroupStatus = SAMPLE) -> GroupStatus:
    """The same group as beta knows it, which follows alpha."""
    return replace(status, instance="beta", role=InstanceRole.REPLICA)
