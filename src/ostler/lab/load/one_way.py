"""Common parts of one-way clients: a message contains its due time, and the consumer counts from then."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.runner.contract import GET

DUE_BYTES: Final = 8


class OneWay:
    """Makes the messages of a producer, and counts those of a consumer. A publication has `copies`."""

    def __init__(self, pace: Pace, body_bytes: int, copies: int = 1) -> None:
        if body_bytes < DUE_BYTES:
            raise LoadFailed(f"a body of {body_bytes} bytes has no room for the time at which it was due")
        self._pace = pace
        self._body_bytes = body_bytes
        self._rest = bytes(body_bytes - DUE_BYTES)
        self._copies = copies
        self._opened_ns = 0

    def start(self, now_ns: int) -> None:
        """Start a consumer. Messages due earlier are left over from a failed load, and do not count."""
        self._opened_ns = now_ns

    def body(self, due_ns: int) -> bytes:
        """Return the body of the next message, which counts as in flight from now on."""
        self._pace.outstanding += self._copies
        return due_ns.to_bytes(DUE_BYTES, "big") + self._rest

    def got(self, body: bytes, now_ns: int) -> None:
        """Count a message that has arrived."""
        if len(body) != self._body_bytes:
            raise LoadFailed(f"a message of {len(body)} bytes arrived, and {self._body_bytes} were due")
        due_ns = int.from_bytes(body[:DUE_BYTES], "big")
        if due_ns < self._opened_ns:
            return
        pace = self._pace
        pace.outstanding -= 1
        pace.operation(GET).record(due_ns, now_ns)
