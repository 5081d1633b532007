"""Clients that block, each in a thread of its own: how a library is used by who picks it first."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.epoll_driver import Round

_OPEN_SECONDS_MAX = 60.0
_END_SECONDS_MAX = 60.0


class Worker(ABC):
    """One connection through a library. All its methods are called in its own thread."""

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def step(self) -> None:
        """A requester: one request and its reply. A responder: wait shortly for a request, and reply if it came."""

    @abstractmethod
    def close(self) -> None: ...


class ThreadedDriver:
    """Requesters that work during rounds, and responders that always do."""

    def __init__(self, requesters: list[Callable[[], Worker]], responders: list[Callable[[], Worker]]) -> None:
        self._goes_on = False
        self._ends = False
        self._turn = threading.Condition()
        self._round = 0
        self._active = 0
        self._ready = threading.Semaphore(0)
        self._failure = ""
        self._latencies: list[list[int]] = []
        self._threads: list[threading.Thread] = []
        for run, makers in ((self._respond, responders), (self._request, requesters)):
            for make in makers:
                self._threads.append(threading.Thread(target=self._guarded, args=(run, make), daemon=True))
                self._threads[-1].start()
                if not self._ready.acquire(timeout=_OPEN_SECONDS_MAX) or self._failure:
                    raise LoadFailed(self._failure or "a client of a library did not connect in time")
        self._requesters = len(requesters)

    def round(self, seconds: float) -> Round:
        with self._turn:
            self._latencies = []
            self._active = self._requesters
            self._goes_on = True
            self._round += 1
            began = time.perf_counter()
            self._turn.notify_all()
        time.sleep(seconds)
        self._goes_on = False
        deadline = time.monotonic() + _END_SECONDS_MAX
        with self._turn:
            while self._active and not self._failure and time.monotonic() < deadline:
                self._turn.wait(0.2)
        if self._active or self._failure:
            raise LoadFailed(self._failure or f"{self._active} requesters did not get their replies in time")
        took = time.perf_counter() - began
        latencies = [each for taken in self._latencies for each in taken]
        return Round(len(latencies), took, latencies)

    def close(self) -> None:
        with self._turn:
            self._ends = True
            self._turn.notify_all()
        for each in self._threads:
            each.join(_END_SECONDS_MAX)

    def _guarded(self, run: Callable[[Worker], None], make: Callable[[], Worker]) -> None:
        try:
            worker = make()
            worker.open()
            self._ready.release()
            run(worker)
            worker.close()
        except Exception as failure:
            if not self._ends:
                self._failure = f"{type(failure).__name__}: {failure}"
            self._ready.release()

    def _respond(self, worker: Worker) -> None:
        while not self._ends:
            worker.step()

    def _request(self, worker: Worker) -> None:
        seen = 0
        while True:
            with self._turn:
                while self._round == seen and not self._ends:
                    self._turn.wait()
                if self._ends:
                    return
                seen = self._round
            taken: list[int] = []
            while self._goes_on:
                began = time.perf_counter_ns()
                worker.step()
                taken.append(time.perf_counter_ns() - began)
            with self._turn:
                self._latencies.append(taken)
                self._active -= 1
                self._turn.notify_all()
