"""The result of each point of a run: rate, latencies and processor time in its measured phase.

For the table at the end of a run and for immediate comparisons. The pipeline makes reports from the same files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ostler.lab.store.histogram import merge, percentile_ns
from ostler.lab.store.roles import LOG_THREAD
from ostler.lab.store.run_reader import StoredRun
from ostler.lab.store.segments import MEASURED

PERCENTS = (50.0, 90.0, 99.0, 99.9)

PointKey = tuple[str, int, int]
"""Contestant, step and repetition."""


@dataclass(frozen=True)
class Timed:
    """One operation over the whole measured phase of all workers. Latencies are empty when none completed."""

    count: int
    failed: int
    late: int
    rate_per_second: float
    mean_ns: float | None
    highest_ns: int | None
    percentiles_ns: dict[float, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredPoint:
    """A point. `cpu_us` is by role, user and system, within the window; `log_us` by role, of threads that write logs.

    `steal_percent` is of the machine, None when not sampled.
    """

    contestant: str
    step: int
    repetition: int
    clients: int
    message_bytes: int
    persistent: bool
    seconds: float
    operations: dict[str, Timed]
    cpu_us: dict[str, tuple[float, float]]
    steal_percent: float | None
    flags: tuple[str, ...]
    rate_per_second: float | None = None
    """The fixed rate of all clients together; None unless it was fixed."""
    parameters: dict[str, str] = field(default_factory=dict)
    log_us: dict[str, float] = field(default_factory=dict)

    def cpu_us_per_operation(self, role: str, operation: str) -> float | None:
        """Return the processor time of a role for each completed operation."""
        timed, cpu = self.operations.get(operation), self.cpu_us.get(role)
        return sum(cpu) / timed.count if timed and cpu and timed.count else None


def _rows(run: StoredRun, table: str) -> dict[PointKey, list[dict[str, object]]]:
    """Return the rows of measured phases, by point."""
    found: dict[PointKey, list[dict[str, object]]] = defaultdict(list)
    for row in run.table(table).to_pylist():
        if row["phase"] == MEASURED:
            found[(row["contestant"], row["step"], row["repetition"])].append(row)
    return found


def _number(row: dict[str, object], name: str) -> int:
    value = row[name]
    assert isinstance(value, int)
    return value


def _optional(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _texts(value: object) -> dict[str, str]:
    """Return a map, which is stored as pairs."""
    pairs = value if isinstance(value, list) else []
    return {str(name): str(text) for name, text in pairs}


def _timed(rows: list[dict[str, object]], buckets: dict[int, int], seconds: float) -> Timed:
    count, failed, late, total = (sum(_number(row, name) for row in rows) for name in _SUMS)
    highest = max((_number(row, "highest_ns") for row in rows if row["highest_ns"] is not None), default=None)
    percentiles = {} if highest is None else {each: percentile_ns(buckets, each, highest) for each in PERCENTS}
    rate = count / seconds if seconds else 0.0
    return Timed(count, failed, late, rate, total / count if count else None, highest, percentiles)


_SUMS = ("count", "failed", "late", "total_ns")
_CPU = ("user_us", "nice_us", "system_us", "idle_us", "iowait_us", "irq_us", "softirq_us", "steal_us")


def _steal_percent(rows: list[dict[str, object]]) -> float | None:
    total = sum(_number(row, name) for row in rows for name in _CPU)
    return 100 * sum(_number(row, "steal_us") for row in rows) / total if total else None


def _histograms(run: StoredRun) -> dict[tuple[PointKey, str], dict[int, int]]:
    """Return the histograms of measured phases by point and operation, merged by adding."""
    names = ["contestant", "step", "repetition", "phase", "operation", "bucket"]
    found: dict[tuple[PointKey, str], dict[int, int]] = defaultdict(dict)
    for row in run.table("latency").group_by(names).aggregate([("count", "sum")]).to_pylist():
        if row["phase"] == MEASURED:
            key = ((row["contestant"], row["step"], row["repetition"]), row["operation"])
            merge(found[key], {row["bucket"]: row["count_sum"]})
    return found


def _share(rows: list[dict[str, object]], seconds: float) -> float:
    """Return the share of the window: where observers were late, samples cover more than it."""
    lengths: dict[int, int] = defaultdict(int)
    for row in rows:
        second = _number(row, "second")
        lengths[second] = max(lengths[second], _number(row, "interval_us"))
    observed = sum(lengths.values())
    return min(1.0, seconds * 1e6 / observed) if observed else 1.0


def _processor_time(rows: list[dict[str, object]], share: float) -> dict[str, tuple[float, float]]:
    """Return user and system time by role."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows:
        user, system = found.get(str(row["role"]), (0.0, 0.0))
        found[str(row["role"])] = (
            user + share * _number(row, "user_us"),
            system + share * _number(row, "system_us"),
        )
    return found


def _log_time(rows: list[dict[str, object]], share: float) -> dict[str, float]:
    """Return user and system time of the threads that write logs, by role; a part of their processes' time."""
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        if str(row["name"]).startswith(LOG_THREAD):
            found[str(row["role"])] += share * (_number(row, "user_us") + _number(row, "system_us"))
    return dict(found)


def measured_points(run: StoredRun) -> list[MeasuredPoint]:
    """Return all measured points, in the order of measurement."""
    histograms = _histograms(run)
    operations, processes, machines = _rows(run, "operation"), _rows(run, "process"), _rows(run, "machine")
    events, threads = _rows(run, "event"), _rows(run, "thread")
    points = []
    for key, phases in _rows(run, "phase").items():
        phase = phases[0]
        seconds = phase["seconds"]
        assert isinstance(seconds, float)
        by_name: dict[str, list[dict[str, object]]] = defaultdict(list)
        for row in operations.get(key, []):
            by_name[str(row["operation"])].append(row)
        share = _share(processes.get(key, []), seconds)
        flags = [str(row["name"]) for row in events.get(key, []) if row["kind"] == "flag"]
        points.append(
            MeasuredPoint(
                *key,
                clients=_number(phase, "clients"),
                message_bytes=_number(phase, "message_bytes"),
                persistent=bool(phase["persistent"]),
                seconds=seconds,
                operations={name: _timed(rows, histograms[key, name], seconds) for name, rows in by_name.items()},
                cpu_us=_processor_time(processes.get(key, []), share),
                steal_percent=_steal_percent(machines.get(key, [])),
                flags=tuple(dict.fromkeys(flags)),
                rate_per_second=_optional(phase["rate_per_second"]),
                parameters=_texts(phase["parameters"]),
                log_us=_log_time(threads.get(key, []), share),
            )
        )
    return points
