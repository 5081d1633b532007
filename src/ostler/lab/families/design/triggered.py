"""Family `triggered`: requests that start the application which answers them.

The request queue is triggered by its first message. A trigger monitor starts an application, a process of its own, that
answers requests until none has come for its disconnect interval, and ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ostler.lab.families.design import triggered_programs
from ostler.lab.families.design.triggered_programs import INITIATION_QUEUE, PROCESS
from ostler.lab.families.load_experiment import VERB_BY_VERB, LoadExperiment, OstlerContestant
from ostler.lab.families.load_points import LoadPoint, load_point
from ostler.lab.families.ready_loads import ReadyOstlerLoad
from ostler.lab.families.task import RESULT
from ostler.lab.load.mq.client import request_queue
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    Experiment,
    Metric,
    PointFailed,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
    WrappedLoad,
)
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER

STARTED: Final = "applications started"
APPLICATION_TIME: Final = "application us per round trip"
"""The processor time of the triggered application, its starts included."""
_END_SECONDS_MAX: Final = 20.0
_WINDOW_SECONDS_LEAST: Final = 5.0
"""A request every two seconds, and the start of a process for some, are not seen in a quick window."""


def experiment(context: RunContext) -> Experiment:
    return TriggeredExperiment(context)


def triggered_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return requesters, and a queue manager that triggers the application which answers them."""
    found = load_point(scenario, step)
    interval_ms = int(step.points["disconnect_interval_ms"])
    commands = (
        *found.manager.commands,
        f"DEFINE QLOCAL({INITIATION_QUEUE})",
        f"DEFINE PROCESS({PROCESS}) APPLTYPE(UNIX) "
        f"APPLICID('{sys.executable} -m {triggered_programs.__name__}') USERDATA('{interval_ms}')",
        f"ALTER QLOCAL({request_queue(0)}) TRIGGER TRIGTYPE(FIRST) INITQ({INITIATION_QUEUE}) PROCESS({PROCESS})",
    )
    return replace(found, responders=0, manager=replace(found.manager, commands=commands))


class TriggerMonitor:
    """A trigger monitor in a process of its own. It ends with its pipe."""

    def __init__(self, manager: LabQueueManager) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", triggered_programs.__name__, "monitor", str(manager.root), manager.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != triggered_programs.READY:
            self.end()
            raise PointFailed("the trigger monitor does not start")

    def watched(self) -> WatchedProcess:
        # Applications come and go between two samples; the monitor has their time.
        return WatchedProcess(DRIVER, self._process.pid, with_children=False)

    def applications(self) -> tuple[int, int]:
        """Return the number of applications started so far, and their processor time in nanoseconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write("count\n")
            self._process.stdin.flush()
            started, used_ns = self._process.stdout.readline().split()
            return int(started), int(used_ns)
        except (OSError, ValueError):
            raise PointFailed("the trigger monitor has ended") from None

    def end(self) -> None:
        """End it, and with it the applications that still run."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class TriggeredExperiment(LoadExperiment):
    """Requesters of a queue manager whose request queue triggers the application."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context, triggered_point, (VERB_BY_VERB,))

    @property
    def _window_seconds(self) -> float:
        return max(super()._window_seconds, _WINDOW_SECONDS_LEAST)

    def _peer_contestants(self) -> list[Contestant]:
        return []

    def _limit_contestants(self) -> list[Contestant]:
        return []

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        monitor = TriggerMonitor(self._started(point)[0])
        try:
            prepared = super()._prepare_ostler(ours, point)
        except BaseException:
            monitor.end()
            raise
        assert isinstance(prepared, ReadyOstlerLoad)
        return _TriggeredLoad(prepared, monitor)


class _TriggeredLoad(WrappedLoad):
    """A load beside a trigger monitor."""

    measured_seconds_least: float = _WINDOW_SECONDS_LEAST

    def __init__(self, load: ReadyOstlerLoad, monitor: TriggerMonitor) -> None:
        super().__init__(load)
        self._monitor = monitor
        self._before = (0, 0)
        self._trips = 0

    def processes(self) -> Sequence[WatchedProcess]:
        return [*super().processes(), self._monitor.watched()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._before = self._monitor.applications()
        counted = super().run(timeline, watcher)
        phases = [phase for each in counted for phase in each.phases]
        self._trips = sum(second.count for phase in phases for second in phase.operation(ROUND_TRIP).seconds.values())
        return counted

    def results(self) -> Sequence[Metric]:
        (started, used_ns), (started_before, used_before) = self._monitor.applications(), self._before
        found = [*super().results(), Metric(RESULT, STARTED, float(started - started_before))]
        if self._trips:
            found.append(Metric(RESULT, APPLICATION_TIME, (used_ns - used_before) / 1000 / self._trips))
        return found

    def close(self) -> None:
        super().close()
        self._monitor.end()
