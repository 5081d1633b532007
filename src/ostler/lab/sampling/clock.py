"""The clock of an observer, as a port: the real one waits, the one for tests only counts."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Nanoseconds from an arbitrary origin, and waiting."""

    def now_ns(self) -> int:
        """Return monotonic time."""

    def thread_cpu_ns(self) -> int:
        """Return the processor time of the calling thread."""

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait this long, or until the event is set. Returns whether it is set."""


class SystemClock:
    """The clock of this machine."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def thread_cpu_ns(self) -> int:
        return time.thread_time_ns()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        return stop.wait(max(seconds, 0.0))


class ManualClock:
    """A clock that advances on request, or when somebody waits: a run of minutes takes no time at all."""

    def __init__(self, now_ns: int = 0) -> None:
        self._now_ns = now_ns
        self._cpu_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def thread_cpu_ns(self) -> int:
        return self._cpu_ns

    def advance(self, nanoseconds: int, cpu_nanoseconds: int = 0) -> None:
        assert nanoseconds >= 0
        assert cpu_nanoseconds >= 0
        self._now_ns += nanoseconds
        self._cpu_ns += cpu_nanoseconds

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        if not stop.is_set():
            self.advance(round(max(seconds, 0.0) * 1e9))
        return stop.is_set()
