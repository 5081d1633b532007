"""Serialised connection tags of a queue-sharing group: who may use one, and when it is free again."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.world import World

from ostler.engine.connection import Connection
from ostler.engine.shared.connection_tags import leave_prepared, release_tag, take_tag
from ostler.engine.syncpoint import back_out, prepare_work
from ostler.model import constants as mq
from ostler.model.errors import MQError

TAG = b"PAYROLL".ljust(128, b"\0")
OTHER = b"BILLING".ljust(128, b"\0")
ALONE = mq.MQCNO_SERIALIZE_CONN_TAG_Q_MGR
ALONE_IN_GROUP = mq.MQCNO_SERIALIZE_CONN_TAG_QSG
TOGETHER = mq.MQCNO_RESTRICT_CONN_TAG_Q_MGR
TOGETHER_IN_GROUP = mq.MQCNO_RESTRICT_CONN_TAG_QSG
INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT


@pytest.fixture
def group() -> GroupWorld:
    made = GroupWorld("QM1", "QM2", "QM3")
    made.define_structure("APP1")
    made.define_queue("Q")
    return made


def take(member: MemberWorld, options: int, tag: bytes = TAG, process: int = 1) -> Connection:
    """MQCONNX with a tag. Raises MQError."""
    application = member.connect()
    task = take_tag(member.engine, application, tag, options, process)
    if task is not None:
        member.group.settle()
        assert task.is_done, "the lock was not answered"
        if task.reason:
            raise MQError(int(task.reason))
    return application


def refusal(member: MemberWorld, options: int, tag: bytes = TAG, process: int = 1) -> int:
    with pytest.raises(MQError) as refused:
        take(member, options, tag, process)
    return refused.value.reason


def leave(member: MemberWorld, application: Connection) -> None:
    """MQDISC, or the end of the application: its unit is backed out."""
    leave_prepared(application)
    back_out(member.engine, application, True)
    release_tag(member.engine, application)
    member.group.settle()


@pytest.mark.parametrize(
    ("first", "second", "elsewhere"),
    [
        (ALONE, ALONE, 0),
        (ALONE, ALONE_IN_GROUP, 0),
        (ALONE_IN_GROUP, ALONE, 0),
        (ALONE_IN_GROUP, ALONE_IN_GROUP, mq.MQRC_CONN_TAG_IN_USE),
        (TOGETHER_IN_GROUP, TOGETHER_IN_GROUP, mq.MQRC_CONN_TAG_IN_USE),
        (TOGETHER, ALONE, 0),
    ],
)
def test_a_tag_is_used_once_in_its_scope(group: GroupWorld, first: int, second: int, elsewhere: int) -> None:
    a, b, _ = group.members
    take(a, first)
    assert refusal(a, second, process=2) == mq.MQRC_CONN_TAG_IN_USE
    take(a, second, OTHER, process=2)
    if elsewhere:
        assert refusal(b, second) == elsewhere
    else:
        take(b, second)


def test_connections_of_one_process_share_a_restricted_tag(group: GroupWorld) -> None:
    a, b, _ = group.members
    first = take(a, TOGETHER_IN_GROUP)
    second = take(a, TOGETHER_IN_GROUP)
    third = take(a, TOGETHER)
    assert refusal(a, TOGETHER_IN_GROUP, process=2) == mq.MQRC_CONN_TAG_IN_USE
    assert refusal(a, ALONE) == mq.MQRC_CONN_TAG_IN_USE
    for application in (first, second, third):
        assert refusal(b, TOGETHER_IN_GROUP) == mq.MQRC_CONN_TAG_IN_USE
        leave(a, application)
    take(b, TOGETHER_IN_GROUP)


def test_clients_cannot_share_a_tag(group: GroupWorld) -> None:
    assert refusal(group.members[0], TOGETHER_IN_GROUP, process=0) == mq.MQRC_OPTIONS_ERROR
    take(group.members[0], ALONE_IN_GROUP, process=0)


@pytest.mark.parametrize("options", [ALONE, ALONE_IN_GROUP])
def test_without_a_tag_the_options_have_no_effect(group: GroupWorld, options: int) -> None:
    for _ in range(2):
        take(group.members[0], options, bytes(128))


@pytest.mark.parametrize("options", [ALONE, ALONE_IN_GROUP])
def test_a_tag_can_be_used_again_at_once_after_the_end(group: GroupWorld, options: int) -> None:
    """Also when the facility has not confirmed that it is free: programs keep their order."""
    a, b, _ = group.members
    application = take(a, options)
    with group.hold():
        release_tag(a.engine, application)
        again = a.connect()
        task = take_tag(a.engine, again, TAG, options, 1)
    group.settle()
    assert task is None or (task.is_done and task.reason == 0)
    assert refusal(a, options) == mq.MQRC_CONN_TAG_IN_USE
    if options == ALONE_IN_GROUP:
        assert refusal(b, options) == mq.MQRC_CONN_TAG_IN_USE
    leave(a, again)
    take(b, options)
    assert len(group.facility.machine.state.locks) == (options == ALONE_IN_GROUP)


def test_a_tag_is_free_only_when_the_work_of_its_user_is_settled(group: GroupWorld) -> None:
    """The application ends while its commit waits for the journal and the facility."""
    a, b, _ = group.members
    application = take(a, ALONE_IN_GROUP)
    out = a.open(application, "Q", INPUT_OUTPUT)
    a.put(application, out, b"pay once", syncpoint=True)
    with group.hold():
        outcome = a.commit_later(application)
        release_tag(a.engine, application)
        for _ in range(10):
            a.port.durable_lsn = 0
            a.port.send_one()
            a.port.hear_one()
        assert outcome.task is not None
        assert not outcome.task.is_done
        assert refusal_now(a) == mq.MQRC_CONN_TAG_IN_USE
        (lock,) = group.facility.machine.state.locks.values()
        assert lock.member == 1, "it was freed before the unit was committed"
    group.settle()
    assert outcome.task.is_done
    assert not group.facility.machine.state.locks
    take(b, ALONE_IN_GROUP)
    assert b.bodies("Q") == [b"pay once"]


def refusal_now(member: MemberWorld) -> int:
    with pytest.raises(MQError) as refused:
        take_tag(member.engine, member.connect(), TAG, ALONE_IN_GROUP, 1)
    return refused.value.reason


def test_a_tag_of_a_member_that_failed_is_free_when_its_peers_have_recovered_it(group: GroupWorld) -> None:
    a, b, c = group.members
    application = take(a, ALONE_IN_GROUP)
    out = a.open(application, "Q", INPUT_OUTPUT)
    a.put(application, out, b"old work", syncpoint=True)
    with group.hold():
        a.die()
        seen: list[int] = []
        for _ in range(200):
            task = take_tag(c.engine, c.connect(), TAG, ALONE_IN_GROUP, 1)
            assert task is not None
            while not task.is_done:
                c.step()
            seen.append(int(task.reason))
            if task.reason == 0:
                break
            b.step()
            c.step()
        assert seen[0] == mq.MQRC_CONN_TAG_IN_USE, "the tag was free while its old work was in flight"
        assert seen[-1] == 0, "the tag was never freed"
        assert not any(unit == "INFLIGHT" for unit in group.units()[1])


def test_a_restarted_member_without_peers_settles_its_old_work_first() -> None:
    group = GroupWorld("QM1")
    group.define_structure("APP1")
    group.define_queue("Q")
    (a,) = group.members
    for options in (ALONE_IN_GROUP, ALONE):
        application = take(a, options)
        out = a.open(application, "Q", INPUT_OUTPUT)
        a.put(application, out, b"old work", syncpoint=True)
        a.die()
        with group.hold():
            a.restart()
            a.begin_membership()
            assert refusal_of(a, options) == mq.MQRC_CONN_TAG_IN_USE
        group.settle()
        group.ticks()
        leave(a, take(a, options))
        assert group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}


def refusal_of(member: MemberWorld, options: int) -> int:
    try:
        task = take_tag(member.engine, member.connect(), TAG, options, 1)
    except MQError as refused:
        return refused.reason
    assert task is not None
    while not task.is_done:
        member.step()
    return int(task.reason)


def test_without_the_facility_a_tag_is_not_usable(group: GroupWorld) -> None:
    a, b, _ = group.members
    application = take(a, ALONE_IN_GROUP)
    a.port.lose()
    assert application.broken == mq.MQRC_CONNECTION_BROKEN, "others may use its tag from now on"
    assert refusal_now(a) == mq.MQRC_CONN_TAG_NOT_USABLE
    group.settle()
    taken = take(b, ALONE_IN_GROUP)
    assert a.join() == 0
    group.settle()
    assert refusal(a, ALONE_IN_GROUP) == mq.MQRC_CONN_TAG_IN_USE
    leave(b, taken)
    take(a, ALONE_IN_GROUP)


def test_a_tag_is_not_usable_while_units_wait_for_the_recovery_of_structures(group: GroupWorld) -> None:
    a, _, _ = group.members
    application = take(a, ALONE_IN_GROUP)
    out = a.open(application, "Q", INPUT_OUTPUT)
    a.put(application, out, b"old work", syncpoint=True)
    with group.hold():
        a.commit_later(application)
        a.force()
        group.lose_facility()
    for member in group.members:
        assert member.join() == 0
    group.settle()
    assert refusal_now(a) == mq.MQRC_CONN_TAG_NOT_USABLE


@pytest.mark.parametrize("options", [ALONE, ALONE_IN_GROUP])
def test_a_unit_in_doubt_keeps_the_tag(group: GroupWorld, options: int) -> None:
    a, b, _ = group.members
    application = take(a, options)
    out = a.open(application, "Q", INPUT_OUTPUT)
    a.put(application, out, b"in doubt", syncpoint=True)
    unit = application.unit_of_work
    assert unit is not None
    prepare_work(a.engine, unit, b"xid")
    group.settle()
    leave(a, application)
    assert refusal(a, options) == mq.MQRC_CONN_TAG_IN_USE
    if options == ALONE_IN_GROUP:
        assert refusal(b, options) == mq.MQRC_CONN_TAG_IN_USE
    assert unit.shared is not None
    unit.shared.commit()
    group.settle()
    group.ticks()
    take(b if options == ALONE_IN_GROUP else a, options)


@pytest.mark.parametrize("options", [ALONE, ALONE_IN_GROUP])
def test_tags_without_a_group(options: int) -> None:
    """A queue manager in no group is alone: the scope QSG is its own."""
    world = World.create()
    application = world.connect()
    assert take_tag(world.engine, application, TAG, options, 1) is None
    with pytest.raises(MQError) as refused:
        take_tag(world.engine, world.connect(), TAG, options, 2)
    assert refused.value.reason == mq.MQRC_CONN_TAG_IN_USE
    release_tag(world.engine, application)
    assert take_tag(world.engine, world.connect(), TAG, options, 2) is None
