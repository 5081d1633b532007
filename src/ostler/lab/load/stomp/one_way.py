"""Lean producers and consumers of ActiveMQ.

A put counts when its receipt has arrived: of persistent messages when they are forced, of others when they are queued.
Consumers acknowledge persistent messages one by one; others count as acknowledged when they are delivered.
"""

from __future__ import annotations

from ostler.lab.load.client import Pace
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.stomp.client import READY, Received, StompClient, frame


class StompOneWayClient(StompClient):
    """A producer or a consumer of one queue."""

    def __init__(
        self, pace: Pace, is_requester: bool, number: int, pairs: int, body_bytes: int, persistent: bool
    ) -> None:
        super().__init__(pace, is_requester, number, pairs, body_bytes, persistent)
        self._way = OneWay(pace, body_bytes)
        self._queue = b"/queue/%b.one-way.%d" % (b"durable" if persistent else b"transient", number % pairs)
        self._headers = b"destination:%b\nreceipt:1\n%bcontent-length:%d\n" % (self._queue, self._keeps, body_bytes)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return frame(b"SEND", self._headers, self._way.body(now_ns, self.put_ns))

    def _received(self, found: Received, now_ns: int) -> bytes:
        if found.verb == b"CONNECTED":
            if self.is_requester:
                self.is_ready = True
                return b""
            self._way.start(now_ns)
            mode = b"client-individual" if self._persistent else b"auto"
            return frame(b"SUBSCRIBE", b"id:1\ndestination:%b\nack:%b\nreceipt:%b\n" % (self._queue, mode, READY))
        if found.verb == b"MESSAGE":
            self._way.got(found.body, now_ns)
            return frame(b"ACK", b"id:%b\n" % found.headers[b"ack"]) if self._persistent else b""
        return super()._received(found, now_ns)

    def _receipt(self, receipt: bytes, now_ns: int) -> bytes:
        if receipt == READY:
            return super()._receipt(receipt, now_ns)
        return self.replied(now_ns)
