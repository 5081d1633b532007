"""Limits that need no broker: group commits of a file, or of two in two processes, and memory copies.

They are driven as clients are, in a process of their own and on the same timeline, so that their results are in the
same tables as those of contestants.
"""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import Final

from ostler.lab.common.memory_copy_probe import MemoryCopyProbe
from ostler.lab.common.probes import ForcedFile
from ostler.lab.load.bare import force_server
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.pacing import NEVER_NS, NOT_DUE, Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.spec import MEMORY_COPY, REPLICATED_FORCE, LoadSpec
from ostler.lab.load.timeline import PhaseOperation, PhaseRecorder, Timeline

COMMIT: Final = "commit"
COPY: Final = "copy of a megabyte"
COPY_BYTES: Final = 1 << 20
_FILE_BYTES: Final = 64 << 20
# One force writes no more than this: a log's buffer is no larger.
_FORCE_BYTES_MAX: Final = 4 << 20
_NAP_SECONDS_MAX: Final = 0.2
# The other process fills a file with zeros first.
_FOLLOWER_SECONDS_MAX: Final = 60.0


class _ProbeDriver(ABC):
    """A driver without clients."""

    def __init__(self) -> None:
        self._completed = 0

    @abstractmethod
    def run(self, timeline: Timeline, report: ReportProgress) -> PhaseRecorder: ...


class GroupCommitDriver(_ProbeDriver):
    """Waiters that each have one record to commit at a time. One force serves all that wait, as far as possible.

    The file has the size of a log file and is full of zeros, and each force begins at a page, as a recovery log's does.
    Without a rate a waiter has its next record when the last one is durable.
    """

    def __init__(self, directory: Path, waiters: int, record_bytes: int, rate_per_second: float = 0.0) -> None:
        if record_bytes > _FILE_BYTES:
            raise LoadFailed(f"records of {record_bytes} bytes are larger than the probe's file")
        try:
            self._file = ForcedFile(directory / "group-commit-probe", _FILE_BYTES)
        except OSError as failure:
            raise LoadFailed(f"the file of the probe cannot be made: {failure}") from None
        self._waiters = waiters
        self._record_bytes = record_bytes
        self._rate_per_second = rate_per_second
        self._together_max = max(1, min(waiters, _FORCE_BYTES_MAX // record_bytes))
        self._data = memoryview(bytes(record_bytes * self._together_max))
        super().__init__()

    def run(self, timeline: Timeline, report: ReportProgress) -> PhaseRecorder:
        recorder = PhaseRecorder(timeline)
        commits = recorder.operation(COMMIT)
        progress = ProgressReporter(recorder, COMMIT, self._completed, report)
        _wait_until(timeline.begin_ns)
        if self._rate_per_second > 0:
            schedule = Schedule(timeline.begin_ns, timeline.end_ns, self._rate_per_second, self._waiters)
            self._run_rated(schedule, commits, progress)
        else:
            self._run_closed(timeline, commits, progress)
        return recorder

    def _run_closed(self, timeline: Timeline, commits: PhaseOperation, progress: ProgressReporter) -> None:
        now_ns = time.perf_counter_ns()
        waiting: deque[int] = deque([now_ns] * self._waiters)
        while waiting:
            goes_on = now_ns < timeline.end_ns
            together = min(len(waiting), self._together_max)
            self._force(together)
            now_ns = time.perf_counter_ns()
            for _ in range(together):
                commits.record(waiting.popleft(), now_ns)
                if goes_on:
                    waiting.append(now_ns)
            self._completed += together
            if now_ns >= progress.next_ns:
                progress.report(now_ns, self._completed)

    def _run_rated(self, schedule: Schedule, commits: PhaseOperation, progress: ProgressReporter) -> None:
        # The waiters, and whether each began later than it was due.
        waiting: deque[tuple[int, bool]] = deque()
        now_ns = time.perf_counter_ns()
        while True:
            while (number := schedule.take_due(now_ns)) != NOT_DUE:
                waiting.append((number, False))
            if not waiting:
                next_ns = schedule.next_ns()
                if next_ns == NEVER_NS:
                    return
                _wait_until(next_ns)
                now_ns = time.perf_counter_ns()
                continue
            together = min(len(waiting), self._together_max)
            self._force(together)
            now_ns = time.perf_counter_ns()
            for _ in range(together):
                number, late = waiting.popleft()
                commits.record(schedule.was_due_ns(number), now_ns, late)
                if schedule.finish(number, now_ns) != NOT_DUE:
                    waiting.append((number, True))
            self._completed += together
            if now_ns >= progress.next_ns:
                progress.report(now_ns, self._completed)

    def _force(self, records: int) -> None:
        try:
            self._file.write_and_force(self._data[: records * self._record_bytes])
        except OSError as failure:
            raise LoadFailed(f"the file of the probe cannot be written: {failure}") from None

    def close(self) -> None:
        self._file.close()


class ReplicatedForceDriver(GroupCommitDriver):
    """The same, with each batch forced in another process, too. It is sent there before it is forced here, so that both
    force at once, and it is durable when both have."""

    def __init__(
        self, directory: Path, follower: tuple[str, int], waiters: int, record_bytes: int, rate_per_second: float = 0.0
    ) -> None:
        super().__init__(directory, waiters, record_bytes, rate_per_second)
        self._sent = 0
        self._answer = memoryview(bytearray(force_server.ACKNOWLEDGEMENT_BYTES))
        try:
            self._link = socket.create_connection(follower, _FOLLOWER_SECONDS_MAX)
            self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            is_ready = force_server.read_exactly(self._link, self._answer[:1])
        except OSError as failure:
            super().close()
            raise LoadFailed(f"the other process of the probe cannot be reached: {failure}") from None
        if not is_ready:
            self.close()
            raise LoadFailed("the other process of the probe cannot make its file")

    def _force(self, records: int) -> None:
        data = self._data[: records * self._record_bytes]
        try:
            self._link.sendall(len(data).to_bytes(force_server.LENGTH_BYTES, "big"))
            self._link.sendall(data)
        except OSError as failure:
            raise LoadFailed(f"the other process of the probe is gone: {failure}") from None
        super()._force(records)
        self._sent += 1
        try:
            is_there = force_server.read_exactly(self._link, self._answer)
        except OSError as failure:
            raise LoadFailed(f"the other process of the probe does not answer: {failure}") from None
        if not is_there or int.from_bytes(self._answer, "big") != self._sent:
            raise LoadFailed("the other process of the probe ended, or has forced something else")

    def close(self) -> None:
        self._link.close()
        super().close()


class MemoryCopyDriver(_ProbeDriver):
    """Copies blocks within a ring, a megabyte of them for each operation.

    The ring is larger than the caches of most processors: a message that waited has left them too.
    """

    def __init__(self, block_bytes: int) -> None:
        try:
            self._probe = MemoryCopyProbe(block_bytes)
        except ValueError as refusal:
            raise LoadFailed(str(refusal)) from None
        self._blocks = blocks_of_copy(block_bytes)
        super().__init__()

    def run(self, timeline: Timeline, report: ReportProgress) -> PhaseRecorder:
        recorder = PhaseRecorder(timeline)
        copies = recorder.operation(COPY)
        progress = ProgressReporter(recorder, COPY, self._completed, report)
        _wait_until(timeline.begin_ns)
        now_ns = time.perf_counter_ns()
        while now_ns < timeline.end_ns:
            began_ns = now_ns
            self._probe.copy(self._blocks)
            now_ns = time.perf_counter_ns()
            copies.record(began_ns, now_ns)
            self._completed += 1
            if now_ns >= progress.next_ns:
                progress.report(now_ns, self._completed)
        return recorder

    def close(self) -> None:
        self._probe.ring.release()


def probe_driver(spec: LoadSpec) -> GroupCommitDriver | MemoryCopyDriver:
    """Return the driver of a probe. The address is the directory of the forced file, and the requesters are waiters;
    the address of responders is that of the other process, where there is one."""
    if spec.protocol == MEMORY_COPY:
        return MemoryCopyDriver(spec.body_bytes)
    directory, terms = Path(str(spec.address)), (len(spec.requesters), spec.body_bytes, spec.rate_per_second)
    if spec.protocol == REPLICATED_FORCE:
        assert isinstance(spec.responder_address, tuple)
        return ReplicatedForceDriver(directory, spec.responder_address, *terms)
    return GroupCommitDriver(directory, *terms)


def blocks_of_copy(block_bytes: int) -> int:
    """Return the number of blocks that one operation copies: a megabyte of them, or one if that is more."""
    return max(1, COPY_BYTES // block_bytes)


def _wait_until(moment_ns: int) -> None:
    while (left_ns := moment_ns - time.perf_counter_ns()) > 0:
        time.sleep(min(left_ns / 1e9, _NAP_SECONDS_MAX))
