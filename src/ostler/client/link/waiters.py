"""What waits on a link: requests for their replies, streams for their payloads. And how a link tells that it broke."""

from __future__ import annotations

import threading
from typing import final

from mypy_extensions import i64

from ostler.wire.segments import IncomingPayload


class LinkBroken(Exception):
    """The link is gone, or the peer sent what no correct peer sends. The text says why."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


@final
class ReplyWaiter:
    """A request that waits for its reply. Once it is done, the payload is `buffer[start:end]`."""

    def __init__(self, key: i64, type: i64) -> None:
        self.key: i64 = key
        self.type: i64 = type  # of the frame that answers it
        self.done = False
        self.broken = False
        self.promoted = False  # it was woken to lead
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
    """Payloads that come under one request number until it is ended, in order."""

    def __init__(self, key: i64, type: i64, credit: i64) -> None:
        self.key: i64 = key
        self.type: i64 = type
        self.credit: i64 = credit  # how many more the peer may send
        self.broken = False
        self.rung = False  # who waits for it is wanted elsewhere
        self.assembly: IncomingPayload | None = None
        self.waiter: ReplyWaiter | None = None
        self._payloads: list[bytes] = []
        self._taken: i64 = 0  # of those

    def request(self) -> i64:
        return self.key & 0xFFFFFFFF

    def add(self, payload: bytes) -> None:
        self._payloads.append(payload)

    def count(self) -> i64:
        return len(self._payloads) - self._taken

    def first(self) -> bytes:
        """The next payload, which stays; there is one."""
        return self._payloads[self._taken]

    def last(self) -> bytes:
        """The payload that came last; there is one."""
        return self._payloads[-1]

    def take(self) -> bytes:
        """The next payload; there is one."""
        at: i64 = self._taken
        payload = self._payloads[at]
        self._payloads[at] = b""
        self._taken = at + 1
        if self._taken == len(self._payloads):
            self._payloads = []
            self._taken = 0
        return payload
