"""The times at which a load warms up, is measured and cools down, shared by all drivers of a load.

Times are those of `time.perf_counter_ns`, which on Linux is one clock for all processes. So every driver of a load, and
the observer, has the same window, even if one of them is started late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.lab.store.recorder import LatencyRecorder, OperationRecorder, unpack

WARMING_UP: Final = 0
MEASURED: Final = 1
COOLING_DOWN: Final = 2
_SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True)
class Timeline:
    """The begin of the load, of the measured window, of the cool-down, and the end. Operations in flight at the end are
    waited for."""

    begin_ns: int
    measured_ns: int
    cool_ns: int
    end_ns: int

    @classmethod
    def starting(
        cls, begin_ns: int, warm_up_seconds: float, measured_seconds: float, cool_down_seconds: float
    ) -> Timeline:
        measured_ns = begin_ns + round(warm_up_seconds * _SECOND_NS)
        cool_ns = measured_ns + round(measured_seconds * _SECOND_NS)
        return cls(begin_ns, measured_ns, cool_ns, cool_ns + round(cool_down_seconds * _SECOND_NS))

    @property
    def measured_seconds(self) -> float:
        return (self.cool_ns - self.measured_ns) / _SECOND_NS

    def __reduce__(self) -> tuple[type[Timeline], tuple[int, int, int, int]]:
        # A compiled frozen class cannot be filled in attribute by attribute, as unpickling would do.
        return Timeline, (self.begin_ns, self.measured_ns, self.cool_ns, self.end_ns)


class PhaseOperation:
    """Counts one operation in all phases. An operation belongs to the phase in which it ends."""

    def __init__(self, timeline: Timeline, phases: list[OperationRecorder]) -> None:
        self._measured_ns = timeline.measured_ns
        self._cool_ns = timeline.cool_ns
        self._warming_up, self._measured, self._cooling_down = phases

    def record(self, due_ns: int, ended_ns: int, late: bool = False) -> None:
        """Record a completed operation; its time counts from when it was due."""
        if ended_ns < self._measured_ns:
            self._warming_up.record(due_ns, ended_ns, late)
        elif ended_ns < self._cool_ns:
            self._measured.record(due_ns, ended_ns, late)
        else:
            self._cooling_down.record(due_ns, ended_ns, late)

    def record_batch(self, began_ns: int, ended_ns: int, count: int) -> None:
        """Record operations that were timed together."""
        if ended_ns < self._measured_ns:
            self._warming_up.record_batch(began_ns, ended_ns, count)
        elif ended_ns < self._cool_ns:
            self._measured.record_batch(began_ns, ended_ns, count)
        else:
            self._cooling_down.record_batch(began_ns, ended_ns, count)

    def fail(self, ended_ns: int) -> None:
        """Record an operation that ended with an error, or was abandoned."""
        if ended_ns < self._measured_ns:
            self._warming_up.fail(ended_ns)
        elif ended_ns < self._cool_ns:
            self._measured.fail(ended_ns)
        else:
            self._cooling_down.fail(ended_ns)


class PhaseRecorder:
    """The counts of one driver in one run of a load: a recorder for each phase."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        began = (timeline.begin_ns, timeline.measured_ns, timeline.cool_ns)
        self.phases = [LatencyRecorder(each) for each in began]
        self._operations: dict[str, PhaseOperation] = {}

    def operation(self, name: str) -> PhaseOperation:
        """Return the counter of one operation; keep it to record many."""
        found = self._operations.get(name)
        if found is None:
            phases = [each.operation(name) for each in self.phases]
            found = self._operations[name] = PhaseOperation(self.timeline, phases)
        return found

    def pack(self) -> list[str]:
        """Return a line for each phase, to be sent to another process."""
        return [each.pack() for each in self.phases]


def unpack_phases(lines: list[str]) -> list[LatencyRecorder]:
    """Return the counts of another process, by phase: `WARMING_UP`, `MEASURED`, `COOLING_DOWN`."""
    return [unpack(line) for line in lines]
