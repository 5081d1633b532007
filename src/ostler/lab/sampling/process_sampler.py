"""Samples of processes by role: the use of each since its last sample.

A process is watched with its children, as brokers have several. Processor time is that of the whole process, ended
threads included, in the kernel's ticks (10 ms, mostly): sums are exact to one tick for each process. Switches and waits
for a core are counted by thread, and those after the last sample of a thread are lost with it. So is the use of a child
that came and went between two samples.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
class _Seen:
    """A process at its last sample."""

    watched: WatchedProcess
    stat: ProcessStat
    storage: StorageUse | None
    threads: dict[int, tuple[int, int, int]] | None
    """For each thread: voluntary and involuntary switches, nanoseconds of waiting for a core."""
    thread_ticks: dict[int, ProcessStat]


@dataclass(frozen=True)
class ProcessSamples:
    """The result of one sampling."""

    processes: list[ProcessSample]
    threads: list[ThreadSample]
    events: list[Event]


class ProcessSampler:
    """Samples the watched processes on request. A process is counted from its first sample on."""

    def __init__(self, proc: Path = PROC, tick_us: int = 0, page_bytes: int = 0) -> None:
        self._proc = proc
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
        return _Seen(watched, stat, storage, self._read_threads(place), self._read_thread_ticks(place, watched))

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

    def _read_thread_ticks(self, place: Path, watched: WatchedProcess) -> dict[int, ProcessStat]:
        found: dict[int, ProcessStat] = {}
        if not watched.by_thread:
            return found
        try:
            for thread in os.listdir(place / "task"):
                text = (place / "task" / thread / "stat").read_text(errors="replace")
                found[int(thread)] = kernel_text.process_stat(text)
        except OSError:
            return found
        return found

    def _sample(self, interval: Interval, before: _Seen | None, now: _Seen) -> ProcessSample:
        stat = now.stat
        user, system = stat.user_ticks, stat.system_ticks
        if before is not None:
            user, system = max(user - before.stat.user_ticks, 0), max(system - before.stat.system_ticks, 0)
        storage = _storage_between(before, now)
        threads = _threads_between(before, now)
        return ProcessSample(
            interval=interval,
            role=now.watched.role,
            pid=stat.pid,
            name=stat.name,
            user_us=user * self._tick_us,
            system_us=system * self._tick_us,
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
        for thread, stat in sorted(now.thread_ticks.items()):
            earlier = before.thread_ticks.get(thread) if before is not None else None
            user, system = stat.user_ticks, stat.system_ticks
            if earlier is not None and earlier.start_ticks == stat.start_ticks:
                user, system = user - earlier.user_ticks, system - earlier.system_ticks
            samples.append(
                ThreadSample(
                    interval, now.watched.role, now.stat.pid, thread, stat.name,
                    max(user, 0) * self._tick_us, max(system, 0) * self._tick_us,
                )
            )  # fmt: skip
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
