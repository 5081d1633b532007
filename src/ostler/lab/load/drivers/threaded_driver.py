"""Blocking clients, each in a thread of its own: the simplest use of a library."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.pacing import LATE_NS, Pacing, Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress, ignore_progress
from ostler.lab.load.timeline import PhaseRecorder, Timeline

_OPEN_SECONDS_MAX: Final = 60.0
_END_SECONDS_MAX: Final = 60.0
_SILENT_SECONDS_MAX: Final = 30.0
_POLL_SECONDS: Final = 0.2
_GET: Final = "get"


class OperationTally:
    """The counters shared by the threads of a driver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorder = PhaseRecorder(Timeline(0, 0, 0, 0))
        self._is_armed = False
        self.completed = 0
        self.outstanding = 0

    def arm(self, timeline: Timeline) -> None:
        """Count in this timeline from now on."""
        with self._lock:
            self._recorder = PhaseRecorder(timeline)
            self._is_armed = True

    def begin(self, timeline: Timeline) -> PhaseRecorder:
        if not self._is_armed or self._recorder.timeline != timeline:
            self.arm(timeline)
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

    def got(self, due_ns: int, ended_ns: int) -> None:
        with self._lock:
            self.outstanding -= 1
            self._recorder.operation(_GET).record(due_ns, ended_ns)


class LoadWorker(ABC):
    """One connection through a library. All its methods are called in its own thread."""

    due_ns: int = 0
    """The time at which the operation of `step` was due, written into the body of a one-way message."""
    tally: OperationTally = OperationTally()
    """The tally of its driver: a producer calls `tally.put()` before it puts, a consumer `tally.got(due_ns,
    now_ns)`."""

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def step(self) -> None:
        """Requester: one request and its reply. Responder: wait shortly for a request, and reply if there is one."""

    @abstractmethod
    def close(self) -> None: ...


class ThreadedDriver:
    """Requesters that work during timelines, and responders that always do."""

    def __init__(self, requesters: list[Callable[[], LoadWorker]], responders: list[Callable[[], LoadWorker]]) -> None:
        self.pacing = Pacing()
        self._tally = OperationTally()
        self._ends = False
        self._turn = threading.Condition()
        self._timelines = 0
        self._active = 0
        self._ready = threading.Semaphore(0)
        self._failure = ""
        self._timeline = Timeline(0, 0, 0, 0)
        self._schedule: Schedule | None = None
        self._threads: list[threading.Thread] = []
        for run, makers in ((self._respond, responders), (self._request, requesters)):
            for slot, make in enumerate(makers):
                self._threads.append(threading.Thread(target=self._guarded, args=(run, make, slot), daemon=True))
                self._threads[-1].start()
                if not self._ready.acquire(timeout=_OPEN_SECONDS_MAX) or self._failure:
                    self.close()
                    raise LoadFailed(self._failure or "a client of a library did not connect in time")
        self._requesters = len(requesters)

    @property
    def outstanding(self) -> int:
        return self._tally.outstanding

    def arm(self, timeline: Timeline) -> None:
        """Count in a timeline that will be run."""
        self._tally.arm(timeline)

    def run(self, timeline: Timeline, report: ReportProgress = ignore_progress) -> PhaseRecorder:
        """As the epoll driver's `run`. Its threads wait for the beginning by themselves."""
        pacing, tally = self.pacing, self._tally
        recorder = tally.begin(timeline)
        self._timeline, self._schedule = timeline, None
        if pacing.rate_per_second > 0:
            begin_ns, end_ns, rate = timeline.begin_ns, timeline.end_ns, pacing.rate_per_second
            self._schedule = Schedule(begin_ns, end_ns, rate, self._requesters, pacing.offset, pacing.since_put)
        progress = ProgressReporter(recorder, pacing.main_operation, tally.completed, report)
        self._start()
        silent_since, seen = time.perf_counter_ns(), (tally.completed, tally.outstanding)
        while self._is_under_way() and not self._failure:
            now = time.perf_counter_ns()
            if now >= progress.next_ns:
                progress.report(now, tally.completed)
            if now < timeline.end_ns or (tally.completed, tally.outstanding) != seen:
                silent_since, seen = now, (tally.completed, tally.outstanding)
            elif now - silent_since > _SILENT_SECONDS_MAX * 1e9:
                raise LoadFailed(f"{self._active} clients of a library did not come to an end in time")
        if self._failure:
            raise LoadFailed(self._failure)
        return recorder

    def _is_under_way(self) -> bool:
        """Return whether messages are in flight, after a short wait."""
        with self._turn:
            if self._active:
                self._turn.wait(_POLL_SECONDS)
                return True
        if self._tally.outstanding <= 0 or self.pacing.is_shared:
            return False
        time.sleep(_POLL_SECONDS / 20)
        return True

    def close(self) -> None:
        with self._turn:
            self._ends = True
            self._turn.notify_all()
        for each in self._threads:
            each.join(_END_SECONDS_MAX)

    def _start(self) -> None:
        with self._turn:
            self._active = self._requesters
            self._timelines += 1
            self._turn.notify_all()

    def _guarded(self, run: Callable[[LoadWorker, int], None], make: Callable[[], LoadWorker], slot: int) -> None:
        try:
            worker = make()
            worker.tally = self._tally
            worker.open()
            self._ready.release()
            run(worker, slot)
            worker.close()
        except Exception as failure:
            if not self._ends:
                self._failure = f"{type(failure).__name__}: {failure}"
            self._ready.release()
            with self._turn:
                self._turn.notify_all()

    def _respond(self, worker: LoadWorker, slot: int) -> None:
        while not self._ends:
            worker.step()

    def _request(self, worker: LoadWorker, slot: int) -> None:
        seen = 0
        while True:
            with self._turn:
                while self._timelines == seen and not self._ends:
                    self._turn.wait()
                if self._ends:
                    return
                seen = self._timelines
            timeline, schedule = self._timeline, self._schedule
            if schedule is None:
                self._keep_busy(worker, timeline)
            else:
                self._keep_to(worker, slot, timeline, schedule)
            with self._turn:
                self._active -= 1
                self._turn.notify_all()

    def _keep_busy(self, worker: LoadWorker, timeline: Timeline) -> None:
        main, tally = self.pacing.main_operation, self._tally
        _sleep_until(timeline.begin_ns)
        now = time.perf_counter_ns()
        while now < timeline.end_ns and not self._ends and not self._failure:
            worker.due_ns = now
            worker.step()
            now = time.perf_counter_ns()
            tally.done(main, worker.due_ns, now, False)

    def _keep_to(self, worker: LoadWorker, slot: int, timeline: Timeline, schedule: Schedule) -> None:
        """Keep a worker to the schedule. Each thread waits for its own due times; the schedule's waiting line is not
        used."""
        pacing, tally = self.pacing, self._tally
        turn = 0
        while not self._ends and not self._failure:
            due_ns = schedule.next_due_ns(slot) if turn and pacing.since_put else schedule.due_ns(slot, turn)
            if due_ns >= timeline.end_ns:
                return
            _sleep_until(due_ns)
            began = time.perf_counter_ns()
            if began >= timeline.end_ns:
                return
            worker.due_ns = due_ns
            schedule.begun(slot, began)
            worker.step()
            now, late = time.perf_counter_ns(), began - due_ns > LATE_NS and not (turn and pacing.since_put)
            tally.done(pacing.main_operation, began if pacing.since_put else due_ns, now, late)
            if pacing.beside:
                tally.count(pacing.beside, due_ns if pacing.since_put else began, now, late)
            turn += 1


def _sleep_until(when_ns: int) -> None:
    while True:
        left_ns = when_ns - time.perf_counter_ns()
        if left_ns <= 0:
            return
        time.sleep(min(left_ns / 1e9, _POLL_SECONDS))
