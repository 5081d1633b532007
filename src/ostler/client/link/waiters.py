"""Waiters of a link: requests that wait for replies, streams that wait for payloads; and the error of a broken link."""

from __future__ import annotations

import threading
from typing import final

from mypy_extensions import i64

from ostler.wire.segments import IncomingPayload


class LinkBroken(Exception):
    """The link is broken, or the peer violated the protocol. The text gives the cause."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


@final
class ReplyWaiter:
    """A request that waits for its reply. Once it is done, the payload is `buffer[start:end]`."""

    def __init__(self, key: i64, type: i64) -> None:
        self.key: i64 = key
        self.type: i64 = type  # of the reply frame
        self.done = False
        self.broken = False
        self.promoted = False  # woken to become the leader
        self.event: threading.Lock | None = None
        self.buffer: bytes = b""
        self.start: i64 = 0
        self.end: i64 = 0
        self.assembly: IncomingPayload | None = None

    def request(self) -> i64:
        return self.key & 0xFFFFFFFF

    def is_done(self) -> bool:
        return self.done


@final
class PayloadStream:
    """Payloads that arrive under one request number until the stream is closed, in order."""

    def __init__(self, key: i64, type: i64, credit: i64) -> None:
        self.key: i64 = key
        self.type: i64 = type
        self.credit: i64 = credit  # payloads that the peer may still send
        self.broken = False
        self.is_interrupted = False  # the wait for it is to end
        self.assembly: IncomingPayload | None = None
        self.waiter: ReplyWaiter | None = None
        self._payloads: list[bytes] = []
        self._taken: i64 = 0  # index of the next one

    def request(self) -> i64:
        return self.key & 0xFFFFFFFF

    def add(self, payload: bytes) -> None:
        self._payloads.append(payload)

    def count(self) -> i64:
        return len(self._payloads) - self._taken

    def first(self) -> bytes:
        """Return the next payload without removing it. The stream must not be empty."""
        return self._payloads[self._taken]

    def last(self) -> bytes:
        """Return the payload that arrived last. The stream must not be empty."""
        return self._payloads[-1]

    def take(self) -> bytes:
        """Remove and return the next payload. The stream must not be empty."""
        at: i64 = self._taken
        payload = self._payloads[at]
        self._payloads[at] = b""
        self._taken = at + 1
        if self._taken == len(self._payloads):
            self._payloads = []
            self._taken = 0
        return payload
