"""The probe of memory: it copies what it says, for as long as it is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ostler.lab.common.memory_copy_probe import MemoryCopyProbe, memory_limit


def ticking(step_ns: int) -> Callable[[], int]:
    """A clock that goes on by so much each time it is looked at."""
    now = 0

    def clock_ns() -> int:
        nonlocal now
        now += step_ns
        return now

    return clock_ns


def test_a_round_lasts_as_long_as_it_is_told() -> None:
    probe = MemoryCopyProbe(1000, 10_000, ticking(1_000_000))
    found = probe.round(0.01)
    assert found.copies == 10 * 64, "between two looks at the clock a millisecond passes"
    assert found.seconds == pytest.approx(0.01)
    assert found.bytes_per_second == pytest.approx(64_000_000)


def test_a_round_without_length_copies_something() -> None:
    assert MemoryCopyProbe(16, 64, ticking(5)).round(0.0).copies > 0


def test_every_place_is_written_from_the_one_opposite() -> None:
    probe = MemoryCopyProbe(2, 12, ticking(5))
    probe.ring[:] = b"aabbccddeeff"
    probe.round(0.0)
    assert bytes(probe.ring) == b"ddeeffddeeff", "the first half from the second, which then gets its own back"


def test_the_ring_holds_whole_blocks_and_at_least_two() -> None:
    assert MemoryCopyProbe(1000, 10_500).ring_bytes == 10_000
    assert MemoryCopyProbe(1000, 10).ring_bytes == 2000


@pytest.mark.parametrize("block_bytes", [0, -1, 1 << 30])
def test_impossible_blocks_are_refused(block_bytes: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        MemoryCopyProbe(block_bytes)


def test_the_limit_is_a_rate_of_blocks() -> None:
    found = memory_limit(2048, rounds=3, seconds_per_round=0.001)
    assert found.block_bytes == 2048
    assert found.cached_bytes_per_second > 0
    assert found.copies_per_second() * 2048 == pytest.approx(found.uncached_bytes_per_second)
