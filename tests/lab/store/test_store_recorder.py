"""Counts of workers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.store.histogram import bucket_of, percentile_ns
from ostler.lab.store.recorder import LatencyRecorder, unpack
from ostler.lab.store.rows import LatencyRow, OperationRow

SECOND = 1_000_000_000
TIMED = st.tuples(st.sampled_from(["MQPUT", "MQGET"]), st.integers(0, 5 * SECOND), st.integers(0, 3 * SECOND))


def test_an_operation_belongs_to_the_second_in_which_it_ended() -> None:
    recorder = LatencyRecorder(7 * SECOND)
    recorder.record("round-trip", 7 * SECOND + 900_000_000, 8 * SECOND + 100_000_000, late=True)
    recorder.record("round-trip", 8 * SECOND, 8 * SECOND + 50)
    assert list(recorder.rows(worker=3)) == [
        OperationRow(3, 1, "round-trip", 2, 0, 1, 50, 200_000_000, 200_000_050),
        LatencyRow(3, 1, "round-trip", 50, 1),
        LatencyRow(3, 1, "round-trip", bucket_of(200_000_000), 1),
    ]


def test_failures_are_counted_and_not_timed() -> None:
    recorder = LatencyRecorder(0)
    recorder.fail("connect", 5)
    assert list(recorder.rows(0)) == [OperationRow(0, 0, "connect", 0, 1, 0, None, None, 0)]


@given(st.lists(TIMED, max_size=50))
def test_what_was_counted_survives_the_way_to_another_process(timed: list[tuple[str, int, int]]) -> None:
    recorder = LatencyRecorder(0)
    for operation, due, took in timed:
        recorder.record(operation, due, due + took)
    assert list(unpack(recorder.pack()).rows(1)) == list(recorder.rows(1))
    operations = [row for row in recorder.rows(1) if isinstance(row, OperationRow)]
    buckets = [row for row in recorder.rows(1) if isinstance(row, LatencyRow)]
    assert sum(row.count for row in operations) == sum(row.count for row in buckets) == len(timed)
    assert sum(row.total_ns for row in operations) == sum(took for _, _, took in timed)


def test_counts_that_do_not_add_up_are_refused() -> None:
    recorder = LatencyRecorder(0)
    recorder.record("MQPUT", 0, 77)
    with pytest.raises(ValueError, match="MQPUT in second 0 do not add up"):
        unpack(recorder.pack().replace("[77,1]", "[77,2]"))


def test_a_stall_shows_when_latency_counts_from_when_it_was_due() -> None:
    """A hundred a second are due for two seconds; nothing is answered in the first half of the second one."""
    recorder = LatencyRecorder(0)
    step, stall_ends = SECOND // 100, SECOND + SECOND // 2
    for number in range(200):
        due = number * step
        ended = max(due, stall_ends if due >= SECOND else 0) + 1000
        recorder.record("round-trip", due, ended, late=ended - due > 1000)
    counts: dict[int, int] = {}
    for row in recorder.rows(0):
        if isinstance(row, LatencyRow):
            counts[row.bucket] = counts.get(row.bucket, 0) + row.count
    assert percentile_ns(counts, 50.0, SECOND) <= 1008
    assert percentile_ns(counts, 90.0, SECOND) == pytest.approx(300_000_000, rel=0.05)


def test_operations_that_ended_before_others_find_their_second() -> None:
    recorder = LatencyRecorder(SECOND)
    timed = recorder.operation("connect")
    for ended in (4 * SECOND, SECOND, 4 * SECOND, 0):
        timed.record(ended, ended + 9)
    timed.fail(2 * SECOND)
    timed.record(4 * SECOND, 4 * SECOND - 1)
    assert [tuple(row)[1:8] for row in recorder.rows(0) if isinstance(row, OperationRow)] == [
        (0, "connect", 2, 0, 0, 9, 9),
        (1, "connect", 0, 1, 0, None, None),
        (2, "connect", 1, 0, 0, 0, 0),
        (3, "connect", 2, 0, 0, 9, 9),
    ]
    assert recorder.operation("connect") is timed
