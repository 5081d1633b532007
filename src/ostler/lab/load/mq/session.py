"""Short sessions with Ostler: connect, open the queues, a few round trips, close, disconnect, and again.

The main operation is the whole session, from when it was due. Connecting and round trips are counted too.
"""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import Pace
from ostler.lab.load.mq.client import MqTerms
from ostler.lab.load.mq.frames import LEAVE_REQUEST, MqReader
from ostler.lab.load.mq.request_reply import MqRequester
from ostler.lab.runner.contract import CONNECT, ROUND_TRIP
from ostler.wire import frames, payload_codec

_CLOSE_REPLY: Final = frames.CLOSE | frames.REPLY
_DISCONNECT_REPLY: Final = frames.DISCONNECT | frames.REPLY


class MqSession(MqRequester):
    """A requester that has a connection of its own for each session."""

    def __init__(self, pace: Pace, number: int, terms: MqTerms) -> None:
        super().__init__(pace, number, terms)
        self.is_session = True
        self._trips_left = 0
        self._trip_began_ns = 0
        self._to_close: list[int] = []

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return b""

    def opening(self) -> bytes:
        self.start_anew()
        self._trips_left = self.terms.session_round_trips
        return super().opening()

    def first(self, now_ns: int) -> bytes:
        """Begin the round trips: the queues are open."""
        self.pace.operation(CONNECT).record(self.began_ns, now_ns)
        return self._next_trip(now_ns)

    def completed(self, now_ns: int) -> bytes:
        self.pace.operation(ROUND_TRIP).record(self._trip_began_ns, now_ns)
        self._trips_left -= 1
        return self._next_trip(now_ns)

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == _CLOSE_REPLY:
            return b"" if self.terms.pipelined else self._leave()
        if kind == _DISCONNECT_REPLY:
            self.is_over = True
            self.is_ready = False
            return self.replied(now_ns)
        return super().work(reader, now_ns)

    def _next_trip(self, now_ns: int) -> bytes:
        if self._trips_left > 0:
            self._trip_began_ns = now_ns
            return self.request()
        self._to_close = self.handles[::-1]
        if not self.terms.pipelined:
            return self._leave()
        return b"".join([self._leave() for _ in range(len(self.handles) + 1)])

    def _leave(self) -> bytes:
        """Return MQCLOSE of the next queue, or MQDISC when none is open."""
        if not self._to_close:
            # 1: commit the open unit of work.
            payload = payload_codec.numbers_payload([1])
            return frames.frame(frames.DISCONNECT, self.conversation, LEAVE_REQUEST, payload)
        closed = payload_codec.numbers_payload([self._to_close.pop(), 0])
        return frames.frame(frames.CLOSE, self.conversation, LEAVE_REQUEST, closed)
