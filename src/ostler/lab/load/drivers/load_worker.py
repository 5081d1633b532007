"""The workers of a driver that uses a library: their interface, their counters, and the pace that drivers give them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ostler.lab.load.pacing import LATE_NS, Pacing, Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import GET

Done = TypeVar("Done")
"""The result of a worker's methods: None when they have blocked until they were done, or something to await."""


class OperationTally:
    """The counters shared by the threads of a driver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorder = PhaseRecorder(Timeline(0, 0, 0, 0))
        self._is_armed = False
        self._pacing = Pacing()
        self.completed = 0
        self.outstanding = 0

    def arm(self, timeline: Timeline, pacing: Pacing) -> None:
        """Count in this timeline from now on."""
        with self._lock:
            self._recorder = PhaseRecorder(timeline)
            self._pacing = pacing
            self._is_armed = True

    def begin(self, timeline: Timeline, pacing: Pacing) -> PhaseRecorder:
        if not self._is_armed or self._recorder.timeline != timeline:
            self.arm(timeline, pacing)
        self._is_armed = False
        return self._recorder

    def count(self, operation: str, due_ns: int, ended_ns: int, late: bool = False) -> None:
        with self._lock:
            self._recorder.operation(operation).record(due_ns, ended_ns, late)

    def done(self, operation: str, due_ns: int, ended_ns: int, late: bool) -> None:
        """Count the main operation."""
        with self._lock:
            self.completed += 1
            self._recorder.operation(operation).record(due_ns, ended_ns, late)

    def put(self) -> None:
        with self._lock:
            self.outstanding += 1

    def got(self, due_ns: int, put_ns: int, ended_ns: int) -> None:
        pacing = self._pacing
        began_ns, other_ns = (put_ns, due_ns) if pacing.since_put else (due_ns, put_ns)
        beside = pacing.beside_of(GET)
        with self._lock:
            self.outstanding -= 1
            self._recorder.operation(GET).record(began_ns, ended_ns)
            if beside:
                self._recorder.operation(beside).record(other_ns, ended_ns)


class LoadWorker(ABC, Generic[Done]):
    """One connection through a library. All its methods are called in its own thread, or in the event loop."""

    due_ns: int = 0
    """The time at which the operation of `step` was due, written into the body of a one-way message."""
    tally: OperationTally = OperationTally()
    """The tally of its driver: a producer calls `tally.put()` before it puts, a consumer `tally.got(due_ns,
    put_ns, now_ns)`."""

    @abstractmethod
    def open(self) -> Done: ...

    @abstractmethod
    def step(self) -> Done:
        """Requester: one request and its reply. Responder: wait shortly for a request, and reply if there is one."""

    @abstractmethod
    def close(self) -> Done: ...

    def abandon(self) -> None:
        """Release what it holds after a failure, in place of `close`."""


MakeWorker = Callable[[], LoadWorker[Done]]


class WorkerDriver:
    """The common parts of drivers that run workers: when operations are due, and how they are counted."""

    def __init__(self, requesters: int) -> None:
        self.pacing = Pacing()
        self._tally = OperationTally()
        self._requester_count = requesters
        self._failure = ""
        self._timeline = Timeline(0, 0, 0, 0)
        self._schedule: Schedule | None = None

    @property
    def outstanding(self) -> int:
        return self._tally.outstanding

    def arm(self, timeline: Timeline) -> None:
        """Count in a timeline that will be run."""
        self._tally.arm(timeline, self.pacing)

    def _begin(self, timeline: Timeline, report: ReportProgress) -> tuple[PhaseRecorder, ProgressReporter]:
        pacing, recorder = self.pacing, self._tally.begin(timeline, self.pacing)
        self._timeline, self._schedule = timeline, None
        if pacing.rate_per_second > 0:
            begin_ns, end_ns, rate = timeline.begin_ns, timeline.end_ns, pacing.rate_per_second
            self._schedule = Schedule(begin_ns, end_ns, rate, self._requester_count, pacing.offset, pacing.since_put)
        return recorder, ProgressReporter(recorder, pacing.main_operation, self._tally.completed, report)

    def _record_rated(self, due_ns: int, began_ns: int, turn: int) -> None:
        """Record an operation that ends now. Paced since its put, a worker is late at its first turn only."""
        pacing, tally, now_ns = self.pacing, self._tally, time.perf_counter_ns()
        late = began_ns - due_ns > LATE_NS and not (turn and pacing.since_put)
        tally.done(pacing.main_operation, began_ns if pacing.since_put else due_ns, now_ns, late)
        if pacing.beside:
            tally.count(pacing.beside, due_ns if pacing.since_put else began_ns, now_ns, late)


def due_ns_of(schedule: Schedule, slot: int, turn: int) -> int:
    """Return when a worker is due for the nth time, counted from 0."""
    return schedule.next_due_ns(slot) if turn and schedule.since_put else schedule.due_ns(slot, turn)
