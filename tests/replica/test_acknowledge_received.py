"""ReplicationAck=Memory: what is promised, and what is not."""

from __future__ import annotations

from tests.replica.test_sides import Follower, Leader, greet, pump, standby_on

from ostler.engine.recovery.records import IMAGE_MESSAGE
from ostler.wire.replica_frames import LogAck


def pair_of() -> tuple[Leader, Follower]:
    leader, follower = Leader(("A", "B"), 2), Follower()
    leader.side.counts_received = True
    follower.side.acknowledges_received = True
    greet(leader, follower)
    pump(leader, follower)
    return leader, follower


def send(leader: Leader, follower: Follower) -> list[LogAck]:
    """Send all there is. Nothing is forced at the follower."""
    acks: list[LogAck] = []
    while (frame := leader.side.next_frame("B")) is not None:
        for ack in follower.side.receive(1, frame):
            assert isinstance(ack, LogAck)
            leader.side.receive("B", 1, ack, 1.0)
            acks.append(ack)
    return acks


def test_a_reply_waits_for_the_memory_of_the_copy_and_the_disk_of_the_leader() -> None:
    leader, follower = pair_of()
    lsn = leader.write()
    assert leader.side.group_lsn() < lsn
    (ack,) = send(leader, follower)
    assert ack.forced < ack.received == leader.side.position()
    assert leader.side.group_lsn() == lsn
    # Another block that the leader has not forced is not durable, wherever it was received: the last copy is a disk.
    leader.log.append(IMAGE_MESSAGE, bytes(100), b"", b"")
    batch = leader.log.take_batch()
    assert batch is not None
    leader.log.writer.write_batch(batch)
    send(leader, follower)
    assert leader.side.group_lsn() == lsn
    leader.forced(batch.end_lsn)
    assert leader.side.group_lsn() == batch.end_lsn


def test_a_leader_that_dies_loses_nothing() -> None:
    """The follower forces what it has acknowledged before it tells its end, or drops the link."""
    for is_promise in (True, False):
        leader, follower = pair_of()
        leader.write()
        send(leader, follower)
        end = leader.side.position()
        assert follower.side.standby.log.position() < end
        if is_promise:
            follower.side.promise(10)
        else:
            follower.side.disconnected(1)
        assert follower.side.standby.log.position() == end


def test_a_copy_that_loses_power_has_less_than_it_acknowledged_and_is_not_damaged() -> None:
    """That is not promised: a power failure of the copy and the loss of the leader's disk at once."""
    leader, follower = pair_of()
    leader.write()
    send(leader, follower)
    end = leader.side.position()
    again = standby_on(follower.disk.crash_losing_all())
    assert again.log.position() < end
    assert leader.side.group_lsn() > again.log.position()


def test_a_leader_with_disk_does_not_count_memory() -> None:
    leader, follower = pair_of()
    leader.side.counts_received = False
    lsn = leader.write()
    send(leader, follower)
    assert leader.side.group_lsn() < lsn
    pump(leader, follower)
    assert leader.side.group_lsn() == lsn
