"""Clients of the bare one-way probe: a server passes blocks from producers to consumers."""

from __future__ import annotations

from ostler.lab.load.bare.client import HELLO, REQUESTER, RESPONDER, TAKEN, WELCOME
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.one_way import OneWay


class BareOneWayClient(LoadClient):
    """A producer whose block counts as put when the server acknowledges it, or a consumer of one pair's blocks."""

    def __init__(self, pace: Pace, is_requester: bool, number: int, pairs: int, block_bytes: int) -> None:
        super().__init__(pace, is_requester)
        self._number = number % pairs
        self._block_bytes = block_bytes
        self._way = OneWay(pace, block_bytes)
        # Parts of a block that is received in many parts; they are joined only once.
        self._parts: list[bytes] = []
        self._received = 0

    def opening(self) -> bytes:
        return HELLO.pack(REQUESTER if self.is_requester else RESPONDER, self._number)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return self._way.body(now_ns, self.put_ns)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            if data[:1] != WELCOME:
                raise LoadFailed("the probe's server did not welcome its client")
            self.is_ready = True
            self._way.start(now_ns)
            data = data[1:]
            if not data:
                return b""
        if self.is_requester:
            if data != TAKEN:
                raise LoadFailed("the probe's server did not say that it has a block")
            return self.replied(now_ns)
        self._parts.append(data)
        self._received += len(data)
        if self._received >= self._block_bytes:
            self._take(now_ns)
        return b""

    def _take(self, now_ns: int) -> None:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        at, size = 0, self._block_bytes
        while len(data) - at >= size:
            self._way.got(data[at : at + size], now_ns)
            at += size
        self._received = len(data) - at
        self._parts = [data[at:]] if self._received else []
