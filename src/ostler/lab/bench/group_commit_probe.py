"""The limit of group commit: a preallocated file, written and forced by a thread for everybody who waits.

It does for its waiters what a queue manager's log does for units of work, and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from ostler.lab.common.probes import ForcedFile

_FILE_BYTES = 64 << 20
_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Round:
    """What one round came to."""

    commits: int
    seconds: float
    forces: int
    written_bytes: int
    cpu_seconds: float
    """Of the whole process: who submits and who forces."""

    @property
    def per_second(self) -> float:
        return self.commits / self.seconds

    def per_force(self) -> float:
        return self.commits / self.forces if self.forces else 0.0

    def cpu_microseconds(self) -> float:
        return 1e6 * self.cpu_seconds / self.commits if self.commits else 0.0

    def bytes_per_commit(self) -> float:
        return self.written_bytes / self.commits if self.commits else 0.0


def keep_in_flight(
    count: int, seconds: float, submit: Callable[[int], None], told: SimpleQueue[int]
) -> tuple[int, float]:
    """Keep `count` submissions in flight from this thread for some time: how many were done, in how many seconds.

    Each is submitted by its number, and its number comes back through `told` when it is durable.
    """
    began = time.perf_counter()
    end = began + seconds
    done = 0
    for number in range(count):
        submit(number)
    in_flight = count
    while in_flight:
        number = told.get()
        done += 1
        if time.perf_counter() < end:
            submit(number)
        else:
            in_flight -= 1
    return done, time.perf_counter() - began


class GroupCommitProbe:
    """One thread that writes and forces; any number of submissions in flight."""

    def __init__(self, scratch: Path) -> None:
        self._file = ForcedFile(scratch / "probe", _FILE_BYTES)
        self._data = memoryview(bytes(range(256)) * (4 << 12))
        self._pending: list[int] = []
        self._kick = threading.Event()
        self._stopping = False
        self._bytes_each = 0.0
        self._batch_max = 1
        self._told: SimpleQueue[int] = SimpleQueue()
        self.forces = 0
        self.written_bytes = 0
        self._thread = threading.Thread(target=self._run, name="group-commit-probe", daemon=True)
        self._thread.start()

    def round(self, in_flight: int, seconds: float, bytes_each: float, commits_per_force_max: int) -> Round:
        self._bytes_each = bytes_each
        self._batch_max = max(1, commits_per_force_max)
        forces, written, cpu = self.forces, self.written_bytes, time.process_time()
        done, took = keep_in_flight(in_flight, seconds, self._submit, self._told)
        return Round(done, took, self.forces - forces, self.written_bytes - written, time.process_time() - cpu)

    def bare_forces(self, seconds: float, bytes_each: float) -> Round:
        """Writes and forces one after the other for some time, with nobody waiting for them: each is one commit."""
        size = min(max(int(bytes_each), 1), len(self._data))
        began, cpu = time.perf_counter(), time.process_time()
        end = began + seconds
        forces = 0
        while forces == 0 or time.perf_counter() < end:
            self._file.write_and_force(self._data[:size])
            forces += 1
        return Round(forces, time.perf_counter() - began, forces, forces * size, time.process_time() - cpu)

    def _submit(self, number: int) -> None:
        self._pending.append(number)
        if not self._kick.is_set():
            self._kick.set()

    def _run(self) -> None:
        while True:
            self._kick.wait()
            self._kick.clear()
            if self._stopping:
                return
            while self._pending:
                batch = self._pending[: self._batch_max]
                # Only the front is taken off; what is appended meanwhile stays.
                del self._pending[: len(batch)]
                size = min(max(int(self._bytes_each * len(batch)), 1), len(self._data))
                self._file.write_and_force(self._data[:size])
                self.forces += 1
                self.written_bytes += size
                for number in batch:
                    self._told.put(number)

    def close(self) -> None:
        self._stopping = True
        self._kick.set()
        self._thread.join()
        self._file.close()
