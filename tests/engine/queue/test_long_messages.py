"""Long messages stay in memory while there is room; the rest is written to the queue's file."""

from __future__ import annotations

import pytest
from tests.world.world import World

from ostler.log import LogSettings
from ostler.model import constants as mq
from ostler.testing.simulation.audit import audit_engine

MEGABYTE = 1 << 20
OPEN = mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED


@pytest.fixture
def world() -> World:
    settings = LogSettings(primary_files=3, secondary_files=2, file_pages=8192)
    world = World.create(buffer_bytes=4_096, settings=settings)
    world.engine.long_messages.bytes_max = 4 * MEGABYTE
    return world


def fill(world: World, name: str, count: int, persistent: bool = False) -> None:
    application = world.connect()
    handle = world.open(application, name, OPEN)
    for number in range(count):
        put = world.put(application, handle, bytes([number]) * MEGABYTE, persistence=int(persistent))
        assert put.reason == 0
        world.acknowledge(put.lsn)
    world.disconnect(application)


def test_they_stay_in_memory_while_there_is_room(world: World) -> None:
    queue = world.define_queue("Q")
    fill(world, "Q", 3)
    assert queue.counters.spilled == 0
    assert world.engine.long_messages.used_bytes > 3 * MEGABYTE
    fill(world, "Q", 4)
    assert 2 <= queue.counters.spilled <= 4, "those beyond the room"
    audit_engine(world.engine)
    assert [body[:1] for body in world.bodies("Q")] == [b"\0", b"\1", b"\2", b"\0", b"\1", b"\2", b"\3"]


def test_persistent_ones_go_to_the_file(world: World) -> None:
    """They would need as much space again for the next checkpoint."""
    queue = world.define_queue("Q")
    fill(world, "Q", 3, persistent=True)
    assert queue.counters.spilled == 2
    assert world.engine.long_messages.used_bytes == 0
    audit_engine(world.engine)


def test_all_queues_share_the_room(world: World) -> None:
    first, second = world.define_queue("Q1"), world.define_queue("Q2")
    fill(world, "Q1", 3)
    fill(world, "Q2", 4)
    assert first.counters.spilled == 0
    assert second.counters.spilled > 0
    audit_engine(world.engine)


@pytest.mark.parametrize("how", ["get", "clear", "delete", "rebuild"])
def test_the_room_is_free_again_when_they_are_gone(world: World, how: str) -> None:
    world.define_queue("Q")
    world.record_image("Q")
    fill(world, "Q", 3, persistent=how == "rebuild")
    if how == "get":
        application = world.connect()
        handle = world.open(application, "Q", OPEN)
        for _ in range(3):
            assert world.get(application, handle).reason == 0
        world.disconnect(application)
    elif how == "clear":
        world.clear_queue("Q")
    elif how == "delete":
        world.delete_queue("Q", purge=True)
    else:
        world.rebuild("Q")
    audit_engine(world.engine)
    assert world.engine.long_messages.used_bytes == 0


def test_a_deleted_queue_with_an_uncommitted_message_gives_its_room_back_once(world: World) -> None:
    world.define_queue("Q")
    application = world.connect()
    handle = world.open(application, "Q", OPEN)
    assert world.put(application, handle, bytes(MEGABYTE), syncpoint=True, persistence=0).reason == 0
    assert world.engine.long_messages.used_bytes > 0
    world.back_out(application)
    assert world.engine.long_messages.used_bytes == 0
    audit_engine(world.engine)
