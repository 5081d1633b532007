"""Experiments whose contestants are tasks, each in a process of its own that is kept for all repetitions of a step.

A contestant is a function of the step's points and a new directory, called in its process, which returns the task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.client.locate.embedded import start
from ostler.lab.common.embedded import NAME, QUEUE, define_queue
from ostler.lab.common.probes import ForcedFile
from ostler.lab.families.task import Loop, Task
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess, run_in_process
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    NEEDED_PARAMETER,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.child import read_metrics
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.model import Persistence, Point
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER, PROBE, QUEUE_MANAGER
from ostler.server.config.qm_ini import LogSection

Points = Mapping[str, Point]
MakeTask = Callable[[dict[str, Point], Path], Task]
# Preparations fill queues with a million messages.
_MAKE_SECONDS_MAX: Final = 600.0
_PROBE_FILE_BYTES: Final = 64 << 20


def ostler(name: str, promise: str) -> Contestant:
    return Contestant(f"Ostler, {name}", ContestantKind.OSTLER, promise, version=__version__)


def limit(name: str, promise: str) -> Contestant:
    return Contestant(name, ContestantKind.LIMIT, promise)


def is_persistent(points: Points) -> bool:
    return points.get("persistence") == Persistence.PERSISTENT.value


def parameter(context: RunContext, name: str) -> int:
    """Return a whole number that the scenario must have."""
    value = context.scenario.parameters[name]
    assert isinstance(value, int), f"{context.scenario.id}: {name} is {value!r}"
    return value


class TaskExperiment(Experiment):
    """Contestants with their tasks, and one description of each point.

    Contestants in `remote` are applications of a queue manager in another process. The function is called with the
    points and the directory of a queue manager that is to be created there; then the queue manager is started.
    """

    def __init__(
        self,
        context: RunContext,
        tasks: Mapping[Contestant, MakeTask],
        point_spec: Callable[[Points], PointSpec],
        agreements: Sequence[Agreement] = (),
        remote: Mapping[Contestant, Callable[[dict[str, Point], Path], None]] | None = None,
    ) -> None:
        self.context = context
        self._tasks = tasks
        self._point_spec = point_spec
        self._agreements = agreements
        self._remote = remote or {}
        self._step = -1
        self._running: dict[str, _Running] = {}
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        has_limits = self.context.settings.limits
        return [each for each in self._tasks if has_limits or each.kind is not ContestantKind.LIMIT]

    def point_spec(self, contestant: Contestant, step: Step) -> PointSpec:
        return self._point_spec(step.points)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        if step.number != self._step:
            self.close()
            self._step = step.number
        running = self._running.get(contestant.name)
        if running is None:
            running = self._running[contestant.name] = self._started(contestant, dict(step.points))
        agreements = () if contestant.kind is ContestantKind.LIMIT else self._agreements
        drop = partial(self._running.pop, contestant.name)
        return _Kept(self.point_spec(contestant, step), running, agreements, drop)

    def _started(self, contestant: Contestant, points: dict[str, Point]) -> _Running:
        self._made += 1
        root = self.context.scratch / f"task-{self._made}"
        create, manager, role = self._remote.get(contestant), None, QUEUE_MANAGER
        if create is not None:
            run_in_process(partial(create, points, root), _MAKE_SECONDS_MAX)
            manager, role = LabQueueManager(root, QueueManagerPlan()), DRIVER
        elif contestant.kind is ContestantKind.LIMIT:
            role = PROBE
        try:
            task = TaskProcess(partial(self._tasks[contestant], points, root), role, _MAKE_SECONDS_MAX)
        except BaseException:
            if manager is not None:
                manager.end()
            raise
        return _Running(task, manager)

    def close(self) -> None:
        # A load that fails meanwhile drops its own task, on another thread.
        for name in list(self._running):
            running = self._running.pop(name, None)
            if running is not None:
                running.end()


@dataclass(frozen=True)
class _Running:
    """A task, and the queue manager that it uses if that has a process of its own."""

    task: TaskProcess
    manager: LabQueueManager | None

    def end(self) -> None:
        self.task.end()
        if self.manager is not None:
            self.manager.end()


class _Kept(ReadyTask):
    """A task that stays for the next repetition, unless it failed: then its process ends."""

    is_one_by_one = True

    # A round may display a hundred thousand queues.
    drain_seconds_max = _MAKE_SECONDS_MAX

    def __init__(
        self, point_spec: PointSpec, running: _Running, agreements: Sequence[Agreement], drop: Callable[[], _Running]
    ) -> None:
        manager = running.manager
        watched, counters = (manager.watched(), manager.metrics) if manager is not None else ((), None)
        super().__init__(point_spec, running.task, watched, counters, agreements)
        self._drop = drop

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        try:
            return super().run(timeline, watcher)
        except PointFailed:
            self._drop().end()
            raise

    def close(self) -> None:
        return


@dataclass(frozen=True)
class Batch:
    """Operations that are timed together. `run` does so many of them, and returns the nanoseconds they took."""

    operation: str
    run: Callable[[int], int]
    count: int


class BatchLoop(Loop):
    """Batches of several operations in rotation, so that all of them have the same conditions. The first is the main
    operation."""

    def __init__(self, *batches: Batch) -> None:
        self.main_operation = batches[0].operation
        self._batches = batches

    def begin(self, recorder: PhaseRecorder) -> None:
        self._recorded = [(each, recorder.operation(each.operation)) for each in self._batches]

    def turn(self) -> int:
        now = 0
        for batch, operation in self._recorded:
            took = batch.run(batch.count)
            now = time.perf_counter_ns()
            operation.record_batch(now - took, now, batch.count)
        return now

    def close(self) -> None:
        return


class QueueManagerLoop(BatchLoop):
    """Batches in the process of a new queue manager with one queue. It ends as in a crash, which is quick."""

    def __init__(self, root: Path, log: LogSection) -> None:
        self.manager = start(NAME, root, True, log, False)
        define_queue(self.manager, QUEUE)
        try:
            super().__init__(*self.batches())
        except BaseException:
            self.manager.end("preemptive")
            raise

    def batches(self) -> Sequence[Batch]:
        raise NotImplementedError

    def metrics(self) -> list[Metric]:
        return [Metric(source, name, float(value)) for source, name, value in read_metrics(self.manager)]

    def close(self) -> None:
        self.manager.end("preemptive")


class ForceLoop(BatchLoop):
    """The least work of anything durable: a record written to a file that is there, and forced."""

    def __init__(self, path: Path, operation: str, record_bytes: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = ForcedFile(path, _PROBE_FILE_BYTES)
        self._record = bytes(record_bytes)
        super().__init__(Batch(operation, self._force, 1))

    def _force(self, count: int) -> int:
        began = time.perf_counter_ns()
        for _ in range(count):
            self._file.write_and_force(self._record)
        return time.perf_counter_ns() - began

    def close(self) -> None:
        self._file.close()


def needing(point_spec: PointSpec, operations: float) -> PointSpec:
    """Return the description of a limit of which one operation of a contestant needs this many, or this part."""
    return replace(point_spec, parameters={**point_spec.parameters, NEEDED_PARAMETER: f"{operations:g}"})
