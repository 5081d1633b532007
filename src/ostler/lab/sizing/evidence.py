"""Evidence for sizing: what one operation needed in measured runs of a queue manager, step by step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ostler.lab.families.channels.distributed_points import CHANNELS_EACH_WAY
from ostler.lab.families.held_connections import MEMORY_PER_CONNECTION
from ostler.lab.runner.contract import GET, ROUND_TRIP, ContestantKind
from ostler.lab.runner.step_results import noise_percent, step_metrics, step_results
from ostler.lab.store.points import MeasuredPoint, measured_points
from ostler.lab.store.roles import FOLLOWER, QUEUE_MANAGER, RECOVERY, role_end, role_kind
from ostler.lab.store.run_reader import StoredRun
from ostler.lab.store.segments import MEASURED

_LOG: Final = "log"
_WRITTEN: Final = "written_bytes"
_NOT_OF_CONNECTIONS: Final = {"open_objects", "unit_messages"}
"""Sweeps of what connections hold: their memory is not that of a connection alone."""

PointKey = tuple[str, int, int]


@dataclass(frozen=True)
class StepEvidence:
    """A step of a run of a queue manager, with repetitions combined. None: the run does not have it.

    All figures that end in `_each` are for one main operation: a round trip, or a message that went one way.
    """

    run: str
    scenario: str
    contestant: str
    step: int
    operation: str
    clients: int
    message_bytes: int
    is_persistent: bool
    channels: int
    """The number of message channels each way; 0 within one queue manager."""
    rate_per_second: float
    is_flagged: bool
    broker_us_each: float | None
    driver_us_each: float | None
    log_bytes_each: float | None
    network_bytes_each: float | None
    memory_bytes: float | None
    """Resident memory of the queue manager."""
    managers: int = 1
    """The number of queue managers that carried the load together; copies of them do not count."""


@dataclass(frozen=True)
class ConnectionEvidence:
    """Memory that a run found for one connection."""

    run: str
    scenario: str
    clients: int
    bytes_each: float


@dataclass(frozen=True)
class Evidence:
    """The evidence of all runs that were named."""

    steps: tuple[StepEvidence, ...]
    connections: tuple[ConnectionEvidence, ...]
    noise_percent: float
    is_quick: bool

    def round_trips(self, is_persistent: bool) -> tuple[StepEvidence, ...]:
        """Return the steps with round trips of such messages that went through no message channel."""
        return tuple(
            each
            for each in self.steps
            if each.is_persistent == is_persistent and not each.channels and each.operation == ROUND_TRIP
        )

    def between_two(self, is_persistent: bool) -> tuple[StepEvidence, ...]:
        """Return the steps with such messages between two queue managers. A channel carries as many messages one way as
        there are round trips."""
        return tuple(
            each
            for each in self.steps
            if each.is_persistent == is_persistent and each.channels and each.operation in (ROUND_TRIP, GET)
        )


def gather_evidence(runs: Sequence[StoredRun]) -> Evidence:
    """Return the evidence of these runs. Contestants other than queue managers are left out."""
    steps: list[StepEvidence] = []
    connections: list[ConnectionEvidence] = []
    for run in runs:
        steps += _steps(run)
        connections += _connections(run)
    noises = [noise_percent(run) or 0.0 for run in runs]
    is_quick = any(bool(run.manifest.parameters.get("is_quick")) for run in runs)
    return Evidence(tuple(steps), tuple(connections), max(noises, default=0.0), is_quick)


def _steps(run: StoredRun) -> Iterable[StepEvidence]:
    points: dict[tuple[str, int], list[MeasuredPoint]] = defaultdict(list)
    for point in measured_points(run):
        points[point.contestant, point.step].append(point)
    logged, sent, resident, managers = _logged_bytes(run), _sent_bytes(run), _resident_bytes(run), _managers(run)
    for result in step_results(run):
        if result.kind is not ContestantKind.OSTLER or not result.is_main or not result.rate_per_second:
            continue
        measured = points[result.contestant, result.step]
        keys = [(point.contestant, point.step, point.repetition) for point in measured]
        counts = [point.operations[result.operation].count for point in measured]
        first = measured[0]
        joined = max((managers.get(key, 1) for key in keys), default=1)
        channels = first.parameters.get(CHANNELS_EACH_WAY, "0") if joined > 1 else "0"
        yield StepEvidence(
            run=run.manifest.run,
            scenario=run.manifest.scenario,
            contestant=result.contestant,
            step=result.step,
            operation=result.operation,
            clients=first.clients,
            message_bytes=first.message_bytes,
            is_persistent=first.persistent,
            channels=int(channels),
            rate_per_second=result.rate_per_second,
            is_flagged=bool(result.flags),
            broker_us_each=result.broker_us.median,
            driver_us_each=result.driver_us.median,
            log_bytes_each=_each(logged, keys, counts),
            network_bytes_each=_each(sent, keys, counts),
            memory_bytes=median([resident[key] for key in keys if key in resident]) if resident else None,
            managers=joined,
        )


def _each(totals: dict[PointKey, float], keys: Sequence[PointKey], counts: Sequence[int]) -> float | None:
    """Return the median over repetitions of a total divided by the number of operations."""
    found = [totals[key] / count for key, count in zip(keys, counts, strict=True) if key in totals and count]
    return median(found) if found else None


def _logged_bytes(run: StoredRun) -> dict[PointKey, float]:
    """Return the growth of the log within the measured window, all queue managers together."""
    first: dict[tuple[PointKey, str], tuple[int, float]] = {}
    last: dict[tuple[PointKey, str], tuple[int, float]] = {}
    for row in run.table("statistic").to_pylist():
        if (row["phase"], row["source"], row["name"]) != (MEASURED, _LOG, _WRITTEN):
            continue
        key = ((row["contestant"], row["step"], row["repetition"]), row["object"])
        now = (row["second"], row["value"])
        first[key] = min(first.get(key, now), now)
        last[key] = max(last.get(key, now), now)
    found: dict[PointKey, float] = defaultdict(float)
    for key, (_, value) in last.items():
        found[key[0]] += value - first[key][1]
    return dict(found)


def _sent_bytes(run: StoredRun) -> dict[PointKey, float]:
    """Return the bytes that went through the loopback interface, both ways together."""
    found: dict[PointKey, float] = defaultdict(float)
    for row in run.table("machine").to_pylist():
        if row["phase"] == MEASURED:
            found[row["contestant"], row["step"], row["repetition"]] += row["loopback_bytes"]
    return dict(found)


def _resident_bytes(run: StoredRun) -> dict[PointKey, float]:
    """Return the highest resident memory of all queue managers of a point together."""
    by_second: dict[tuple[PointKey, int], float] = defaultdict(float)
    for row in run.table("process").to_pylist():
        if row["phase"] == MEASURED and role_kind(row["role"]) == QUEUE_MANAGER:
            by_second[(row["contestant"], row["step"], row["repetition"]), row["second"]] += row["resident_bytes"]
    found: dict[PointKey, float] = {}
    for (key, _), value in by_second.items():
        found[key] = max(found.get(key, 0.0), value)
    return found


def _managers(run: StoredRun) -> dict[PointKey, int]:
    """Return the number of queue managers of each point, without their copies."""
    found: dict[PointKey, set[int]] = defaultdict(set)
    for row in run.table("process").to_pylist():
        role = row["role"]
        if role_kind(role) == QUEUE_MANAGER and role_end(role) not in (FOLLOWER, RECOVERY):
            found[row["contestant"], row["step"], row["repetition"]].add(row["pid"])
    return {key: len(pids) for key, pids in found.items()}


def _connections(run: StoredRun) -> Iterable[ConnectionEvidence]:
    """Return memory for each connection to a queue manager where the experiment itself reports it."""
    clients = {
        (point.contestant, point.step): point.clients
        for point in measured_points(run)
        if any(role_kind(role) == QUEUE_MANAGER for role in point.cpu_us)
    }
    for metric in step_metrics(run):
        at = (metric.contestant, metric.step)
        if metric.name != MEMORY_PER_CONNECTION or metric.values.median is None or at not in clients:
            continue
        if not metric.points.keys() & _NOT_OF_CONNECTIONS:
            yield ConnectionEvidence(run.manifest.run, run.manifest.scenario, clients[at], metric.values.median)
