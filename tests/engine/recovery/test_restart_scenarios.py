"""Restart scenarios: events during a checkpoint, and the state after a crash."""

from __future__ import annotations

import pytest
from tests.world.world import World, damage

from ostler.engine.connection import Connection
from ostler.engine.core import JOURNAL_MARGIN_BYTES
from ostler.engine.handle import Handle
from ostler.engine.queue.slots import AVAILABLE
from ostler.engine.recovery.checkpoint import Checkpoint
from ostler.engine.syncpoint import back_out_oldest
from ostler.log import LogSettings, LogType
from ostler.model.constants import (
    MQGMO_BROWSE_FIRST,
    MQGMO_LOCK,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQRC_BACKED_OUT,
    MQRC_CONNECTION_BROKEN,
    MQRC_OBJECT_DAMAGED,
    MQRC_RESOURCE_PROBLEM,
)
from ostler.model.disk import DiskFull
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import PowerLost

LINEAR = LogSettings(primary_files=3, secondary_files=2, file_pages=512, log_type=LogType.LINEAR)
NPMCLASS_HIGH = 10


class Application:
    """An application with one queue open for everything, whose every answer is waited for."""

    def __init__(self, world: World, queue: str) -> None:
        self.world = world
        self.connection: Connection = world.connect()
        self.handle: Handle = world.open(self.connection, queue, MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_BROWSE)

    def put(self, body: bytes, syncpoint: bool = False, persistence: int = 1) -> None:
        answer = self.world.put(self.connection, self.handle, body, syncpoint=syncpoint, persistence=persistence)
        assert answer.reason == 0
        self.world.acknowledge(answer.lsn)

    def get(self, options: int = 0) -> bytes:
        request = self.world.get(self.connection, self.handle, options)
        assert request.reason == 0
        self.world.acknowledge(request.after_lsn)
        return request.body

    def commit(self) -> None:
        reason, lsn = self.world.commit(self.connection)
        assert reason == 0
        self.world.acknowledge(lsn)


def step_until(world: World, step: str) -> None:
    while True:
        done = world.step_checkpoint()
        assert done, f"the checkpoint has no step {step!r}"
        if done == step:
            return


def killed_and_restarted(world: World) -> World:
    world.kill()
    world.restart()
    audit_engine(world.engine)
    return world


STEPS = [
    "begun",
    "captured Q",
    "made the log durable for Q",
    "forced the file of Q",
    "wrote the slots of Q",
    "ended Q",
    "captured the catalogue",
    "wrote the catalogue",
    "captured the manifest",
    "wrote the manifest",
    "computed the restart LSN",
]


@pytest.mark.parametrize("step", STEPS)
def test_a_unit_that_commits_during_a_checkpoint_is_kept_whole(step: str) -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"old")
    application.get(MQGMO_SYNCPOINT)
    application.put(b"new", syncpoint=True)
    application.put(b"other")  # so that the queue is among those to be captured
    other = Application(world, "Q")
    step_until(world, step)
    application.commit()
    other.put(b"later")
    world.finish_checkpoint()
    assert killed_and_restarted(world).bodies("Q") == [b"new", b"other", b"later"]


def test_a_unit_that_commits_after_a_later_checkpoint_began_is_kept_whole() -> None:
    world = World.create()
    world.define_queue("Q")
    world.define_queue("R")
    application = Application(world, "Q")
    application.put(b"m", syncpoint=True)
    world.checkpoint()
    Application(world, "R").put(b"r")
    step_until(world, "captured R")
    application.commit()
    world.finish_checkpoint()
    assert killed_and_restarted(world).bodies("Q") == [b"m"]


def test_an_emptied_queue_is_not_replayed_twice() -> None:
    world = World.create()
    world.define_queue("Q")
    world.define_queue("R")
    application = Application(world, "Q")
    application.put(b"m")
    # An open unit of work keeps the log from before the get.
    Application(world, "R").put(b"r", syncpoint=True)
    assert application.get() == b"m"
    world.checkpoint()
    assert killed_and_restarted(world).bodies("Q") == []


def test_sequence_numbers_go_on_after_a_queue_was_emptied() -> None:
    world = World.create()
    queue = world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m")
    application.get()
    next_seq = queue.next_seq
    world.checkpoint()
    assert killed_and_restarted(world).engine.queues["Q"].next_seq == next_seq


def test_nonpersistent_messages_survive_an_orderly_end_once() -> None:
    world = World.create()
    world.define_queue("Q", {"NPMCLASS": NPMCLASS_HIGH})
    Application(world, "Q").put(b"m", persistence=0)
    world.end()
    world.restart()
    assert world.bodies("Q") == [b"m"]
    assert Application(world, "Q").get() == b"m"
    world.end()
    world.restart()
    assert world.bodies("Q") == []


def test_a_nonpersistent_message_got_by_a_unit_in_doubt_does_not_come_back() -> None:
    world = World.create()
    world.define_queue("Q", {"NPMCLASS": NPMCLASS_HIGH})
    application = Application(world, "Q")
    application.put(b"got", persistence=0)
    application.put(b"kept", persistence=0)
    application.get(MQGMO_SYNCPOINT)
    world.prepare(application.connection, b"xid")
    world.end()
    world.restart()
    audit_engine(world.engine)
    assert world.bodies("Q") == [b"kept"]


def test_nonpersistent_messages_are_gone_after_a_crash_behind_an_orderly_end() -> None:
    world = World.create()
    world.define_queue("Q", {"NPMCLASS": NPMCLASS_HIGH})
    Application(world, "Q").put(b"m", persistence=0)
    world.end()
    world.restart()
    assert killed_and_restarted(world).bodies("Q") == []
    world.end()
    world.restart()
    assert world.bodies("Q") == []


def test_nonpersistent_messages_of_an_ordinary_queue_are_gone_after_an_orderly_end() -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m", persistence=0)
    application.put(b"p")
    world.end()
    world.restart()
    assert world.bodies("Q") == [b"p"]


def test_a_definition_is_kept_when_the_disk_was_full_at_the_checkpoint() -> None:
    world = World.create()
    world.define_queue("P")
    world.checkpoint()
    world.define_queue("Q")
    world.disk.fill(10)
    with pytest.raises(DiskFull):
        world.checkpoint()
    world.disk.fill(1 << 30)
    world.checkpoint()
    assert sorted(killed_and_restarted(world).engine.queues) == ["P", "Q"]


def test_the_files_of_a_deleted_queue_go_although_the_disk_was_full() -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m")
    world.checkpoint()
    world.disconnect(application.connection)
    world.acknowledge(world.delete_queue("Q", purge=True))
    world.disk.fill(10)
    with pytest.raises(DiskFull):
        world.checkpoint()
    world.disk.fill(1 << 30)
    assert world.disk.exists("queues/Q.1/slots")
    world.checkpoint()
    assert not world.disk.exists("queues/Q.1")


def test_a_checkpoint_does_not_write_again_what_waits_to_be_spilled() -> None:
    world = World.create()
    queue = world.define_queue("Q")
    application = Application(world, "Q")
    for _ in range(6):
        application.put(bytes(30_000))
    world.checkpoint()
    for _ in range(5):
        application.put(bytes(30_000))
    assert queue.counters.spilled > 0
    audit_engine(world.engine)
    for _ in range(11):
        application.get()
    world.checkpoint()
    world.checkpoint()
    assert queue.file.size_bytes() <= 1 << 20


def test_a_prepared_put_written_again_forgets_what_its_slot_was_up_to() -> None:
    world = World.create(buffer_bytes=4096)
    world.define_queue("Q")
    first, second = Application(world, "Q"), Application(world, "Q")
    first.put(bytes(3000))
    second.put(bytes(3000), syncpoint=True)  # beyond the buffer: planned for the file
    _, lsn = world.prepare(second.connection, b"xid")
    world.acknowledge(lsn)
    first.get()
    world.checkpoint()
    killed_and_restarted(world)
    assert [unit.xid for unit in world.engine.units_of_work.values()] == [b"xid"]


def test_a_waiting_get_is_not_answered_into_a_unit_that_was_backed_out() -> None:
    world = World.create()
    world.define_queue("Q")
    world.define_queue("R")
    application = Application(world, "R")
    application.put(b"r", syncpoint=True)
    handle = world.open(application.connection, "Q", MQOO_INPUT_SHARED)
    waiting = world.get(application.connection, handle, MQGMO_SYNCPOINT | MQGMO_WAIT, wait_ms=-1)
    assert not waiting.done
    assert back_out_oldest(world.engine) is not None
    Application(world, "Q").put(b"m")
    assert (waiting.done, waiting.reason) == (True, MQRC_BACKED_OUT)
    assert world.commit(application.connection)[0] == MQRC_BACKED_OUT
    audit_engine(world.engine)
    assert world.bodies("Q") == [b"m"]
    assert world.bodies("R") == []


def test_a_waiting_get_does_not_receive_what_its_own_unit_gives_back() -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m")
    application.get(MQGMO_SYNCPOINT)
    waiting = world.get(application.connection, application.handle, MQGMO_SYNCPOINT | MQGMO_WAIT, wait_ms=-1)
    assert back_out_oldest(world.engine) is not None
    assert waiting.reason == MQRC_BACKED_OUT
    audit_engine(world.engine)
    assert world.bodies("Q") == [b"m"]


def test_an_application_that_goes_while_it_waits_takes_nothing_along() -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m")
    application.get(MQGMO_SYNCPOINT)
    waiting = world.get(application.connection, application.handle, MQGMO_SYNCPOINT | MQGMO_WAIT, wait_ms=-1)
    world.disconnect(application.connection)
    assert waiting.reason == MQRC_CONNECTION_BROKEN
    audit_engine(world.engine)
    assert world.bodies("Q") == [b"m"]


@pytest.mark.parametrize("step", ["captured the catalogue", "wrote the catalogue", "captured the manifest"])
def test_a_queue_deleted_while_the_catalogue_is_written_stays_deleted(step: str) -> None:
    world = World.create()
    world.define_queue("Q")
    world.define_queue("P")
    application = Application(world, "Q")
    application.put(b"1")
    world.checkpoint()
    application.put(b"2", syncpoint=True)
    world.define_queue("R")
    step_until(world, step)
    application.commit()
    application.get()
    application.get()
    world.disconnect(application.connection)
    world.acknowledge(world.delete_queue("Q"))
    world.finish_checkpoint()
    assert sorted(killed_and_restarted(world).engine.queues) == ["P", "R"]


@pytest.mark.parametrize("step", STEPS[5:])
def test_a_name_used_again_means_the_new_queue(step: str) -> None:
    world = World.create()
    world.define_queue("P")
    world.checkpoint()
    world.define_queue("Q")
    world.acknowledge(world.delete_queue("Q"))
    world.define_queue("Q")
    Application(world, "Q").put(b"m")
    step_until(world, step)
    assert killed_and_restarted(world).bodies("Q") == [b"m"]


def test_a_queue_damaged_while_running_stays_damaged() -> None:
    world = World.create()
    world.define_queue("Q")
    application = Application(world, "Q")
    for number in range(12):
        application.put(b"%d" % number + bytes(30_000))
    world.end()
    world.restart()
    application = Application(world, "Q")
    application.get()
    damage(world.disk, "queues/Q.1/messages", 35_000)
    request = world.get(application.connection, application.handle)
    assert request.reason == MQRC_OBJECT_DAMAGED
    world.checkpoint()
    world.kill()
    world.restart()
    assert "queues/Q.1/slots: damaged already" in world.engine.queues["Q"].damaged


def test_killed_in_a_checkpoint_then_the_power_fails() -> None:
    """A killed process leaves renamed files whose names are not durable; the next one must not build on them."""
    first = World.create()
    first.define_queue("Q")
    application = Application(first, "Q")
    application.put(b"1")
    first.checkpoint()
    application.put(b"2")
    changes = 0
    while True:
        world = World(first.disk.copy(), first.settings, first.buffer_bytes)
        world.restart()
        Application(world, "Q").put(b"3")
        world.disk.lose_power_after(changes)
        try:
            world.checkpoint()
            is_complete = True
        except PowerLost:
            is_complete = False
        world.disk.lose_power_after(-1)
        killed_and_restarted(world).checkpoint()
        world.disk = world.disk.crash_losing_all()
        world.restart()
        assert world.bodies("Q") == [b"1", b"2", b"3"], f"after {changes} changes to the disk"
        if is_complete:
            break
        changes += 1
    assert changes > 10


def test_a_torn_page_spoils_nothing_that_was_durable() -> None:
    """Messages written to the queue's file after a checkpoint do not share a page with those it speaks of."""
    first = World.create()
    first.define_queue("Q")
    application = Application(first, "Q")
    application.put(b"kept" + bytes(1000))
    first.checkpoint()
    for _ in range(4):
        application.put(bytes(100_000), persistence=0)
    assert first.engine.queues["Q"].counters.spilled > 0
    for seed in range(50):
        world = World(first.disk.crash(seed, garbage=True), first.settings, first.buffer_bytes)
        world.restart()
        assert [body[:4] for body in world.bodies("Q")] == [b"kept"]


def test_a_log_held_by_a_unit_in_doubt_refuses_rather_than_fails() -> None:
    world = World.create()
    world.define_queue("Q")
    application, in_doubt = Application(world, "Q"), Application(world, "Q")
    for number in range(40):
        application.put(b"%d" % number)
    for _ in range(4):
        in_doubt.put(bytes(100_000), syncpoint=True)
    unit, lsn = world.prepare(in_doubt.connection, b"xid")
    world.acknowledge(lsn)
    reason = 0
    while reason == 0:
        answer = world.put(application.connection, application.handle, bytes(50_000))
        world.settle(answer.lsn)
        reason = answer.reason
    assert reason == MQRC_RESOURCE_PROBLEM
    got = 0
    while True:
        request = world.get(application.connection, application.handle)
        world.settle(request.after_lsn)
        if request.reason != 0:
            break
        got += 1
    assert request.reason == MQRC_RESOURCE_PROBLEM
    assert got > 0
    world.settle(world.resolve(unit, False))
    assert len(world.bodies("Q")) >= 40 - got
    killed_and_restarted(world)
    assert Application(world, "Q").get() == b"%d" % got


def test_expired_messages_wait_for_room_in_the_log() -> None:
    world = World.create()
    queue = world.define_queue("Q")
    world.define_queue("R")
    application = Application(world, "Q")
    for _ in range(10):
        answer = world.put(application.connection, application.handle, b"short-lived", expiry_tenths=1)
        assert answer.reason == 0
    other = Application(world, "R")
    while world.log.room_bytes() >= JOURNAL_MARGIN_BYTES:
        size = 50_000 if world.log.room_bytes() > 100_000 else 0
        assert world.put(other.connection, other.handle, bytes(size), syncpoint=True).reason == 0
    world.tick(1000)
    world.expire()
    assert (world.bodies("Q"), queue.depth) == ([], 10)
    world.back_out(other.connection)
    world.checkpoint()
    world.expire()
    assert queue.depth == 0
    assert killed_and_restarted(world).bodies("Q") == []


def test_an_image_forgets_cursors_and_locks() -> None:
    world = World.create(settings=LINEAR)
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"m")
    application.get(MQGMO_BROWSE_FIRST | MQGMO_LOCK)
    world.record_image("Q")
    world.disconnect(application.connection)
    assert world.rebuild("Q") == 1
    audit_engine(world.engine)
    assert Application(world, "Q").get() == b"m"


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_unit_in_doubt_outlives_the_damage_of_its_queue(is_committed: bool) -> None:
    """Checkpoints while the queue is damaged, and after it was rebuilt, forget nothing of the unit."""
    world = World.create(settings=LINEAR)
    world.define_queue("Q")
    world.define_queue("R")
    application = Application(world, "Q")
    application.put(b"got")
    application.get(MQGMO_SYNCPOINT)
    application.put(b"put", syncpoint=True)
    _, lsn = world.prepare(application.connection, b"xid")
    world.acknowledge(lsn)
    world.checkpoint()
    world.kill()
    world.disk.remove("queues/Q.1/slots")
    world.restart()
    assert "queues/Q.1/slots is missing" in world.engine.queues["Q"].damaged
    for _ in range(3):
        Application(world, "R").put(b"r")
        world.checkpoint()
    world.rebuild("Q")
    world.checkpoint()
    killed_and_restarted(world)
    assert world.bodies("Q") == []
    [unit] = world.engine.units_of_work.values()
    world.resolve(unit, is_committed)
    assert world.bodies("Q") == ([b"put"] if is_committed else [b"got"])


def test_a_queue_can_be_rebuilt_although_a_crash_came_between_catalogue_and_manifest() -> None:
    world = World.create(settings=LINEAR)
    world.define_queue("P")
    world.checkpoint()
    world.define_queue("Q")
    Application(world, "Q").put(b"m")
    step_until(world, "wrote the catalogue")
    killed_and_restarted(world)
    assert world.rebuild("Q") == 1
    assert world.bodies("Q") == [b"m"]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_rebuilt_queue_gives_prepared_units_their_messages_once(is_committed: bool) -> None:
    world = World.create(settings=LINEAR)
    world.define_queue("Q")
    application = Application(world, "Q")
    application.put(b"got")
    application.get(MQGMO_SYNCPOINT)
    application.put(b"put", syncpoint=True)
    _, lsn = world.prepare(application.connection, b"xid")
    world.acknowledge(lsn)
    world.checkpoint()
    world.checkpoint()  # each writes the prepared unit to the log again
    damage(world.disk, "queues/Q.1/slots", 80)
    world.kill()
    world.restart()
    assert world.engine.queues["Q"].damaged
    world.rebuild("Q")
    audit_engine(world.engine)
    assert world.bodies("Q") == []
    [unit] = world.engine.units_of_work.values()
    world.resolve(unit, is_committed)
    audit_engine(world.engine)
    assert world.bodies("Q") == ([b"put"] if is_committed else [b"got"])
    again = world.get(application.connection, world.open(application.connection, "Q", MQOO_INPUT_SHARED))
    assert int.from_bytes(again.md[96:100], "little") == (0 if is_committed else 1)


def test_a_snapshot_in_slices_has_the_queue_of_the_moment_it_began() -> None:
    """Its first two slots are copied when it begins. What changes in the others before they are copied is saved."""
    world = World.create()
    world.define_queue("Q")
    here, other = Application(world, "Q"), Application(world, "Q")
    for number in range(8):
        here.put(b"%d" % number)
    other.put(b"uncommitted", syncpoint=True)
    step_until(world, "captured Q")
    assert here.get() == b"0"  # copied already
    for number in range(1, 6):
        assert here.get() == b"%d" % number
    here.put(b"in a slot of those")
    other.commit()
    assert other.get(MQGMO_SYNCPOINT) == b"6"
    world.back_out(other.connection)
    world.finish_checkpoint()
    expected = [(message.body, message.md[16:20]) for message in world.messages("Q")]
    killed_and_restarted(world)
    assert [(message.body, message.md[16:20]) for message in world.messages("Q")] == expected
    assert [body for body, _ in expected] == [b"6", b"7", b"uncommitted", b"in a slot of those"]


def test_a_snapshot_that_is_given_up_keeps_no_rows() -> None:
    world = World.create()
    queue = world.define_queue("Q")
    here = Application(world, "Q")
    for number in range(8):
        here.put(b"%d" % number)
    taken = Checkpoint(world.engine, False)
    assert taken.begin_queue(queue.queue_id) is not None
    taken.abandon()
    queue.slots.set_state(7, AVAILABLE)
    assert queue.slots.advance_capture(8) == {}
