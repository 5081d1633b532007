"""Records of drivers and clients, for tests."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ostler.lab.load.client import Pace
from ostler.lab.load.drivers.start import Driver
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.timeline import Timeline
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.rows import LatencyRow, OperationRow


def timeline_of(seconds: float) -> Timeline:
    return Timeline.starting(time.perf_counter_ns(), 0.0, seconds, 0.0)


def operations(phases: Iterable[LatencyRecorder]) -> int:
    """Return the number of recorded operations of all kinds."""
    rows = [row for phase in phases for row in phase.rows(0)]
    return sum(row.count for row in rows if isinstance(row, OperationRow))


def done_in(driver: Driver, seconds: float = 0.0) -> int:
    """Return the operations that end in so long: in no time, one of each requester that is driven without threads."""
    return operations(driver.run(timeline_of(seconds), ignore_progress).phases)


def latencies_ns(pace: Pace) -> list[int]:
    """The latencies of the main operation, the lowest first; those below 128 are exact."""
    main = pace.pacing.main_operation
    rows = [row for phase in pace.recorder.phases for row in phase.rows(0) if isinstance(row, LatencyRow)]
    return sorted(row.bucket for row in rows if row.operation == main for _ in range(row.count))
