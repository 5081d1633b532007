"""Drivers in processes of their own, controlled through pipes.

A driver answers each order with one message. While a timeline runs it also sends its progress, about once a second.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.drivers.start import Driver, Serving, Sharing, start_driver
from ostler.lab.load.sigint_blocked import start_sigint_blocked
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import PhaseRecorder, Timeline, unpack_phases
from ostler.lab.runner.contract import ProgressSample, Watcher, WorkerCounts
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import DRIVER

_ANSWER_SECONDS_MAX: Final = 180.0
# A driver reports its progress every second, so that this much silence means that it hangs.
_RUN_SILENT_SECONDS_MAX: Final = 60.0
_SETTLE_SECONDS: Final = 0.02
_SETTLE_SILENT_SECONDS_MAX: Final = 30.0
_BROKEN_SECONDS_MAX: Final = 10.0
# Orders to drivers.
_OPEN: Final = "open"
_ARM: Final = "arm"
_RUN: Final = "run"
_OUTSTANDING: Final = "outstanding"
_COUNTED: Final = "counted"
_CLOSE: Final = "close"
_END: Final = "end"


Found = int | list[str] | None
"""The content of an answer: the number of outstanding messages, or recorders as lines."""


@dataclass(frozen=True)
class Answer:
    """The text of a failure, or the result."""

    failure: str
    found: Found


class DriverEnd(ABC):
    """The parent's end of the pipe to a driver, which has one load at a time."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @abstractmethod
    def end(self) -> None: ...

    @abstractmethod
    def kill(self) -> None:
        """As `end`, without waiting for the current order."""

    @abstractmethod
    def break_off(self) -> None:
        """End the driver, so that a thread that waits for it is released with a failure."""

    @abstractmethod
    def describe_end(self) -> str:
        """Describe how it ended."""

    def send(self, what: str, argument: object = None) -> None:
        try:
            self.pipe.send((what, argument))
        except OSError:
            raise LoadFailed(self.describe_end()) from None

    def receive_message(self) -> ProgressSample | Found:
        """Return its next message: a progress sample or the answer. Raises LoadFailed with the driver's text."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            raise LoadFailed(self.describe_end()) from None
        if isinstance(message, ProgressSample):
            return message
        assert isinstance(message, Answer)
        if message.failure:
            raise LoadFailed(message.failure)
        return message.found

    def answer(self) -> Found:
        """Return the answer to the last order. Raises LoadFailed with the driver's text."""
        if not self.pipe.poll(_ANSWER_SECONDS_MAX):
            raise LoadFailed(f"a driver did not answer within {_ANSWER_SECONDS_MAX:.0f} s")
        found = self.receive_message()
        assert not isinstance(found, ProgressSample)
        return found


class DriverProcess(DriverEnd):
    """A driver with a process of its own."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe()
        super().__init__(pipe)
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        start_sigint_blocked(self._process)
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def end(self) -> None:
        with contextlib.suppress(LoadFailed):
            self.send(_END)
        self.pipe.close()
        self._process.join(5)
        self.kill()

    def kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self.pipe.close()

    def break_off(self) -> None:
        self._process.kill()

    def describe_end(self) -> str:
        self._process.join(1)
        return f"a driver ended with status {self._process.exitcode}"


class Load:
    """The clients of one contestant, divided among driver processes.

    After a failure all drivers are ended, with all their connections, and the load may be opened again with new ones. A
    load that is closed or ended while it runs in another thread is broken off: that thread gets LoadFailed.
    """

    def __init__(self, processes: Sequence[DriverEnd]) -> None:
        self._parts = len(processes)
        self._processes = processes
        self._is_open = False
        self._under_way = threading.Lock()

    def processes(self) -> list[WatchedProcess]:
        """Return the processes to sample. They stay the same until a failure."""
        return [WatchedProcess(DRIVER, each.pid) for each in self._processes]

    def open(self, spec: LoadSpec) -> None:
        if not self._processes:
            self._processes = [self._new_driver() for _ in range(self._parts)]
        with self._end_on_failure():
            for number, process in enumerate(self._processes):
                process.send(_OPEN, spec.part(number, self._parts))
                # One after the other, so that all responders of the first are ready before the requesters of the
                # others.
                process.answer()
        self._is_open = True

    def _new_driver(self) -> DriverEnd:
        """Return a driver to replace one that was ended."""
        return DriverProcess()

    def run(self, timeline: Timeline, watcher: Watcher) -> list[WorkerCounts]:
        """Put the load on for a timeline. Returns when all operations have ended and no message is in flight."""
        with self._under_way, self._end_on_failure():
            if self._parts > 1:
                # No driver begins before all of them count.
                self._all(_ARM, timeline)
            for process in self._processes:
                process.send(_RUN, timeline)
            self._listen(timeline, watcher)
            if self._parts > 1:
                self._wait_until_settled()
            return [_counted(number, lines) for number, lines in enumerate(self._all(_COUNTED))]

    def _all(self, what: str, argument: object = None) -> list[Found]:
        """Give all drivers the same order, and return their answers."""
        for process in self._processes:
            process.send(what, argument)
        return [process.answer() for process in self._processes]

    @contextlib.contextmanager
    def _end_on_failure(self) -> Iterator[None]:
        """End all drivers on a failure. Otherwise they would still be busy with an abandoned load."""
        try:
            yield
        except BaseException:
            processes, self._processes, self._is_open = self._processes, [], False
            for process in processes:
                process.kill()
            raise

    def _listen(self, timeline: Timeline, watcher: Watcher) -> None:
        """Read progress until every driver has finished."""
        by_pipe = {process.pipe: (number, process) for number, process in enumerate(self._processes)}
        message_at = dict.fromkeys(by_pipe, max(time.perf_counter_ns(), timeline.begin_ns))
        while by_pipe:
            for pipe in wait(list(by_pipe), 1.0):
                assert isinstance(pipe, Connection)
                number, process = by_pipe[pipe]
                message = process.receive_message()
                message_at[pipe] = time.perf_counter_ns()
                if isinstance(message, ProgressSample):
                    watcher.on_progress(replace(message, worker=number))
                else:
                    del by_pipe[pipe]
            silent_ns = time.perf_counter_ns() - min(
                (message_at[each] for each in by_pipe), default=time.perf_counter_ns()
            )
            if silent_ns > _RUN_SILENT_SECONDS_MAX * 1e9:
                raise LoadFailed(f"a driver said nothing for {_RUN_SILENT_SECONDS_MAX:.0f} s")

    def _wait_until_settled(self) -> None:
        """Wait until messages of some drivers' producers are got by the consumers of others.

        Nobody puts any more, so the numbers of outstanding messages only fall: when numbers read at different times add
        up to zero, nothing is outstanding.
        """
        before, since = -1, time.monotonic()
        while True:
            left = sum(each for each in self._all(_OUTSTANDING) if isinstance(each, int))
            if left <= 0:
                return
            if left != before:
                before, since = left, time.monotonic()
            elif time.monotonic() - since > _SETTLE_SILENT_SECONDS_MAX:
                raise LoadFailed(f"{left} messages were not there within {_SETTLE_SILENT_SECONDS_MAX:.0f} s")
            time.sleep(_SETTLE_SECONDS)

    def close(self) -> None:
        self._break_off()
        if not self._is_open:
            return
        self._is_open = False
        with self._end_on_failure():
            self._all(_CLOSE)

    def end(self) -> None:
        self._break_off()
        for process in self._processes:
            process.end()

    def _break_off(self) -> None:
        """Kill the drivers. A driver reads no order before its timeline has ended, and only one thread may read its
        answers."""
        if self._under_way.locked():
            for process in self._processes:
                process.break_off()
            if self._under_way.acquire(timeout=_BROKEN_SECONDS_MAX):
                self._under_way.release()


def _counted(number: int, lines: Found) -> WorkerCounts:
    assert isinstance(lines, list)
    return WorkerCounts(number, unpack_phases(lines))


def new_load(processes: int = 1) -> Load:
    return Load([DriverProcess() for _ in range(processes)])


class DriverHost:
    """Executes the orders of a driver."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._driver: Driver | None = None
        self._recorder: PhaseRecorder | None = None

    def serve(self) -> None:
        while True:
            broken = self._wait()
            try:
                what, argument = self._pipe.recv()
            except EOFError:
                return
            if what == _END:
                return
            if broken:
                self._driver = None
                self._pipe.send(Answer(f"between timelines: {broken}", None))
            else:
                self._pipe.send(self._answer(what, argument))

    def close(self) -> None:
        """Close the driver: the parent is gone."""
        if self._driver is not None:
            self._driver.close()

    def _wait(self) -> str:
        """Serve the clients until there is an order. Returns the text of a failure."""
        driver: object = self._driver
        if isinstance(driver, Serving):
            try:
                driver.serve_until_readable(self._pipe.fileno())
            except LoadFailed as error:
                return str(error)
        return ""

    def _answer(self, what: str, argument: object) -> Answer:
        try:
            return Answer("", self._do(what, argument))
        except LoadFailed as error:
            return Answer(str(error), None)
        except ImportError as missing:
            return Answer(f"a client library cannot be loaded: {missing}", None)
        except Exception:
            return Answer(traceback.format_exc(), None)

    def _do(self, what: str, argument: object) -> Found:
        if what == _OPEN:
            assert isinstance(argument, LoadSpec)
            self._driver = start_driver(argument)
            gc.collect()
            gc.freeze()
            return None
        driver = self._driver
        if driver is None:
            return None
        if what == _RUN:
            assert isinstance(argument, Timeline)
            self._recorder = driver.run(argument, self._pipe.send)
        elif what == _ARM:
            assert isinstance(argument, Timeline)
            if isinstance(driver, Sharing):
                driver.arm(argument)
        elif what == _OUTSTANDING:
            return driver.outstanding if isinstance(driver, Sharing) else 0
        elif what == _COUNTED:
            assert self._recorder is not None
            return self._recorder.pack()
        else:
            self._driver = None
            driver.close()
        return None


def _serve(pipe: Connection) -> None:
    # Control-C reaches the whole process group; the parent ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sockets_max()
    _wake_up_in_time()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        DriverHost(pipe).serve()


def _wake_up_in_time() -> None:
    """Reduce the timer slack of this thread, and of those that it starts, from 50 microseconds."""
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1")


def _end_with_parent() -> None:
    """End this process when the parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
