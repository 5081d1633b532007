"""Progress reports of a load, once a second while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.lab.load.timeline import COOLING_DOWN, MEASURED, WARMING_UP, PhaseRecorder
from ostler.lab.runner.contract import ProgressSample
from ostler.lab.store.histogram import percentile_ns

_SECOND_NS: Final = 1_000_000_000

ReportProgress = Callable[[ProgressSample], None]


def ignore_progress(sample: ProgressSample) -> None:
    """Ignore progress."""


class ProgressReporter:
    """Reports the content of a recorder. `next_ns` is when the next report is due."""

    def __init__(self, recorder: PhaseRecorder, main_operation: str, completed: int, report: ReportProgress) -> None:
        self._recorder = recorder
        self._main_operation = main_operation
        self._report = report
        self._began_with = self._completed = completed
        self._at_ns = recorder.timeline.begin_ns
        self.next_ns = self._at_ns + _SECOND_NS

    def report(self, now_ns: int, completed: int) -> None:
        """Report the progress, with this many main operations completed since the driver began."""
        seconds = max(now_ns - self._at_ns, 1) / _SECOND_NS
        rate = (completed - self._completed) / seconds
        p50_ns, p99_ns = self._percentiles()
        self._at_ns, self._completed = now_ns, completed
        self.next_ns = now_ns + _SECOND_NS
        self._report(ProgressSample(0, now_ns, completed - self._began_with, rate, p50_ns, p99_ns))

    def _percentiles(self) -> tuple[int, int]:
        """Return p50 and p99 of the last complete second; in the first second, of that one."""
        newest: tuple[int, int] | None = None
        for phase in (COOLING_DOWN, MEASURED, WARMING_UP):
            seconds = self._recorder.phases[phase].operation(self._main_operation).seconds
            for number in sorted(seconds, reverse=True):
                found = seconds[number]
                if not found.count:
                    continue
                # Other threads may be counting.
                counts = dict(found.counts)
                found_ns = percentile_ns(counts, 50, found.highest_ns), percentile_ns(counts, 99, found.highest_ns)
                if newest is not None:
                    return found_ns
                newest = found_ns
        return newest or (0, 0)
