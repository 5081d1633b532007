"""Load clients, which turn received bytes into bytes to send, and the pace that they share.

A client implements its protocol without sockets, so that one thread can drive hundreds of them, and so that the cost of
driving is about the same for every protocol.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from ostler.lab.load.pacing import Pacing, Schedule
from ostler.lab.load.timeline import PhaseOperation, PhaseRecorder, Timeline

_NO_TIMELINE = Timeline(0, 0, 0, 0)


class LoadFailed(Exception):
    """A broker gave an unexpected answer, or none. The text has the details."""


class Pace:
    """The state shared by all clients of a driver: whether requesters continue, how many are busy, and the counters."""

    def __init__(self, pacing: Pacing | None = None, window: int = 0) -> None:
        self.pacing = pacing if pacing is not None else Pacing()
        self.window = window
        """The number of outstanding messages at which producers are parked; 0: unlimited."""
        self.parked: list[LoadClient] = []
        """Producers that continue when fewer messages are outstanding."""
        self.goes_on = False
        self.active = 0
        """Requesters with an operation in flight."""
        self.completed = 0
        """Main operations, since the driver began."""
        self.outstanding = 0
        """One-way messages that were put and not yet got here. Negative where other drivers put what is got here."""
        self.is_armed = False
        self.schedule: Schedule | None = None
        # For operations outside a timeline, of which nobody asks.
        self.recorder = PhaseRecorder(_NO_TIMELINE)
        self.main: PhaseOperation = self.recorder.operation(self.pacing.main_operation)
        self.beside: PhaseOperation | None = None
        """The operation that times rated main operations the other way: from when they were due, or from the put."""

    @property
    def is_rated(self) -> bool:
        """Requesters begin when they are due, and not as soon as they can."""
        return self.pacing.rate_per_second > 0

    def operation(self, name: str) -> PhaseOperation:
        """Return the counter of an operation in the current timeline. It must not be used beyond it."""
        return self.recorder.operation(name)

    def arm(self, timeline: Timeline) -> None:
        """Count in this timeline from now on."""
        self.is_armed = True
        self.recorder = PhaseRecorder(timeline)
        self.main = self.recorder.operation(self.pacing.main_operation)
        self.beside = self.recorder.operation(self.pacing.beside) if self.pacing.beside else None

    def record(self, due_ns: int, put_ns: int, ended_ns: int, late: bool) -> None:
        """Record a rated main operation of the current timeline."""
        since_put = self.pacing.since_put
        self.main.record(put_ns if since_put else due_ns, ended_ns, late)
        beside = self.beside
        if beside is not None:
            beside.record(due_ns if since_put else put_ns, ended_ns, late)

    def begin_timeline(self, timeline: Timeline, requesters: int) -> PhaseRecorder:
        """Let requesters continue until the driver stops them. The driver also begins them."""
        if not self.is_armed or self.recorder.timeline != timeline:
            self.arm(timeline)
        self.is_armed = False
        pacing = self.pacing
        self.goes_on = True
        self.active = 0
        self.parked = []
        self.schedule = None
        if pacing.rate_per_second > 0:
            rate, offset = pacing.rate_per_second, pacing.offset
            begin_ns, end_ns = timeline.begin_ns, timeline.end_ns
            self.schedule = Schedule(begin_ns, end_ns, rate, requesters, offset, pacing.since_put)
        return self.recorder

    def resume_parked(self) -> list[LoadClient]:
        """Return the parked producers that continue now, because half of the window is free."""
        if not self.parked or 2 * self.outstanding > self.window:
            return []
        found, self.parked = self.parked, []
        return found if self.goes_on else []


@mypyc_attr(allow_interpreted_subclasses=True)
class LoadClient:
    """One connection. Requesters send when they are begun, and again with every reply; responders only answer.

    A client of short sessions sets `is_session`: it has no connection until it is begun. `begin` is called first, then
    `opening` on the new connection. When its session is over it sets `is_over` and calls `replied`; the bytes it
    returns then are sent, and the connection is closed.

    A client whose connection is shared has `members`, and passes received bytes to them: the driver begins them in its
    place, and sends their bytes on its connection. It is ready when all of them are. The `number` of a member
    determines which of several queue managers it connects to.
    """

    def __init__(self, pace: Pace, is_requester: bool) -> None:
        self.pace = pace
        self.is_requester = is_requester
        self.is_ready = False
        self.began_ns = 0
        """The time at which the operation in flight was due."""
        self.put_ns = 0
        """The time at which it was begun: the driver sets it."""
        self.pending = b""
        self.is_session = False
        self.is_over = False
        self.members: list[LoadClient] = []
        self.number = 0
        # For the driver: its index in the schedule, whether an operation is in flight, and whether that began late.
        self.slot = 0
        self.is_begun = False
        self.is_late = False

    def opening(self) -> bytes:
        """Return the first bytes, sent without waiting for the broker."""
        return b""

    def begin(self, now_ns: int) -> bytes:
        """Return a requester's next request. `now_ns` is when it was due, and becomes `began_ns`."""
        raise LoadFailed("a responder has no request to begin with")

    def receive(self, data: bytes, now_ns: int) -> bytes:
        """Return the bytes to send in answer to received bytes."""
        raise NotImplementedError

    def closing(self) -> bytes:
        """Return the last bytes, for a broker that would otherwise keep state for this client."""
        return b""

    def record(self, now_ns: int) -> None:
        """Record the times of the main operation, which ends now."""
        pace = self.pace
        if pace.schedule is None:
            pace.main.record(self.began_ns, now_ns, self.is_late)
        else:
            pace.record(self.began_ns, self.put_ns, now_ns, self.is_late)

    def replied(self, now_ns: int) -> bytes:
        """Record the main operation as complete. Returns the next request, or nothing when it is not due yet or the
        load is over."""
        pace = self.pace
        pace.completed += 1
        self.record(now_ns)
        if pace.goes_on:
            schedule = pace.schedule
            if schedule is None:
                if not pace.window or pace.outstanding < pace.window:
                    self.put_ns = now_ns
                    return self.begin(now_ns)
                pace.parked.append(self)
            else:
                due_ns = schedule.finish(self.slot, now_ns)
                if due_ns >= 0:
                    # Paced since its put, a requester is not late when its reply was.
                    self.is_late = not schedule.since_put
                    self.put_ns = now_ns
                    schedule.begun(self.slot, now_ns)
                    return self.begin(due_ns)
        self.is_begun = False
        pace.active -= 1
        return b""


@mypyc_attr(allow_interpreted_subclasses=True)
class PairedClient(LoadClient):
    """A requester that goes through the pairs of request and reply queues in turn, or a responder of one pair."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, goes_round: bool
    ) -> None:
        super().__init__(pace, is_requester)
        self._pairs = pairs
        self._pair = number % pairs
        self._goes_round = goes_round
        self._body_bytes = body_bytes
        self._sequence = 0

    def _begin_next(self, now_ns: int) -> None:
        """Count the next request, and choose its pair."""
        self.began_ns = now_ns
        self._sequence += 1
        if self._goes_round:
            self._pair = self._pair + 1 if self._pair + 1 < self._pairs else 0


def reply_for(number: int, size: int) -> bytes:
    """Return a body of this size that identifies its request."""
    head = b"%016d" % number
    return head[:size] if size <= len(head) else head + bytes(size - len(head))
