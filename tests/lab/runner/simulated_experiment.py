"""An experiment without anything to measure: contestants whose rates are made up, and who fail when they have to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    CountCheck,
    Experiment,
    LiveStatus,
    Metric,
    PointFailed,
    PointResult,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Deviation
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER

LATENCY_NS = 1_000_000


@dataclass
class Script:
    """The script of a run: rates by contestant and step, and the failures."""

    contestants: tuple[Contestant, ...] = (
        Contestant("Ostler", ContestantKind.OSTLER, "forced"),
        Contestant("Peer", ContestantKind.PEER, "not forced"),
        Contestant("limit", ContestantKind.LIMIT, "nothing in between"),
    )
    count: Callable[[str, int], int] = lambda contestant, step: 10
    fails: Callable[[str, int], str] = lambda contestant, step: ""
    fails_to_prepare: Callable[[str, int], str] = lambda contestant, step: ""
    absent: Mapping[str, str] = field(default_factory=dict)
    miscounted: int = 0
    latency_ns: int = LATENCY_NS
    seconds_least: float = 0.0
    is_one_by_one: bool = False
    outlasts_seconds: float = 0.0
    """The time that the load goes on after its end."""
    before_run: Callable[[str, int], None] = lambda contestant, step: None
    turns: list[tuple[str, int]] = field(default_factory=list)
    closed: list[tuple[str, int]] = field(default_factory=list)
    is_closed: bool = False

    def experiment(self, context: RunContext) -> Experiment:
        return SimulatedExperiment(self)


class SimulatedPrepared(ReadyLoad):
    def __init__(self, script: Script, name: str, step: Step) -> None:
        self.point_spec = PointSpec(int(step.points.get("requesters", 1)), 2048, False)
        self.measured_seconds_least = script.seconds_least
        self.is_one_by_one = script.is_one_by_one
        self._script = script
        self._key = (name, step.number)
        self._ask = 0

    def processes(self) -> Sequence[WatchedProcess]:
        return [WatchedProcess(DRIVER, os.getpid(), False)]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._script.turns.append(self._key)
        self._script.before_run(*self._key)
        failure = self._script.fails(*self._key)
        if failure:
            raise PointFailed(failure)
        recorder = PhaseRecorder(timeline)
        operation = recorder.operation(ROUND_TRIP)
        for moment_ns in (timeline.begin_ns, timeline.measured_ns, timeline.cool_ns):
            for _ in range(self._script.count(*self._key)):
                operation.record(moment_ns - self._script.latency_ns, moment_ns)
        watcher.on_progress(ProgressSample(0, timeline.measured_ns, 10, 10.0, LATENCY_NS, LATENCY_NS))
        left_seconds = max(timeline.end_ns - time.perf_counter_ns(), 0) / 1e9
        threading.Event().wait(left_seconds + self._script.outlasts_seconds)
        return [WorkerCounts(0, recorder.phases)]

    def metrics(self) -> Sequence[Metric]:
        self._ask += 1
        return [Metric("queue-manager", "puts", float(self._ask))]

    def results(self) -> Sequence[Metric]:
        return [Metric("probe", "bytes per connection", 123.0)]

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        return [CountCheck("puts", 30, 30 + self._script.miscounted)]

    def close(self) -> None:
        self._script.closed.append(self._key)


class SimulatedExperiment(Experiment):
    def __init__(self, script: Script) -> None:
        self._script = script

    def contestants(self) -> Sequence[Contestant]:
        return self._script.contestants

    @property
    def absent(self) -> Mapping[str, str]:
        return self._script.absent

    @property
    def deviations(self) -> Sequence[Deviation]:
        return (Deviation("one host", "there is one"),)

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"Peer": "port 1"}

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        failure = self._script.fails_to_prepare(contestant.name, step.number)
        if failure:
            raise PointFailed(failure)
        return SimulatedPrepared(self._script, contestant.name, step)

    def close(self) -> None:
        self._script.is_closed = True


class HeardView:
    """A view that remembers what it was told."""

    def __init__(self) -> None:
        self.plans: list[tuple[int, int]] = []
        self.dones: list[PointResult] = []
        self.nows: list[LiveStatus] = []
        self.failures: list[tuple[str, int, str]] = []
        self.skips: list[tuple[str, int, str]] = []
        self.notes: list[str] = []

    def on_planned(self, points: int, settled: int, seconds: float) -> None:
        self.plans.append((points, settled))

    def on_point_begun(self, contestant: Contestant, step: Step, repetition: int) -> None:
        return

    def on_status(self, now: LiveStatus) -> None:
        self.nows.append(now)

    def on_point_done(self, done: PointResult) -> None:
        self.dones.append(done)

    def on_point_failed(self, contestant: Contestant, step: Step, why: str) -> None:
        self.failures.append((contestant.name, step.number, why))

    def on_steps_skipped(self, contestant: Contestant, steps: int, why: str) -> None:
        self.skips.append((contestant.name, steps, why))

    def note(self, text: str) -> None:
        self.notes.append(text)
