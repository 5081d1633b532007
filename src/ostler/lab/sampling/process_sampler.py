"""Samples of processes by role: the use of each since its last sample.

A process is watched with its children, as brokers have several. Processor time is that of the whole process, ended
threads included, by its processor clock: a load of a few messages uses less than one of the kernel's ticks (10 ms,
mostly). Ticks divide it into user and system, and take its place where the clock cannot be read. Switches and waits
for a core are counted by thread, and those after the last sample of a thread are lost with it. So is the use of a child
that came and went between two samples.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.lab.common.processor_time import process_ns
from ostler.lab.sampling import kernel_text
from ostler.lab.sampling.kernel_text import ProcessStat, StorageUse
from ostler.lab.sampling.samples import Event, Interval, ProcessSample, ThreadSample

PROC: Final = Path("/proc")
BEGAN: Final = "process began"
ENDED: Final = "process ended"
_PROCESSES_MAX: Final = 4096
_NEVER: Final = (0, 0, 0)


@dataclass(frozen=True)
class WatchedProcess:
    """A process and its role in the run: driver, queue manager, a peer, the laboratory itself."""

    role: str
    pid: int
    with_children: bool = True
    by_thread: bool = False


@dataclass(frozen=True)
class _Times:
    """Processor time of a process or thread so far: in ticks, and exactly, where the kernel tells."""

    stat: ProcessStat
    used_ns: int | None

    def since(self, before: _Times | None, tick_us: int) -> tuple[int, int]:
        """Return user and system time in microseconds since an earlier sample, or since it began."""
        user, system = self.stat.user_ticks, self.stat.system_ticks
        since_ns: int | None = 0
        if before is not None:
            user, system = max(user - before.stat.user_ticks, 0), max(system - before.stat.system_ticks, 0)
            since_ns = before.used_ns
        if self.used_ns is None or since_ns is None:
            return user * tick_us, system * tick_us
        if not user + system:
            # No tick since then: the division of all its time is the best that is known.
            user, system = self.stat.user_ticks, self.stat.system_ticks
        used_us = max(self.used_ns - since_ns, 0) // 1000
        user_us = used_us * user // (user + system) if user + system else used_us
        return user_us, used_us - user_us


@dataclass(frozen=True)
class _Seen:
    """A process at its last sample."""

    watched: WatchedProcess
    stat: ProcessStat
    storage: StorageUse | None
    threads: dict[int, tuple[int, int, int]] | None
    """For each thread: voluntary and involuntary switches, nanoseconds of waiting for a core."""
    thread_times: dict[int, _Times]
    """Times of each thread, if threads are told apart."""
    times: _Times


@dataclass(frozen=True)
class ProcessSamples:
    """The result of one sampling."""

    processes: list[ProcessSample]
    threads: list[ThreadSample]
    events: list[Event]


class ProcessSampler:
    """Samples the watched processes on request. A process is counted from its first sample on."""

    def __init__(
        self,
        proc: Path = PROC,
        tick_us: int = 0,
        page_bytes: int = 0,
        clock_ns: Callable[[int], int] = process_ns,
    ) -> None:
        self._proc = proc
        self._clock_ns = clock_ns
        self._tick_us = tick_us or 1_000_000 // os.sysconf("SC_CLK_TCK")
        self._page_bytes = page_bytes or os.sysconf("SC_PAGE_SIZE")
        self._watched: dict[int, WatchedProcess] = {}
        self._seen: dict[int, _Seen] = {}

    def watch(self, watched: WatchedProcess) -> None:
        """Watch a process. If it or a child already runs, its earlier use is not counted."""
        self._watched[watched.pid] = watched
        for pid, whose in self._family().items():
            found = self._read(pid, whose) if whose is watched else None
            if found is not None and not found.stat.is_over:
                self._seen[pid] = found

    def forget(self, pid: int) -> None:
        """Forget a process and its children. It may end now without an event."""
        watched = self._watched.pop(pid, None)
        for each in [number for number, seen in self._seen.items() if seen.watched is watched]:
            del self._seen[each]

    def sample(self, interval: Interval) -> ProcessSamples:
        """Return the use of the processes within the interval, which ends now."""
        samples = ProcessSamples([], [], [])
        now: dict[int, _Seen] = {}
        for pid, watched in self._family().items():
            found = self._read(pid, watched)
            if found is None:
                continue
            before = self._seen.pop(pid, None)
            if before is not None and before.stat.start_ticks != found.stat.start_ticks:
                # The process id was reused.
                self._add_event(ENDED, before, interval, samples)
                before = None
                if watched.pid == pid:
                    continue
            if found.stat.is_over and before is None:
                continue
            if before is None:
                self._add_event(BEGAN, found, interval, samples)
            samples.processes.append(self._sample(interval, before, found))
            samples.threads.extend(self._thread_samples(interval, before, found))
            if found.stat.is_over:
                self._add_event(ENDED, found, interval, samples)
            now[pid] = found
        for seen in self._seen.values():
            self._add_event(ENDED, seen, interval, samples)
        self._seen = {pid: seen for pid, seen in now.items() if not seen.stat.is_over}
        return samples

    def _add_event(self, what: str, seen: _Seen, interval: Interval, samples: ProcessSamples) -> None:
        pid = seen.stat.pid
        if what == ENDED and seen.watched.pid == pid:
            self._watched.pop(pid, None)
        samples.events.append(
            Event(interval.ended_ns, interval.phase, interval.second, what, seen.watched.role, pid, seen.stat.name)
        )

    def _family(self) -> dict[int, WatchedProcess]:
        """Return all watched processes and their children. One that is watched itself keeps its own role."""
        found: dict[int, WatchedProcess] = dict(self._watched)
        line = [(each.pid, each) for each in self._watched.values() if each.with_children]
        while line and len(found) < _PROCESSES_MAX:
            pid, watched = line.pop()
            for child in self._children(pid):
                if child not in found:
                    found[child] = watched
                    line.append((child, watched))
        return found

    def _children(self, pid: int) -> list[int]:
        children: list[int] = []
        try:
            for thread in os.listdir(self._proc / str(pid) / "task"):
                text = (self._proc / str(pid) / "task" / thread / "children").read_text()
                children += [int(word) for word in text.split()]
        except (OSError, ValueError):
            # It ended meanwhile, or the kernel was built without this file.
            return children
        return children

    def _read(self, pid: int, watched: WatchedProcess) -> _Seen | None:
        place = self._proc / str(pid)
        try:
            stat = kernel_text.process_stat((place / "stat").read_text(errors="replace"))
        except OSError:
            return None
        try:
            storage = kernel_text.storage_use((place / "io").read_text())
        except (OSError, ValueError):
            # Processes of other users do not show it.
            storage = None
        try:
            used_ns = None if stat.is_over else self._clock_ns(pid)
        except OSError:
            # It ended meanwhile, or belongs to another user.
            used_ns = None
        threads, times = self._read_threads(place), self._read_thread_times(place, watched)
        return _Seen(watched, stat, storage, threads, times, _Times(stat, used_ns))

    def _read_threads(self, place: Path) -> dict[int, tuple[int, int, int]] | None:
        found: dict[int, tuple[int, int, int]] = {}
        try:
            for thread in os.listdir(place / "task"):
                switches = kernel_text.context_switches((place / "task" / thread / "status").read_text())
                waited = kernel_text.core_wait_ns((place / "task" / thread / "schedstat").read_text())
                found[int(thread)] = (*switches, waited)
        except ValueError:
            return None
        except OSError:
            return found or None
        return found

    def _read_thread_times(self, place: Path, watched: WatchedProcess) -> dict[int, _Times]:
        found: dict[int, _Times] = {}
        if not watched.by_thread:
            return found
        try:
            for thread in os.listdir(place / "task"):
                stat = kernel_text.process_stat((place / "task" / thread / "stat").read_text(errors="replace"))
                used_ns = kernel_text.run_ns((place / "task" / thread / "schedstat").read_text())
                found[int(thread)] = _Times(stat, used_ns)
        except OSError:
            return found
        return found

    def _sample(self, interval: Interval, before: _Seen | None, now: _Seen) -> ProcessSample:
        stat = now.stat
        user_us, system_us = now.times.since(before.times if before is not None else None, self._tick_us)
        storage = _storage_between(before, now)
        threads = _threads_between(before, now)
        return ProcessSample(
            interval=interval,
            role=now.watched.role,
            pid=stat.pid,
            name=stat.name,
            user_us=user_us,
            system_us=system_us,
            core_wait_us=None if threads is None else threads[2] // 1000,
            voluntary_switches=None if threads is None else threads[0],
            involuntary_switches=None if threads is None else threads[1],
            resident_bytes=stat.resident_pages * self._page_bytes,
            threads=stat.threads,
            read_bytes=None if storage is None else storage.read_bytes,
            written_bytes=None if storage is None else storage.written_bytes,
            read_calls=None if storage is None else storage.read_calls,
            write_calls=None if storage is None else storage.write_calls,
        )

    def _thread_samples(self, interval: Interval, before: _Seen | None, now: _Seen) -> list[ThreadSample]:
        samples: list[ThreadSample] = []
        for thread, times in sorted(now.thread_times.items()):
            earlier = before.thread_times.get(thread) if before is not None else None
            if earlier is not None and earlier.stat.start_ticks != times.stat.start_ticks:
                # The number was given to another thread.
                earlier = None
            used = times.since(earlier, self._tick_us)
            samples.append(ThreadSample(interval, now.watched.role, now.stat.pid, thread, times.stat.name, *used))
        return samples


def _storage_between(before: _Seen | None, now: _Seen) -> StorageUse | None:
    if now.storage is None or before is None or before.storage is None:
        return now.storage
    late, early = now.storage, before.storage
    return StorageUse(
        late.read_bytes - early.read_bytes,
        late.written_bytes - early.written_bytes,
        late.read_calls - early.read_calls,
        late.write_calls - early.write_calls,
    )


def _threads_between(before: _Seen | None, now: _Seen) -> tuple[int, int, int] | None:
    if now.threads is None:
        return None
    earlier = (before.threads or {}) if before is not None else {}
    totals = [0, 0, 0]
    for thread, counts in now.threads.items():
        for at, was in enumerate(earlier.get(thread, _NEVER)):
            # A thread id can be reused: a value that shrank belongs to another thread.
            totals[at] += counts[at] - was if counts[at] >= was else counts[at]
    return totals[0], totals[1], totals[2]
