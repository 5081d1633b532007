"""Drivers in processes of their own, told through pipes what to do.

A driver answers what it is told with one message. While a timeline runs it sends others before, about once a second.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import threading
import time
import traceback
from array import array
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.epoll_driver import EpollDriver
from ostler.lab.load.plan import Driver, Plan, start_driver
from ostler.lab.load.timeline import PhaseRecorder, Timeline, unpacked_phases
from ostler.lab.observing.process_sampler import Watched
from ostler.lab.running.contract import DRIVER, Counted, Moment, Watcher

_ANSWER_SECONDS_MAX: Final = 180.0
# A driver tells how it goes every second, so that this much silence means that it hangs.
_RUN_SILENT_SECONDS_MAX: Final = 60.0
_SETTLE_SECONDS: Final = 0.02
_SETTLE_SILENT_SECONDS_MAX: Final = 30.0
_OPEN, _ROUND, _RUN, _OUTSTANDING, _COUNTED, _CLOSE, _END = (
    "open", "round", "run", "outstanding", "counted", "close", "end",
)  # fmt: skip


@dataclass(frozen=True)
class LoadRound:
    """What a round came to, of all drivers of a load together."""

    done: int
    seconds: float
    latencies_ns: array[int]
    user_seconds: float
    system_seconds: float

    @property
    def per_second(self) -> float:
        return self.done / self.seconds if self.seconds else 0.0


Found = LoadRound | int | list[str] | None
"""What is answered: of a round, how many messages are outstanding, recorders as lines."""


@dataclass(frozen=True)
class _Answer:
    """Failure in words, or what was found."""

    failure: str
    found: Found


class DriverProcess:
    """One process with one driver at a time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def tell(self, what: str, argument: object = None) -> None:
        try:
            self.pipe.send((what, argument))
        except OSError:
            raise self._ended() from None

    def heard(self) -> Moment | Found:
        """What it says next: how its load goes, or the answer. Raises LoadFailed with the driver's words."""
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(said, Moment):
            return said
        assert isinstance(said, _Answer)
        if said.failure:
            raise LoadFailed(said.failure)
        return said.found

    def answer(self) -> Found:
        """Of what was told before. Raises LoadFailed with the driver's words."""
        if not self.pipe.poll(_ANSWER_SECONDS_MAX):
            raise LoadFailed(f"a driver did not answer within {_ANSWER_SECONDS_MAX:.0f} s")
        found = self.heard()
        assert not isinstance(found, Moment)
        return found

    def end(self) -> None:
        with contextlib.suppress(LoadFailed):
            self.tell(_END)
        self.pipe.close()
        self._process.join(5)
        self.kill()

    def kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self.pipe.close()

    def _ended(self) -> LoadFailed:
        self._process.join(1)
        return LoadFailed(f"a driver ended with status {self._process.exitcode}")


class Load:
    """The clients of one contestant, shared out among driver processes.

    When a run fails, all drivers are ended, with all their connections. The load may be opened again, with others.
    """

    def __init__(self, processes: list[DriverProcess]) -> None:
        self._processes = processes
        self._is_open = False

    def processes(self) -> list[Watched]:
        """Whom to observe. They stay the same until a run fails."""
        return [Watched(DRIVER, each.pid) for each in self._processes]

    def open(self, plan: Plan) -> None:
        parts = len(self._processes)
        for number, process in enumerate(self._processes):
            process.tell(_OPEN, plan.part(number, parts))
            # One after the other, so that all responders of the first are there before the others' requesters.
            process.answer()
        self._is_open = True

    def run(self, timeline: Timeline, watcher: Watcher) -> list[Counted]:
        """Put the load on for a timeline. Returns when all that was under way has ended, and nothing is on its way."""
        try:
            for process in self._processes:
                process.tell(_RUN, timeline)
            self._listen(timeline, watcher)
            if len(self._processes) > 1:
                self._wait_until_settled()
            return [self._counted(number, process) for number, process in enumerate(self._processes)]
        except LoadFailed:
            self._start_again()
            raise

    def _listen(self, timeline: Timeline, watcher: Watcher) -> None:
        """Until every driver has come to its end."""
        by_pipe = {process.pipe: (number, process) for number, process in enumerate(self._processes)}
        heard_at = dict.fromkeys(by_pipe, max(time.perf_counter_ns(), timeline.begin_ns))
        while by_pipe:
            for pipe in wait(list(by_pipe), 1.0):
                assert isinstance(pipe, Connection)
                number, process = by_pipe[pipe]
                said = process.heard()
                heard_at[pipe] = time.perf_counter_ns()
                if isinstance(said, Moment):
                    watcher.moment(replace(said, worker=number))
                else:
                    del by_pipe[pipe]
            silent_ns = time.perf_counter_ns() - min(
                (heard_at[each] for each in by_pipe), default=time.perf_counter_ns()
            )
            if silent_ns > _RUN_SILENT_SECONDS_MAX * 1e9:
                raise LoadFailed(f"a driver said nothing for {_RUN_SILENT_SECONDS_MAX:.0f} s")

    def _wait_until_settled(self) -> None:
        """Until what some drivers' producers put is got by consumers of others.

        Nobody puts any more, so numbers of outstanding messages only fall: when those of different moments add up to
        nothing, nothing is outstanding.
        """
        before, since = -1, time.monotonic()
        while True:
            for process in self._processes:
                process.tell(_OUTSTANDING)
            answers = [process.answer() for process in self._processes]
            left = sum(each for each in answers if isinstance(each, int))
            if left <= 0:
                return
            if left != before:
                before, since = left, time.monotonic()
            elif time.monotonic() - since > _SETTLE_SILENT_SECONDS_MAX:
                raise LoadFailed(f"{left} messages were not there within {_SETTLE_SILENT_SECONDS_MAX:.0f} s")
            time.sleep(_SETTLE_SECONDS)

    def _counted(self, number: int, process: DriverProcess) -> Counted:
        process.tell(_COUNTED)
        lines = process.answer()
        assert isinstance(lines, list)
        return Counted(number, unpacked_phases(lines))

    def _start_again(self) -> None:
        for process in self._processes:
            process.kill()
        self._processes = [DriverProcess() for _ in self._processes]
        self._is_open = False

    def round(self, seconds: float) -> LoadRound:
        for process in self._processes:
            process.tell(_ROUND, seconds)
        answers = [process.answer() for process in self._processes]
        rounds = [found for found in answers if isinstance(found, LoadRound)]
        latencies = array("q")
        for each in rounds:
            latencies.extend(each.latencies_ns)
        return LoadRound(
            sum(each.done for each in rounds),
            max(each.seconds for each in rounds),
            latencies,
            sum(each.user_seconds for each in rounds),
            sum(each.system_seconds for each in rounds),
        )

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        for process in self._processes:
            process.tell(_CLOSE)
            process.answer()

    def end(self) -> None:
        for process in self._processes:
            process.end()


def new_load(processes: int = 1) -> Load:
    return Load([DriverProcess() for _ in range(processes)])


class _Host:
    """What a driver process does with what it is told."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._driver: Driver | None = None
        self._recorder: PhaseRecorder | None = None

    def serve(self) -> None:
        while True:
            broken = ""
            try:
                if isinstance(self._driver, EpollDriver):
                    try:
                        self._driver.serve_until_readable(self._pipe.fileno())
                    except LoadFailed as told:
                        broken = f"between rounds: {told}"
                what, argument = self._pipe.recv()
            except (EOFError, KeyboardInterrupt):
                return
            if what == _END:
                return
            self._pipe.send(self._broken(broken) if broken else self._answer(what, argument))

    def _broken(self, words: str) -> _Answer:
        self._driver = None
        return _Answer(words, None)

    def _answer(self, what: str, argument: object) -> _Answer:
        try:
            return _Answer("", self._do(what, argument))
        except LoadFailed as told:
            return _Answer(str(told), None)
        except Exception:
            return _Answer(traceback.format_exc(), None)

    def _do(self, what: str, argument: object) -> Found:
        if what == _OPEN:
            assert isinstance(argument, Plan)
            self._driver = start_driver(argument)
            gc.collect()
            gc.freeze()
            return None
        driver = self._driver
        if driver is None:
            return None
        if what == _ROUND:
            assert isinstance(argument, float)
            return _round(driver, argument)
        if what == _RUN:
            assert isinstance(argument, Timeline)
            self._recorder = driver.run(argument, self._pipe.send)
        elif what == _OUTSTANDING:
            return driver.outstanding
        elif what == _COUNTED:
            assert self._recorder is not None
            return self._recorder.packed()
        else:
            self._driver = None
            driver.close()
        return None


def _serve(pipe: Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _Host(pipe).serve()


def _end_with_parent() -> None:
    """Whatever this process does: nobody would hear of it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _round(driver: Driver, seconds: float) -> LoadRound:
    before = os.times()
    done = driver.round(seconds)
    after = os.times()
    return LoadRound(
        done.done, done.seconds, array("q", done.latencies_ns), after.user - before.user, after.system - before.system
    )
