"""The position of a channel of the group: one member at a time, and nothing of a batch that is not decided."""

from __future__ import annotations

from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_network import new_line
from tests.world.group.channel_group import ChannelGroup, ChannelMember

from ostler.channel.group.shared_position import SharedPosition
from ostler.channel.positions import KNOWN, UNAVAILABLE, WAITING
from ostler.channel.sync_records import GROUP_SYNC_QUEUE
from ostler.engine.shared.units import SharedUnit
from ostler.engine.syncpoint import commit_work
from ostler.engine.unit_of_work import UnitOfWork


class Positions:
    """The position of FAR.QM1 and FAR at QM1, and another end at QM2 that wants it."""

    def __init__(self) -> None:
        world = ChannelGroup(1, is_group_listener=True)
        self.group = world.group
        self.one, self.other = world.member, world.peer
        self.position = self.open(self.one)
        assert self.position.state() == KNOWN

    def open(self, member: ChannelMember) -> SharedPosition:
        position = member.positions.new("FAR.QM1", SimulatedAgent(member, "", new_line()[0]))  # type: ignore[arg-type]
        position.open("FAR")
        self.group.settle()
        return position

    def put(self, sequence: int) -> UnitOfWork:
        """Put a new record in a unit at QM1, as a batch does."""
        unit = self.one.engine.new_unit_of_work()
        record = self.position.find().successor()
        record.sequence = sequence
        self.position.put(record, unit)
        self.group.settle()
        assert self.position.state() == KNOWN
        self.record = record
        return unit

    def commit(self, unit: UnitOfWork) -> None:
        assert isinstance(unit.shared, SharedUnit)
        commit_work(self.one.engine, unit)
        self.group.settle()
        self.position.mark_committed(self.record)

    def state_at_other(self, position: SharedPosition) -> int:
        state = int(position.state())
        self.group.settle()
        return int(position.state()) if state == WAITING else state


def test_another_member_waits_for_the_batch_and_sees_its_outcome() -> None:
    positions = Positions()
    positions.commit(positions.put(7))
    unit = positions.put(12)
    wanted = positions.open(positions.other)
    assert positions.state_at_other(wanted) == WAITING
    positions.commit(unit)
    assert positions.state_at_other(wanted) == WAITING, "the end at QM1 is still there"
    positions.position.close()
    positions.group.settle()
    assert positions.state_at_other(wanted) == KNOWN
    assert wanted.find().sequence == 12
    assert len(positions.other.messages(GROUP_SYNC_QUEUE)) == 1


def test_a_member_that_dies_before_the_decision_leaves_the_position_before() -> None:
    positions = Positions()
    positions.commit(positions.put(7))
    positions.put(12)
    wanted = positions.open(positions.other)
    assert positions.state_at_other(wanted) == WAITING
    positions.one.die()
    positions.group.settle()
    assert positions.state_at_other(wanted) == KNOWN
    assert wanted.find().sequence == 7


def test_an_end_whose_link_broke_has_lost_the_position() -> None:
    positions = Positions()
    positions.commit(positions.put(7))
    positions.one.port.lose()
    positions.group.settle()
    positions.one.join()
    positions.group.settle()
    assert positions.position.state() == UNAVAILABLE
