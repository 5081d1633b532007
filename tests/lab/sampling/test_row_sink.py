"""Samples as rows of the store: every column has its figure, and every figure its column."""

from __future__ import annotations

import os
import time
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the laboratory's packages are not installed")

from ostler.lab.sampling.clock import SystemClock
from ostler.lab.sampling.flags import DOUBT, NOTE, Flag
from ostler.lab.sampling.machine_sampler import MachineSampler
from ostler.lab.sampling.observer import PHASE_BEGAN, Observer
from ostler.lab.sampling.process_sampler import BEGAN, ENDED, ProcessSampler, WatchedProcess
from ostler.lab.sampling.row_sink import RowSink, flag_rows
from ostler.lab.sampling.samples import Event, Interval, MachineSample, ProcessSample, ThreadSample
from ostler.lab.store.manifest import Manifest, PlannedPoint
from ostler.lab.store.rows import EventRow, MachineRow, PhaseRow, ProcessRow, Row, ThreadRow
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.run_writer import RunWriter, now_text

INTERVAL = Interval("measured", 1_500_000_000, 4_600_000_000, 5_500_000_000)


@pytest.mark.parametrize(
    ("sample", "row"), [(ProcessSample, ProcessRow), (ThreadSample, ThreadRow), (MachineSample, MachineRow)]
)
def test_samples_and_rows_have_the_same_figures(sample: type, row: type) -> None:
    columns: set[str] = set(row._fields)  # type: ignore[attr-defined]
    assert columns - {"second", "interval_us"} == {each.name for each in fields(sample)} - {"interval"}


def test_rows_tell_what_samples_told() -> None:
    rows: list[Row] = []
    sink = RowSink(rows.extend)
    sink.process(ProcessSample(INTERVAL, "driver", 10, "python", 70, 30, None, 1, 2, 4096, 3, None, 5, 6, 7))
    sink.thread(ThreadSample(INTERVAL, "driver", 10, 11, "log", 70, 30))
    process, thread = rows
    assert isinstance(process, ProcessRow)
    assert (process.second, process.interval_us) == (3, 900_000)
    assert (process.role, process.user_us, process.system_us, process.core_wait_us) == ("driver", 70, 30, None)
    assert (process.threads, process.read_bytes, process.write_calls) == (3, None, 7)
    assert isinstance(thread, ThreadRow)
    assert (thread.second, thread.thread, thread.name, thread.system_us) == (3, 11, "log", 30)


def test_the_machine_becomes_a_row() -> None:
    numbers = range(len(fields(MachineSample)) - 1)
    rows: list[Row] = []
    RowSink(rows.extend).machine(MachineSample(INTERVAL, *numbers))
    (row,) = rows
    assert isinstance(row, MachineRow)
    assert sorted(row[2:]) == list(numbers)
    assert (row.cores, row.user_us, row.second) == (0, 1, 3)


def test_processes_that_end_are_errors_and_phases_make_no_rows() -> None:
    rows: list[Row] = []
    sink = RowSink(rows.extend)
    sink.event(Event(0, "measured", 0, PHASE_BEGAN, "", 0, ""))
    sink.event(Event(9, "measured", 4, BEGAN, "broker", 20, "ostler"))
    sink.event(Event(9, "measured", 5, ENDED, "broker", 20, "ostler"))
    assert rows == [
        EventRow(4, "note", "process-began: 20", "broker process 20 (ostler)"),
        EventRow(5, "error", "process-ended: 20", "broker process 20 (ostler)"),
    ]


def test_flags_become_events_of_the_last_second() -> None:
    flags = [Flag("steal", DOUBT, "much", 9.0, 2.0), Flag("machine-full", NOTE, "full", 99.0, 95.0)]
    assert flag_rows(flags, 59) == [
        EventRow(59, "flag", "steal", "much", 9.0),
        EventRow(59, "note", "machine-full", "full", 99.0),
    ]


def test_what_is_said_of_several_processes_alike_is_one_row() -> None:
    flags = [Flag("driver-waited", DOUBT, f"driver {pid}", 10.0 + pid, 2.0, "driver", pid) for pid in (1, 2)]
    assert flag_rows(flags, 3) == [EventRow(3, "flag", "driver-waited", "driver 1; driver 2", 12.0)]


def test_a_run_keeps_what_the_observer_saw_phase_by_phase(tmp_path: Path) -> None:
    point = PlannedPoint("ostler", 0, 0)
    phase = PhaseRow("local-rr", datetime.now(UTC), 1.0, 1, 2048, False)
    with RunWriter.create(tmp_path, Manifest("run-1", "local-rr", now_text(), {}, points=(point,)), False) as run:
        warm, measured = run.begin(point, "warm-up"), run.begin(point, "measured")
        observer = Observer(SystemClock(), ProcessSampler(), MachineSampler(tmp_path), RowSink(warm.add), "warm-up")
        observer.watch(WatchedProcess("driver", os.getpid(), with_children=False, by_thread=True))
        used = time.process_time()
        while time.process_time() < used + 0.05:
            pass
        observer.enter("measured", RowSink(measured.add))
        warm.commit(phase)
        observer.step()
        measured.add(flag_rows([Flag("steal", DOUBT, "much", 9.0, 2.0)], 0))
        measured.commit(phase)
        run.finish()
    stored = read_run(tmp_path / "run-1")
    processes = stored.table("process").to_pylist()
    assert [(each["phase"], each["role"], each["pid"]) for each in processes] == [
        ("warm-up", "driver", os.getpid()),
        ("measured", "driver", os.getpid()),
    ]
    assert processes[0]["user_us"] + processes[0]["system_us"] >= 30_000
    assert [each["phase"] for each in stored.table("machine").to_pylist()] == ["warm-up", "measured"]
    assert {each["phase"] for each in stored.table("thread").to_pylist()} == {"warm-up", "measured"}
    assert [(each["kind"], each["name"]) for each in stored.table("event").to_pylist()] == [("flag", "steal")]
