"""Clients of the limit probes: exchanges of fixed size without content."""

from __future__ import annotations

import struct

from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for

# The first bytes of a connection: its role and its number, so that a relay can pair requesters and responders.
HELLO = struct.Struct(">cI")
REQUESTER = b"Q"
RESPONDER = b"R"
WELCOME = b"!"
TAKEN = b"."
"""The answer to a producer for each block that was passed on."""


class BareClient(LoadClient):
    """Sends a block and waits for one; or waits for a block and sends it back."""

    def __init__(self, pace: Pace, is_requester: bool, number: int, block_bytes: int) -> None:
        super().__init__(pace, is_requester)
        self._number = number
        self._block_bytes = block_bytes
        self._sequence = 0
        self._expected = b""
        # Parts of a block that is received in many parts; they are joined only once.
        self._parts: list[bytes] = []
        self._received = 0

    def opening(self) -> bytes:
        return HELLO.pack(REQUESTER if self.is_requester else RESPONDER, self._number)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        self._sequence += 1
        self._expected = reply_for(self._sequence, self._block_bytes)
        return self._expected

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            if data[:1] != WELCOME:
                raise LoadFailed("the probe's server did not welcome its client")
            self.is_ready = True
            data = data[1:]
        if self._parts or len(data) < self._block_bytes:
            if data:
                self._parts.append(data)
                self._received += len(data)
            if self._received < self._block_bytes:
                return b""
            data = b"".join(self._parts)
            self._parts = []
            self._received = 0
        if not self.is_requester:
            return data
        if data != self._expected:
            raise LoadFailed("the probe's server answered with another block")
        return self.replied(now_ns)
