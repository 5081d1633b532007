"""Common parts of one-way clients: a message contains the times at which it was due and put, and the consumer counts
from them."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.runner.contract import GET

_TIME_BYTES: Final = 8
TIMES_BYTES: Final = 2 * _TIME_BYTES
"""The bytes at the begin of a body: when the message was due, and when it was put."""


def times_of(due_ns: int, put_ns: int) -> bytes:
    """Return the first bytes of a body."""
    return due_ns.to_bytes(_TIME_BYTES, "big") + put_ns.to_bytes(_TIME_BYTES, "big")


def read_times(body: bytes) -> tuple[int, int]:
    """Return when a message was due, and when it was put."""
    return int.from_bytes(body[:_TIME_BYTES], "big"), int.from_bytes(body[_TIME_BYTES:TIMES_BYTES], "big")


class OneWay:
    """Makes the messages of a producer, and counts those of a consumer. A publication has `copies`."""

    def __init__(self, pace: Pace, body_bytes: int, copies: int = 1) -> None:
        if body_bytes < TIMES_BYTES:
            raise LoadFailed(f"a body of {body_bytes} bytes has no room for the times at which it was due and put")
        self._pace = pace
        self._body_bytes = body_bytes
        self._rest = bytes(body_bytes - TIMES_BYTES)
        self._copies = copies
        self._beside = pace.pacing.beside_of(GET)
        self._opened_ns = 0

    def start(self, now_ns: int) -> None:
        """Start a consumer. Messages due earlier are left over from a failed load, and do not count."""
        self._opened_ns = now_ns

    def body(self, due_ns: int, put_ns: int) -> bytes:
        """Return the body of the next message, which counts as in flight from now on."""
        self._pace.outstanding += self._copies
        return times_of(due_ns, put_ns) + self._rest

    def got(self, body: bytes, now_ns: int) -> None:
        """Count a message that has arrived."""
        if len(body) != self._body_bytes:
            raise LoadFailed(f"a message of {len(body)} bytes arrived, and {self._body_bytes} were due")
        due_ns, put_ns = read_times(body)
        if due_ns < self._opened_ns:
            return
        pace = self._pace
        pace.outstanding -= 1
        pace.operation(GET).record(put_ns if pace.pacing.since_put else due_ns, now_ns)
        if self._beside:
            pace.operation(self._beside).record(due_ns if pace.pacing.since_put else put_ns, now_ns)
