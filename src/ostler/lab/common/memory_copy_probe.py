"""The limit of memory: the speed of copies from the processor's cache and from memory beyond it.

Every broker must copy a message at least into and out of a socket. A buffer that fits into the cache shows the best
case of a copy; a ring of buffers that does not shows the cost when many messages wait. The loop is Python's, so for
blocks below some kilobytes its own cost, part of a microsecond, is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ostler.lab.common.samples import median

RING_BYTES = 64 << 20
"""More than the caches of most processors hold for one core."""
_COPIES_BETWEEN_CLOCK_READS = 64
_BLOCK_BYTES_MAX = RING_BYTES // 4

Clock = Callable[[], int]
"""Nanoseconds from an arbitrary origin."""


@dataclass(frozen=True)
class CopyRound:
    """The result of one round."""

    copies: int
    seconds: float
    block_bytes: int

    @property
    def per_second(self) -> float:
        return self.copies / self.seconds

    @property
    def bytes_per_second(self) -> float:
        return self.per_second * self.block_bytes


@dataclass(frozen=True)
class MemoryLimit:
    """Medians of rounds, in bytes copied each second."""

    block_bytes: int
    cached_bytes_per_second: float
    uncached_bytes_per_second: float

    def copies_per_second(self) -> float:
        """Return copies of uncached blocks by one core; a broker copies each message several times."""
        return self.uncached_bytes_per_second / self.block_bytes


class MemoryCopyProbe:
    """Copies blocks of one size, each into the next slot of a ring, from the slot opposite."""

    def __init__(self, block_bytes: int, ring_bytes: int = RING_BYTES, clock_ns: Clock = time.perf_counter_ns) -> None:
        if not 0 < block_bytes <= _BLOCK_BYTES_MAX:
            raise ValueError(f"blocks of {block_bytes} bytes: they have 1 to {_BLOCK_BYTES_MAX} bytes")
        self.block_bytes = block_bytes
        self._clock_ns = clock_ns
        places = max(2, ring_bytes // block_bytes)
        self.ring_bytes = places * block_bytes
        # Written once: pages that were never written are all the same one, which is in the cache.
        self.ring = memoryview(bytearray(b"\x01" * self.ring_bytes))
        self._opposite = places // 2 * block_bytes
        self._at = 0

    def round(self, seconds: float) -> CopyRound:
        """Copy for some time, at least a few blocks."""
        clock_ns, copies = self._clock_ns, 0
        began = now = clock_ns()
        end = began + int(seconds * 1e9)
        while now < end or not copies:
            self.copy(_COPIES_BETWEEN_CLOCK_READS)
            copies += _COPIES_BETWEEN_CLOCK_READS
            now = clock_ns()
        return CopyRound(copies, max(1, now - began) / 1e9, self.block_bytes)

    def copy(self, blocks: int) -> None:
        """Copy this many blocks."""
        ring, size, length = self.ring, self.block_bytes, self.ring_bytes
        # Continues where the last copy ended: the first slots have left the cache by now.
        at = self._at
        source = (at + self._opposite) % length
        for _ in range(blocks):
            ring[at : at + size] = ring[source : source + size]
            at += size
            if at == length:
                at = 0
            source += size
            if source == length:
                source = 0
        self._at = at


def memory_limit(
    block_bytes: int, rounds: int = 5, seconds_per_round: float = 0.02, clock_ns: Clock = time.perf_counter_ns
) -> MemoryLimit:
    """Return medians of short rounds; cached and uncached ones take turns."""
    cached = MemoryCopyProbe(block_bytes, 2 * block_bytes, clock_ns)
    uncached = MemoryCopyProbe(block_bytes, RING_BYTES, clock_ns)
    rates = [
        (cached.round(seconds_per_round).bytes_per_second, uncached.round(seconds_per_round).bytes_per_second)
        for _ in range(rounds)
    ]
    return MemoryLimit(block_bytes, median([each[0] for each in rates]), median([each[1] for each in rates]))
