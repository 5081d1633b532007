"""Runs as the laboratory leaves them, small and made up, for tests of the pipeline."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ostler.lab.store.manifest import Manifest, PlannedPoint
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.rows import EventRow, MachineRow, PhaseRow, ProcessRow, Row, StatisticRow, ThreadRow
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, WARM_UP

BEGAN = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
SCENARIO = "client-rr-np"
CONTESTANTS = ("Ostler", "bare ping-pong")
SECOND_NS = 1_000_000_000
BROKERS = {"Ostler": "queue-manager", "bare ping-pong": "probe"}


def environment() -> dict[str, object]:
    return {
        "machine": {"processor": "Sample processor", "cores": 2, "memory_megabytes": 4096},
        "kernel": {"release": "6.1"},
        "disk": {"file_system": "ext4", "device": "/dev/vda"},
        "versions": {"ostler": "0.1.0"},
        "revision": "abc",
        "compiled": True,
        "noise": {"percent": 4.5},
        "stand_ins": {"standard-bindings": "A Unix socket takes the place of shared memory."},
        "left_out": {"a part": ["clusters", "tracing"]},
        "deviations": [{"what": "a smaller log", "why": "there is no room"}],
        "configuration": [{"name": "QM1", "text": "Log:\n  LogPrimaryFiles=3"}],
        "workload": {"id": SCENARIO},
        "entrants": [
            {"name": "Ostler", "kind": "ostler", "promise": "forced to disk", "version": "0.1.0"},
            {"name": "bare ping-pong", "kind": "limit", "promise": "", "version": ""},
        ],
    }


def manifest(name: str, steps: int = 2, repetitions: int = 2, scenario: str = SCENARIO) -> Manifest:
    planned = [
        PlannedPoint(contestant, step, repetition, {"requesters": clients(step)})
        for step in range(steps)
        for repetition in range(repetitions)
        for contestant in CONTESTANTS
    ]
    return Manifest(
        name,
        scenario,
        BEGAN.isoformat(),
        environment(),
        command=("ostler", "lab", "run", scenario),
        parameters={"is_quick": True, "repetitions": repetitions, "peers": None},
        points=tuple(planned),
    ).flagged("noise", "The same work took longer.")


def clients(step: int) -> int:
    return 1 + 3 * step


def phase_row(point: PlannedPoint, scenario: str = SCENARIO) -> PhaseRow:
    told = {"requesters": str(clients(point.step)), "responders": "5", "queue pairs": "1", "operation": "round trip"}
    return PhaseRow(scenario, BEGAN, 2.0, clients(point.step), 2048, False, None, told)


def latencies(chance: random.Random, count: int) -> list[int]:
    """Of all lengths that there are: from nanoseconds to minutes."""
    return [round(10 ** chance.uniform(0, 11)) for _ in range(count)]


def timed_rows(chance: random.Random, workers: int = 2, count: int = 40) -> Iterator[Row]:
    for worker in range(workers):
        recorder = LatencyRecorder(0)
        for number, latency in enumerate(latencies(chance, count)):
            due = number * 2 * SECOND_NS // count
            recorder.record("round trip", due, due + latency)
            recorder.record("commit", due, due + latency // 3)
        recorder.fail("round trip", SECOND_NS + worker)
        yield from recorder.rows(worker)


def observed_rows(contestant: str) -> list[Row]:
    """Two seconds of one broker, one driver and the machine. Who observes others than Ostler is late."""
    role = BROKERS[contestant]
    length = 1_000_000 if contestant == "Ostler" else 1_250_000
    cpu, network = (400_000, 0, 300_000, 1_000_000, 100_000, 50_000, 50_000, 100_000), (4096, 2, 1, 2, 0)
    disk = (1, 4096, 2, 8192, 1, 5000, 1 << 30)
    rows: list[Row] = []
    for second in range(2):
        rows += [
            ProcessRow(second, role, 77, "broker", length, 300, 200, 1, 1, 2, (1 + second) << 20, 4, 0, 1, 1, 2),
            ProcessRow(second, role, 78, "broker", 1_000_000, 30, 20, 1, 1, 2, 1 << 20, 4, 0, 1, 1, 2),
            ProcessRow(second, "driver", 79, "driver", length, 70, 30, 1, 1, 2, 1 << 20, 4, 0, 1, 1, 2),
            ThreadRow(second, role, 77, 80, "ostler-log", 1_000_000, 10, 15),
            ThreadRow(second, role, 77, 81, "ostler-reactor", 1_000_000, 100, 150),
            MachineRow(
                second, 1_000_000, 2, *cpu, 98.5, 1.5, 3, 100, *network, "vda", *disk, 1 << 31, 4096, 0, 900, 7000
            ),
        ]
    if contestant == "Ostler":
        for second, forces in enumerate((100, 150, 20)):
            rows.append(StatisticRow(second, "log", 0, "", "forces", 0, forces))
            rows.append(StatisticRow(second, "log", 0, "", "written_bytes", 0, 1000 * forces))
            rows.append(StatisticRow(second, "queue-manager", 0, "", "puts", 0, forces))
    rows.append(EventRow(1, "flag", "steal", "The hypervisor took 5 % of the processor.", 5.0))
    rows.append(EventRow(1, "flag", "counts-differ: puts", "by one", 1.0))
    rows.append(EventRow(1, "flag", "counts-differ: gets", "by one", 1.0))
    rows.append(EventRow(1, "note", "machine-full", "as it should be", None))
    return rows


def measure(run: RunWriter, points: Sequence[PlannedPoint], chance: random.Random, scenario: str = SCENARIO) -> None:
    for point in points:
        for phase in (WARM_UP, MEASURED):
            segment = run.begin(point, phase)
            segment.add([*timed_rows(chance), *observed_rows(point.contestant)])
            segment.commit(phase_row(point, scenario)._replace(began=BEGAN + timedelta(seconds=point.step)))


def make_run(runs: Path, name: str, seed: int = 1, scenario: str = SCENARIO, steps: int = 2) -> Path:
    """A complete run."""
    with RunWriter.create(runs, manifest(name, steps, scenario=scenario)) as run:
        measure(run, run.remaining(), random.Random(seed), scenario)
        run.finish()
    return run.directory


def make_part_of_run(runs: Path, name: str, points: int, seed: int = 1) -> Path:
    """A run that was given up after some points."""
    with RunWriter.create(runs, manifest(name)) as run:
        measure(run, run.remaining()[:points], random.Random(seed))
    return run.directory


def resume_run(directory: Path, seed: int = 2) -> None:
    with RunWriter.resume(directory) as run:
        measure(run, run.remaining(), random.Random(seed))
        run.finish()


def change_manifest(directory: Path, **changes: object) -> None:
    path = directory / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
