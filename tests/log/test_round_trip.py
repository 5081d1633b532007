"""What is appended comes back: every size, across blocks, extents and lives."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.log import LogDamaged, LogSettings, WriteIntegrity
from ostler.testing.simulation.crashing_disk import SimulatedDisk

INTEGRITIES = st.sampled_from(list(WriteIntegrity))
# Extents of three pages of payload: 12288 bytes.
SIZES = st.one_of(st.integers(0, 200), st.integers(4000, 4200), st.integers(12_100, 12_400), st.integers(0, 40_000))


def payload_of(number: int, size: int) -> bytes:
    return (number.to_bytes(4, "little") * (size // 4 + 1))[:size]


@settings(max_examples=examples(60), deadline=None)
@given(batches=st.lists(st.lists(SIZES, min_size=1, max_size=5), max_size=6), integrity=INTEGRITIES)
def test_records_of_any_size_come_back_in_order_with_their_lsns(log_life, batches, integrity):
    many = LogSettings(primary_files=3, secondary_files=200, file_pages=4, write_integrity=integrity)
    first = log_life(SimulatedDisk(), many)
    number = 0
    for sizes in batches:
        for size in sizes:
            number += 1
            first.append(payload_of(number, size), kind=number % 256)
        assert first.commit() == first.appended[-1][1]
    lsns = [lsn for _, lsn, _ in first.appended]
    assert lsns == sorted(set(lsns))

    second = log_life(first.disk.crash_losing_all(), many)

    assert second.seen == first.appended
    assert second.log.durable_lsn() == second.log.end_lsn() >= (lsns[-1] if lsns else 0)
    assert second.log.restart_report.records == number
    assert second.log.restart_report.dropped_bytes == 0


@settings(max_examples=examples(40), deadline=None)
@given(lives=st.lists(st.lists(SIZES, max_size=4), min_size=2, max_size=5), integrity=INTEGRITIES)
def test_each_life_goes_on_behind_the_one_before(log_life, lives, integrity):
    many = LogSettings(primary_files=3, secondary_files=200, file_pages=4, write_integrity=integrity)
    disk = SimulatedDisk()
    expected = []
    for number, sizes in enumerate(lives):
        life = log_life(disk, many)
        assert life.seen == expected
        assert life.log.restart_report.epoch == number + 1
        life.commit(*[payload_of(number, size) for size in sizes])
        expected = expected + life.appended
        disk = disk.crash_losing_all()
    assert log_life(disk, many).seen == expected


def test_three_parts_are_one_payload(log_life):
    life = log_life(SimulatedDisk())
    life.log.append(7, b"head", b"descriptor", b"body")
    life.log.append(8, b"", b"", b"")
    life.log.append(9, b"", b"x", b"")
    life.commit()
    assert [(kind, payload) for kind, _, payload in log_life(life.disk).seen] == [
        (7, b"headdescriptorbody"),
        (8, b""),
        (9, b"x"),
    ]


def test_a_record_larger_than_a_block_and_than_an_extent(log_life):
    # 64 pages, the smallest extent MQ allows; the record is 12 of them, the log is read in several chunks.
    large = LogSettings(primary_files=30, secondary_files=2, file_pages=64)
    life = log_life(SimulatedDisk(), large)
    body = bytes(range(256)) * 12_500
    life.commit(b"before")
    life.commit(body)
    life.commit(b"after")
    again = log_life(life.disk.crash_losing_all(), large)
    assert again.seen == life.appended
    done, total = again.visitor.progress_calls[-1]
    assert done == total == again.log.restart_report.read_bytes > len(body)


def test_blocks_of_a_large_extent_are_bounded(log_life):
    large = LogSettings(primary_files=2, secondary_files=1, file_pages=2048)
    life = log_life(SimulatedDisk(), large)
    body = b"m" * 5_000_000
    life.append(body)
    batch = life.log.take_batch()
    assert batch is not None
    assert len(batch.blocks) == 5
    life.writer.write_batch(batch)
    life.log.batch_durable(batch)
    again = log_life(life.disk, large)
    assert again.payloads == [body]
    dones = [done for done, _ in again.visitor.progress_calls]
    assert len(dones) > 1
    assert dones == sorted(dones)
    assert all(done <= total for done, total in again.visitor.progress_calls)


def test_nothing_to_write_is_no_batch(log_life):
    life = log_life(SimulatedDisk())
    assert life.log.take_batch() is None
    life.commit(b"one")
    assert life.log.take_batch() is None


def test_one_force_for_all_that_waits(log_life):
    life = log_life(SimulatedDisk())
    before = life.disk.forces
    life.commit(*[b"record"] * 100)
    assert life.disk.forces - before == 1
    assert (life.log.metrics.records, life.log.metrics.writes, life.log.metrics.forces) == (100, 1, 1)


@pytest.mark.parametrize(
    ("integrity", "distance", "writes", "least_bytes"),
    [
        (WriteIntegrity.SINGLE_WRITE, 64, 2, 2 * 57),
        (WriteIntegrity.DOUBLE_WRITE, 64, 3, 2 * 57 + 48 + 57),
        (WriteIntegrity.TRIPLE_WRITE, 4096, 2, 2 * 4096),
    ],
)
def test_writes_of_a_partly_filled_page(log_life, integrity, distance, writes, least_bytes):
    life = log_life(SimulatedDisk(), dataclasses.replace(log_life.SMALL, write_integrity=integrity))
    forces = life.disk.forces
    lsns = [life.commit(b"x"), life.commit(b"y")]
    assert lsns[1] - lsns[0] == distance
    metrics = life.log.metrics
    assert (metrics.writes, metrics.forces, life.disk.forces - forces) == (writes, writes, writes)
    assert metrics.physical_bytes == least_bytes


def test_records_appended_while_a_batch_is_written_go_with_the_next(log_life):
    life = log_life(SimulatedDisk())
    first = life.append(b"first")
    batch = life.log.take_batch()
    assert batch is not None
    second = life.append(b"second")
    life.writer.write_batch(batch)
    assert life.log.durable_lsn() == 0
    life.log.batch_durable(batch)
    assert life.log.durable_lsn() == first < second == life.log.end_lsn()
    assert log_life(life.disk.crash_losing_all()).payloads == [b"first"]
    life.commit()
    assert log_life(life.disk.crash_losing_all()).payloads == [b"first", b"second"]


@settings(max_examples=examples(40), deadline=None)
@given(sizes=st.lists(SIZES, min_size=3, max_size=12), data=st.data())
def test_restart_begins_behind_any_record_and_media_recovery_reads_any_range(log_life, sizes, data):
    many = LogSettings(primary_files=3, secondary_files=200, file_pages=4)
    life = log_life(SimulatedDisk(), many)
    for number, size in enumerate(sizes):
        life.append(payload_of(number, size))
        if data.draw(st.booleans()):
            life.commit()
    life.commit()
    low = data.draw(st.integers(0, len(sizes) - 1))
    high = data.draw(st.integers(low, len(sizes) - 1))
    collector = type(life.visitor)()
    life.log.read_from(life.appended[low][1], collector, life.appended[high][1])
    assert collector.records == life.appended[low + 1 : high + 1]

    life.checkpoint(life.appended[low][1])
    again = log_life(life.disk.crash_losing_all(), many)
    assert again.seen == life.appended[low + 1 :]


def test_reading_from_the_middle_of_a_record_is_said_not_guessed(log_life):
    life = log_life(SimulatedDisk())
    end = life.commit(b"long" * 7000)
    with pytest.raises(LogDamaged, match="beginning is missing"):
        life.log.read_from(13_000, type(life.visitor)(), end)


def test_reading_beyond_what_is_there_is_said_not_passed_over(log_life):
    life = log_life(SimulatedDisk())
    end = life.commit(b"only")
    with pytest.raises(LogDamaged):
        life.log.read_from(0, type(life.visitor)(), end + 5000)
