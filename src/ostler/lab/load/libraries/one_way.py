"""Common parts of producers and consumers through a library: bodies that contain their due time."""

from __future__ import annotations

import time

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import LoadWorker
from ostler.lab.load.one_way import DUE_BYTES
from ostler.lab.load.spec import LoadSpec


class LibraryOneWay:
    """The messages of one worker."""

    def __init__(self, worker: LoadWorker, spec: LoadSpec, number: int) -> None:
        if spec.body_bytes < DUE_BYTES:
            raise LoadFailed(f"a body of {spec.body_bytes} bytes has no room for the time at which it was due")
        self.pair = number % spec.pairs
        self._worker = worker
        self._body_bytes = spec.body_bytes
        self._rest = bytes(spec.body_bytes - DUE_BYTES)
        # Messages due earlier are left over from a failed load.
        self._opened_ns = time.perf_counter_ns()

    def body(self) -> bytes:
        """Return the body of the next message, which counts as in flight from now on."""
        self._worker.tally.put()
        return self._worker.due_ns.to_bytes(DUE_BYTES, "big") + self._rest

    def got(self, body: bytes) -> None:
        """Count a message that has arrived."""
        if len(body) != self._body_bytes:
            raise LoadFailed(f"a message of {len(body)} bytes arrived, and {self._body_bytes} were due")
        due_ns = int.from_bytes(body[:DUE_BYTES], "big")
        if due_ns >= self._opened_ns:
            self._worker.tally.got(due_ns, time.perf_counter_ns())
