"""Repeated restarts of a queue manager, by how it ended and what it holds.

A restart is the work of the queue manager until applications can connect. The time of the whole process, from the
command on, is measured beside it: starting Python and loading modules takes most of that.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ostler.lab.families.task import RESULT, count_in, wait_until
from ostler.lab.load.timeline import MEASURED, WARMING_UP, PhaseRecorder, Timeline
from ostler.lab.runner.contract import CountCheck, Metric, PointFailed, PointSpec, ReadyLoad, Watcher, WorkerCounts
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess

RESTART: Final = "restart"
PROCESS: Final = "start of the process"
RECORDS: Final = "records read back"
_LIMIT_SECONDS_MAX: Final = 60.0
_LENGTH: Final = struct.Struct("<I")


class RestartTimes(NamedTuple):
    """Seconds of one restart, and of the process that did it."""

    restart: float
    process: float


class Restarts(ReadyLoad):
    """One restart after the other until the window is over, at least one in it.

    A restart may take longer than a window, so it counts in the phase in which it began.
    """

    is_one_by_one = True

    drain_seconds_max = 600.0

    def __init__(self, point_spec: PointSpec) -> None:
        self.point_spec = point_spec
        self._results: list[Metric] = []
        self.is_closed = False
        """Set by another thread when it is closed while it runs, as by control-C: no further restart begins."""

    def restart(self) -> RestartTimes:
        """Restart once."""
        raise NotImplementedError

    def found(self) -> list[Metric]:
        """Return metrics of the last restart."""
        return []

    def processes(self) -> Sequence[WatchedProcess]:
        # Each restart is another process, and gone before it could be sampled twice.
        return ()

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        recorder = PhaseRecorder(timeline)
        self._results = []
        now = wait_until(timeline.begin_ns)
        is_measured = False
        while now < timeline.cool_ns or not is_measured:
            taken = self.restart()
            if self.is_closed:
                raise PointFailed("it was closed while it ran")
            phase = MEASURED if now >= timeline.measured_ns else WARMING_UP
            is_measured = is_measured or phase == MEASURED
            now = time.perf_counter_ns()
            count_in(recorder, phase, RESTART, taken.restart, now)
            count_in(recorder, phase, PROCESS, taken.process, now)
            if phase == MEASURED:
                self._results += self.found()
        return (WorkerCounts(0, recorder.phases),)

    def results(self) -> Sequence[Metric]:
        return self._results

    def close(self) -> None:
        self.is_closed = True


class QueueManagerRestarts(Restarts):
    """A queue manager that is killed and started again: it finds the same each time.

    `counted` returns how many of the objects in question it has, `expected` is how many there should be.
    """

    def __init__(
        self,
        point_spec: PointSpec,
        manager: LabQueueManager,
        what: str,
        expected: int,
        counted: Callable[[LabQueueManager], int],
    ) -> None:
        super().__init__(point_spec)
        self._manager = manager
        self._what = what
        self._expected = expected
        self._count_objects = counted

    def restart(self) -> RestartTimes:
        self._manager.kill()
        self._manager = self._manager.start_again()
        if self.is_closed:
            self._manager.kill()
        return RestartTimes(self._manager.restart.seconds, self._manager.start_seconds)

    def found(self) -> list[Metric]:
        return [Metric(RESULT, RECORDS, self._manager.restart.records, position=len(self._results))]

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        return [CountCheck(self._what, self._expected, self._count_objects(self._manager))]

    def close(self) -> None:
        super().close()
        self._manager.kill()


class BareReading(Restarts):
    """The least work of a restart: read definitions from one file, and keep them by number."""

    def __init__(self, point_spec: PointSpec, path: Path, definitions: Iterable[bytes]) -> None:
        super().__init__(point_spec)
        with path.open("wb") as file:
            for each in definitions:
                file.write(_LENGTH.pack(len(each)) + each)
        program = f"from {__name__} import read_definitions; print(read_definitions({str(path)!r}))"
        self._command = [sys.executable, "-c", program]

    def restart(self) -> RestartTimes:
        began = time.perf_counter()
        try:
            done = subprocess.run(
                self._command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_SECONDS_MAX, check=False
            )
        except subprocess.TimeoutExpired:
            raise PointFailed("reading definitions took too long") from None
        if done.returncode:
            raise PointFailed(f"reading definitions ended with status {done.returncode}")
        return RestartTimes(float(done.stdout), time.perf_counter() - began)


def read_definitions(path: str) -> float:
    """Read a file of definitions, and return the seconds it took."""
    began = time.perf_counter()
    data = Path(path).read_bytes()
    kept: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + size
        kept[len(kept)] = data[at - size : at]
    return time.perf_counter() - began
