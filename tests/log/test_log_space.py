"""Extents: ahead of need, used again, secondary ones, linear ones, and a full disk."""

from __future__ import annotations

import dataclasses

import pytest

from ostler.log import LogDamaged, LogManagement, LogRefused, LogSettings, LogSpace, LogType, WriteIntegrity
from ostler.log.extents import CERTAIN_FREE_BYTES
from ostler.log.restart import create_log_of_any_size
from ostler.model.disk import DiskFailed
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

EXTENT_FILE_BYTES = 4 * 4096
EXTENT_BYTES = 3 * 4096
SMALL = LogSettings(primary_files=3, secondary_files=2, file_pages=4)
LINEAR = dataclasses.replace(SMALL, log_type=LogType.LINEAR)


def names(*numbers: int) -> list[str]:
    return [f"S{number:07d}.LOG" for number in numbers]


# -- circular


def test_a_circular_log_goes_round_many_times_in_its_primary_extents(log_life):
    life = log_life(SimulatedDisk())
    for number in range(200):
        life.commit(number.to_bytes(2, "little") * 1500)
        life.checkpoint(life.appended[-1][1] if number % 3 else life.appended[-2 if number else -1][1])
        life.keep_extents()
        assert len(life.extents()) == 3
    assert life.log.end_lsn() > 60 * EXTENT_BYTES
    again = log_life(life.disk.crash_losing_all())
    assert again.seen == life.appended[-1:] or again.seen == []
    again.commit(b"and on")
    assert log_life(again.disk.crash_losing_all()).payloads[-1] == b"and on"


def test_secondary_extents_come_when_restart_is_held_back_and_go_again(log_life):
    life = log_life(SimulatedDisk())
    while life.log.room_bytes() > 4000:
        life.commit(b"held back" * 400)
        life.keep_extents()
    life.commit(b"back out" * 500)
    life.keep_extents()
    assert life.extents() == names(0, 1, 2, 3, 4)
    status = life.log.status()
    assert status.in_use_percent > 100
    assert life.log.is_filling()
    assert life.log.needs_checkpoint()
    life.checkpoint()
    life.keep_extents()
    current = int(life.log.status().current_extent[1:8])
    assert life.extents() == names(current, current + 1, current + 2)
    assert not life.log.is_filling()
    assert not life.log.needs_checkpoint()
    assert life.log.status().in_use_percent < 100
    assert life.log.room_bytes() > EXTENT_BYTES


def test_the_reserve_takes_back_outs_and_a_checkpoint_when_there_is_no_room(log_life):
    life = log_life(SimulatedDisk())
    while life.log.room_bytes() > 0:
        life.commit(b"x" * min(2000, life.log.room_bytes()))
    assert life.log.reserve_room_bytes() > 4096
    life.commit(b"back out")
    life.commit(b"checkpoint")
    life.checkpoint()
    assert life.log.room_bytes() > EXTENT_BYTES
    assert log_life(life.disk.crash_losing_all()).seen == []


def test_a_log_written_beyond_its_reserve_keeps_the_batch_until_a_checkpoint(log_life):
    life = log_life(SimulatedDisk())
    durable = life.commit(b"x" * 4 * EXTENT_BYTES)
    life.append(b"y" * 2 * EXTENT_BYTES)
    batch = life.log.take_batch()
    assert batch is not None
    with pytest.raises(LogSpace, match="log is full"):
        life.writer.write_batch(batch)
    assert life.log.durable_lsn() == durable
    life.checkpoint()
    life.writer.write_batch(batch)
    life.log.batch_durable(batch)
    assert log_life(life.disk.crash_losing_all()).seen == life.appended[1:]


@pytest.mark.parametrize("integrity", list(WriteIntegrity))
def test_room_is_never_more_than_what_can_be_written(log_life, integrity):
    for size in range(0, 13_000, 419):
        life = log_life(SimulatedDisk(), dataclasses.replace(SMALL, write_integrity=integrity))
        life.commit(b"before" * (size // 6))
        life.append(b"r" * life.log.room_bytes())
        assert life.log.room_bytes() < EXTENT_BYTES // 8
        while (room := life.log.reserve_room_bytes()) > 0:
            life.append(b"s" * room)
        life.commit()
        assert 0.9 < life.log.space_used_fraction() <= 1.0
        assert log_life(life.disk).seen == life.appended


def test_the_buffer_is_full_when_the_writer_is_behind(log_life):
    life = log_life(SimulatedDisk(), dataclasses.replace(SMALL, secondary_files=40, buffer_pages=18))
    life.append(b"b" * 17 * 4096)
    assert not life.log.buffer_is_full()
    life.append(b"b" * 4096)
    assert life.log.buffer_is_full()
    life.commit()
    assert not life.log.buffer_is_full()


def test_more_primary_files_are_made_after_a_change_of_settings(log_life):
    disk = log_life(SimulatedDisk()).disk
    life = log_life(disk, dataclasses.replace(SMALL, primary_files=5))
    life.keep_extents()
    assert life.extents() == names(0, 1, 2, 3, 4)
    fewer = log_life(disk, dataclasses.replace(SMALL, primary_files=2))
    fewer.commit(b"z" * EXTENT_BYTES)
    fewer.checkpoint()
    fewer.keep_extents()
    assert fewer.extents()[-1] == names(4)[0]
    assert fewer.log.room_bytes() > 0


def test_a_log_that_is_fuller_than_new_settings_allow_still_takes_a_checkpoint(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"full" * (EXTENT_BYTES + 700))
    fewer = log_life(life.disk, dataclasses.replace(SMALL, primary_files=2, secondary_files=1))
    assert fewer.seen == life.appended
    assert fewer.log.room_bytes() == 0
    assert fewer.log.reserve_room_bytes() > 0
    fewer.commit(b"checkpoint")
    fewer.checkpoint()
    fewer.keep_extents()
    assert fewer.log.room_bytes() > 0


# -- linear


def test_a_linear_log_keeps_what_media_recovery_needs(log_life):
    life = log_life(SimulatedDisk(), LINEAR)
    for _ in range(7):
        life.commit(b"l" * 11_000)
        life.checkpoint()
        life.keep_extents()
    assert life.extents() == names(*range(9))
    status = life.log.status()
    assert (status.media_extent, status.restart_extent, status.current_extent) == tuple(names(0, 6, 6))
    assert status.media_bytes > 5 * EXTENT_BYTES
    collector = type(life.visitor)()
    life.log.read_from(0, collector, life.log.durable_lsn())
    assert collector.records == life.appended

    life.writer.set_media_lsn(life.appended[3][1])
    assert life.log.status().reusable_bytes == 3 * EXTENT_FILE_BYTES
    life.keep_extents()
    assert life.extents() == names(*range(3, 9))
    life.log.read_from(life.appended[3][1], collector, life.log.durable_lsn())
    assert collector.records[7:] == life.appended[4:]
    again = log_life(life.disk.crash_losing_all(), LINEAR)
    assert again.seen == []
    again.log.read_from(life.appended[3][1], collector, again.log.durable_lsn())
    assert collector.records[10:] == life.appended[4:]


def test_manual_management_keeps_and_lists(log_life):
    manual = dataclasses.replace(LINEAR, management=LogManagement.MANUAL)
    life = log_life(SimulatedDisk(), manual)
    for _ in range(5):
        life.commit(b"l" * 11_000)
    life.checkpoint()
    life.writer.set_media_lsn(life.log.durable_lsn())
    life.keep_extents()
    assert life.writer.extents_not_needed() == names(0, 1, 2, 3)
    assert life.extents() == names(*range(7))
    life.disk.remove("log/active/S0000000.LOG")
    again = log_life(life.disk, manual)
    assert again.writer.extents_not_needed() == names(1, 2, 3)
    # Turned automatic, the log uses them up.
    automatic = log_life(life.disk, LINEAR)
    automatic.keep_extents()
    assert automatic.extents() == names(4, 5, 6)


def test_archive_management_waits_for_the_archive(log_life):
    archive = dataclasses.replace(LINEAR, management=LogManagement.ARCHIVE)
    life = log_life(SimulatedDisk(), archive)
    for _ in range(5):
        life.commit(b"l" * 11_000)
    life.checkpoint()
    life.writer.set_media_lsn(life.log.durable_lsn())
    life.keep_extents()
    assert life.writer.extents_not_needed() == names(0, 1, 2, 3)
    assert life.log.status().archive_extent == "S0000000.LOG"
    life.writer.set_archived(1)
    assert life.writer.extents_not_needed() == names(2, 3)
    life.keep_extents()
    assert life.extents() == names(*range(2, 7))
    assert life.log.status().archive_extent == "S0000002.LOG"
    for wrong in (1, 4, 99):
        with pytest.raises(LogRefused):
            life.writer.set_archived(wrong)
    again = log_life(life.disk.crash_losing_all(), archive)
    assert again.writer.extents_not_needed() == names(2, 3)


# -- a full disk


def test_a_full_disk_shows_as_little_room_and_a_checkpoint_makes_room_again(log_life):
    life = log_life(SimulatedDisk())
    plenty = life.log.room_bytes()
    life.disk.fill(1000)
    assert life.writer.allocate_ahead() is False
    assert 0 < life.log.room_bytes() < plenty - EXTENT_BYTES
    while (room := life.log.room_bytes()) > 0:
        life.commit(b"p" * min(room, 3000))
        life.keep_extents()
    assert life.extents() == names(0, 1, 2)
    assert life.log.is_filling()
    # Gets and the checkpoint go on in the reserve; extents are used again without a byte from the disk.
    life.commit(b"get", b"checkpoint")
    life.checkpoint()
    life.keep_extents()
    assert life.log.room_bytes() > 0
    assert not life.log.is_filling()
    life.commit(b"q" * 3000)
    assert log_life(life.disk.crash_losing_all()).payloads == [b"q" * 3000]


def test_a_disk_that_fills_up_behind_our_back_loses_no_batch(log_life):
    life = log_life(SimulatedDisk())
    kept = life.commit(b"kept")
    life.append(b"waits" * 8000)
    batch = life.log.take_batch()
    assert batch is not None
    life.disk.fill(EXTENT_FILE_BYTES // 2)
    with pytest.raises(LogSpace, match="disk is full"):
        life.writer.write_batch(batch)
    with pytest.raises(LogSpace, match="disk is full"):
        life.writer.write_batch(batch)
    assert life.log.durable_lsn() == kept
    assert life.extents() == names(0, 1, 2)
    assert log_life(life.disk.crash_keeping_all()).payloads == [b"kept"]
    life.disk.fill(4 * EXTENT_FILE_BYTES)
    life.writer.write_batch(batch)
    life.log.batch_durable(batch)
    assert log_life(life.disk.crash_losing_all()).payloads == [b"kept", b"waits" * 8000]


def test_a_disk_with_space_again_is_noticed_when_idle(log_life):
    life = log_life(SimulatedDisk())
    life.disk.fill(0)
    life.commit(b"n" * (2 * EXTENT_BYTES + EXTENT_BYTES * 3 // 4))
    assert life.writer.allocate_ahead() is False
    assert life.log.room_bytes() == 0
    life.disk.fill(10 * EXTENT_FILE_BYTES)
    assert life.log.room_bytes() == 0
    life.writer.allocate_ahead()
    assert life.extents() == names(0, 1, 2, 3)
    life.keep_extents()
    assert life.log.room_bytes() > 1000


def test_a_disk_too_small_for_a_new_log(log_life):
    disk = SimulatedDisk(capacity_bytes=2 * EXTENT_FILE_BYTES)
    with pytest.raises(LogSpace, match=r"S0000002\.LOG"):
        create_log_of_any_size(disk, "log", SMALL, bytes(16))
    assert not disk.exists("log/amqhlctl.lfh")
    disk.fill(10 * EXTENT_FILE_BYTES)
    create_log_of_any_size(disk, "log", SMALL, bytes(16))
    assert log_life(disk).seen == []


def test_a_full_disk_that_refuses_to_overwrite(log_life):
    life = log_life(SimulatedDisk(copy_on_write=True))
    kept = life.commit(b"kept")
    life.append(b"waits")
    batch = life.log.take_batch()
    assert batch is not None
    # Enough for the first bytes of a write: a control slot that got them fails its checksum.
    life.disk.fill(24)
    for _ in range(3):
        with pytest.raises(LogSpace, match="cannot be written"):
            life.writer.write_batch(batch)
        with pytest.raises(LogSpace, match="control file"):
            life.writer.note_checkpoint(kept, kept, 1)
        # Half a slot may have been written; the good one is still there.
        assert log_life_on_roomy_copy(log_life, life.disk).payloads == [b"kept"]
    life.disk.fill(100_000)
    life.writer.write_batch(batch)
    life.log.batch_durable(batch)
    life.writer.note_checkpoint(kept, kept, 1)
    assert log_life(life.disk.crash_losing_all()).payloads == [b"waits"]


def log_life_on_roomy_copy(log_life, disk: SimulatedDisk):
    copy = disk.crash_keeping_all()
    copy.fill(100_000)
    return log_life(copy)


class BoastfulDisk(SimulatedDisk):
    """Says it has space that a quota does not let us use."""

    boast_bytes = 1 << 40

    def free_bytes(self) -> int:
        return self.boast_bytes


def test_a_disk_whose_promise_of_space_did_not_hold_is_not_believed_again(log_life):
    disk = BoastfulDisk()
    life = log_life(disk)
    disk.fill(0)
    life.commit(b"n" * (2 * EXTENT_BYTES + EXTENT_BYTES * 3 // 4))
    assert life.log.room_bytes() > 0
    assert life.writer.allocate_ahead() is False
    assert life.log.room_bytes() == 0
    disk.fill(10 * EXTENT_FILE_BYTES)
    assert life.writer.allocate_ahead() is False
    disk.boast_bytes += EXTENT_FILE_BYTES
    assert life.log.room_bytes() == 0
    life.writer.allocate_ahead()
    assert life.log.room_bytes() > 0
    assert life.extents() == names(0, 1, 2, 3)


def test_what_a_quota_may_refuse_is_no_room_however_often_the_disk_says_more(log_life):
    disk = BoastfulDisk()
    life = log_life(disk)
    disk.fill(0)
    life.commit(b"n" * (2 * EXTENT_BYTES + EXTENT_BYTES * 3 // 4))
    assert life.writer.allocate_ahead() is False
    disk.boast_bytes *= 2
    assert life.writer.allocate_ahead() is False
    assert life.log.room_bytes() == 0


def test_extents_that_others_may_take_the_space_of_are_no_room(log_life):
    life = log_life(SimulatedDisk())
    plenty = life.log.room_bytes()
    life.disk.fill(CERTAIN_FREE_BYTES - 1)
    life.keep_extents()
    assert 0 < life.log.room_bytes() < plenty - EXTENT_BYTES
    # They are made before they are needed, and count then.
    while life.log.room_bytes() > 3000:
        life.commit(b"p" * 3000)
        life.keep_extents()
    assert len(life.extents()) == SMALL.primary_files + SMALL.secondary_files


def test_an_interrupted_allocation_is_cleared_away(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"n" * (2 * EXTENT_BYTES + EXTENT_BYTES * 3 // 4))
    life.disk.lose_power_after(2)
    with pytest.raises(PowerLost):
        life.writer.allocate_ahead()
    disk = life.disk.crash_keeping_all()
    assert "NEXT.TMP" in disk.names("log/active")
    again = log_life(disk)
    assert again.extents() == names(0, 1, 2)
    assert again.seen == life.appended


@pytest.mark.parametrize("harm", ["header", "size", "gap"])
def test_an_extent_ahead_that_is_not_whole_is_damage(log_life, harm):
    """It was whole when it got its name, and the control file knows that it was there."""
    disk = log_life(SimulatedDisk()).disk
    path = "log/active/S0000001.LOG"
    if harm == "header":
        disk.corrupt(path, 3, b"?")
    elif harm == "size":
        disk.open(path, False).truncate(5000)
    else:
        disk.remove(path)
    with pytest.raises(LogDamaged) as refused:
        log_life(disk)
    assert (refused.value.file, refused.value.offset) == (path, 5000 if harm == "size" else 0)


def test_spare_extents_before_and_behind_the_stream_do_not_get_in_each_others_way(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"x" * 2 * EXTENT_BYTES)
    life.keep_extents()
    life.commit(b"y" * 2000)
    life.keep_extents()
    life.checkpoint()
    # Extents 0 and 1 are spare; 3 is ready, and so is 4 when it is made again.
    life.disk.open("log/active/S0000004.LOG", True).write_at(0, [bytes(EXTENT_FILE_BYTES)])
    assert life.extents() == names(0, 1, 2, 3, 4)
    again = log_life(life.disk)
    again.keep_extents()
    assert again.extents() == names(2, 3, 4)
    again.commit(b"z" * 2 * EXTENT_BYTES)
    assert log_life(life.disk.crash_losing_all()).seen == again.appended


def test_a_failed_force_is_not_swallowed(log_life):
    life = log_life(SimulatedDisk())
    durable = life.commit(b"one")
    life.append(b"two")
    batch = life.log.take_batch()
    assert batch is not None
    life.disk.fail_force()
    with pytest.raises(DiskFailed):
        life.writer.write_batch(batch)
    assert life.log.durable_lsn() == durable
    with pytest.raises(AssertionError):
        life.log.batch_durable(batch)


# -- metrics


def test_what_the_log_counts(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"a" * 1000, b"b" * 1000)
    life.commit(b"c" * 5000)
    metrics = life.log.metrics
    assert (metrics.records, metrics.logical_bytes, metrics.writes, metrics.forces) == (3, 7000, 2, 2)
    assert (metrics.physical_bytes, metrics.write_bytes_last, metrics.write_bytes_highest) == (12288, 8192, 8192)
    assert 4096 <= metrics.write_bytes_average <= 8192
    life.commit(b"d" * 20_000)
    life.checkpoint()
    assert metrics.checkpoints == 1
    assert metrics.utilisation_percent == life.log.end_lsn() * 100 // (3 * EXTENT_BYTES)
    status = life.log.status()
    assert status.extent_bytes == EXTENT_FILE_BYTES
    assert status.capacity_bytes == 5 * EXTENT_BYTES
    assert (status.current_extent, status.restart_extent, status.media_extent) == ("S0000002.LOG", "S0000002.LOG", "")
