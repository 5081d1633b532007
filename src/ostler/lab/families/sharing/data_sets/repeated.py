"""One operation again and again until the window is over, such as the formatting of a data set or a backup."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from ostler.lab.families.task import RESULT, count_in, wait_until
from ostler.lab.load.timeline import MEASURED, WARMING_UP, PhaseRecorder, Timeline
from ostler.lab.runner.contract import Metric, PointFailed, PointSpec, ReadyLoad, Watcher, WorkerCounts
from ostler.lab.sampling.process_sampler import WatchedProcess

_DRAIN_SECONDS_MAX: Final = 600.0


class RepeatedOperation(ReadyLoad):
    """At least one in the window. One that takes longer counts in the phase in which it began."""

    is_one_by_one = True
    drain_seconds_max = _DRAIN_SECONDS_MAX

    def __init__(self, point_spec: PointSpec) -> None:
        self.point_spec = point_spec
        self._results: list[Metric] = []
        self.is_closed = False
        """Set by another thread when it is closed while it runs: no further operation begins."""

    @abstractmethod
    def operate(self) -> tuple[float, dict[str, float]]:
        """Do it once; return its seconds, and results by name."""

    def processes(self) -> Sequence[WatchedProcess]:
        return ()

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        recorder = PhaseRecorder(timeline)
        self._results = []
        now = wait_until(timeline.begin_ns)
        is_measured = False
        while now < timeline.cool_ns or not is_measured:
            seconds, found = self.operate()
            if self.is_closed:
                raise PointFailed("it was closed while it ran")
            phase = MEASURED if now >= timeline.measured_ns else WARMING_UP
            now = time.perf_counter_ns()
            count_in(recorder, phase, self.point_spec.main_operation, seconds, now)
            if phase == MEASURED:
                at = len(self._results) // max(len(found), 1)
                self._results += [Metric(RESULT, name, value, position=at) for name, value in found.items()]
                is_measured = True
        return (WorkerCounts(0, recorder.phases),)

    def results(self) -> Sequence[Metric]:
        return self._results

    def close(self) -> None:
        self.is_closed = True
