"""A base in the simulated world: a copy that cannot catch up gets the whole state while its leader works."""

from __future__ import annotations

from tests.replica.test_replica_world import in_sync_world, leader_other_than
from tests.replica.test_sides import IDENTITY, SETTINGS, Leader, standby_on
from tests.world.replica.instance import FOLLOWS
from tests.world.world_lives import LOG_DIRECTORY

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint import encode_catalogue
from ostler.log.stream_format import StreamShape
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.log_life import Life
from ostler.replica.base_format import encode_settings
from ostler.replica.base_target import BaseTarget
from ostler.replica.standby import StandbyJournal
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.replica_frames import BaseBegin, BaseEnd, BaseObjects, LogFrame

SHAPE = StreamShape(IDENTITY, SETTINGS.file_pages)


def test_a_follower_whose_log_is_gone_takes_a_base() -> None:
    world, leader = in_sync_world(3)
    away = next(each for each in world.instances if each is not leader)
    away.stop()
    assert leader.leading is not None
    assert leader.side is not None
    leader.leading.log.writer.keep_extents = 1
    leader.side.live_bytes_max = 20_000
    for _ in range(200):
        world.step()
    away.start()
    for _ in range(200):
        world.step()
        if away.state == "down":
            away.start()
        if away.bases and away.state == FOLLOWS:
            break
    assert away.bases == 1, "\n".join(world.notes)
    world.settle()
    assert away.state == FOLLOWS
    away.lose_power(3)
    world.settle()
    leader.lose_power(5)
    leader_other_than(world, leader)
    world.settle()


def base_at(lsn: int) -> tuple[BaseTarget, SimulatedDisk]:
    """A base of a leader that has nothing open, and whose log ends where the restart of the base begins."""
    disk = SimulatedDisk()
    target = BaseTarget("QM", IDENTITY, disk, disk, LOG_DIRECTORY, SETTINGS, lambda engine: None)
    begin = BaseBegin(1, 1, encode_settings(SETTINGS), 0, 0)
    begin.restart_lsn = lsn
    begin.position = SHAPE.start_of(SHAPE.extent_of(lsn))
    begin.lives = [Life(1, 0, "A", 1, 0)]
    target.receive(begin)
    journal = StandbyJournal()
    engine = Engine("QM", SimulatedDisk(), journal, new_definition(ObjectType.QMGR, "QM", {}))
    engine.identity = IDENTITY
    target.receive(BaseObjects(1, encode_catalogue(engine, 0, lsn)))
    target.receive(BaseEnd(1, 1, 1, 1))
    return target, disk


def test_a_base_at_the_beginning_of_an_extent_is_not_whole_before_enough_copies_have_it() -> None:
    lsn = int(SHAPE.start_of(3))
    target, _ = base_at(lsn)
    target.receive(LogFrame(1, lsn - 1, lsn, b""))
    target.force()
    assert target.has_all()
    assert not target.is_whole()
    target.receive(LogFrame(1, lsn, lsn, b""))
    target.force()
    assert target.is_whole()


def test_a_base_that_ends_where_its_restart_begins_can_take_checkpoints() -> None:
    leader = Leader()
    leader.write()
    lsn = leader.write()
    target, disk = base_at(lsn)
    reader = leader.side.new_reader()
    begin = int(SHAPE.start_of(0))
    images = reader.read(begin, leader.side.forced_position(), 1 << 20)
    target.receive(LogFrame(1, 0, begin, images))
    target.force()
    assert target.has_all()
    assert not target.is_whole()
    target.finish(0)
    standby = standby_on(disk)
    assert standby.log.group_lsn() >= lsn
    while standby.step_checkpoint():
        pass
    assert standby.log.writer.checkpoint_lsn >= lsn
