"""Reason codes of shared queues: what is refused, and when."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld
from tests.world.world import descriptor

from ostler.engine.events.reports import Outgoing
from ostler.engine.message.message import NULL_ID
from ostler.engine.queue.delivery import check_admission, send_own_messages
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.programs import SetStateProgram
from ostler.model.errors import MQError

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


def group_with(level: int = 5, recover: bool = True, **attributes: int) -> GroupWorld:
    group = GroupWorld("QM1", "QM2")
    group.define_structure("APP1", level, recover)
    group.define_queue("Q", attributes=dict(attributes))
    return group


@pytest.mark.parametrize(("level", "recover"), [(5, False), (2, True), (3, True)])
def test_persistent_messages_need_a_recoverable_structure(level: int, recover: bool) -> None:
    group = group_with(level, recover)
    member = group.members[0]
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    is_allowed = level >= 3 and recover
    put = member.put(application, handle, b"x", persistence=1)
    assert put.reason == (0 if is_allowed else mq.MQRC_PERSISTENT_NOT_ALLOWED)
    assert member.put(application, handle, b"x", persistence=0).reason == 0


def test_long_messages_need_a_level_that_offloads() -> None:
    group = group_with(level=3)
    member = group.members[0]
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    assert member.put(application, handle, bytes(63 * 1024 - 364), persistence=0).reason == 0
    assert member.put(application, handle, bytes(63 * 1024 - 363), persistence=0).reason == mq.MQRC_WRONG_CF_LEVEL


def test_lengths_of_queue_and_queue_manager() -> None:
    group = group_with(MAXMSGL=10)
    member = group.members[0]
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    assert member.put(application, handle, bytes(11)).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q


def test_the_depth_of_all_members_counts() -> None:
    group = group_with(MAXDEPTH=2)
    a, b = group.members
    at_a, at_b = a.connect(), b.connect()
    out_a, out_b = a.open(at_a, "Q", INPUT_OUTPUT), b.open(at_b, "Q", INPUT_OUTPUT)
    assert a.put(at_a, out_a, b"1").reason == 0
    assert b.put(at_b, out_b, b"2", syncpoint=True).reason == 0
    assert a.put(at_a, out_a, b"3").reason == mq.MQRC_Q_FULL
    assert b.put(at_b, out_b, b"3", syncpoint=True).reason == mq.MQRC_Q_FULL
    assert b.commit(at_b)[0] == 0
    assert a.bodies("Q") == [b"1", b"2"]


def test_a_full_structure() -> None:
    group = group_with()
    member = group.members[0]
    member.member.sharing.structure_bytes = 1 << 20
    other = group.members[1]
    other.member.sharing.structure_bytes = 1 << 20
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    reasons = [member.put(application, handle, bytes(60_000), persistence=0).reason for _ in range(20)]
    assert reasons[0] == 0
    assert reasons[-1] == mq.MQRC_STORAGE_MEDIUM_FULL
    fitted = reasons.index(mq.MQRC_STORAGE_MEDIUM_FULL)
    assert member.get(application, handle).reason == 0
    assert member.put(application, handle, bytes(60_000), persistence=0).reason == 0
    assert len(member.bodies("Q")) == fitted


@pytest.mark.parametrize(
    ("state", "reason"),
    [(cf.STRUCTURE_STATE_FAILED, mq.MQRC_CF_STRUC_FAILED), (cf.STRUCTURE_INRECOVER, mq.MQRC_CF_STRUC_IN_USE)],
)
def test_states_of_structures(state: int, reason: int) -> None:
    group = group_with()
    a, b = group.members
    at_a, at_b = a.connect(), b.connect()
    handle_a, handle_b = a.open(at_a, "Q", INPUT_OUTPUT), b.open(at_b, "Q", INPUT_OUTPUT)
    waiting = b.get(at_b, handle_b, mq.MQGMO_WAIT, wait_ms=5000)
    a.port.submit(SetStateProgram("APP1", 0, cf.STRUCTURE_STATE_FAILED), 0, None)
    if state != cf.STRUCTURE_STATE_FAILED:
        a.port.submit(SetStateProgram("APP1", cf.STRUCTURE_STATE_FAILED, state), 0, None)
    group.settle()
    assert waiting.reason == mq.MQRC_CF_STRUC_FAILED
    assert a.put(at_a, handle_a, b"x").reason == reason
    assert b.get(at_b, handle_b).reason == reason
    with pytest.raises(MQError) as refused:
        b.open(at_b, "Q", INPUT_OUTPUT)
    assert refused.value.reason == reason
    assert any("AMQ7492E" in notice for notice in b.engine.notices)


def test_exclusive_input_holds_in_the_whole_group() -> None:
    group = group_with()
    a, b = group.members
    at_a, at_b = a.connect(), b.connect()
    exclusive = a.open(at_a, "Q", mq.MQOO_INPUT_EXCLUSIVE)
    with pytest.raises(MQError) as refused:
        b.open(at_b, "Q", mq.MQOO_INPUT_SHARED)
    assert refused.value.reason == mq.MQRC_OBJECT_IN_USE
    assert b.open(at_b, "Q", mq.MQOO_OUTPUT).for_output
    a.close(at_a, exclusive)
    shared = b.open(at_b, "Q", mq.MQOO_INPUT_SHARED)
    with pytest.raises(MQError) as refused:
        a.open(at_a, "Q", mq.MQOO_INPUT_EXCLUSIVE)
    assert refused.value.reason == mq.MQRC_OBJECT_IN_USE
    assert not at_a.handles
    assert a.engine.queues["Q"].inputs == 0
    b.close(at_b, shared)


def test_opens_of_a_dead_member_are_freed_by_its_peers() -> None:
    group = group_with()
    a, b = group.members
    a.open(a.connect(), "Q", mq.MQOO_INPUT_EXCLUSIVE)
    a.die()
    group.settle()
    assert b.open(b.connect(), "Q", mq.MQOO_INPUT_EXCLUSIVE).for_input


def test_handles_are_counted_again_when_the_link_is_back() -> None:
    group = group_with()
    a, b = group.members
    at_a = a.connect()
    a.open(at_a, "Q", mq.MQOO_INPUT_EXCLUSIVE)
    a.port.lose()
    group.settle()
    assert a.join() == 0
    group.settle()
    with pytest.raises(MQError) as refused:
        b.open(b.connect(), "Q", mq.MQOO_INPUT_SHARED)
    assert refused.value.reason == mq.MQRC_OBJECT_IN_USE


def test_a_queue_of_a_structure_that_is_not_defined() -> None:
    group = GroupWorld("QM1")
    group.define_queue("Q", structure="NOWHERE")
    (member,) = group.members
    with pytest.raises(MQError) as refused:
        member.open(member.connect(), "Q", mq.MQOO_OUTPUT)
    assert refused.value.reason == mq.MQRC_CF_STRUC_ERROR


def test_too_many_operations_in_a_unit() -> None:
    group = group_with()
    (member, _) = group.members
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    member.engine.uncommitted_max = 3
    reasons = [member.put(application, handle, b"x", persistence=0, syncpoint=True).reason for _ in range(4)]
    assert reasons == [0, 0, 0, mq.MQRC_SYNCPOINT_LIMIT_REACHED]
    refused = member.get(application, handle, mq.MQGMO_SYNCPOINT)
    assert refused.reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED


def test_the_queue_manager_itself_puts_nothing_without_a_facility() -> None:
    """Channels and publications are refused before they begin, and lose nothing."""
    group = group_with()
    (member, _) = group.members
    queue = member.engine.queues["Q"]
    member.open(member.connect(), "Q", INPUT_OUTPUT)
    assert check_admission(member.engine, queue, 10, False) == mq.MQRC_NONE
    sharing = member.engine.sharing
    assert sharing is not None
    own_messages, sharing.own_messages = sharing.own_messages, None
    assert check_admission(member.engine, queue, 10, False) == mq.MQRC_CF_NOT_AVAILABLE
    sharing.own_messages = own_messages
    sharing.structures[queue.structure].state = cf.STRUCTURE_STATE_FAILED
    assert check_admission(member.engine, queue, 10, False) == mq.MQRC_CF_STRUC_FAILED


def test_reports_go_to_shared_queues() -> None:
    group = group_with()
    (a, b) = group.members
    a.define_queue("PRIVATE")
    item = Outgoing("Q", "", descriptor(0, 0, -1, NULL_ID, NULL_ID), b"report", True)
    send_own_messages(a.engine, [item], None)
    group.settle()
    assert b.bodies("Q") == [b"report"]
