"""Retry counts and intervals of a channel."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.channel.retrying import EXHAUSTED, RetryCounter


def waits(retries: RetryCounter, count: int) -> list[int]:
    return [retries.next_seconds() for _ in range(count)]


def test_short_ones_come_first_and_then_long_ones() -> None:
    retries = RetryCounter(2, 60, 3, 1200)
    assert waits(retries, 7) == [60, 60, 1200, 1200, 1200, EXHAUSTED, EXHAUSTED]
    assert (retries.short_left, retries.long_left) == (0, 0)


def test_what_is_left_is_shown() -> None:
    retries = RetryCounter(2, 60, 3, 1200)
    seen = [(retries.short_left, retries.long_left)]
    for _ in range(3):
        retries.next_seconds()
        seen.append((retries.short_left, retries.long_left))
    assert seen == [(2, 3), (1, 3), (0, 3), (0, 2)]


def test_a_reset_begins_anew() -> None:
    retries = RetryCounter(1, 5, 1, 6)
    assert waits(retries, 3) == [5, 6, EXHAUSTED]
    retries.reset()
    assert waits(retries, 3) == [5, 6, EXHAUSTED]


@given(st.integers(0, 50), st.integers(0, 999_999), st.integers(0, 50), st.integers(0, 999_999))
def test_as_many_as_are_defined(short: int, short_seconds: int, long: int, long_seconds: int) -> None:
    retries = RetryCounter(short, short_seconds, long, long_seconds)
    seen = waits(retries, short + long + 2)
    assert seen == [short_seconds] * short + [long_seconds] * long + [EXHAUSTED] * 2
