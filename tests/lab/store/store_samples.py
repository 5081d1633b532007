"""Runs with made-up samples, for tests of the store; as a program, one that writes them until it is killed."""

from __future__ import annotations

import os
import resource
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from ostler.lab.store.manifest import Manifest, PlannedPoint
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.rows import EventRow, MachineRow, PhaseRow, ProcessRow, Row, StatisticRow, ThreadRow
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, WARM_UP, SegmentWriter

BEGAN = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
PHASE = PhaseRow("rr-cc-2k", BEGAN, 2.0, 10, 2048, False, None, {"think_time": "0"})
# What the system is asked to do to files, as far as Python tells before it is done.
FILE_ACTIONS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")


def manifest(name: str = "rr-cc-2k-1", points: int = 3) -> Manifest:
    planned = [PlannedPoint(name, step) for step in range(points) for name in ("ostler", "peer")]
    return Manifest(name, "rr-cc-2k", BEGAN.isoformat(), {"kernel": {"release": "6.1"}}, points=tuple(planned))


def samples(count: int = 100) -> list[Row]:
    """Some rows of every table but that of phases."""
    recorder = LatencyRecorder(0)
    for number in range(count):
        recorder.record("round-trip", number * 1000, number * 1000 + 50_000 + number * number)
    recorder.fail("round-trip", 1_500_000_000)
    cpu = (9, 0, 8, 7, 6, 5, 4, 3)
    network = (4096, 2, 1, 2, 0)
    disk = (1, 4096, 2, 8192, 1, 500, 1 << 30)
    return [
        *recorder.rows(0),
        ProcessRow(0, "broker", 77, "ostler", 1_000_000, 5, 6, None, 1, 2, 1 << 20, 4, 0, 4096, 1, 2),
        ThreadRow(0, "broker", 77, 78, "log-writer", 1_000_000, 1, 2),
        MachineRow(0, 1_000_000, 2, *cpu, 98.5, 1.5, 3, 100, *network, "vda", *disk, 1 << 31, 4096, 0),
        StatisticRow(1, "log", 0, "", "forces", 0, 17),
        EventRow(1, "flag", "steal", "The hypervisor took 12 % of the processor.", 12.0),
    ]


def measure(run: RunWriter, point: PlannedPoint) -> None:
    """Both phases of a point."""
    for phase in (WARM_UP, MEASURED):
        segment: SegmentWriter = run.begin(point, phase)
        segment.add(samples())
        print(segment.commit(PHASE).name, flush=True)


def _die_before(action: int) -> None:
    """Have this process killed just before it does something to a file for that many times."""
    seen = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in FILE_ACTIONS and directory in str(arguments[0]):
            seen += 1
            if seen == action:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _limit_files(length: int) -> None:
    """Let no file grow beyond this, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))


if __name__ == "__main__":
    directory = sys.argv[1]
    if len(sys.argv) > 3:
        _limit_files(int(sys.argv[3]))
    runs = Path(directory)
    _die_before(int(sys.argv[2]))
    again = runs / manifest().run
    with RunWriter.resume(again) if again.exists() else RunWriter.create(runs, manifest()) as written:
        for planned in written.remaining():
            measure(written, planned)
        written.finish()
    print("finished", flush=True)
