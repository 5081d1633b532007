"""Runs of a few contestants with made-up figures, for tests of tables and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ostler.lab.store.manifest import Manifest, PlannedPoint
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.rows import EventRow, PhaseRow, ProcessRow, StatisticRow, ThreadRow
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED

BEGAN = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
SECOND = 1_000_000_000
ROLES = {"ostler": "queue-manager", "peer": "peer", "limit": "probe"}


@dataclass(frozen=True)
class Made:
    """A contestant at one step: a rate and a response time for each repetition, in one second of measuring."""

    contestant: str
    kind: str
    rates: Sequence[int]
    latency_us: int = 500
    broker_us: int = 20
    flags: Sequence[str] = ()
    operation: str = "round trip"
    others: Mapping[str, int] = field(default_factory=dict)
    """Further operations, with their rates."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    far_us: int = 0
    """Of a second broker that the first is joined with; 0 when it is alone."""
    log_us: int = 0
    """Of the log's thread of each broker, as part of its time."""
    log_bytes: int = 0
    """Written to the log for each operation; 0: nothing is known of the log."""
    asked: float | None = None
    """The fixed rate of all clients."""


def rows(
    made: Made, rate: int, first: bool
) -> Iterable[LatencyRecorder | ProcessRow | ThreadRow | StatisticRow | EventRow]:
    recorder = LatencyRecorder(0)
    for operation, count in ((made.operation, rate), *made.others.items()):
        for number in range(count):
            ended = SECOND * number // count
            recorder.record(operation, ended - made.latency_us * 1000, ended)
    yield recorder
    figures = (None, 1, 2, 1 << 20, 4, 0, 4096, 1, 2)
    ends = (("/near", made.broker_us), ("/far", made.far_us)) if made.far_us else (("", made.broker_us),)
    for pid, (end, used) in enumerate(ends, 77):
        role = ROLES[made.kind] + end
        yield ProcessRow(0, role, pid, made.contestant, 1_000_000, used * rate, 0, *figures)
        for thread, name, spent in ((pid, "python", used - made.log_us), (pid + 10, "ostler-log", made.log_us)):
            yield ThreadRow(0, role, pid, thread, name, 1_000_000, spent * rate, 0)
    yield ProcessRow(0, "driver", 70, "driver", 1_000_000, 10 * rate, 0, *figures)
    if made.log_bytes:
        for second, grown in ((0, 0), (1, made.log_bytes * rate)):
            yield StatisticRow(second, "log", 0, "", "written_bytes", 0, 1e6 + grown)
    if first:
        yield from (EventRow(0, "flag", name, "it was said", 1.0) for name in made.flags)


def write_run(
    runs: Path,
    steps: Mapping[int, Sequence[Made]],
    name: str = "rr-cc-2k-1",
    scenario: str = "client-rr-np",
    *,
    noise: float | None = 4.0,
    is_finished: bool = True,
    environment: Mapping[str, object] | None = None,
    repetitions: int = 2,
) -> Path:
    """A run whose steps are numbers of requesters. Points without a rate stay open."""
    numbers = {requesters: number for number, requesters in enumerate(steps)}
    found: dict[str, object] = {"versions": {"ostler": "1"}, **(environment or {})}
    if noise is not None:
        found["noise"] = {"percent": noise}
    everybody = {made.contestant: made.kind for step in steps.values() for made in step}
    told = [
        {"name": each, "kind": kind, "version": "1.2", "promise": f"kept by the {kind}"}
        for each, kind in everybody.items()
    ]
    found.setdefault("entrants", told)
    points = [
        PlannedPoint(
            made.contestant, numbers[requesters], repetition, {"requesters": requesters, "cipher_spec": "none"}
        )
        for requesters, step in steps.items()
        for repetition in range(repetitions)
        for made in step
    ]
    parameters = {"repetitions": repetitions}
    manifest = Manifest(name, scenario, BEGAN.isoformat(), found, parameters=parameters, points=tuple(points))
    with RunWriter.create(runs, manifest, durable=False) as run:
        for requesters, step in steps.items():
            for made in step:
                _measure(run, made, requesters, numbers[requesters])
        if is_finished:
            run.finish()
    return run.directory


def _measure(run: RunWriter, made: Made, requesters: int, number: int) -> None:
    parameters = {"requesters": str(requesters), "cipher_spec": "none", "operation": made.operation, **made.parameters}
    for repetition, rate in enumerate(made.rates):
        segment = run.begin(PlannedPoint(made.contestant, number, repetition), MEASURED)
        for row in rows(made, rate, repetition == 0):
            segment.add(row.rows(0) if isinstance(row, LatencyRecorder) else [row])
        segment.commit(PhaseRow(run.manifest.scenario, BEGAN, 1.0, requesters, 2048, False, made.asked, parameters))


OSTLER = Made("Ostler, TCP", "ostler", (200, 210), 480, flags=("steal",))
RABBITMQ = Made("RabbitMQ, lean", "peer", (90, 100), 1100, 55)
PING_PONG = Made("bare ping-pong", "limit", (400, 420), 240, 4)


def usual_steps(factor: float = 1.0) -> dict[int, list[Made]]:
    """Two steps of three contestants."""
    return {
        requesters: [
            Made(each.contestant, each.kind, [round(rate * factor) for rate in each.rates], each.latency_us,
                 each.broker_us, each.flags)
            for each in (OSTLER, RABBITMQ, PING_PONG)
        ]
        for requesters in (1, 20)
    }  # fmt: skip
