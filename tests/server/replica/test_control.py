"""Status and requests of replication over the local socket, and what a queue manager without copies answers."""

from __future__ import annotations

import json

import pytest

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    GROUP_CONNECTION_NUMBERS,
    GROUP_ROLE_NUMBERS,
    INSTANCE_ROLE_NUMBERS,
    REPLICA_STATE_NUMBERS,
    Acknowledgement,
    ChangeRole,
    GroupConnection,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    Prefer,
    RecoveryGroupStatus,
    ReplicaState,
    ReplicationRequest,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
    lsn_text,
)
from ostler.server.admin.replication_actions import carry_out
from ostler.server.replica.control import NoReplication
from ostler.server.replica.control_codec import decode_request, decode_status, encode_request, encode_status

STATUS = GroupStatus(
    queue_manager="QM1",
    instance="beta",
    role=InstanceRole.REPLICA,
    instances=(
        InstanceStatus(
            "alpha", InstanceRole.ACTIVE, "h1(4444)", True, True, True, 0, 70, 69, ReplicaState.NORMAL, 5, 6, "h1(1414)"
        ),
        InstanceStatus("beta", InstanceRole.REPLICA, "h2(4444)", backlog_bytes=1025, is_suspended=True),
    ),
    copies=2,
    group_lsn=70,
    group_name="north",
    group_role=GroupRole.LIVE,
    ha_status=HaStatus.SYNCHRONIZING,
    dr_status=HaStatus.NORMAL,
    recovery_groups=(
        RecoveryGroupStatus(
            "south",
            GroupRole.RECOVERY,
            "h9(1)",
            "1.0",
            ReplicaState.REBASING,
            GroupConnection.YES,
            False,
            9,
            1,
            2,
            3,
            4,
        ),
    ),
    preferred="alpha",
    is_suspended=True,
    acknowledgement=Acknowledgement.MEMORY,
    arbiter="etcd http://127.0.0.1:2379",
    arbiter_notice="its only member is on this machine",
    term=12,
    initial_lsn=3,
    initial_ms=4,
    live_ms=5,
    fork_lsn=66,
)
REQUESTS: list[ReplicationRequest] = [
    SwitchOver(True, 3.5),
    Suspend("beta"),
    Resume(),
    Prefer("alpha"),
    Prefer(),
    Resolve(),
    ChangeRole(GroupRole.LIVE, True),
    ChangeRole(GroupRole.RECOVERY),
]


def test_a_status_comes_back_as_it_was() -> None:
    assert decode_status(json.loads(json.dumps(encode_status(STATUS)))) == STATUS


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_request_comes_back_as_it_was(request_: ReplicationRequest) -> None:
    assert decode_request(json.loads(json.dumps(encode_request(request_)))) == request_


def test_a_neighbouring_release_is_understood() -> None:
    found = encode_status(STATUS)
    del found["term"]
    found["role"] = "Observer"
    found["new_field"] = [1, 2]
    decoded = decode_status(found)
    assert (decoded.term, decoded.role) == (0, InstanceRole.UNKNOWN)


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"request": "format_disk"},
        {"request": "suspend", "instance": 5},
        {"request": "suspend", "instance": "x" * 2000},
        {"request": "switch_over", "wait_seconds": -1},
        {"request": "switch_over", "wait_seconds": float("inf")},
        {"request": "switch_over", "reconnects": "yes"},
        {"request": "change_role", "role": "Pending live"},
        {"request": "change_role"},
    ],
    ids=str,
)
def test_what_is_no_request_is_refused(found: dict[str, object]) -> None:
    with pytest.raises(MQError) as caught:
        decode_request(found)
    assert caught.value.reason == mq.MQRC_OPTIONS_ERROR


@pytest.mark.parametrize(
    "changed",
    [{"instances": [1]}, {"instances": [{}] * 65}, {"group_lsn": "1"}, {"is_suspended": 1}, {"role": 2}],
    ids=str,
)
def test_what_is_no_status_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(MQError):
        decode_status({**encode_status(STATUS), **changed})


def test_the_numbers_are_those_of_mq() -> None:
    """Each word has its number; the last of each kind shows that none was left out."""
    assert INSTANCE_ROLE_NUMBERS[InstanceRole.LEADER] == 3
    assert sorted(GROUP_ROLE_NUMBERS.values()) == list(range(6))
    assert sorted(REPLICA_STATE_NUMBERS.values()) == list(range(9))
    assert GROUP_CONNECTION_NUMBERS[GroupConnection.SUSPENDED] == 2
    assert set(REPLICA_STATE_NUMBERS) == set(ReplicaState)
    assert set(GROUP_ROLE_NUMBERS) == set(GroupRole)
    assert set(INSTANCE_ROLE_NUMBERS) == set(InstanceRole)


def test_rows_tell_who_leads_and_how_many_are_in_sync() -> None:
    assert STATUS.quorum == "1/2"
    assert STATUS.leader_address() == "h1(1414)"
    assert STATUS.local().backlog_kilobytes == 2
    assert InstanceStatus("x").backlog_kilobytes == -1
    assert GroupStatus("QM1", "a").leader_address() == ""
    assert GroupStatus("QM1", "a", InstanceRole.REPLICA).local() == InstanceStatus("a", InstanceRole.REPLICA)


def test_an_lsn_is_shown_as_mq_shows_it() -> None:
    assert lsn_text(0) == "<0:0:0:0>"
    assert lsn_text((9 << 16) + 64469) == "<0:0:9:64469>"
    assert lsn_text((1 << 48) + (2 << 32) + (3 << 16) + 4) == "<1:2:3:4>"


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_queue_manager_without_copies_refuses_everything(request_: ReplicationRequest) -> None:
    control = NoReplication("QM1")
    with pytest.raises(MQError) as caught:
        carry_out(control, request_)
    assert caught.value.reason == mq.MQRCCF_NHA_NOT_AVAILABLE
    assert "QM1" in caught.value.detail
    with pytest.raises(MQError) as caught:
        control.status()
    assert caught.value.reason == mq.MQRCCF_NHA_NOT_AVAILABLE
