"""The delays before attempts to reconnect."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostler
from ostler.client.link.backoff import STEPS, TIMEOUT_SECONDS, Backoff, DelayStep, parse_delays, settings_of
from ostler.client.session.reconnect import SessionReconnector
from ostler.client.session.runtime import BlockingRuntime
from ostler.model import constants as mq


class Always(random.Random):
    """Chance that always falls the same way."""

    def __init__(self, fraction: float) -> None:
        super().__init__(0)
        self._fraction = fraction

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._fraction


def delays(backoff: Backoff, count: int) -> list[float | None]:
    return [backoff.next_delay(0) for _ in range(count)]


def test_delays_grow_and_then_stay() -> None:
    assert delays(Backoff(Always(0)), 8) == [1, 2, 4, 8, 16, 25, 25, 25]
    assert delays(Backoff(Always(1)), 7) == [1.25, 2.5, 5, 10, 20, 31.25, 31.25]


def test_delays_start_again() -> None:
    backoff = Backoff(Always(0))
    delays(backoff, 5)
    backoff.restart()
    assert delays(backoff, 2) == [1, 2]


def test_the_time_is_up_at_last() -> None:
    backoff = Backoff(Always(0))
    delays(backoff, 6)
    assert backoff.next_delay(TIMEOUT_SECONDS - 30) == 25
    assert backoff.next_delay(TIMEOUT_SECONDS - 5) == 5
    assert backoff.next_delay(TIMEOUT_SECONDS) is None
    assert backoff.next_delay(TIMEOUT_SECONDS + 1) is None


def test_delays_of_a_file() -> None:
    steps = parse_delays("(1000,200)(2000,200) (4000,1000)")
    assert steps == (DelayStep(1000, 200), DelayStep(2000, 200), DelayStep(4000, 1000))
    assert delays(Backoff(Always(1), steps), 4) == [1.2, 2.2, 5, 5]
    assert parse_delays("( 500 )") == (DelayStep(500, 0),)


@pytest.mark.parametrize("text", ["", "1000", "(1000", "(1,2)x", "(a)", "(1,2,3)", "(9999999)", "(1)" * 101])
def test_delays_that_are_none(text: str) -> None:
    with pytest.raises(ostler.MQError) as refused:
        parse_delays(text)
    assert refused.value.reason == mq.MQRC_CHANNEL_CONFIG_ERROR


@given(st.integers(0, 1 << 32))
def test_every_delay_lies_within_its_step(seed: int) -> None:
    backoff = Backoff(random.Random(seed))
    for step in STEPS:
        delay = backoff.next_delay(0)
        assert delay is not None
        assert step.fixed_ms <= delay * 1000 <= step.fixed_ms + step.jitter_ms


def test_the_environment_sets_delays_and_timeout() -> None:
    assert settings_of({}) == (STEPS, TIMEOUT_SECONDS)
    given = {"OSTLER_RECONNECT_DELAYS": "(50,25)(100)", "OSTLER_RECONNECT_TIMEOUT": "7"}
    assert settings_of(given) == ((DelayStep(50, 25), DelayStep(100, 0)), 7.0)
    with pytest.raises(ostler.MQError, match="not valid reconnection delays"):
        settings_of({"OSTLER_RECONNECT_DELAYS": "soon"})


def test_sessions_of_the_python_api_take_delays_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_RECONNECT_DELAYS", "(50,25)")
    assert SessionReconnector(BlockingRuntime())._steps == (DelayStep(50, 25),)
