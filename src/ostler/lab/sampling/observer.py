"""The observer: samples processes and the machine once a second and where phases change, and passes samples to a sink.

Samples are due at whole intervals after a phase began, however long each took. A late one is recorded with its real
length, and missed ones are not invented.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ostler.lab.sampling.clock import Clock
from ostler.lab.sampling.machine_sampler import MachineSampler
from ostler.lab.sampling.process_sampler import ProcessSampler, WatchedProcess
from ostler.lab.sampling.samples import Event, Interval, Sink

INTERVAL_SECONDS: Final = 1.0
PHASE_BEGAN: Final = "phase began"


class Observer:
    """Samples on request; `observing` runs it in a thread. May be used from several threads."""

    def __init__(
        self,
        clock: Clock,
        processes: ProcessSampler,
        machine: MachineSampler,
        sink: Sink,
        phase: str = "setup",
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        assert interval_seconds > 0
        self._clock = clock
        self._processes = processes
        self._machine = machine
        self._sink = sink
        self._phase = phase
        self._interval_ns = round(interval_seconds * 1e9)
        self._lock = threading.Lock()
        self._origin_ns = clock.now_ns()
        self._last_ns = self._origin_ns
        self._phase_ns = self._origin_ns
        self._record_phase()

    @property
    def origin_ns(self) -> int:
        """The clock's time that all times in samples count from."""
        return self._origin_ns

    @property
    def phase(self) -> str:
        return self._phase

    def watch(self, watched: WatchedProcess) -> None:
        with self._lock:
            self._processes.watch(watched)

    def forget(self, pid: int) -> None:
        """Sample a process for the last time before it is ended on purpose, and expect its end."""
        with self._lock:
            self._sample()
            self._processes.forget(pid)

    def enter(self, phase: str, sink: Sink | None = None) -> None:
        """Begin a phase. Samples until now belong to the phase before; later ones go to the sink, if there is one."""
        with self._lock:
            self._sample()
            self._phase = phase
            self._phase_ns = self._last_ns
            if sink is not None:
                self._sink = sink
            self._record_phase()

    def step(self) -> None:
        """Sample now."""
        with self._lock:
            self._sample()

    def run(self, stop: threading.Event) -> None:
        """Sample whenever it is due until stopped, and once more then."""
        while not self._clock.wait(stop, self._seconds_until_due()):
            with self._lock:
                # Another phase may have begun meanwhile: its first sample is due later, and each second has one.
                if self._is_due():
                    self._sample()
        self.step()

    def _seconds_until_due(self) -> float:
        passed_ns = self._clock.now_ns() - self._phase_ns
        return (self._interval_ns - passed_ns % self._interval_ns) / 1e9

    def _is_due(self) -> bool:
        sampled_ns, now_ns = self._last_ns - self._phase_ns, self._clock.now_ns() - self._phase_ns
        return now_ns // self._interval_ns > sampled_ns // self._interval_ns

    def _sample(self) -> None:
        now_ns = self._clock.now_ns()
        if now_ns <= self._last_ns:
            return
        origin_ns = self._origin_ns
        interval = Interval(self._phase, self._phase_ns - origin_ns, self._last_ns - origin_ns, now_ns - origin_ns)
        self._last_ns = now_ns
        samples = self._processes.sample(interval)
        machine = self._machine.sample(interval)
        for event in samples.events:
            self._sink.event(event)
        for process in samples.processes:
            self._sink.process(process)
        for thread in samples.threads:
            self._sink.thread(thread)
        self._sink.machine(machine)

    def _record_phase(self) -> None:
        self._sink.event(Event(self._phase_ns - self._origin_ns, self._phase, 0, PHASE_BEGAN, "", 0, ""))


class ObservingFailed(Exception):
    """The observer's thread ended early; the cause has the reason. Earlier samples are valid."""


@contextmanager
def observing(observer: Observer, stop_seconds_max: float = 10.0) -> Iterator[Observer]:
    """Sample in a thread of its own until the block ends. Raises ObservingFailed if sampling failed."""
    stop = threading.Event()
    failures: list[Exception] = []

    def run() -> None:
        try:
            observer.run(stop)
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, name="lab-observer", daemon=True)
    thread.start()
    try:
        yield observer
    finally:
        stop.set()
        thread.join(stop_seconds_max)
    if thread.is_alive():
        raise ObservingFailed(f"the observer did not stop within {stop_seconds_max:.0f} seconds")
    if failures:
        raise ObservingFailed(f"observing ended early: {failures[0]}") from failures[0]
