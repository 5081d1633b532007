"""What a worker counts: operations and latencies by second, small enough to be sent when a phase ends.

Nothing here knows Parquet: a load driver imports this and no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ostler.lab.store.histogram import BUCKETS, bucket_of
from ostler.lab.store.rows import LatencyRow, OperationRow

_SECOND_NS = 1_000_000_000


class _Second:
    """What one operation came to in one second."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.count = 0
        self.failed = 0
        self.late = 0
        self.lowest_ns = 0
        self.highest_ns = 0
        self.total_ns = 0


class LatencyRecorder:
    """Counts latencies of one worker in one phase. Times are nanoseconds of one monotonic clock."""

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._seconds: dict[tuple[str, int], _Second] = {}

    def record(self, operation: str, due_ns: int, ended_ns: int, late: bool = False) -> None:
        """An operation that completed. It belongs to the second in which it ended, and counts from when it was due."""
        latency_ns = max(0, ended_ns - due_ns)
        found = self._second(operation, ended_ns)
        if found.count == 0 or latency_ns < found.lowest_ns:
            found.lowest_ns = latency_ns
        if latency_ns > found.highest_ns:
            found.highest_ns = latency_ns
        found.count += 1
        found.total_ns += latency_ns
        if late:
            found.late += 1
        bucket = bucket_of(latency_ns)
        found.counts[bucket] = found.counts.get(bucket, 0) + 1

    def fail(self, operation: str, ended_ns: int) -> None:
        """An operation that ended with an error, or was given up."""
        self._second(operation, ended_ns).failed += 1

    def _second(self, operation: str, now_ns: int) -> _Second:
        key = (operation, max(0, now_ns - self._began_ns) // _SECOND_NS)
        found = self._seconds.get(key)
        if found is None:
            found = self._seconds[key] = _Second()
        return found

    def rows(self, worker: int) -> Iterator[OperationRow | LatencyRow]:
        """All that was counted, in order of operation and second."""
        for (operation, second), found in sorted(self._seconds.items()):
            # Zero would be taken for the lowest latency of all.
            lowest, highest = (found.lowest_ns, found.highest_ns) if found.count else (None, None)
            counted = (found.count, found.failed, found.late)
            yield OperationRow(worker, second, operation, *counted, lowest, highest, found.total_ns)
            for bucket in sorted(found.counts):
                yield LatencyRow(worker, second, operation, bucket, found.counts[bucket])

    def packed(self) -> str:
        """All that was counted as one line, to be sent to another process."""
        lines: list[list[object]] = []
        for (operation, second), found in sorted(self._seconds.items()):
            figures = [found.count, found.failed, found.late, found.lowest_ns, found.highest_ns, found.total_ns]
            lines.append([operation, second, figures, sorted(found.counts.items())])
        return json.dumps([self._began_ns, lines], separators=(",", ":"))


def unpacked(line: str) -> LatencyRecorder:
    """What another process counted. Refuses a line that does not add up: it was cut, or is of something else."""
    began_ns, lines = json.loads(line)
    recorder = LatencyRecorder(began_ns)
    for operation, second, figures, counts in lines:
        found = _Second()
        found.count, found.failed, found.late, found.lowest_ns, found.highest_ns, found.total_ns = figures
        found.counts = {int(bucket): int(count) for bucket, count in counts}
        if sum(found.counts.values()) != found.count or not all(0 <= bucket < BUCKETS for bucket in found.counts):
            raise ValueError(f"latencies of {operation} in second {second} do not add up to their count")
        recorder._seconds[(operation, second)] = found
    return recorder
