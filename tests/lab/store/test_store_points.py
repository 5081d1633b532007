"""Points of a run, against the samples they were made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.store.store_samples import PHASE, manifest, measure, samples

from ostler.lab.store.histogram import ERROR_FRACTION_MAX, rank_of
from ostler.lab.store.manifest import PlannedPoint
from ostler.lab.store.points import PERCENTS, measured_points
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.rows import EventRow, ProcessRow
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, WARM_UP

SECOND = 1_000_000_000


def test_workers_and_seconds_are_put_together(tmp_path: Path) -> None:
    everything: list[int] = []
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(PlannedPoint("ostler", 0), MEASURED)
        for worker in range(3):
            recorder = LatencyRecorder(0)
            for number in range(200):
                latency = 1000 + 37 * number * (worker + 1) ** 3
                recorder.record("round-trip", number * SECOND // 100, number * SECOND // 100 + latency)
                everything.append(latency)
            segment.add(recorder.rows(worker))
        segment.commit(PHASE)
    (point,) = measured_points(read_run(run.directory))
    timed = point.operations["round-trip"]
    assert (timed.count, timed.failed, timed.rate_per_second) == (600, 0, 300.0)
    assert timed.mean_ns == sum(everything) / 600
    assert timed.highest_ns == max(everything)
    for percent in PERCENTS:
        exact = sorted(everything)[rank_of(percent, 600) - 1]
        assert exact <= timed.percentiles_ns[percent] <= exact * (1 + ERROR_FRACTION_MAX)


def test_only_measured_phases_count(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        measure(run, PlannedPoint("ostler", 0))
        run.begin(PlannedPoint("peer", 0), WARM_UP).commit(PHASE)
    (point,) = measured_points(read_run(run.directory))
    assert (point.contestant, point.step, point.clients, point.seconds) == ("ostler", 0, 10, 2.0)
    assert point.operations["round-trip"].count == 100
    assert point.operations["round-trip"].failed == 1


def test_processor_time_steal_and_flags_stand_beside(tmp_path: Path) -> None:
    flag = EventRow(0, "flag", "steal", "again", 13.0)
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(PlannedPoint("ostler", 0), MEASURED)
        segment.add([*samples(), flag, EventRow(0, "note", "lunch", "is not a flag")])
        segment.commit(PHASE)
    (point,) = measured_points(read_run(run.directory))
    assert point.cpu_us == {"broker": (5, 6)}
    assert point.cpu_us_per_operation("broker", "round-trip") == pytest.approx(0.11)
    assert point.cpu_us_per_operation("driver", "round-trip") is None
    assert point.steal_percent == pytest.approx(100 * 3 / 42)
    assert point.flags == ("steal",)


def test_samples_that_cover_more_than_the_window_count_by_its_share(tmp_path: Path) -> None:
    # Two seconds were measured, and two and a half observed.
    late = [
        ProcessRow(second, "broker", pid, "ostler", length, 500, 100, None, 1, 2, 1 << 20, 4, 0, 4096, 1, 2)
        for pid in (77, 78)
        for second, length in ((0, 1_000_000), (1, 1_500_000))
    ]
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(PlannedPoint("ostler", 0), MEASURED)
        segment.add([*late, *(row for row in samples() if not isinstance(row, ProcessRow))])
        segment.commit(PHASE)
    (point,) = measured_points(read_run(run.directory))
    assert point.cpu_us["broker"] == pytest.approx((0.8 * 2000, 0.8 * 400))


def test_a_point_in_which_nothing_completed_has_no_latencies(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        segment = run.begin(PlannedPoint("ostler", 0), MEASURED)
        recorder = LatencyRecorder(0)
        recorder.fail("connect", 5)
        segment.add(recorder.rows(0))
        segment.commit(PHASE)
    (point,) = measured_points(read_run(run.directory))
    timed = point.operations["connect"]
    assert (timed.count, timed.failed, timed.mean_ns, timed.highest_ns, timed.percentiles_ns) == (0, 1, None, None, {})
    assert point.steal_percent is None


def test_a_run_without_points_has_none(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, manifest()) as run:
        pass
    assert measured_points(read_run(run.directory)) == []
