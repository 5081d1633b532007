"""The pace of rated requesters: a schedule fixed before the load begins, or a period since the last put.

On a fixed schedule requester i of n is due at `begin + (i/n + k)/rate` for k = 0, 1, 2 ..., whatever the broker does,
and latency counts from then. Timing from the send would hide the requests that a stalled broker kept from being sent
(coordinated omission).

Paced since its put, a requester is due for the first time as on the schedule, and then a period after its last put; it
sends when it is due and has its reply. Latency counts from the put, as reports do that were measured that way.

Operations are recorded both ways in either case: the second one as an operation of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

NEVER_NS: Final = (1 << 62) - 1
NOT_DUE: Final = -1
# A driver that wakes up this much too late is behind.
LATE_NS: Final = 1_000_000
_SECOND_NS: Final = 1e9
_MAIN_OPERATION: Final = "round trip"
_PUT: Final = "put"
SINCE_DUE: Final = "round trip since due"
"""Round trips from when they were due, where those of the main operation count from the put."""
SINCE_PUT: Final = "round trip since put"
"""Round trips from the put, where those of the main operation count from when they were due."""


@dataclass(frozen=True)
class Pacing:
    """The pace of a driver: the main operation, and the rate of each requester."""

    main_operation: str = _MAIN_OPERATION
    rate_per_second: float = 0.0
    """The rate of each requester; 0: the next follows the one before at once."""
    offset: float = 0.0
    """For drivers that share a load: the offset of this one, as a fraction of the distance between two of its
    requesters."""
    is_shared: bool = False
    """Messages that this driver's producers put are also got by other drivers' consumers."""
    since_put: bool = False
    """A requester is due a period after its last put, and response times count from the put."""
    is_timed_once: bool = False
    """Operations at a rate are not timed the other way as well."""

    @property
    def beside(self) -> str:
        """The operation that times main operations the other way; empty where there is none."""
        return self.beside_of(self.main_operation)

    def beside_of(self, operation: str) -> str:
        """Return the operation that times another one the other way; empty where there is none."""
        if self.rate_per_second <= 0 or self.is_timed_once:
            return ""
        if self.since_put:
            return f"{operation} since due"
        return f"{operation} since {'call' if operation == _PUT else 'put'}"


class Schedule:
    """The due times of requesters, and the requesters that wait for theirs. Requesters are numbered from 0."""

    def __init__(
        self,
        begin_ns: int,
        end_ns: int,
        rate_per_second: float,
        requesters: int,
        offset: float = 0.0,
        since_put: bool = False,
    ) -> None:
        """Make a schedule. Nothing is due at `end_ns` or later. All requesters wait for their first time."""
        assert rate_per_second > 0
        self.since_put = since_put
        self._begin_ns = begin_ns
        self._end_ns = end_ns
        self._interval_ns = _SECOND_NS / rate_per_second
        self._phases = [(number + offset) / requesters for number in range(requesters)]
        self._turns = [0] * requesters
        self._due_ns = [0] * requesters
        self._put_ns = [begin_ns] * requesters
        self._waiting: list[tuple[int, int]] = []
        for number in range(requesters):
            self._due_ns[number] = self.due_ns(number, 0)
            self._wait(number)

    def due_ns(self, requester: int, turn: int) -> int:
        """Return when a requester is due for the nth time, counted from 0. It is not summed up, so that no error
        accumulates."""
        return self._begin_ns + round((self._phases[requester] + turn) * self._interval_ns)

    def next_ns(self) -> int:
        """Return when the next waiting requester is due; `NEVER_NS` when none waits."""
        return self._waiting[0][0] if self._waiting else NEVER_NS

    def take_due(self, now_ns: int) -> int:
        """Return a waiting requester that is due by now, the longest waiting first, and remove it; `NOT_DUE` when there
        is none."""
        waiting = self._waiting
        if not waiting or waiting[0][0] > now_ns:
            return NOT_DUE
        return heappop(waiting)[1]

    def was_due_ns(self, requester: int) -> int:
        """Return when the operation was due that a requester has begun, or begins next."""
        return self._due_ns[requester]

    def begun(self, requester: int, now_ns: int) -> None:
        """Note the time of a requester's put."""
        self._put_ns[requester] = now_ns

    def next_due_ns(self, requester: int) -> int:
        """Return when a requester that has finished its operation is due again."""
        if self.since_put:
            return self._put_ns[requester] + round(self._interval_ns)
        return self.due_ns(requester, self._turns[requester])

    def finish(self, requester: int, now_ns: int) -> int:
        """Mark a requester as free. Returns when its next operation was due, if that has passed; otherwise it waits for
        it."""
        self._turns[requester] += 1
        due_ns = self._due_ns[requester] = self.next_due_ns(requester)
        if due_ns <= now_ns and due_ns < self._end_ns:
            return due_ns
        self._wait(requester)
        return NOT_DUE

    def unfinished_ns(self) -> list[int]:
        """Return the due times of unfinished operations: in flight, waiting for a requester, or still to come. Only a
        fixed schedule has them."""
        assert not self.since_put
        found: list[int] = []
        for requester in range(len(self._turns)):
            turn = self._turns[requester]
            while (due_ns := self.due_ns(requester, turn)) < self._end_ns:
                found.append(due_ns)
                turn += 1
        return found

    def _wait(self, requester: int) -> None:
        due_ns = self._due_ns[requester]
        if due_ns < self._end_ns:
            heappush(self._waiting, (due_ns, requester))
