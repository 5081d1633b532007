"""An experiment without anything to measure: entrants whose rates are made up, and who fail when they are told to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Counted,
    Done,
    Entrant,
    EntrantKind,
    Expected,
    Experiment,
    Figure,
    Moment,
    Now,
    PointFailed,
    Prepared,
    Shape,
    Sitting,
    Watcher,
)
from ostler.lab.sampling.process_sampler import Watched
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER

LATENCY_NS = 1_000_000


@dataclass
class Script:
    """What is to happen: rates by entrant and step, and who fails where."""

    entrants: tuple[Entrant, ...] = (
        Entrant("Ostler", EntrantKind.OSTLER, "forced"),
        Entrant("Peer", EntrantKind.PEER, "not forced"),
        Entrant("limit", EntrantKind.LIMIT, "nothing in between"),
    )
    count: Callable[[str, int], int] = lambda entrant, step: 10
    fails: Callable[[str, int], str] = lambda entrant, step: ""
    fails_to_prepare: Callable[[str, int], str] = lambda entrant, step: ""
    absent: Mapping[str, str] = field(default_factory=dict)
    miscounted: int = 0
    latency_ns: int = LATENCY_NS
    before_run: Callable[[str, int], None] = lambda entrant, step: None
    turns: list[tuple[str, int]] = field(default_factory=list)
    closed: list[tuple[str, int]] = field(default_factory=list)
    is_closed: bool = False

    def experiment(self, sitting: Sitting) -> Experiment:
        return SimulatedExperiment(self)


class SimulatedPrepared(Prepared):
    def __init__(self, script: Script, name: str, step: Step) -> None:
        self.shape = Shape(int(step.points.get("requesters", 1)), 2048, False)
        self._script = script
        self._key = (name, step.number)
        self._asked = 0

    def processes(self) -> Sequence[Watched]:
        return [Watched(DRIVER, os.getpid(), False)]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[Counted]:
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
        watcher.moment(Moment(0, timeline.measured_ns, 10, 10.0, LATENCY_NS, LATENCY_NS))
        threading.Event().wait(max(timeline.end_ns - time.perf_counter_ns(), 0) / 1e9)
        return [Counted(0, recorder.phases)]

    def figures(self) -> Sequence[Figure]:
        self._asked += 1
        return [Figure("queue-manager", "puts", float(self._asked))]

    def results(self) -> Sequence[Figure]:
        return [Figure("probe", "bytes per connection", 123.0)]

    def settled(self, counted: Sequence[Counted]) -> Sequence[Expected]:
        return [Expected("puts", 30, 30 + self._script.miscounted)]

    def close(self) -> None:
        self._script.closed.append(self._key)


class SimulatedExperiment(Experiment):
    def __init__(self, script: Script) -> None:
        self._script = script

    def entrants(self) -> Sequence[Entrant]:
        return self._script.entrants

    @property
    def absent(self) -> Mapping[str, str]:
        return self._script.absent

    def prepare(self, entrant: Entrant, step: Step) -> Prepared:
        failure = self._script.fails_to_prepare(entrant.name, step.number)
        if failure:
            raise PointFailed(failure)
        return SimulatedPrepared(self._script, entrant.name, step)

    def close(self) -> None:
        self._script.is_closed = True


class HeardView:
    """A view that remembers what it was told."""

    def __init__(self) -> None:
        self.plans: list[tuple[int, int]] = []
        self.dones: list[Done] = []
        self.nows: list[Now] = []
        self.failures: list[tuple[str, int, str]] = []
        self.skips: list[tuple[str, int, str]] = []
        self.notes: list[str] = []

    def planned(self, points: int, settled: int, seconds: float) -> None:
        self.plans.append((points, settled))

    def begun(self, entrant: Entrant, step: Step, repetition: int) -> None:
        return

    def now(self, now: Now) -> None:
        self.nows.append(now)

    def done(self, done: Done) -> None:
        self.dones.append(done)

    def failed(self, entrant: Entrant, step: Step, why: str) -> None:
        self.failures.append((entrant.name, step.number, why))

    def skipped(self, entrant: Entrant, steps: int, why: str) -> None:
        self.skips.append((entrant.name, steps, why))

    def note(self, text: str) -> None:
        self.notes.append(text)
