"""Records of shared queues in the journal: encoding, followers, numbers that last, and refusal by other releases."""

from __future__ import annotations

import pytest
from tests.world.follower import FollowingEngine, durable_state
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.world import World

from ostler.engine.message.message import MD_BYTES
from ostler.engine.recovery.checkpoint import (
    INSTANCE_PATH,
    MEMBER_INSTANCE_VERSION,
    mark_member,
    read_instance,
)
from ostler.engine.recovery.replay import JournalInconsistent
from ostler.engine.recovery.shared_records import (
    cancel_head,
    member_start_head,
    read_cancel,
    read_logged,
    read_member_start,
    read_shared_get,
    read_shared_prepare,
    read_shared_put,
    shared_get_head,
    shared_prepare_head,
    shared_put_head,
)
from ostler.engine.syncpoint import prepare_work
from ostler.model import constants as mq

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
ID = bytes(range(16))


def test_encoding() -> None:
    head = shared_put_head(7, 2, 1, ID, "APP1", "MY.QUEUE", 9, 4, 123456, 5)
    put = read_shared_put(head + bytes(MD_BYTES) + b"props" + b"body")
    assert put == (7, 2, 1, ID, "APP1", "MY.QUEUE", 9, 4, 123456, bytes(MD_BYTES), b"props", b"body")
    assert read_logged(head) == 9
    assert read_shared_get(shared_get_head(7, 2, 1, ID, "APP1", "Q")) == (7, 2, 1, ID, "APP1", "Q")
    assert read_cancel(cancel_head(7, 9, ID)) == (7, 9, ID)
    assert read_cancel(cancel_head(0, 9, b"")) == (0, 9, b"")
    assert read_shared_prepare(shared_prepare_head(7, 2, b"xid")) == (7, 2, b"xid")
    assert read_member_start(member_start_head(3, 2, 9, ID)) == (3, 2, 9, ID)


def test_a_follower_has_the_same_units_and_numbers() -> None:
    followers: dict[str, FollowingEngine] = {}

    def follow(member: MemberWorld) -> None:
        followers[member.name] = FollowingEngine(member)

    group = GroupWorld("QM1", "QM2", created=follow)
    group.define_structure("APP1")
    group.define_queue("Q")
    a, b = group.members
    application = a.connect()
    a.define_queue("PRIVATE")
    private = a.open(application, "PRIVATE", INPUT_OUTPUT)
    shared = a.open(application, "Q", INPUT_OUTPUT)

    def compare() -> None:
        for member in group.members:
            expected, found = durable_state(member.engine), followers[member.name].state()
            for part in expected:
                assert found[part] == expected[part], part
            other = followers[member.name].engine.member
            assert (other.number, other.start) == (member.engine.member.number, member.engine.member.start)
            assert other.facility == member.engine.member.facility
            assert other.logged == member.engine.member.logged

    a.put(application, shared, b"outside")
    compare()
    a.put(application, private, b"in a unit", syncpoint=True)
    a.put(application, shared, b"in a unit", syncpoint=True)
    compare()
    with group.hold():
        a.commit_later(application)
        compare()
    group.settle()
    compare()
    assert a.get(application, shared).body == b"outside"
    compare()
    a.put(application, shared, b"prepared", syncpoint=True)
    work = application.unit_of_work
    assert work is not None
    prepare_work(a.engine, work, b"xid")
    application.unit_of_work = None
    group.settle()
    compare()
    a.checkpoint()
    a.checkpoint()
    compare()
    a.die()
    group.settle()
    compare_peer = durable_state(b.engine)
    assert compare_peer == followers["QM2"].state()


def test_numbers_of_starts_and_puts_last() -> None:
    group = GroupWorld("QM1")
    group.define_structure("APP1")
    group.define_queue("Q")
    (member,) = group.members
    for start in range(1, 5):
        assert member.engine.member.start == start
        application = member.connect()
        handle = member.open(application, "Q", INPUT_OUTPUT)
        member.put(application, handle, b"%d" % start)
        assert member.engine.member.logged == start
        for _ in range(3):
            member.checkpoint()
        member.die(start)
        member.come_back()
    assert member.bodies("Q") == [b"1", b"2", b"3", b"4"]


def test_the_log_is_not_kept_for_what_is_settled() -> None:
    group = GroupWorld("QM1")
    group.define_structure("APP1")
    group.define_queue("Q")
    (member,) = group.members
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    for _ in range(20):
        assert member.put(application, handle, bytes(50_000)).reason == 0
        assert member.get(application, handle).reason == 0
        member.housekeep()
    assert member.log.writer.restart_lsn > 100_000


def test_the_log_is_kept_for_a_put_without_an_answer() -> None:
    group = GroupWorld("QM1")
    group.define_structure("APP1")
    group.define_queue("Q")
    (member,) = group.members
    application = member.connect()
    handle = member.open(application, "Q", INPUT_OUTPUT)
    with group.hold():
        lsn = member.log.end_lsn()
        member.put_later(application, handle, b"pending")
        member.force()
        for _ in range(3):
            member.checkpoint()
        assert member.log.writer.restart_lsn <= lsn


def test_members_are_marked_for_older_releases() -> None:
    world = World.create()
    before = read_instance(world.disk)
    mark_member(world.disk, before)
    assert read_instance(world.disk) == before
    file = world.disk.open(INSTANCE_PATH, False)
    assert int.from_bytes(file.read_at(8, 8), "little") == MEMBER_INSTANCE_VERSION
    file.close()
    world.kill()
    world.restart()


def test_records_of_a_newer_release_are_refused() -> None:
    world = World.create()
    world.log.append(99, b"", b"", b"")
    world.force()
    world.kill()
    with pytest.raises(JournalInconsistent, match="kind 99, which a newer release has written"):
        world.restart()
