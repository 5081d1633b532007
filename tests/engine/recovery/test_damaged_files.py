"""Damaged files: the start is refused or one queue is marked damaged, with file and offset. They are never accepted."""

from __future__ import annotations

import pytest
from tests.world.world import World, damage

from ostler.engine.recovery.snapshot import SnapshotDamaged
from ostler.log import LogDamaged, LogSettings, LogType
from ostler.model.constants import (
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQRC_OBJECT_DAMAGED,
)
from ostler.model.disk import Disk
from ostler.model.errors import MQError
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import SimulatedDisk

SLOTS = "queues/Q.1/slots"
MESSAGES = "queues/Q.1/messages"
MANIFEST = "checkpoint"
CATALOGUE = "objects"
LINEAR = LogSettings(primary_files=3, secondary_files=2, file_pages=512, log_type=LogType.LINEAR)
ALL = MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_BROWSE


def filled(world: World, name: str, bodies: list[bytes]) -> None:
    application = world.connect()
    handle = world.open(application, name, ALL)
    for body in bodies:
        answer = world.put(application, handle, body)
        assert answer.reason == 0
        world.acknowledge(answer.lsn)
    world.disconnect(application)


def ended(settings: LogSettings | None = None) -> World:
    """Two queues with messages, ended in an orderly way: all is in the files."""
    world = World.create(settings=settings) if settings is not None else World.create()
    world.define_queue("Q")
    world.define_queue("OTHER")
    filled(world, "Q", [b"first", b"second" * 50, b"third"])
    filled(world, "OTHER", [b"untouched"])
    world.end()
    return world


@pytest.fixture(scope="module")
def whole() -> SimulatedDisk:
    return ended().disk


def world_on(disk: SimulatedDisk, settings: LogSettings | None = None) -> World:
    template = World.create(settings=settings) if settings is not None else World.create()
    return World(disk, template.settings, template.buffer_bytes)


def size_of(disk: Disk, path: str) -> int:
    file = disk.open(path, False)
    size = file.size_bytes()
    file.close()
    return size


def cut(disk: SimulatedDisk, path: str, size: int) -> None:
    file = disk.open(path, False)
    file.truncate(size)
    file.force()
    file.close()


def test_the_undamaged_files_are_taken(whole: SimulatedDisk) -> None:
    world = world_on(whole.copy())
    world.restart()
    assert world.bodies("Q") == [b"first", b"second" * 50, b"third"]


@pytest.mark.parametrize("path", [MANIFEST, CATALOGUE])
def test_any_byte_of_manifest_or_catalogue_refuses_the_start(whole: SimulatedDisk, path: str) -> None:
    size = size_of(whole, path)
    for offset in [*range(min(size, 200)), *range(200, size - 20, 7), *range(size - 20, size)]:
        disk = whole.copy()
        damage(disk, path, offset)
        with pytest.raises(SnapshotDamaged, match=rf"^{path}: .* offset \d+"):
            world_on(disk).restart()


@pytest.mark.parametrize("path", [MANIFEST, CATALOGUE])
def test_a_cut_manifest_or_catalogue_refuses_the_start(whole: SimulatedDisk, path: str) -> None:
    for size in [*range(200), *range(200, size_of(whole, path), 7)]:
        disk = whole.copy()
        cut(disk, path, min(size, size_of(whole, path) - 1))
        with pytest.raises(SnapshotDamaged, match=rf"^{path}: .* offset \d+"):
            world_on(disk).restart()


@pytest.mark.parametrize("path", [MANIFEST, CATALOGUE])
def test_a_lost_manifest_or_catalogue_refuses_the_start(whole: SimulatedDisk, path: str) -> None:
    disk = whole.copy()
    disk.remove(path)
    with pytest.raises(SnapshotDamaged, match=rf"^{path} is missing"):
        world_on(disk).restart()


def check_damaged(world: World, place: str) -> None:
    """The queue is marked and says why; the other one works."""
    queue = world.engine.queues["Q"]
    assert place in queue.damaged
    assert any(place in notice and "AMQ7472E" in notice for notice in world.engine.notices)
    with pytest.raises(MQError) as refused:
        world.open(world.connect(), "Q", ALL)
    assert refused.value.reason == MQRC_OBJECT_DAMAGED
    assert world.bodies("OTHER") == [b"untouched"]
    world.checkpoint()
    world.kill()
    world.restart()
    assert world.engine.queues["Q"].damaged
    assert world.bodies("OTHER") == [b"untouched"]


def test_any_byte_of_the_slots_marks_the_queue(whole: SimulatedDisk) -> None:
    for offset in range(size_of(whole, SLOTS)):
        disk = whole.copy()
        damage(disk, SLOTS, offset)
        world = world_on(disk)
        world.restart()
        check_damaged(world, SLOTS)


def test_cut_or_lost_slots_mark_the_queue(whole: SimulatedDisk) -> None:
    for size in [*range(0, size_of(whole, SLOTS), 7), -1]:
        disk = whole.copy()
        if size >= 0:
            cut(disk, SLOTS, size)
        else:
            disk.remove(SLOTS)
        world = world_on(disk)
        world.restart()
        check_damaged(world, SLOTS)


def test_the_slots_of_another_queue_mark_the_queue(whole: SimulatedDisk) -> None:
    disk = whole.copy()
    disk.rename("queues/OTHER.2/slots", SLOTS)
    world = world_on(disk)
    world.restart()
    assert SLOTS in world.engine.queues["Q"].damaged
    assert "queues/OTHER.2/slots" in world.engine.queues["OTHER"].damaged


def test_older_slots_mark_the_queue() -> None:
    world = World.create()
    world.define_queue("Q")
    world.define_queue("OTHER")
    filled(world, "OTHER", [b"untouched"])
    filled(world, "Q", [b"first"])
    world.checkpoint()
    file = world.disk.open(SLOTS, False)
    older = file.read_at(0, file.size_bytes())
    filled(world, "Q", [b"second"])
    world.end()
    file = world.disk.open(SLOTS, False)
    file.truncate(0)
    file.write_at(0, [older])
    file.force()
    world.restart()
    check_damaged(world, SLOTS)


def test_any_byte_of_a_stored_message_is_missed_when_it_is_read(whole: SimulatedDisk) -> None:
    # Offset, length and checksum take 16 bytes; then come the numbers, the descriptor and the body.
    for offset in [*range(40), 100, 395, 396, 400]:
        disk = whole.copy()
        damage(disk, MESSAGES, offset)
        world = world_on(disk)
        world.restart()
        application = world.connect()
        request = world.get(application, world.open(application, "Q", ALL))
        assert request.reason == MQRC_OBJECT_DAMAGED
        assert request.body == b""
        world.disconnect(application)
        check_damaged(world, MESSAGES)


def test_a_lost_queue_file_is_missed_when_it_is_read(whole: SimulatedDisk) -> None:
    disk = whole.copy()
    disk.remove(MESSAGES)
    world = world_on(disk)
    world.restart()
    application = world.connect()
    request = world.get(application, world.open(application, "Q", ALL))
    assert request.reason == MQRC_OBJECT_DAMAGED
    assert world.engine.queues["Q"].damaged == (f"{MESSAGES}: no message at offset 0, where 401 bytes were expected")


def test_a_damaged_log_refuses_the_start() -> None:
    world = World.create()
    world.define_queue("Q")
    filled(world, "Q", [b"first", b"second"])
    world.kill()
    damage(world.disk, "log/active/S0000000.LOG", 4096 + 60)
    with pytest.raises(LogDamaged, match=r"log/active/S0000000\.LOG is damaged at offset 4096"):
        world.restart()


def test_damage_found_while_a_unit_ends_stops_neither_the_unit_nor_others() -> None:
    """A commit whose message turns out unreadable, while somebody waits for it."""
    world = World.create()
    world.define_queue("Q")
    world.define_queue("OTHER")
    putter, waiter = world.connect(), world.connect()
    handle, other = world.open(putter, "Q", ALL), world.open(putter, "OTHER", ALL)
    for number in range(4):
        assert world.put(putter, handle, b"%d" % number + bytes(90_000), syncpoint=True).reason == 0
    assert world.put(putter, other, b"beside", syncpoint=True).reason == 0
    assert world.engine.queues["Q"].counters.spilled > 0
    damage(world.disk, MESSAGES, 50_000)
    waiting = world.get(waiter, world.open(waiter, "Q", ALL), MQGMO_SYNCPOINT | MQGMO_WAIT, wait_ms=-1)
    reason, lsn = world.commit(putter)
    assert reason == 0
    world.acknowledge(lsn)
    assert (waiting.done, waiting.reason) == (True, MQRC_OBJECT_DAMAGED)
    assert MESSAGES in world.engine.queues["Q"].damaged
    assert world.bodies("OTHER") == [b"beside"]
    world.kill()
    world.restart()
    # The log had them all.
    assert [body[:1] for body in world.bodies("Q")] == [b"0", b"1", b"2", b"3"]
    assert world.bodies("OTHER") == [b"beside"]


def test_a_lost_queue_is_rebuilt_from_its_image_and_the_log_behind_it() -> None:
    world = World.create(settings=LINEAR)
    world.define_queue("Q")
    world.define_queue("OTHER")
    filled(world, "OTHER", [b"untouched"])
    filled(world, "Q", [b"%d" % number + bytes(2000) for number in range(200)])
    application = world.connect()
    handle = world.open(application, "Q", ALL)
    for _ in range(50):
        assert world.get(application, handle).reason == 0
    world.record_image("Q")
    for _ in range(50):
        assert world.get(application, handle, MQGMO_SYNCPOINT).reason == 0
    assert world.commit(application)[0] == 0
    assert world.get(application, handle, MQGMO_SYNCPOINT).reason == 0
    assert world.back_out(application) == 0
    filled(world, "Q", [b"last"])
    expected = [(request.body, request.md) for request in world.messages("Q")]
    assert len(expected) == 101
    world.end()
    world.disk.remove("queues/Q.1")
    world.restart()
    assert world.engine.queues["Q"].damaged == f"{SLOTS} is missing"
    assert world.rebuild("Q") == 101
    audit_engine(world.engine)
    assert [(request.body, request.md) for request in world.messages("Q")] == expected
    assert int.from_bytes(expected[0][1][96:100], "little") == 1
    world.checkpoint()
    world.kill()
    world.restart()
    assert [(request.body, request.md) for request in world.messages("Q")] == expected


def test_a_damaged_queue_can_be_deleted_and_made_again(whole: SimulatedDisk) -> None:
    disk = whole.copy()
    damage(disk, SLOTS, 0)
    world = world_on(disk)
    world.restart()
    world.acknowledge(world.delete_queue("Q", purge=True))
    world.define_queue("Q")
    filled(world, "Q", [b"new"])
    world.checkpoint()
    world.kill()
    world.restart()
    assert (world.engine.queues["Q"].damaged, world.bodies("Q")) == ("", [b"new"])
