"""Counts of a worker: operations and latencies by second, small enough to be sent when a phase ends.

It does not import Parquet: this is all that a load driver needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from ostler.lab.store.histogram import BUCKETS, bucket_of
from ostler.lab.store.rows import LatencyRow, OperationRow

_SECOND_NS: Final = 1_000_000_000


class _Second:
    """The counts of one operation in one second."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.count = 0
        self.failed = 0
        self.late = 0
        self.lowest_ns = 0
        self.highest_ns = 0
        self.total_ns = 0


class OperationRecorder:
    """Counts one operation. The current second is cached, so that recording does not search for it."""

    def __init__(self, began_ns: int) -> None:
        self.seconds: dict[int, _Second] = {}
        self._began_ns = began_ns
        self._from_ns = began_ns
        self._second = self.seconds[0] = _Second()

    def _turn_to(self, now_ns: int) -> None:
        """Switch to the second of a time. Operations that ended before the phase began count in its first second."""
        number = max(0, now_ns - self._began_ns) // _SECOND_NS
        self._from_ns = self._began_ns + number * _SECOND_NS
        found = self.seconds.get(number)
        if found is None:
            found = self.seconds[number] = _Second()
        self._second = found

    def record(self, due_ns: int, ended_ns: int, late: bool = False) -> None:
        """Record a completed operation. It belongs to the second in which it ended, and counts from when it was due."""
        if not 0 <= ended_ns - self._from_ns < _SECOND_NS:
            self._turn_to(ended_ns)
        latency_ns = ended_ns - due_ns
        if latency_ns < 0:
            latency_ns = 0
        second = self._second
        if latency_ns < second.lowest_ns or second.count == 0:
            second.lowest_ns = latency_ns
        if latency_ns > second.highest_ns:
            second.highest_ns = latency_ns
        second.count += 1
        second.total_ns += latency_ns
        if late:
            second.late += 1
        bucket = bucket_of(latency_ns)
        counts = second.counts
        if bucket in counts:
            counts[bucket] += 1
        else:
            counts[bucket] = 1

    def record_batch(self, began_ns: int, ended_ns: int, count: int) -> None:
        """Record operations that were timed together, because each is too short for a clock of its own: all have the
        mean time."""
        if count <= 0:
            return
        self._turn_to(ended_ns)
        total_ns = ended_ns - began_ns
        if total_ns < 0:
            total_ns = 0
        lowest_ns = total_ns // count
        highest_ns = (total_ns + count - 1) // count
        second = self._second
        if lowest_ns < second.lowest_ns or second.count == 0:
            second.lowest_ns = lowest_ns
        if highest_ns > second.highest_ns:
            second.highest_ns = highest_ns
        second.count += count
        second.total_ns += total_ns
        bucket = bucket_of(lowest_ns)
        second.counts[bucket] = second.counts.get(bucket, 0) + count

    def fail(self, ended_ns: int) -> None:
        """Record an operation that ended with an error, or was abandoned."""
        self._turn_to(ended_ns)
        self._second.failed += 1


class LatencyRecorder:
    """Counts latencies of one worker in one phase. Times are nanoseconds of one monotonic clock."""

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._operations: dict[str, OperationRecorder] = {}

    def operation(self, name: str) -> OperationRecorder:
        """Return the counter of one operation; keep it to record many."""
        found = self._operations.get(name)
        if found is None:
            found = self._operations[name] = OperationRecorder(self._began_ns)
        return found

    def record(self, operation: str, due_ns: int, ended_ns: int, late: bool = False) -> None:
        """Record a completed operation."""
        self.operation(operation).record(due_ns, ended_ns, late)

    def fail(self, operation: str, ended_ns: int) -> None:
        """Record an operation that ended with an error, or was abandoned."""
        self.operation(operation).fail(ended_ns)

    def _counted(self) -> Iterator[tuple[str, int, _Second]]:
        """Yield seconds with counts, in order of operation and second."""
        for name in sorted(self._operations):
            seconds = self._operations[name].seconds
            for number in sorted(seconds):
                if seconds[number].count or seconds[number].failed:
                    yield name, number, seconds[number]

    def rows(self, worker: int) -> Iterator[OperationRow | LatencyRow]:
        """Yield all counts as rows, in order of operation and second."""
        for name, number, found in self._counted():
            # Zero would look like the lowest latency of all.
            lowest, highest = (found.lowest_ns, found.highest_ns) if found.count else (None, None)
            counted = (found.count, found.failed, found.late)
            yield OperationRow(worker, number, name, *counted, lowest, highest, found.total_ns)
            for bucket in sorted(found.counts):
                yield LatencyRow(worker, number, name, bucket, found.counts[bucket])

    def pack(self) -> str:
        """Return all counts as one line, to be sent to another process."""
        lines: list[list[object]] = []
        for name, number, found in self._counted():
            figures = [found.count, found.failed, found.late, found.lowest_ns, found.highest_ns, found.total_ns]
            lines.append([name, number, figures, sorted(found.counts.items())])
        return json.dumps([self._began_ns, lines], separators=(",", ":"))


def unpack(line: str) -> LatencyRecorder:
    """Return the counts of another process. Rejects a line that is inconsistent: it is truncated, or something else."""
    began_ns, lines = json.loads(line)
    recorder = LatencyRecorder(began_ns)
    for name, number, figures, counts in lines:
        found = _Second()
        found.count, found.failed, found.late, found.lowest_ns, found.highest_ns, found.total_ns = figures
        found.counts = {int(bucket): int(count) for bucket, count in counts}
        if sum(found.counts.values()) != found.count or not all(0 <= bucket < BUCKETS for bucket in found.counts):
            raise ValueError(f"latencies of {name} in second {number} do not add up to their count")
        recorder.operation(name).seconds[int(number)] = found
    return recorder
