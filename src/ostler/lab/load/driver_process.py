"""Drivers in processes of their own, told through pipes what to do."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import traceback
from array import array
from dataclasses import dataclass
from multiprocessing.connection import Connection

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.epoll_driver import EpollDriver
from ostler.lab.load.plan import Driver, Plan, start_driver

_ANSWER_SECONDS_MAX = 180.0
_OPEN, _ROUND, _CLOSE, _END = "open", "round", "close", "end"


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


class DriverProcess:
    """One process with one driver at a time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def tell(self, what: str, argument: object = None) -> None:
        self._pipe.send((what, argument))

    def answer(self) -> LoadRound | None:
        """Of what was told before. Raises LoadFailed with the driver's words."""
        try:
            if not self._pipe.poll(_ANSWER_SECONDS_MAX):
                raise LoadFailed(f"a driver did not answer within {_ANSWER_SECONDS_MAX:.0f} s")
            failure, found = self._pipe.recv()
        except EOFError:
            self._process.join(1)
            raise LoadFailed(f"a driver ended with status {self._process.exitcode}") from None
        if failure:
            raise LoadFailed(failure)
        assert found is None or isinstance(found, LoadRound)
        return found

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.tell(_END)
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


class Load:
    """The clients of one contestant, shared out among driver processes."""

    def __init__(self, processes: list[DriverProcess]) -> None:
        self._processes = processes

    def open(self, plan: Plan) -> None:
        parts = len(self._processes)
        for number, process in enumerate(self._processes):
            process.tell(_OPEN, plan.part(number, parts))
            # One after the other, so that all responders of the first are there before the others' requesters.
            process.answer()

    def round(self, seconds: float) -> LoadRound:
        for process in self._processes:
            process.tell(_ROUND, seconds)
        rounds = [found for found in [process.answer() for process in self._processes] if found is not None]
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
        for process in self._processes:
            process.tell(_CLOSE)
            process.answer()

    def end(self) -> None:
        for process in self._processes:
            process.end()


def new_load(processes: int = 1) -> Load:
    return Load([DriverProcess() for _ in range(processes)])


def _serve(pipe: Connection) -> None:
    driver: Driver | None = None
    while True:
        broken = ""
        try:
            if isinstance(driver, EpollDriver):
                try:
                    driver.serve_until_readable(pipe.fileno())
                except LoadFailed as told:
                    broken = f"between rounds: {told}"
            what, argument = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if what == _END:
            return
        found: LoadRound | None = None
        failure = broken
        try:
            if broken:
                driver = None
            elif what == _OPEN:
                driver = start_driver(argument)
                gc.collect()
                gc.freeze()
            elif driver is not None and what == _ROUND:
                found = _round(driver, argument)
            elif driver is not None:
                driver.close()
                driver = None
        except LoadFailed as told:
            failure = str(told)
        except Exception:
            failure = traceback.format_exc()
        pipe.send((failure, found))


def _round(driver: Driver, seconds: float) -> LoadRound:
    before = os.times()
    done = driver.round(seconds)
    after = os.times()
    return LoadRound(
        done.done, done.seconds, array("q", done.latencies_ns), after.user - before.user, after.system - before.system
    )
