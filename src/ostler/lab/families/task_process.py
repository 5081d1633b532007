"""A task in a process of its own, with one pipe for orders and another for metrics.

The process ends with its pipes, so it does not outlive a parent that was killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from ostler.lab.families.task import Task
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.sigint_blocked import start_sigint_blocked
from ostler.lab.load.timeline import PhaseRecorder, Timeline, unpack_phases
from ostler.lab.runner.contract import (
    CountCheck,
    Metric,
    PointFailed,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    Watcher,
    WorkerCounts,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import DRIVER, QUEUE_MANAGER
from ostler.model.errors import MQError

_MADE, _PROGRESS, _DONE, _FAILED = "made", "progress", "done", "failed"
_MAKE_SECONDS_MAX: Final = 120.0
_DRAIN_SECONDS_MAX: Final = 90.0
_ANSWER_SECONDS_MAX: Final = 5.0
_ORDERLY_SECONDS_MAX: Final = 3.0
_END_SECONDS_MAX: Final = 5.0
_SECOND_NS: Final = 1_000_000_000

Counters = Callable[[], Sequence[Metric]]


class TaskProcess:
    """A task that is ready when this returns. `make` is called in the new process, and must be picklable.

    `beyond_seconds` is the time that the task works on after the end of a timeline, beside what it takes to come to an
    end.
    """

    def __init__(
        self,
        make: Callable[[], Task],
        role: str = DRIVER,
        make_seconds_max: float = _MAKE_SECONDS_MAX,
        beyond_seconds: float = 0.0,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._questions, asked = context.Pipe()
        self._asking = threading.Lock()
        self.role = role
        self._drain_seconds_max = _DRAIN_SECONDS_MAX + beyond_seconds
        self._process = context.Process(target=_serve, args=(theirs, asked, make), daemon=True)
        start_sigint_blocked(self._process)
        theirs.close()
        asked.close()
        try:
            self._answer(make_seconds_max, None)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def watched(self) -> WatchedProcess:
        return WatchedProcess(self.role, self.pid, by_thread=self.role == QUEUE_MANAGER)

    def select(self, work: object, seconds_max: float) -> None:
        """Let the task choose and prepare the work of the next run. Raises PointFailed as `run` does."""
        with contextlib.suppress(OSError):
            self._orders.send((None, work))
        self._answer(seconds_max, None)

    def run(
        self, timeline: Timeline, watcher: Watcher, worker: int = 0, drain_seconds_max: float = _DRAIN_SECONDS_MAX
    ) -> tuple[WorkerCounts, list[Metric]]:
        """Run the task; return its counts and results. Raises PointFailed with its error; then the process ends."""
        with contextlib.suppress(OSError):
            self._orders.send((timeline, None))
        seconds = (timeline.end_ns - time.perf_counter_ns()) / _SECOND_NS + max(
            drain_seconds_max, self._drain_seconds_max
        )
        lines, results = self._answer(seconds, watcher)
        return WorkerCounts(worker, unpack_phases(lines)), results

    def metrics(self) -> list[Metric]:
        """Return its metrics, from any thread; nothing when the process has ended."""
        with self._asking, contextlib.suppress(OSError, EOFError):
            self._questions.send(None)
            if self._questions.poll(_ANSWER_SECONDS_MAX):
                found: list[Metric] = self._questions.recv()
                return found
        return []

    def end(self) -> None:
        """End it in good order when it is idle; kill it after a moment when it is busy."""
        self._orders.close()
        self._process.join(_ORDERLY_SECONDS_MAX)
        # The process ends when this pipe is closed.
        self._questions.close()
        self._process.join(_END_SECONDS_MAX)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self, seconds_max: float, watcher: Watcher | None) -> tuple[list[str], list[Metric]]:
        deadline = time.monotonic() + seconds_max
        while True:
            try:
                if not self._orders.poll(max(deadline - time.monotonic(), 0.0)):
                    raise PointFailed(f"a {self.role}'s process did not answer within {seconds_max:.0f} s")
                what, value = self._orders.recv()
            except (EOFError, OSError):
                self._process.join(1)
                raise PointFailed(f"a {self.role}'s process ended with status {self._process.exitcode}") from None
            if what == _FAILED:
                raise PointFailed(value)
            if what == _PROGRESS:
                if watcher is not None:
                    watcher.on_progress(value)
                continue
            lines, results = value
            return lines, results


def _serve(orders: Connection, questions: Connection, make: Callable[[], Task]) -> None:
    """Run the task: the main function of the process."""
    # Control-C at the terminal is for the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task: Task | None = None
    try:
        try:
            task = make()
            threading.Thread(target=_answer_metrics, args=(questions, task), daemon=True).start()
            orders.send((_MADE, ([], [])))
            while True:
                timeline, work = orders.recv()
                if timeline is None:
                    task.select(work)
                    orders.send((_DONE, ([], [])))
                    continue
                recorder = PhaseRecorder(timeline)
                results = task.run(recorder, _progress_sender(orders))
                orders.send((_DONE, (recorder.pack(), results)))
        except (EOFError, BrokenPipeError):
            return
        except (MQError, LoadFailed, PointFailed) as failure:
            orders.send((_FAILED, str(failure)))
        except OSError as failure:
            orders.send((_FAILED, failure.strerror or str(failure)))
        except Exception:
            orders.send((_FAILED, traceback.format_exc()))
    finally:
        if task is not None:
            task.close()


def run_in_process(function: Callable[[], object], seconds_max: float) -> None:
    """Call a function in a process of its own, so that its memory and threads end with it. Raises PointFailed."""
    TaskProcess(partial(_Call, function), make_seconds_max=seconds_max).end()


class _Call(Task):
    """A function that is called when the task is made: there is nothing left to run."""

    def __init__(self, function: Callable[[], object]) -> None:
        function()

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        return []

    def close(self) -> None:
        return


def _progress_sender(orders: Connection) -> Callable[[ProgressSample], None]:
    def report(sample: ProgressSample) -> None:
        orders.send((_PROGRESS, sample))

    return report


def _answer_metrics(questions: Connection, task: Task) -> None:
    try:
        while True:
            questions.recv()
            questions.send(task.metrics())
    except (EOFError, OSError):
        # The parent was killed, and the measurement is of no use.
        os._exit(1)


@dataclass(frozen=True)
class Agreement:
    """Operations whose sum the queue manager must have counted as well, and the name of its counter."""

    operations: tuple[str, ...]
    counter: str


def operations_done(counted: Sequence[WorkerCounts], names: Sequence[str]) -> int:
    """Return the number of operations in all phases of a load."""
    return sum(
        second.count
        for each in counted
        for phase in each.phases
        for name in names
        for second in phase.operation(name).seconds.values()
    )


class ReadyTask(ReadyLoad):
    """One task, and the counters to read: its own, or those of a queue manager in another process."""

    drain_seconds_max = _DRAIN_SECONDS_MAX

    def __init__(
        self,
        point_spec: PointSpec,
        process: TaskProcess,
        others: Sequence[WatchedProcess] = (),
        counters: Counters | None = None,
        agreements: Sequence[Agreement] = (),
    ) -> None:
        self.point_spec = point_spec
        self._process = process
        self._others = tuple(others)
        self._counters = counters or process.metrics
        self._agreements = tuple(agreements)
        self._results: list[Metric] = []
        self._before: dict[str, float] = {}

    def processes(self) -> Sequence[WatchedProcess]:
        return (self._process.watched(), *self._others)

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._before = self._counts()
        self._results = []
        counted, self._results = self._process.run(timeline, watcher, drain_seconds_max=self.drain_seconds_max)
        return (counted,)

    def metrics(self) -> Sequence[Metric]:
        return self._counters()

    def results(self) -> Sequence[Metric]:
        return self._results

    def check_counts(self, counted: Sequence[WorkerCounts]) -> Sequence[CountCheck]:
        now = self._counts()
        return [
            CountCheck(
                each.counter,
                operations_done(counted, each.operations),
                round(now[each.counter] - self._before[each.counter]),
            )
            for each in self._agreements
            if each.counter in now and each.counter in self._before
        ]

    def close(self) -> None:
        self._process.end()

    def _counts(self) -> dict[str, float]:
        if not self._agreements:
            return {}
        return {each.name: each.value for each in self._counters() if each.source == QUEUE_MANAGER and not each.object}
