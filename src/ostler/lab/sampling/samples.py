"""The samples of an observer: one for each process, thread, machine and interval, and events.

An interval is about a second, and ends early where a phase ends, so that it lies in one phase only. Counters are
increases within the interval: sums over a phase are exact, whatever its intervals were. Gauges are values at its end.
Times are nanoseconds since the observer began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Interval:
    """The begin and end of a sample, and its phase."""

    phase: str
    phase_began_ns: int
    began_ns: int
    ended_ns: int

    @property
    def second(self) -> int:
        """The second of the phase it began in."""
        return (self.began_ns - self.phase_began_ns) // 1_000_000_000

    @property
    def microseconds(self) -> float:
        return (self.ended_ns - self.began_ns) / 1000


@dataclass(frozen=True)
class ProcessSample:
    """One process. None: the kernel does not show it to us."""

    interval: Interval
    role: str
    pid: int
    name: str
    user_us: int
    system_us: int
    core_wait_us: int | None
    """Ready to run, but without a core: of all threads together."""
    voluntary_switches: int | None
    involuntary_switches: int | None
    resident_bytes: int
    threads: int
    read_bytes: int | None
    written_bytes: int | None
    read_calls: int | None
    write_calls: int | None

    @property
    def cpu_us(self) -> int:
        return self.user_us + self.system_us

    @property
    def core_percent(self) -> float:
        """Of one core: two threads that are always busy add up to 200."""
        return 100 * self.cpu_us / max(self.interval.microseconds, 1.0)


@dataclass(frozen=True)
class ThreadSample:
    """One thread of a process that is sampled by thread: a trusted application, or the log writer."""

    interval: Interval
    role: str
    pid: int
    thread: int
    name: str
    user_us: int
    system_us: int

    @property
    def cpu_us(self) -> int:
        return self.user_us + self.system_us


@dataclass(frozen=True)
class MachineSample:
    """The whole machine. Processor times are of all its cores together."""

    interval: Interval
    cores: int
    user_us: int
    nice_us: int
    system_us: int
    idle_us: int
    iowait_us: int
    irq_us: int
    softirq_us: int
    steal_us: int
    busiest_core_percent: float
    load: float
    running: int
    context_switches: int
    loopback_bytes: int
    loopback_packets: int
    network_received_bytes: int
    network_sent_bytes: int
    dropped_packets: int
    disk: str
    """The device with the queue managers' files; empty when they are in memory."""
    disk_reads: int
    disk_read_bytes: int
    disk_writes: int
    disk_written_bytes: int
    disk_flushes: int
    disk_busy_us: int
    disk_free_bytes: int
    memory_available_bytes: int
    dirty_bytes: int
    swapped_pages: int
    disk_wait_us: int | None = None
    """The time of all reads, writes and flushes of the disk, from when they were queued until they were done."""
    disk_queue_us: int | None = None
    """The time that requests were in progress, all together."""

    @property
    def total_us(self) -> int:
        return self.busy_us + self.idle_us + self.iowait_us + self.steal_us

    @property
    def busy_us(self) -> int:
        return self.user_us + self.nice_us + self.system_us + self.irq_us + self.softirq_us

    @property
    def steal_percent(self) -> float:
        return 100 * self.steal_us / self.total_us if self.total_us else 0.0

    @property
    def busy_percent(self) -> float:
        return 100 * self.busy_us / self.total_us if self.total_us else 0.0


@dataclass(frozen=True)
class Event:
    """A single event: a phase began, a process began or ended."""

    at_ns: int
    phase: str
    second: int
    """Of the phase."""
    name: str
    role: str
    pid: int
    text: str


class Sink(Protocol):
    """Receives samples in the order they are taken. Called by one thread at a time."""

    def process(self, sample: ProcessSample) -> None: ...

    def thread(self, sample: ThreadSample) -> None: ...

    def machine(self, sample: MachineSample) -> None: ...

    def event(self, event: Event) -> None: ...


class Collected:
    """A sink that keeps all in memory: for short windows, flags, and tests."""

    def __init__(self) -> None:
        self.processes: list[ProcessSample] = []
        self.threads: list[ThreadSample] = []
        self.machines: list[MachineSample] = []
        self.events: list[Event] = []

    def process(self, sample: ProcessSample) -> None:
        self.processes.append(sample)

    def thread(self, sample: ThreadSample) -> None:
        self.threads.append(sample)

    def machine(self, sample: MachineSample) -> None:
        self.machines.append(sample)

    def event(self, event: Event) -> None:
        self.events.append(event)


class Several:
    """A sink that passes everything to other sinks."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    def process(self, sample: ProcessSample) -> None:
        for each in self._sinks:
            each.process(sample)

    def thread(self, sample: ThreadSample) -> None:
        for each in self._sinks:
            each.thread(sample)

    def machine(self, sample: MachineSample) -> None:
        for each in self._sinks:
            each.machine(sample)

    def event(self, event: Event) -> None:
        for each in self._sinks:
            each.event(event)
