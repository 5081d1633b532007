"""Tasks: measurements by one thread in a process of its own, and loops of verb calls.

A task is made in its process and stays there, so only its counts are copied between processes.
"""

from __future__ import annotations

import gc
import os
import time
from abc import ABC, abstractmethod
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
