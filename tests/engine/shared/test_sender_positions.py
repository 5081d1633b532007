"""The position of a sending channel of the group: its lock, batches that a member left in doubt, desired states."""

from __future__ import annotations

import pytest
from tests.world.group.channel_group import ChannelGroup, ChannelMember

from ostler.channel.group.group_sender import GroupSenderPosition, StartedBy
from ostler.channel.positions import KNOWN, UNAVAILABLE
from ostler.channel.sync_records import GROUP_SYNC_QUEUE, DesiredState, SentBatch, decode_xid
from ostler.engine.syncpoint import prepare_work
from ostler.engine.unit_of_work import UnitOfWork

CHANNEL = "QM1.FAR"


def luwid(number: int) -> bytes:
    return number.to_bytes(8, "big")


class SenderPositions:
    """The position of QM1.FAR, first at QM1."""

    def __init__(self) -> None:
        world = ChannelGroup(1, is_shared_sender=True)
        self.group = world.group
        self.one, self.other = world.member, world.peer
        self.position = self.open(self.one)
        assert self.position.state() == KNOWN

    def open(self, member: ChannelMember, by: StartedBy = StartedBy.OPERATOR) -> GroupSenderPosition:
        position = GroupSenderPosition(member.engine, "QSG1", CHANNEL, "SHARED")
        position.open(by)
        self.group.settle()
        return position

    def put(self, sequence: int) -> UnitOfWork:
        """Put a new record in a unit at QM1, as a batch does."""
        unit = self.one.engine.new_unit_of_work()
        record = self.position.find().successor()
        record.sequence = sequence
        record.luwid = luwid(sequence)
        self.position.put(record, unit)
        self.group.settle()
        return unit

    def send(self, sequence: int) -> None:
        """Leave a batch in doubt at QM1."""
        before = self.position.find()
        unit = self.put(sequence)
        batch = SentBatch(CHANNEL, "FAR", luwid(sequence), before.sequence + 1, sequence, sequence - before.sequence)
        batch.is_group = True
        batch.sequence_before = before.sequence
        batch.luwid_before = before.luwid
        prepare_work(self.one.engine, unit, batch.xid())
        self.group.settle()

    def commit(self, sequence: int) -> None:
        record = self.position.find().successor()
        record.sequence = sequence
        record.luwid = luwid(sequence)
        self.position.write(record)
        self.group.settle()
        assert self.position.state() == KNOWN

    def release(self, position: GroupSenderPosition, desired: DesiredState | None = None) -> None:
        position.release(desired)
        self.group.settle()
        assert position.is_released()


def test_the_name_of_a_batch_has_the_position_before() -> None:
    batch = SentBatch(CHANNEL, "FAR", luwid(9), 4, 9, 6)
    batch.is_group = True
    batch.sequence_before = 3
    batch.luwid_before = luwid(3)
    found = decode_xid(batch.xid())
    assert found is not None
    assert (found.channel, found.partner, found.luwid) == (CHANNEL, "FAR", luwid(9))
    assert (found.first, found.last, found.messages) == (4, 9, 6)
    assert (found.is_group, found.sequence_before, found.luwid_before) == (True, 3, luwid(3))
    assert len(batch.xid()) <= 128


def test_one_member_at_a_time() -> None:
    positions = SenderPositions()
    positions.commit(7)
    wanted = positions.open(positions.other)
    assert wanted.state() == UNAVAILABLE
    assert (wanted.is_elsewhere, wanted.holder) == (True, "QM1")
    positions.release(wanted)
    assert positions.position.state() == KNOWN, "who has not got the lock does not free it"
    assert positions.open(positions.other).is_elsewhere
    positions.release(positions.position)
    wanted = positions.open(positions.other)
    assert wanted.state() == KNOWN
    assert wanted.find().sequence == 7


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_peer_decides_on_the_batch_of_a_member_that_died(is_committed: bool) -> None:
    positions = SenderPositions()
    positions.commit(7)
    positions.send(12)
    positions.one.die()
    positions.group.settle()
    position = positions.open(positions.other)
    assert position.state() == KNOWN
    assert [each.luwid for each in position.in_doubt()] == [luwid(12)]
    assert (position.find().sequence, position.find().luwid) == (7, luwid(7))
    assert position.can_resolve()
    assert position.resolve_up_to(luwid(99)) == -1
    assert position.resolve_up_to(luwid(12 if is_committed else 7)) == int(is_committed)
    positions.other.force()
    positions.group.settle()
    position.is_resolved()
    positions.group.settle()
    assert position.is_resolved()
    assert position.find().sequence == (12 if is_committed else 7)
    assert not position.in_doubt()
    assert len(positions.other.messages(GROUP_SYNC_QUEUE)) == 1


def test_a_batch_in_doubt_at_an_active_member_is_left_to_it() -> None:
    positions = SenderPositions()
    positions.commit(7)
    positions.send(12)
    positions.release(positions.position)
    position = positions.open(positions.other)
    assert position.resolve_up_to(luwid(12)) == 1
    positions.other.force()
    positions.group.settle()
    assert position.is_resolved()
    assert "has to resolve it" in position.failure


def test_the_desired_state_decides_on_triggers_and_peers() -> None:
    positions = SenderPositions()
    positions.position.set_desired(DesiredState.ACTIVE)
    positions.group.settle()
    positions.release(positions.position)
    again = positions.open(positions.other, StartedBy.PEER)
    assert again.state() == KNOWN
    positions.release(again, DesiredState.STOPPED)
    for by in (StartedBy.PEER, StartedBy.TRIGGER):
        refused = positions.open(positions.one, by)
        assert refused.is_unwanted
        positions.release(refused)
    started = positions.open(positions.one)
    assert started.state() == KNOWN
    positions.release(started, DesiredState.NONE)
    assert positions.open(positions.one, StartedBy.PEER).is_unwanted
