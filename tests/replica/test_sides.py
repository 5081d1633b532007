"""Leader's and follower's side, face to face: who is refused, who counts, what is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from tests.world.replica.leader_frames import next_frame
from tests.world.world_lives import LOG_DIRECTORY

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint import write_instance
from ostler.engine.recovery.records import IMAGE_MESSAGE
from ostler.log import LogSettings, RecoveryLog
from ostler.log.restart import create_log_of_any_size
from ostler.log.settings import LogType
from ostler.log.shipping import LogShipper
from ostler.model.arbiter import InSyncSet
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.log_life import Life
from ostler.replica.follower_side import FollowerSide, LinkRefused
from ostler.replica.lag import NO_LIMIT, LagLimits
from ostler.replica.leader_side import NEEDS_BASE, PARTITIONED, REFUSED, STREAMING, LeaderSide
from ostler.replica.membership import LeaderMembership, default_policy
from ostler.replica.side_files import SideSet
from ostler.replica.site_side import SiteSide
from ostler.replica.standby import Standby, StandbyJournal, open_standby
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.frames import HEADER_BYTES, REPLICA_HELLO, REPLY
from ostler.wire.replica_frames import (
    ACK_DISK_FULL,
    ACK_SPACE_SHORT,
    PURPOSE_DR,
    REFUSED_FILE_PAGES,
    REFUSED_FORMAT,
    REFUSED_IDENTITY,
    REFUSED_NAME,
    REFUSED_QUEUE_MANAGER,
    REFUSED_TERM,
    REPLICA_VERSION,
    SITE_ACTIVE,
    SITE_RECOVERY,
    LogAck,
    LogFrame,
    ReplicaHello,
    SideFile,
    decode_replica_frame,
)

IDENTITY = bytes(range(16))
SETTINGS = LogSettings(primary_files=2, secondary_files=40, file_pages=8)


def standby_on(disk: SimulatedDisk, keep_extents: int = 50) -> Standby:
    engine = Engine("QM", disk, StandbyJournal(), new_definition(ObjectType.QMGR, "QM", {}))
    return open_standby(engine, disk, LOG_DIRECTORY, None, keep_extents)


def new_disk(identity: bytes = IDENTITY, settings: LogSettings = SETTINGS) -> SimulatedDisk:
    disk = SimulatedDisk()
    create_log_of_any_size(disk, LOG_DIRECTORY, settings, identity)
    write_instance(disk, identity)
    return disk


class Follower:
    def __init__(self, name: str = "B", disk: SimulatedDisk | None = None, keep_extents: int = 50) -> None:
        self.disk = disk if disk is not None else new_disk()
        self.side = FollowerSide(name, "GROUP", "QM", standby_on(self.disk, keep_extents))


class Leader(LogShipper):
    """A leader with a log of its own; records are of a kind that engines pass over."""

    def __init__(
        self, members: tuple[str, ...] = ("A",), copies: int = 1, term: int = 10, disk: SimulatedDisk | None = None,
        epoch: int = 1, keep_extents: int = 50,
    ) -> None:  # fmt: skip
        standby = standby_on(disk if disk is not None else new_disk(), keep_extents)
        position = int(standby.log.position())
        self.log: RecoveryLog = standby.promote(Life(epoch, position, "A", term, 0), self)
        membership = LeaderMembership("A", term, InSyncSet(1, 0, members, copies), position, default_policy(3))
        hello = ReplicaHello()
        hello.group, hello.queue_manager, hello.instance = "GROUP", "QM", "A"
        hello.identity, hello.file_pages, hello.log_format = IDENTITY, SETTINGS.file_pages, 1
        hello.lives = standby.log.lives
        self.side = LeaderSide(hello, membership, standby.log.catch_up_reader(), position, position)

    def offer(self, position: int, images: list[bytes]) -> None:
        self.side.offer(position, images)

    def forced(self, end_lsn: int) -> None:
        self.side.forced_here(end_lsn)

    def write(self, size: int = 100) -> int:
        self.log.append(IMAGE_MESSAGE, bytes(size), b"", b"")
        batch = self.log.take_batch()
        assert batch is not None
        self.log.writer.write_batch(batch)
        self.log.batch_durable(batch)
        self.forced(batch.end_lsn)
        self.log.group_durable(self.side.group_lsn())
        return int(batch.end_lsn)


def greet(leader: Leader, follower: Follower, link: int = 1, purpose: int = 1) -> str:
    """Connect both; the state in which the leader sees the follower."""
    name = follower.side.name
    try:
        replies = follower.side.receive(link, leader.side.connected(name, link, 0.0, purpose))
    except LinkRefused as refused:
        replies = refused.frames
    for reply in replies:
        leader.side.receive(name, link, reply, 0.0)
    return leader.side.followers[name].state


def join_sites(leader: Leader, recovery: Follower) -> None:
    """Make both sites of one queue manager: the leader's works, the follower's receives."""
    recovery.side = FollowerSide("DR", "DR", "QM", recovery.side.standby)
    recovery.side.site = SiteSide("DR", "GROUP", frozenset({"DR"}), SITE_RECOVERY)
    leader.side.site = SiteSide("GROUP", "DR", frozenset({"A"}), SITE_ACTIVE)


def pump(leader: Leader, follower: Follower, link: int = 1) -> list[LogAck]:
    """Send all there is, force, and bring the acknowledgement back."""
    name = follower.side.name
    while (frame := next_frame(leader.side, name)) is not None:
        follower.side.receive(link, frame)
    sign = leader.side.sign_of_life(name)
    if sign is not None:
        follower.side.receive(link, sign)
    acks = follower.side.force()
    for ack in acks:
        leader.side.receive(name, link, ack, 1.0)
    return [ack for ack in acks if isinstance(ack, LogAck)]


def test_a_follower_gets_everything_and_is_counted() -> None:
    leader, follower = Leader(("A", "B"), 2), Follower()
    lsn = leader.write()
    assert leader.side.group_lsn() == 0
    assert greet(leader, follower) == STREAMING
    assert [ack.forced for ack in pump(leader, follower)] == [leader.side.position()]
    assert leader.side.group_lsn() == lsn
    leader.write()
    pump(leader, follower)
    assert leader.side.backlog_bytes("B") == 0


def _change(**changes: object) -> Callable[[ReplicaHello], None]:
    def apply(hello: ReplicaHello) -> None:
        for name, value in changes.items():
            setattr(hello, name, value)

    return apply


@pytest.mark.parametrize(
    ("change", "refused", "said"),
    [
        (_change(group="OTHER"), REFUSED_QUEUE_MANAGER, "not QM of OTHER"),
        (_change(queue_manager="QM2"), REFUSED_QUEUE_MANAGER, "not QM2 of GROUP"),
        (_change(instance="B"), REFUSED_NAME, "Two instances have the name B"),
        (_change(identity=bytes(16)), REFUSED_IDENTITY, "different identities"),
        (_change(file_pages=99), REFUSED_FILE_PAGES, "LogFilePages is 8 here, and 99"),
        (_change(log_format=7), REFUSED_FORMAT, "format 7; this release reads up to 1"),
        (_change(version=9), REFUSED_FORMAT, "version 9 between copies; this release up to 3"),
        (_change(term=4), REFUSED_TERM, "none before 6"),
    ],
)
def test_strangers_are_refused_and_told(change: Callable[[ReplicaHello], None], refused: int, said: str) -> None:
    follower = Follower()
    follower.side.promise(5)
    hello = Leader().side.connected("B", 1, 0.0)
    change(hello)
    with pytest.raises(LinkRefused) as found:
        follower.side.receive(1, hello)
    (reply,) = found.value.frames
    assert isinstance(reply, ReplicaHello)
    assert (reply.refused, said in reply.detail) == (refused, True), reply.detail
    assert follower.side.link == -1


def test_a_leader_learns_that_its_term_is_over() -> None:
    leader, follower = Leader(term=10), Follower()
    follower.side.promise(20)
    assert greet(leader, follower) == REFUSED
    assert leader.side.highest_term == 21


def test_nothing_of_a_term_is_acknowledged_after_the_promise() -> None:
    leader, follower = Leader(("A", "B"), 2), Follower()
    greet(leader, follower)
    pump(leader, follower)
    leader.write()
    frame = next_frame(leader.side, "B")
    assert frame is not None
    follower.side.receive(1, frame)
    follower.side.promise(10)
    assert follower.side.force() == []
    with pytest.raises(LinkRefused):
        follower.side.receive(1, frame)
    again = Follower(disk=follower.disk)
    assert again.side.lowest_term() == 11, "a restart has undone the promise"
    assert greet(leader, again, 2) == REFUSED


def test_a_higher_term_of_the_same_leader_is_heard_and_a_lower_one_is_not() -> None:
    leader, follower = Leader(), Follower()
    greet(leader, follower)
    pump(leader, follower)
    end = leader.side.position()
    follower.side.receive(1, LogFrame(12, 0, end, b""))
    assert follower.side.term == 12
    with pytest.raises(LinkRefused, match="term 10 is over"):
        follower.side.receive(1, LogFrame(10, 0, end, b""))


def test_a_copy_for_disaster_recovery_is_never_waited_for() -> None:
    leader, recovery = Leader(), Follower("DR")
    join_sites(leader, recovery)
    assert greet(leader, recovery, purpose=PURPOSE_DR) == STREAMING
    pump(leader, recovery)
    lsn = leader.write(5000)
    assert leader.side.group_lsn() == lsn
    assert leader.side.recovery_backlog_bytes() > 5000
    assert leader.side.answering(1.0, 5.0) == set()
    pump(leader, recovery)
    assert leader.side.recovery_backlog_bytes() == 0
    assert recovery.side.standby.log.position() == leader.side.position()


def test_a_synchronous_copy_is_waited_for_while_it_answers() -> None:
    leader, recovery = Leader(), Follower("DR")
    join_sites(leader, recovery)
    leader.side.is_synchronous = True
    greet(leader, recovery, purpose=PURPOSE_DR)
    pump(leader, recovery)
    assert not leader.side.judge_recovery(1.0, 5.0)
    assert leader.side.judge_recovery(1.1, 5.0)  # it has what was the end a moment ago
    lsn = leader.write(5000)
    assert leader.side.group_lsn() < lsn
    pump(leader, recovery)
    assert leader.side.group_lsn() == lsn
    later = leader.write(5000)
    assert not leader.side.judge_recovery(5.9, 5.0)
    assert lsn <= leader.side.group_lsn() < later
    assert leader.side.judge_recovery(6.1, 5.0)  # it was silent for too long: an outage there is not one here
    assert leader.side.group_lsn() == later


def test_replies_wait_for_a_copy_that_is_further_behind_than_it_may_be() -> None:
    leader, recovery = Leader(), Follower("DR")
    join_sites(leader, recovery)
    leader.side.lag_limits = LagLimits(10_000, NO_LIMIT, True)
    greet(leader, recovery, purpose=PURPOSE_DR)
    pump(leader, recovery)
    assert leader.side.judge_recovery(1.0, 5.0)
    first = leader.write(5000)
    assert leader.side.group_lsn() == first
    forced = recovery.side.standby.log.position()
    for _ in range(5):
        lsn = leader.write(5000)
    assert leader.side.group_lsn() == forced + 10_000 < lsn
    pump(leader, recovery)
    assert leader.side.group_lsn() == lsn


def test_limits_that_only_tell_let_nobody_wait() -> None:
    leader, recovery = Leader(), Follower("DR")
    join_sites(leader, recovery)
    leader.side.lag_limits = LagLimits(1000, 1, False)
    greet(leader, recovery, purpose=PURPOSE_DR)
    pump(leader, recovery)
    leader.side.judge_recovery(1.0, 5.0)
    lsn = leader.write(5000)
    assert leader.side.group_lsn() == lsn


def test_a_full_disk_is_told_and_nothing_is_acknowledged() -> None:
    leader, follower = Leader(), Follower()
    greet(leader, follower)
    pump(leader, follower)
    follower.disk.fill(0)
    for _ in range(10):
        leader.write(20_000)
    (ack,) = pump(leader, follower)
    assert ack.flags == ACK_DISK_FULL
    follower.side.is_space_short = True
    leader.write()
    (ack,) = pump(leader, follower)
    assert ack.flags == ACK_DISK_FULL | ACK_SPACE_SHORT
    follower.side.is_space_short = False
    assert ack.forced < leader.side.position()
    follower.disk.fill(1 << 30)
    follower.side.receive(1, LogFrame(10, 0, leader.side.position(), b""))
    (ack,) = [each for each in follower.side.force() if isinstance(each, LogAck)]
    assert (ack.flags, ack.forced) == (0, leader.side.position())


def test_a_slow_member_does_not_count_as_answering() -> None:
    leader, follower = Leader(("A", "B"), 2), Follower()
    greet(leader, follower)
    pump(leader, follower)
    leader.write()
    assert leader.side.answering(1.0, 2.0) == {"B"}
    # It gives signs of life, but forces nothing.
    leader.side.receive("B", 1, LogAck(10, 1, 0, 0, 0), 3.5)
    assert leader.side.answering(3.5, 2.0) == set()


def test_a_copy_at_the_other_site_tells_a_leader_that_it_was_replaced() -> None:
    leader, recovery = Leader(), Follower("DR")
    join_sites(leader, recovery)
    assert leader.side.site is not None
    leader.side.site = SiteSide("GROUP", "DR", frozenset({"A", "Z"}), SITE_ACTIVE)
    greet(leader, recovery, purpose=PURPOSE_DR)
    leader.write()
    pump(leader, recovery)
    log = recovery.side.standby.log
    log.begin_life(Life(2, int(log.position()), "Z", 77, 0), 1, log.position())
    assert greet(leader, recovery, 2, PURPOSE_DR) == REFUSED
    assert leader.side.highest_term == 77
    assert not leader.side.site.is_partitioned()


def test_the_set_may_change_when_a_copy_has_caught_up_and_not_before() -> None:
    leader, follower = Leader(("A",), 1), Follower()
    leader.write()
    greet(leader, follower)
    assert not leader.side.may_enter("B"), "it has forced nothing in this life"
    pump(leader, follower)
    assert leader.side.may_enter("B")
    leader.write()
    assert not leader.side.may_enter("B"), "more was acknowledged meanwhile"
    pump(leader, follower)
    membership = leader.side.membership
    plan = membership.plan({"B"})
    assert plan.rule is not None
    membership.change_sent(plan.rule)
    membership.change_confirmed(2)
    assert not leader.side.may_enter("B"), "it is a member"
    leader.side.disconnected("B", 1)
    assert not leader.side.may_enter("B")


def test_a_copy_that_is_near_is_told_before_it_has_caught_up() -> None:
    """Replies begin to wait for it then. Under load it would never be the equal of the leader by itself."""
    leader, follower = Leader(("A", "C"), 2), Follower()
    leader.side.nearly_in_sync(set(), 100.0, 5.0)
    greet(leader, follower)
    pump(leader, follower)
    leader.write()
    leader.side.membership.acknowledged("C", int(leader.side.position()))
    assert leader.side.followers["B"].forced < leader.side.group_lsn()
    assert leader.side.may_enter("B")
    assert leader.side.nearly_in_sync({"B"}, 101.0, 5.0) == {"B"}
    assert not leader.side.may_enter("B"), "it is near, and lacks something"


def test_a_log_that_is_gone_asks_for_a_base() -> None:
    leader = Leader(keep_extents=1)
    for _ in range(30):
        lsn = leader.write(9000)
        leader.log.writer.note_checkpoint(lsn, lsn, 1)
        while leader.log.writer.allocate_ahead():
            pass
    while leader.side._live and leader.side._live[0].end < leader.side.position() - 20_000:
        leader.side._live_at.pop(int(leader.side._live.popleft().position))
    follower = Follower()
    assert greet(leader, follower) == STREAMING
    while next_frame(leader.side, "B") is not None:
        pass
    assert leader.side.followers["B"].state == NEEDS_BASE
    assert "cannot be read at LSN" in leader.side.followers["B"].detail


def test_a_follower_keeps_no_log_that_media_recovery_does_not_need() -> None:
    """No queue needs an image here, so nothing is needed behind a checkpoint: a linear log does not grow for ever."""
    linear = replace(SETTINGS, log_type=LogType.LINEAR)
    leader = Leader(disk=new_disk(settings=linear), keep_extents=1)
    follower = Follower(disk=new_disk(settings=linear), keep_extents=1)
    greet(leader, follower)
    standby = follower.side.standby
    extents: list[int] = []
    for _ in range(60):
        leader.write(9000)
        pump(leader, follower)
        pump(leader, follower)
        standby.apply_all()
        while standby.needs_checkpoint() and standby.step_checkpoint():
            pass
        while standby.log.writer.allocate_ahead():
            pass
        extents.append(int(standby.log.writer.allocated_extents))
    assert standby.log.writer.media_lsn > 0
    assert max(extents[30:]) <= max(extents[:30])


def test_what_enough_copies_had_is_a_partition_and_not_dropped() -> None:
    """Two leaders without an arbiter: the second begins before the end of what the first one had acknowledged."""
    first, follower = Leader(("A", "B"), 2), Follower()
    greet(first, follower)
    pump(first, follower)
    first.write()
    pump(first, follower)
    pump(first, follower)
    assert follower.side.standby.log.group_lsn() > 0
    other = Leader(disk=new_disk(), term=30, epoch=2)
    assert greet(other, follower, 2) == PARTITIONED
    assert "on enough copies; the logs fork at 0" in other.side.followers["B"].detail


def test_a_restartpoint_in_the_middle_of_a_record_begins_before_it() -> None:
    """Enough copies have the first block of a record, and not the others: a restart must find its beginning."""
    leader, follower = Leader(), Follower()
    greet(leader, follower)
    pump(leader, follower)
    leader.write(60_000)
    frame = next_frame(leader.side, "B")
    assert frame is not None
    follower.side.receive(1, frame)
    follower.side.force()
    standby = follower.side.standby
    assert standby.log.position() < leader.side.position()
    standby.log.group_is_at(standby.log.position())
    standby.apply(1 << 20)
    while standby.step_checkpoint():
        pass
    again = Follower(disk=follower.disk)
    assert greet(leader, again, 2) == STREAMING
    pump(leader, again, 2)
    again.side.standby.apply_all()
    assert again.side.standby.applied_lsn() == leader.log.end_lsn()


def test_durable_is_the_end_of_a_batch() -> None:
    leader, follower = Leader(("A", "B"), 2), Follower()
    greet(leader, follower)
    pump(leader, follower)
    before = leader.log.durable_lsn()
    end = leader.write(60_000)
    frame = next_frame(leader.side, "B")
    assert frame is not None
    follower.side.receive(1, frame)
    for ack in follower.side.force():
        leader.side.receive("B", 1, ack, 1.0)
    leader.log.group_durable(leader.side.group_lsn())
    assert before < leader.side.group_lsn() < end
    assert leader.log.durable_lsn() == before
    pump(leader, follower)
    leader.log.group_durable(leader.side.group_lsn())
    assert leader.log.durable_lsn() == end


def test_a_record_that_a_life_left_unfinished_holds_nothing_up() -> None:
    """The first blocks of a record survive their leader, its last one does not: the next life begins behind them."""
    old, follower = Leader(), Follower()
    greet(old, follower)
    pump(old, follower)
    old.write(60_000)
    frame = next_frame(old.side, "B")
    assert frame is not None
    follower.side.receive(1, frame)
    follower.side.force()
    new = Leader(disk=follower.disk, term=20, epoch=2)
    third = Follower("C")
    assert greet(new, third) == STREAMING
    new.write()
    pump(new, third)
    pump(new, third)
    third.side.standby.apply_all()
    assert third.side.standby.applied_lsn() == new.log.end_lsn()


# -- releases and side files ------------------------------------------------------------------------------------------


def reply_of(follower: Follower, hello: ReplicaHello) -> ReplicaHello:
    (reply,) = follower.side.receive(1, hello)
    assert isinstance(reply, ReplicaHello)
    return reply


def test_a_leader_names_the_lowest_version_and_a_follower_the_highest() -> None:
    """So an older follower takes the hello of a newer leader, and the leader knows what to leave out."""
    hello = Leader().side.connected("B", 1, 0.0)
    assert _received(hello).version == 1
    assert _received(reply_of(Follower(), hello)).version == REPLICA_VERSION == 3
    hello.purpose = PURPOSE_DR
    assert _received(hello).version == 2, "it has the role of the site"


def _received(hello: ReplicaHello) -> ReplicaHello:
    data = hello.encode()
    found = decode_replica_frame(REPLICA_HELLO | (REPLY if hello.is_reply else 0), 0, data, HEADER_BYTES, len(data))
    assert isinstance(found, ReplicaHello)
    return found


@pytest.mark.parametrize(("version", "takes"), [(1, False), (2, False), (3, True), (4, True)])
def test_side_files_are_for_followers_that_know_them(version: int, takes: bool) -> None:
    leader, follower = Leader(), Follower()
    assert not leader.side.takes_side_files("B")
    reply = reply_of(follower, leader.side.connected("B", 1, 0.0))
    reply.version = version
    leader.side.receive("B", 1, reply, 0.0)
    assert leader.side.followers["B"].state == STREAMING
    assert leader.side.takes_side_files("B") is takes
    leader.side.disconnected("B", 1)
    assert not leader.side.takes_side_files("B")


def test_side_files_come_from_the_leader_that_is_followed() -> None:
    leader, follower = Leader(), Follower()
    (part,) = SideSet("passwords", {"passwords": b"secret"}).frames(10)
    with pytest.raises(LinkRefused):
        follower.side.receive(1, part)  # before its hello
    greet(leader, follower)
    assert follower.side.receive(1, part) == []
    assert [each.files for each in follower.side.side_sets] == [{"passwords": b"secret"}]
    follower.side.promise(10)
    greet(Leader(term=11), follower, 2)
    (old,) = SideSet("passwords", {"passwords": b"old"}).frames(10)
    for link in (1, 2):
        with pytest.raises(LinkRefused):
            follower.side.receive(link, old)
    assert len(follower.side.side_sets) == 1


def test_side_files_of_a_newer_format_are_told_and_the_log_goes_on() -> None:
    leader, follower = Leader(), Follower()
    greet(leader, follower)
    data = b"\x02\0\0\0whatever"
    part = SideFile(10, "passwords", sha256(data).digest(), len(data), 0, data)
    assert follower.side.receive(1, part) == []
    assert follower.side.side_sets == []
    (problem,) = follower.side.side_problems
    assert "format 2, and this release knows up to 1" in problem
    leader.write()
    assert len(pump(leader, follower)) == 1
