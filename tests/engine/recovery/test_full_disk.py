"""A disk full of the queue manager's own messages, at every level of fullness: gets can empty it again."""

from __future__ import annotations

import pytest
from tests.world.world import World

from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.recovery.checkpoint_reserve import RESERVE_PATH
from ostler.engine.recovery.checkpoint_space import needed_bytes
from ostler.log import LogSettings
from ostler.model.constants import (
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_Q_SPACE_NOT_AVAILABLE,
    MQRC_RESOURCE_PROBLEM,
)
from ostler.model.disk import DiskFull
from ostler.model.errors import MQError
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import SimulatedDisk

LOG = LogSettings(primary_files=2, secondary_files=2, file_pages=64)
LARGE_LOG = LogSettings(primary_files=4, secondary_files=4, file_pages=1024)
TRIES = 3


class Desk:
    """An application with some queues open, whose every answer is waited for, as the server has it."""

    def __init__(self, world: World, names: list[str]) -> None:
        self.world = world
        self.connection: Connection = world.connect()
        self.handles: list[Handle] = [
            world.open(self.connection, name, MQOO_OUTPUT | MQOO_INPUT_SHARED) for name in names
        ]

    def put(self, index: int, body: bytes) -> int:
        answer = self.world.put(self.connection, self.handles[index], body)
        reserve = self.world.engine.reserve
        if answer.reason == MQRC_Q_SPACE_NOT_AVAILABLE and reserve.was_refused and reserve.freed_bytes > 0:
            # As the server's housekeeping, within a second.
            self.world.checkpoint()
            answer = self.world.put(self.connection, self.handles[index], body)
        if answer.reason == 0:
            self.world.acknowledge(answer.lsn)
            self.world.housekeep()
            self.world.keep_extents()
        return answer.reason

    def get(self, index: int, options: int = MQGMO_NO_SYNCPOINT) -> bytes | None:
        for _ in range(TRIES):
            request = self.world.get(self.connection, self.handles[index], options)
            if request.reason != MQRC_RESOURCE_PROBLEM:
                break
            self.world.make_room()
        if request.reason == MQRC_NO_MSG_AVAILABLE:
            return None
        assert request.reason == 0, request.reason
        self.world.acknowledge(request.after_lsn)
        self.world.housekeep()
        self.world.keep_extents()
        return request.body

    def fill(self, body_bytes: int) -> list[list[bytes]]:
        """Put until every queue refuses; what was put on each."""
        put: list[list[bytes]] = [[] for _ in self.handles]
        refused: set[int] = set()
        number = 0
        while len(refused) < len(self.handles):
            for index in set(range(len(self.handles))) - refused:
                body = (b"%d:" % number).ljust(body_bytes, b".")
                reason = self.put(index, body)
                if reason == 0:
                    put[index].append(body)
                else:
                    assert reason in (MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM)
                    refused.add(index)
                number += 1
            assert number < 20_000, "the disk is full, but nothing is refused"
        return put

    def drain(self, options: int = MQGMO_NO_SYNCPOINT) -> list[list[bytes]]:
        got: list[list[bytes]] = [[] for _ in self.handles]
        for index in range(len(self.handles)):
            while (body := self.get(index, options)) is not None:
                got[index].append(body)
                if options & MQGMO_SYNCPOINT and len(got[index]) % 5 == 0:
                    self.commit()
            self.commit()
        return got

    def commit(self) -> None:
        reason, lsn = self.world.commit(self.connection)
        assert reason == 0
        self.world.acknowledge(lsn)


class QuotaDisk(SimulatedDisk):
    """Has much more space than this user may have, and says so."""

    def free_bytes(self) -> int:
        return 1 << 40


def world_with(names: list[str], disk: SimulatedDisk | None = None) -> World:
    world = World.create(settings=LOG, buffer_bytes=16_384, disk=disk)
    world.holds_space = True
    world.restart()
    for name in names:
        world.define_queue(name, {"MAXDEPTH": 999_999})
    world.checkpoint()
    return world


NAMES = ["A", "B", "C"]


@pytest.mark.parametrize("left", [*range(0, 40_000, 1_777), *range(40_000, 1_500_000, 61_003)])
def test_whatever_was_free_a_full_disk_is_emptied_by_gets(left: int) -> None:
    world = world_with(NAMES)
    world.disk.fill(left)
    put = Desk(world, NAMES).fill(3_000)
    world.kill()
    world.restart()
    desk = Desk(world, NAMES)
    assert desk.drain() == put
    audit_engine(world.engine)
    again = desk.fill(3_000)
    # What takes up no space on the disk fits again: some space may be spent on another division of it.
    assert sum(map(len, again)) * 2 >= sum(map(len, put))


@pytest.mark.parametrize("left", range(0, 1_500_000, 151_003))
def test_a_quota_that_the_disk_does_not_report(left: int) -> None:
    world = world_with(NAMES, QuotaDisk())
    world.disk.fill(left)
    put = Desk(world, NAMES).fill(3_000)
    world.kill()
    world.restart()
    assert Desk(world, NAMES).drain() == put


@pytest.mark.parametrize("body_bytes", [10, 900, 20_000, 120_000])
def test_messages_of_any_size_under_syncpoint(body_bytes: int) -> None:
    world = world_with(NAMES)
    world.disk.fill(700_000)
    put = Desk(world, NAMES).fill(body_bytes)
    # It ends in good order, and nothing of that needs space which is not there.
    assert world.end()
    world.restart()
    assert Desk(world, NAMES).drain(MQGMO_SYNCPOINT) == put
    world.checkpoint()


def test_the_reserve_covers_what_a_checkpoint_needs() -> None:
    world = world_with(NAMES)
    world.disk.fill(300_000)
    Desk(world, NAMES).fill(700)
    world.disk.fill(0)
    for _ in range(3):
        assert world.engine.reserve.reserved_bytes >= needed_bytes(world.engine)
        world.checkpoint()


def test_a_checkpoint_without_a_reserve_leaves_nothing_half_written() -> None:
    world = World.create(settings=LOG, buffer_bytes=16_384)
    world.define_queue("A")
    desk = Desk(world, ["A"])
    desk.put(0, b"message")
    # Enough for the message on a page of its own and for the snapshot, not for the catalogue.
    world.disk.fill(4_500)
    with pytest.raises(DiskFull):
        world.checkpoint()
    assert not [name for name in world.disk.names("") if name.endswith(".new")]
    assert world.disk.free_bytes() > 0


def test_a_catalogue_that_did_not_change_is_not_written_again_after_a_checkpoint_found_no_space() -> None:
    world = World.create(settings=LOG, buffer_bytes=16_384)
    world.define_queue("A")
    world.checkpoint()
    desk = Desk(world, ["A"])
    desk.put(0, bytes(6_000))
    world.disk.fill(0)
    with pytest.raises(DiskFull):
        world.checkpoint()
    assert not world.engine.catalogue_changed


def test_the_reserve_is_plain_zeros_and_shrinks_when_it_is_far_too_large() -> None:
    world = world_with(NAMES)
    file = world.disk.open(RESERVE_PATH, False)
    assert not any(file.read_at(0, file.size_bytes()))
    file.truncate(200 << 20)
    world.restart()
    assert world.engine.reserve.reserved_bytes < 8 << 20
    assert file.size_bytes() == world.engine.reserve.reserved_bytes


def test_definitions_are_refused_before_a_catalogue_of_them_finds_no_space() -> None:
    world = world_with(NAMES)
    Desk(world, NAMES)
    world.disk.fill(0)
    with pytest.raises(MQError, match="disk is full"):
        define_many(world, 2_000)
    world.checkpoint()
    assert len(world.engine.queues) > 10


def define_many(world: World, count: int) -> None:
    for number in range(count):
        world.define_queue(f"MORE.{number}")


@pytest.mark.parametrize("left", range(1_000_000, 9_000_000, 497_003))
@pytest.mark.parametrize("count", [1, 7])
def test_what_the_files_held_beyond_their_snapshots_finds_space_again(count: int, left: int) -> None:
    """The log has these messages, and a restart writes them once more: not beside what is of no use any more."""
    names = [f"Q{number}" for number in range(count)]
    world = World.create(settings=LARGE_LOG, buffer_bytes=16_384)
    world.holds_space = True
    world.restart()
    for name in names:
        world.define_queue(name, {"MAXDEPTH": 999_999})
    desk = Desk(world, names)
    before = [[bytes(number + 100_001) for number in range(7)] for _ in names]
    for index, bodies in enumerate(before):
        for body in bodies:
            assert desk.put(index, body) == 0
    world.checkpoint()
    world.disk.fill(left)
    put = desk.fill(20_000)
    world.kill()
    world.restart()
    world.checkpoint()
    desk = Desk(world, names)
    assert desk.drain() == [first + then for first, then in zip(before, put, strict=True)]


@pytest.mark.parametrize("body_bytes", [3_000, 9_000, 40_000])
@pytest.mark.parametrize("is_killed", [False, True])
def test_segments_that_were_cut_off_and_come_again_keep_what_they_hold(body_bytes: int, is_killed: bool) -> None:
    """Messages that an emptied queue writes into its truncated file are not discarded as remains of an earlier run."""
    world = world_with(["A", "B"])
    desk = Desk(world, ["A", "B"])
    for number in range(150):
        assert desk.put(0, (b"%d:" % number).ljust(body_bytes, b".")) == 0
    world.checkpoint()
    assert world.end()
    world.restart()
    desk = Desk(world, ["A", "B"])
    assert len(desk.drain()[0]) == 150
    for _ in range(3):
        world.checkpoint()
    world.disk.fill(1_500_000)
    put = desk.fill(body_bytes)
    if is_killed:
        world.kill()
        world.restart()
        desk = Desk(world, ["A", "B"])
    assert desk.drain() == put
    audit_engine(world.engine)
