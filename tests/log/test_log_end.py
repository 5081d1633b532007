"""Torn tails end the log cleanly; damage refuses to start and names the place."""

from __future__ import annotations

import dataclasses

import pytest

from ostler.log import LogDamaged, LogSettings, WriteIntegrity
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

FIRST = "log/active/S0000000.LOG"
PACKED = LogSettings(primary_files=3, secondary_files=2, file_pages=4, write_integrity=WriteIntegrity.SINGLE_WRITE)
PADDED = dataclasses.replace(PACKED, write_integrity=WriteIntegrity.TRIPLE_WRITE)
INTEGRITIES = pytest.mark.parametrize("integrity", list(WriteIntegrity))
ANYTHING = b"\xa5\x5a\xff"


def zero_tail(disk: SimulatedDisk, path: str, offset: int) -> SimulatedDisk:
    twin = disk.copy()
    twin.corrupt(path, offset, bytes(twin.open(path, False).size_bytes() - offset))
    return twin


def cut_tail(disk: SimulatedDisk, path: str, offset: int) -> SimulatedDisk:
    twin = disk.copy()
    file = twin.open(path, False)
    file.truncate(offset)
    file.force()
    return twin


@INTEGRITIES
def test_a_log_zeroed_from_any_byte_on_is_a_prefix_and_goes_on(log_life, integrity):
    settings = dataclasses.replace(PACKED, write_integrity=integrity)
    life = log_life(SimulatedDisk(), settings)
    life.commit(b"first", b"second" * 9)
    life.commit(b"third" * 60)
    life.commit(b"fourth", b"fifth" * 5)
    end = 4096 + life.log.end_lsn()
    # The blocks take less than 1000 bytes. What follows in a page is padding, one byte of it like the next.
    for offset in [at for at in range(4096, end + 1) if at % 4096 < 1000 or at % 4096 > 4090]:
        cut_life = log_life(zero_tail(life.disk, FIRST, offset), settings)
        seen = cut_life.seen
        assert seen == life.appended[: len(seen)]
        # Batches are there as a whole or not at all, and those that end before the cut are there. A block that ended
        # in zeros may outlive the zeroing of its last bytes.
        whole = sum(4096 + lsn <= offset for _, lsn, _ in life.appended)
        assert len(seen) in (0, 2, 3, 5)
        assert len(seen) >= max(count for count in (0, 2, 3, 5) if count <= whole)
        cut_life.commit(b"goes on")
        again = log_life(cut_life.disk.crash_losing_all(), settings)
        assert again.payloads == [*cut_life.payloads, b"goes on"]


def test_an_extent_that_is_shorter_than_it_was_made_is_damage_wherever_it_ends(log_life):
    life = log_life(SimulatedDisk(), PACKED)
    life.commit(b"first", b"second" * 9)
    for extent in range(3):
        path = f"log/active/S{extent:07d}.LOG"
        for size in [*range(0, 16384, 97), 4096, 16383]:
            disk = cut_tail(life.disk, path, size)
            with pytest.raises(LogDamaged) as refused:
                log_life(disk, PACKED)
            assert (refused.value.file, refused.value.offset) == (path, size)
            assert disk.open(path, False).size_bytes() == size


def test_a_missing_extent_is_damage_whichever_it_is(log_life):
    life = log_life(SimulatedDisk())
    for number in range(4):
        life.commit(b"%d" % number * 11_000)
        disks = [life.disk.copy() for _ in life.extents()]
        for disk, name in zip(disks, life.extents(), strict=True):
            disk.remove(f"log/active/{name}")
            with pytest.raises(LogDamaged, match="the file is missing") as refused:
                log_life(disk)
            assert refused.value.file == f"log/active/{name}"
    assert len(life.extents()) == 4


def test_an_extent_may_be_lost_unseen_only_before_anything_was_written_to_it(log_life):
    """The power fails while extents are made: whatever is left, a batch in an extent means that it is known."""
    for changes in range(60):
        life = log_life(SimulatedDisk())
        life.commit(b"a" * 11_000)
        life.commit(b"b" * 11_000)
        life.disk.lose_power_after(changes)
        try:
            for letter in (b"c", b"d", b"e"):
                life.commit(letter * 11_000)
                life.keep_extents()
        except PowerLost:
            pass
        life.disk.lose_power_after(-1)
        disk = life.disk.crash(changes)
        used = [name for name in disk.names("log/active") if name.startswith("S") and is_used(disk, name)]
        log_life(disk.copy())
        disk.remove(f"log/active/{used[-1]}")
        with pytest.raises(LogDamaged):
            log_life(disk)


def is_used(disk: SimulatedDisk, name: str) -> bool:
    file = disk.open(f"log/active/{name}", False)
    number = file.read_at(16, 8)
    return file.read_at(4096, 4) == b"OLB1" and int(name[1:8]) == int.from_bytes(number, "little")


@INTEGRITIES
def test_all_that_was_noted_must_read_back_and_all_behind_may_be_torn(log_life, integrity):
    settings = dataclasses.replace(PACKED, write_integrity=integrity)
    life = log_life(SimulatedDisk(), settings)
    life.commit(b"first")
    noted = life.commit(b"second" * 30)
    assert life.writer.has_new_end()
    life.writer.note_end()
    assert life.writer.has_new_end()  # the other copy is behind
    life.writer.note_end()
    assert not life.writer.has_new_end()
    start = life.log.durable_lsn() + 4095 & ~4095 if settings.pages_are_final() else noted + 7 & ~7
    end = life.commit(b"third" * 30)
    # Without the copy of the page, which DoubleWrite would mend it from.
    life.disk.remove("log/active/PAGE.COPY")
    for lsn in range(0, noted, 7):
        with pytest.raises(LogDamaged):
            log_life(zero_tail(life.disk, FIRST, 4096 + lsn), settings)
    for lsn in range(start, end - 8, 7):
        assert log_life(zero_tail(life.disk, FIRST, 4096 + lsn), settings).payloads == [b"first", b"second" * 30]


@pytest.mark.parametrize("notes", [1, 2])
def test_one_spoiled_copy_of_the_note_is_made_up_for_by_the_other(log_life, notes):
    life = log_life(SimulatedDisk())
    life.commit(b"first")
    life.commit(b"second")
    for _ in range(notes):
        life.writer.note_end()
    life.disk.corrupt(FIRST, 8192 + 60, ANYTHING)
    for page in (2, 3):
        disk = life.disk.copy()
        disk.corrupt("log/amqhlctl.lfh", page * 4096 + 30, ANYTHING)
        if notes == 2:
            with pytest.raises(LogDamaged):
                log_life(disk)
    disk.corrupt("log/amqhlctl.lfh", 2 * 4096 + 30, ANYTHING)
    with pytest.raises(LogDamaged, match="neither of the two notes") as refused:
        log_life(disk)
    assert (refused.value.file, refused.value.offset) == ("log/amqhlctl.lfh", 2 * 4096)


def test_a_note_that_the_power_cut_off_leaves_the_one_before(log_life):
    for seed in range(40):
        life = log_life(SimulatedDisk())
        life.commit(b"first")
        life.writer.note_end()
        life.commit(b"second")
        life.disk.lose_power_after(seed % 2)
        with pytest.raises(PowerLost):
            life.writer.note_end()
        life.disk.lose_power_after(-1)
        disk = life.disk.crash(seed, garbage=True)
        assert log_life(disk.copy()).payloads == [b"first", b"second"]
        disk.corrupt(FIRST, 4096 + 60, ANYTHING)
        with pytest.raises(LogDamaged):
            log_life(disk)


def test_a_full_disk_leaves_the_last_note(log_life):
    life = log_life(SimulatedDisk(copy_on_write=True))
    life.commit(b"first")
    life.writer.note_end()
    life.writer.note_end()
    life.commit(b"second")
    life.disk.fill(24)
    for _ in range(3):
        life.writer.note_end()
    life.disk.fill(1 << 20)
    assert log_life(life.disk).payloads == [b"first", b"second"]


def test_a_spoiled_last_block_is_told_whatever_byte_of_it_is_spoiled(log_life):
    """It looks like a torn write, so the log ends before it; but that something was there is told."""
    life = log_life(SimulatedDisk())
    life.commit(b"first")
    life.commit(b"second" * 20)
    for offset in range(8192, 4096 + life.log.durable_lsn()):
        disk = life.disk.copy()
        old = disk.open(FIRST, False).read_at(offset, 1)
        disk.corrupt(FIRST, offset, bytes([old[0] ^ 0x10]))
        again = log_life(disk)
        assert again.payloads == [b"first"]
        assert again.log.restart_report.dropped_bytes >= 48, offset
        assert (again.log.restart_report.end_file, again.log.restart_report.end_offset) == (FIRST, 8192)


def test_nothing_is_told_as_dropped_of_a_log_that_ends_where_it_was_forced(log_life):
    life = log_life(SimulatedDisk())
    assert life.log.restart_report.dropped_bytes == 0
    assert log_life(life.disk.copy()).log.restart_report.dropped_bytes == 0
    for number in range(12):
        life.commit(b"%d" % number * 500)
        again = log_life(life.disk.copy())
        assert again.log.restart_report.dropped_bytes == 0
        assert log_life(again.disk.copy()).log.restart_report.dropped_bytes == 0
        life.keep_extents()


def test_what_a_circular_log_left_behind_its_end_is_not_told_as_dropped(log_life):
    """Extents that are used again hold old blocks behind the end: they are nobody's loss."""
    for size in range(100, 8000, 211):
        life = log_life(SimulatedDisk())
        for number in range(40):
            life.commit(b"%d" % number * size)
            life.checkpoint()
            life.keep_extents()
        assert log_life(life.disk).log.restart_report.dropped_bytes == 0


def test_a_record_of_several_blocks_cut_at_every_block_is_dropped_whole(log_life):
    life = log_life(SimulatedDisk(), PACKED)
    life.commit(b"before")
    life.append(b"long" * 7000)
    batch = life.log.take_batch()
    assert batch is not None
    assert len(batch.blocks) == 3
    life.writer.write_batch(batch)
    for number, block in enumerate(batch.blocks):
        extent, offset = divmod(block.lsn, 3 * 4096)
        disk = life.disk.copy()
        disk.corrupt(f"log/active/S000000{extent}.LOG", 4096 + offset + 100, ANYTHING)
        cut_life = log_life(disk, PACKED)
        assert cut_life.payloads == [b"before"]
        assert cut_life.log.end_lsn() == block.lsn
        cut_life.commit(b"next", b"short" * 4000)
        again = log_life(cut_life.disk.crash_losing_all(), PACKED)
        assert again.payloads == [b"before", b"next", b"short" * 4000], number


def test_what_was_dropped_is_reported(log_life):
    life = log_life(SimulatedDisk(), PACKED)
    kept = life.commit(b"kept")
    life.append(b"lost" * 100)
    batch = life.log.take_batch()
    assert batch is not None
    life.disk.lose_power_after(0)
    with pytest.raises(PowerLost):
        life.writer.write_batch(batch)
    disk = life.disk.crash_keeping_all()
    disk.corrupt(FIRST, 4096 + batch.blocks[0].lsn + 200, ANYTHING)
    report = log_life(disk, PACKED).log.restart_report
    assert report.records == 1
    assert report.end_lsn == batch.blocks[0].lsn >= kept
    assert report.dropped_bytes == batch.end_lsn - report.end_lsn


@INTEGRITIES
def test_damage_before_durable_records_is_refused_at_every_byte(log_life, integrity):
    settings = dataclasses.replace(PACKED, write_integrity=integrity)
    life = log_life(SimulatedDisk(), settings)
    life.commit(b"one" * 30)
    start = 4096 if settings.pages_are_final() else life.log.end_lsn() + 7 & ~7
    end = life.commit(b"two" * 30)
    life.commit(b"three" * 30)
    life.disk.remove("log/active/PAGE.COPY")  # which DoubleWrite would mend the page from
    for lsn in range(start, end):
        disk = life.disk.copy()
        old = disk.open(FIRST, False).read_at(4096 + lsn, 1)
        disk.corrupt(FIRST, 4096 + lsn, bytes([old[0] ^ 0x40]))
        before = disk.copy()
        with pytest.raises(LogDamaged) as refused:
            log_life(disk, settings)
        assert (refused.value.file, refused.value.offset) == (FIRST, 4096 + start)
        assert FIRST in str(refused.value)
        assert str(4096 + start) in str(refused.value)
        for name in ("amqhlctl.lfh", "active/S0000000.LOG"):
            size = disk.open(f"log/{name}", False).size_bytes()
            contents = [each.open(f"log/{name}", False).read_at(0, size) for each in (disk, before)]
            assert contents[0] == contents[1]


def test_damage_is_seen_across_extents(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"a" * 11_000)
    life.commit(b"b" * 11_000)
    life.commit(b"c" * 100)
    # The rest of the first extent, and all of the second but its last block, go.
    life.disk.corrupt(FIRST, 4096, bytes(3 * 4096))
    with pytest.raises(LogDamaged) as refused:
        log_life(life.disk)
    assert (refused.value.file, refused.value.offset) == (FIRST, 4096)


def test_a_missing_extent_is_damage(log_life):
    life = log_life(SimulatedDisk())
    for letter in (b"a", b"b", b"c"):
        life.commit(letter * 11_000)
    life.disk.remove("log/active/S0000001.LOG")
    with pytest.raises(LogDamaged, match="missing") as refused:
        log_life(life.disk)
    assert refused.value.file == "log/active/S0000001.LOG"


def test_a_damaged_or_foreign_extent_header_is_damage(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"a" * 11_000)
    life.commit(b"b" * 11_000)
    disk = life.disk.copy()
    disk.corrupt("log/active/S0000001.LOG", 20, ANYTHING)
    with pytest.raises(LogDamaged, match="header page") as refused:
        log_life(disk)
    assert (refused.value.file, refused.value.offset) == ("log/active/S0000001.LOG", 0)
    disk = life.disk.copy()
    disk.remove("log/active/S0000001.LOG")
    disk.rename("log/active/S0000002.LOG", "log/active/S0000001.LOG")
    with pytest.raises(LogDamaged, match="names extent 2"):
        log_life(disk)


@pytest.mark.parametrize("ending", ["checkpoint", "close"])
def test_the_control_file_knows_how_far_the_log_was_durable(log_life, ending):
    """Without a later block nothing in the log tells a torn write from a damaged one, but the control file may."""
    life = log_life(SimulatedDisk())
    life.commit(b"acknowledged")
    disk = life.disk.copy()
    if ending == "checkpoint":
        life.checkpoint(0)
    else:
        life.writer.close()
    life.disk.corrupt(FIRST, 4096 + 60, ANYTHING)
    disk.corrupt(FIRST, 4096 + 60, ANYTHING)
    with pytest.raises(LogDamaged):
        log_life(life.disk)
    assert log_life(disk).payloads == []


def test_what_an_earlier_life_left_behind_its_end_stays_dead(log_life):
    """A stale block at exactly the right place, with a good checksum, must not be taken for a new one."""
    first = log_life(SimulatedDisk(), PACKED)
    first.commit(b"A" * 40)
    for letter in (b"B", b"C"):
        first.append(letter * 40)
        batch = first.log.take_batch()
        assert batch is not None
        first.writer.write_batch(batch)
        if letter == b"B":
            start = 4096 + batch.blocks[0].lsn
    # Power fails: B, not yet reported durable, is torn; C behind it reached the disk. So the log ends with A.
    disk = first.disk.copy()
    disk.corrupt(FIRST, start + 50, ANYTHING)
    second = log_life(disk, PACKED)
    assert second.payloads == [b"A" * 40]
    assert second.log.restart_report.dropped_bytes > 100
    # The second life writes exactly as much as B took. Right behind it stands the first life's C.
    second.commit(b"D" * 40)
    third = log_life(second.disk.crash_losing_all(), PACKED)
    assert third.payloads == [b"A" * 40, b"D" * 40]
    assert third.log.restart_report.dropped_bytes == 0
    # The same when replay begins right before it.
    third.checkpoint(third.seen[-1][1])
    assert log_life(third.disk.crash_losing_all(), PACKED).payloads == []


def test_a_life_that_wrote_nothing_does_not_revive_the_one_before(log_life):
    first = log_life(SimulatedDisk(), PACKED)
    first.commit(b"A" * 40)
    first.append(b"B" * 40)
    batch = first.log.take_batch()
    assert batch is not None
    first.disk.lose_power_after(0)
    with pytest.raises(PowerLost):
        first.writer.write_batch(batch)
    lost, kept = first.disk.crash_losing_all(), first.disk.crash_keeping_all()
    assert log_life(lost.copy(), PACKED).payloads == [b"A" * 40]
    second = log_life(lost, PACKED)
    # A device that brings back the lost sector after all, behind the restart that did not see it.
    image = kept.open(FIRST, False).read_at(0, 16384)
    second.disk.corrupt(FIRST, 0, image)
    assert log_life(second.disk, PACKED).payloads == [b"A" * 40]


def test_a_damaged_newest_control_slot_is_seen_from_the_log(log_life):
    life = log_life(SimulatedDisk())
    life.commit(b"one")
    life.checkpoint()
    life.commit(b"two")
    sequence = life.writer.control_sequence
    life.disk.corrupt("log/amqhlctl.lfh", sequence % 2 * 4096 + 30, ANYTHING)
    with pytest.raises(LogDamaged, match="slot is number 4, but the log knows number 5") as refused:
        log_life(life.disk)
    assert (refused.value.file, refused.value.offset) == ("log/amqhlctl.lfh", sequence % 2 * 4096)


def packed_then_padded(log_life):
    """A life that packs its pages, then one that leaves the half written page alone and begins at the next."""
    first = log_life(SimulatedDisk(), PACKED)
    first.commit(b"A" * 40)
    first.commit(b"B" * 40)
    second = log_life(first.disk, PADDED)
    lsn = second.commit(b"C" * 40)
    assert first.log.end_lsn() < 4096 < lsn
    return second


def test_a_life_may_begin_at_the_page_behind_the_end_of_the_one_before(log_life):
    second = packed_then_padded(log_life)
    third = log_life(second.disk.crash_losing_all(), PADDED)
    assert third.payloads == [b"A" * 40, b"B" * 40, b"C" * 40]


def test_the_step_to_the_next_page_does_not_hide_damage(log_life):
    second = packed_then_padded(log_life)
    start = 4096 + (second.seen[0][1] + 7 & ~7)
    second.disk.corrupt(FIRST, start + 60, ANYTHING)
    with pytest.raises(LogDamaged) as refused:
        log_life(second.disk, PADDED)
    assert (refused.value.file, refused.value.offset) == (FIRST, start)


def test_a_later_block_at_the_next_page_is_no_new_life(log_life):
    """The second block of an unfinished batch begins at a page, the one before it is torn: the log ends there."""
    life = log_life(SimulatedDisk(), PACKED)
    # The block ends at a multiple of eight in the last page of the extent, so the next begins right there.
    durable = life.commit(b"x" * (3 * 4096 - 48 - 8 - 1000))
    life.append(b"y" * 3000)
    batch = life.log.take_batch()
    assert batch is not None
    assert [block.lsn for block in batch.blocks] == [durable, 3 * 4096]
    life.writer.write_batch(batch)
    life.disk.corrupt(FIRST, 4096 + durable + 100, ANYTHING)
    again = log_life(life.disk, PACKED)
    assert again.seen == life.appended[:1]
    assert again.log.end_lsn() == durable
