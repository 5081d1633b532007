"""The limits of the machine: bare Python structures, and bare writes to a file."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

_KEYS = 256
_ID_BYTES = 24


class BarePair:
    """A minimal queue: identifiers in a deque, bodies in a dictionary, with `depth` messages."""

    def __init__(self, body: bytes, depth: int = 0) -> None:
        self._body = body
        self._keys = [number.to_bytes(_ID_BYTES, "little") for number in range(max(_KEYS, depth + 1))]
        self._order: deque[bytes] = deque()
        self._bodies: dict[bytes, bytes] = {}
        self._next = 0
        for _ in range(depth):
            self._order.append(self._keys[self._next])
            self._bodies[self._keys[self._next]] = body
            self._next += 1

    def run(self, pairs: int) -> int:
        """Put and get this many messages, and return the nanoseconds."""
        order, bodies, body, keys = self._order, self._bodies, self._body, self._keys
        at, count = self._next % len(keys), len(keys)
        began = time.perf_counter_ns()
        for _ in range(pairs):
            key = keys[at]
            at += 1
            if at == count:
                at = 0
            order.append(key)
            bodies[key] = body
            bodies.pop(order.popleft())
        took = time.perf_counter_ns() - began
        self._next = at
        return took


class ForcedFile:
    """A file filled with zeros beforehand, that is written and forced as a recovery log is."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.size_bytes = size_bytes
        self._at = 0
        slice_bytes = min(size_bytes, 1 << 20)
        zeros = bytes(slice_bytes)
        for offset in range(0, size_bytes, slice_bytes):
            os.pwrite(self._descriptor, zeros[: min(slice_bytes, size_bytes - offset)], offset)
        os.fsync(self._descriptor)

    def write_and_force(self, data: bytes | memoryview) -> None:
        """Write at the next page, from the front again at the end of the file, and force it."""
        if self._at + len(data) > self.size_bytes:
            self._at = 0
        os.pwrite(self._descriptor, data, self._at)
        self._at += (len(data) + 4095) & ~4095
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)
