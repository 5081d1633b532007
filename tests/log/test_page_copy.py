"""DoubleWrite: the page that is written again is copied first, and a restart reads it through the copy."""

from __future__ import annotations

import dataclasses

import pytest

from ostler.log import LogDamaged, LogSettings, LogSpace, WriteIntegrity, open_log
from ostler.log.errors import LogNewer
from ostler.log.page_copy import COPY_BYTES, SavedPage, read_page_copy
from ostler.log.stream_format import PAGE_BYTES, StreamShape
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

SINGLE = LogSettings(primary_files=3, secondary_files=2, file_pages=4, write_integrity=WriteIntegrity.SINGLE_WRITE)
DOUBLE = dataclasses.replace(SINGLE, write_integrity=WriteIntegrity.DOUBLE_WRITE)
TRIPLE = dataclasses.replace(SINGLE, write_integrity=WriteIntegrity.TRIPLE_WRITE)
COPY = "log/active/PAGE.COPY"
EXTENT = "log/active/S0000000.LOG"


def spoil(disk: SimulatedDisk, lsn: int, end: int) -> None:
    disk.corrupt(EXTENT, PAGE_BYTES + lsn, b"\xa5" * (end - lsn))


def interrupted(log_life, settings: LogSettings, size: int) -> tuple[SimulatedDisk, int]:
    """A log whose last page is being written again: the disk, and the end of what is durable."""
    life = log_life(SimulatedDisk(), settings)
    life.commit(b"one")
    durable = life.commit(b"two")
    life.append(b"3" * size)
    batch = life.log.take_batch()
    assert batch is not None
    # Power fails at the force of the page itself, the last change of the batch.
    life.disk.lose_power_after(3 if settings.copies_pages() else 1)
    with pytest.raises(PowerLost):
        life.writer.write_batch(batch)
    life.disk.lose_power_after(-1)
    return life.disk.crash_keeping_all(), durable


@pytest.mark.parametrize("size", [5, 3000, 6000])
def test_a_page_spoiled_while_it_is_written_again_costs_nothing_durable(log_life, size):
    disk, durable = interrupted(log_life, DOUBLE, size)
    for lsn in range(durable + 48):
        torn = disk.copy()
        spoil(torn, lsn, PAGE_BYTES)
        after = log_life(torn, DOUBLE)
        assert after.payloads == [b"one", b"two"]
        assert durable <= after.log.end_lsn() < durable + 8
        assert after.log.restart_report.is_page_restored == (lsn < durable)
    whole = log_life(disk, DOUBLE)
    assert not whole.log.restart_report.is_page_restored
    assert whole.payloads == [b"one", b"two", b"3" * size]


def test_single_write_loses_them_and_says_so(log_life):
    disk, durable = interrupted(log_life, SINGLE, 3000)
    spoil(disk, durable - 8, PAGE_BYTES)
    # Only the notes of the end tell that something durable is missing; one of them is of the start of this life.
    assert log_life(disk, SINGLE).payloads == [b"one"]


def test_an_incomplete_copy_is_not_used(log_life):
    disk, durable = interrupted(log_life, DOUBLE, 5)
    copy = disk.open(COPY, False).read_at(0, COPY_BYTES)
    length = len(copy.rstrip(b"\0"))
    for cut in range(length):
        torn = disk.copy()
        torn.corrupt(COPY, cut, bytes(length - cut))
        assert read_page_copy(torn, "log/active", StreamShape(bytes(range(16)), 4)) is None
        assert log_life(torn, DOUBLE).payloads == [b"one", b"two", b"3" * 5]
    assert durable > 0


def test_the_copy_is_forced_before_the_page_is_written(log_life):
    life = log_life(SimulatedDisk(), DOUBLE)
    life.commit(b"one")
    life.append(b"two")
    batch = life.log.take_batch()
    assert batch is not None
    before = life.disk.open(EXTENT, False).read_at(0, 3 * PAGE_BYTES)
    for changes in range(2):  # the write of the copy, and its force
        disk = life.disk
        disk.lose_power_after(changes)
        with pytest.raises(PowerLost):
            life.writer.write_batch(batch)
        disk.lose_power_after(-1)
        assert disk.open(EXTENT, False).read_at(0, 3 * PAGE_BYTES) == before


def test_no_copy_where_the_page_holds_nothing_durable(log_life):
    life = log_life(SimulatedDisk(), DOUBLE)
    life.commit(b"one")
    assert life.log.metrics.page_copies == 0
    fill = PAGE_BYTES - life.log.end_lsn() % PAGE_BYTES - 64
    end = life.commit(b"f" * fill)
    assert life.log.metrics.page_copies == 1
    assert -end % PAGE_BYTES < 8
    life.commit(b"on the next page")
    assert life.log.metrics.page_copies == 1


def test_a_restart_writes_the_page_back_and_an_examination_does_not(log_life):
    disk, durable = interrupted(log_life, DOUBLE, 3000)
    spoil(disk, 0, PAGE_BYTES)
    spoiled = disk.open(EXTENT, False).read_at(PAGE_BYTES, PAGE_BYTES)
    collector = type(log_life(SimulatedDisk()).visitor)()
    report = open_log(disk, "log").examine(collector)
    assert [payload for _, _, payload in collector.records] == [b"one", b"two"]
    assert durable <= report.end_lsn < durable + 8
    assert disk.open(EXTENT, False).read_at(PAGE_BYTES, PAGE_BYTES) == spoiled
    log_life(disk, DOUBLE)
    disk.remove(COPY)
    assert log_life(disk.crash_losing_all(), SINGLE).payloads == [b"one", b"two"]


@pytest.mark.parametrize("next_settings", [SINGLE, TRIPLE])
def test_the_next_life_may_do_without_copies(log_life, next_settings):
    disk, _ = interrupted(log_life, DOUBLE, 3000)
    spoil(disk, 0, PAGE_BYTES)
    life = log_life(disk, next_settings)
    assert life.payloads == [b"one", b"two"]
    assert not disk.exists(COPY)
    life.commit(b"more")
    assert log_life(disk.crash_losing_all(), DOUBLE).payloads == [b"one", b"two", b"more"]


def test_the_first_batch_of_a_life_copies_the_page_where_the_last_one_ended(log_life):
    disk = log_life(SimulatedDisk(), SINGLE)
    disk.commit(b"from a life without copies")
    life = log_life(disk.disk, DOUBLE)
    life.commit(b"next")
    assert life.log.metrics.page_copies == 1
    spoil(life.disk, 0, 32)
    assert log_life(life.disk, DOUBLE).payloads == [b"from a life without copies", b"next"]


def test_damage_that_no_copy_covers_is_refused(log_life):
    life = log_life(SimulatedDisk(), DOUBLE)
    for number in range(4):
        life.commit(b"%d" % number * 3000)
    life.writer.note_end()
    spoil(life.disk, 100, 200)
    with pytest.raises(LogDamaged):
        log_life(life.disk, DOUBLE)


def test_a_full_disk_leaves_the_batch_to_be_written_again(log_life):
    disk = SimulatedDisk(copy_on_write=True)
    life = log_life(disk, DOUBLE)
    life.commit(b"one")
    life.append(b"two")
    batch = life.log.take_batch()
    assert batch is not None
    disk.fill(0)
    with pytest.raises(LogSpace):
        life.writer.write_batch(batch)
    disk.fill(1 << 20)
    life.writer.write_batch(batch)
    life.log.batch_durable(batch)
    assert log_life(disk.crash_losing_all(), DOUBLE).payloads == [b"one", b"two"]


def test_a_copy_of_a_newer_format_is_not_passed_over(log_life):
    disk, _ = interrupted(log_life, DOUBLE, 5)
    disk.corrupt(COPY, 8, b"\x07")
    with pytest.raises(LogNewer):
        open_log(disk, "log")


def test_a_saved_page_is_laid_over_what_was_read():
    saved = SavedPage(100, b"SAVED")
    assert saved.laid_over(b"0123456789", 98) == b"01SAVED789"
    assert saved.laid_over(b"0123456789", 102) == b"VED3456789"
    assert saved.laid_over(b"0123456789", 92) == b"01234567SA"
    assert saved.laid_over(b"0123", 105) == b"0123"
    assert saved.laid_over(b"0123", 96) == b"0123"
