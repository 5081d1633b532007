"""Tasks: measurements by one thread in a process of its own, and loops of verb calls.

A task is made in its process and stays there, so only its counts are copied between processes.
"""

from __future__ import annotations

import gc
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import COOLING_DOWN, MEASURED, WARMING_UP, PhaseRecorder
from ostler.lab.runner.contract import Metric

RESULT: Final = "experiment"
"""The source of metrics that an experiment itself reports."""
ENDED: Final = COOLING_DOWN + 1
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_SECOND_NS: Final = 1_000_000_000


class Task(ABC):
    """Made, run once for each repetition, and closed in one process. All but `metrics` in its main thread."""

    @abstractmethod
    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        """Run the task, record its operations, and return further results."""

    def select(self, work: object) -> None:
        """Choose and prepare the work of the next run, for a task that has several kinds of it."""
        return

    def metrics(self) -> list[Metric]:
        """Return counters that only grow. Called from another thread while the task runs."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Disconnect in good order."""


class Loop(Task):
    """A task that repeats turns from the beginning of the timeline to its end."""

    main_operation: str

    @abstractmethod
    def begin(self, recorder: PhaseRecorder) -> None:
        """Look up the operations that turns will count."""

    @abstractmethod
    def turn(self) -> int:
        """Do one turn, and return the time at which it ended."""

    def entered(self, phase: int) -> None:
        """Called when a phase begins, and with ENDED after the last."""

    def results(self) -> list[Metric]:
        return []

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        self.begin(recorder)
        progress = ProgressReporter(recorder, self.main_operation, 0, report)
        ends = (timeline.measured_ns, timeline.cool_ns, timeline.end_ns)
        phase = WARMING_UP
        gc.collect()
        gc.freeze()
        wait_until(timeline.begin_ns)
        self.entered(phase)
        while phase < ENDED:
            now = self.turn()
            while phase < ENDED and now >= ends[phase]:
                phase += 1
                self.entered(phase)
            if now >= progress.next_ns:
                progress.report(now, completed(recorder, self.main_operation))
        gc.unfreeze()
        return self.results()


@dataclass(frozen=True)
class Timed:
    """Operations of one round that were timed together."""

    operation: str
    seconds: float
    count: int = 1


class Rounds(Task):
    """A task that repeats rounds until the window is over, at least one in it.

    A round may take longer than a window, so its operations count in the phase in which it began.
    """

    @abstractmethod
    def round(self) -> Sequence[Timed]:
        """Do one round; the main operation comes first."""

    def found(self) -> list[Metric]:
        """Return metrics of the last round."""
        return []

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline, results, done = recorder.timeline, list[Metric](), 0
        now = wait_until(timeline.begin_ns)
        progress: ProgressReporter | None = None
        is_measured = False
        while now < timeline.cool_ns or not is_measured:
            phase = MEASURED if now >= timeline.measured_ns else WARMING_UP
            taken = self.round()
            now = time.perf_counter_ns()
            for each in taken:
                count_in(recorder, phase, each.operation, each.seconds, now, each.count)
            if phase == MEASURED:
                is_measured = True
                results += self.found()
            progress = progress or ProgressReporter(recorder, taken[0].operation, 0, report)
            done += taken[0].count
            if now >= progress.next_ns:
                progress.report(now, done)
        return results


def count_in(
    recorder: PhaseRecorder, phase: int, operation: str, seconds: float, ended_ns: int, count: int = 1
) -> None:
    """Count operations in the phase in which they began, also when they ended later."""
    timeline = recorder.timeline
    ends = {WARMING_UP: timeline.measured_ns, MEASURED: timeline.cool_ns, COOLING_DOWN: timeline.end_ns}
    at_ns = min(ended_ns, ends[phase] - 1)
    recorder.phases[phase].operation(operation).record_batch(at_ns - round(seconds * _SECOND_NS), at_ns, count)


class ProcessorUse:
    """Processor time of this process between two phases."""

    def __init__(self) -> None:
        self._from = 0
        self.nanoseconds = 0

    def entered(self, phase: int) -> None:
        if phase == MEASURED:
            self._from = time.process_time_ns()
        elif phase == COOLING_DOWN:
            self.nanoseconds = time.process_time_ns() - self._from


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


def wait_until(moment_ns: int) -> int:
    """Wait until a time, and return the current time. Loads begin together, even if one of them is started late."""
    while (now := time.perf_counter_ns()) < moment_ns:
        time.sleep((moment_ns - now) / _SECOND_NS)
    return now


def completed(recorder: PhaseRecorder, operation: str) -> int:
    """Return the number of operations so far."""
    return sum(_count(recorder, operation, phase) for phase in range(len(recorder.phases)))


def measured_count(recorder: PhaseRecorder, operation: str) -> int:
    """Return the number of operations within the window."""
    return _count(recorder, operation, MEASURED)


def _count(recorder: PhaseRecorder, operation: str, phase: int) -> int:
    return sum(second.count for second in recorder.phases[phase].operation(operation).seconds.values())
