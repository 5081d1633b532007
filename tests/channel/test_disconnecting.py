"""A sending end ends after its disconnect interval (DISCINT), however slow its partner is."""

from __future__ import annotations

import pytest
from tests.channel.test_waiting import Way

from ostler.channel import sender as sending

INTERVAL_SECONDS = 4


@pytest.mark.parametrize("away_ms", [0, 10, 300])
def test_a_channel_with_nothing_to_do_ends(away_ms: int) -> None:
    way = Way()
    way.inhibit(False)
    way.sending.settings.disconnect_seconds = INTERVAL_SECONDS
    for _ in range(3):
        way.put()
        way.time_passes(away_ms)
        way.carry()
        way.there.force()
        way.receiver.log_grew()
        way.carry()
        assert not way.sending.in_flight
        way.time_passes(1_000)
    assert way.sending.counters.batches == 3
    way.time_passes(INTERVAL_SECONDS * 1000 - 1_100)
    assert way.sending.state == sending.RUNNING
    way.time_passes(200)
    assert way.sending.state == sending.ENDING


def test_a_batch_ends_in_time_though_the_clock_was_set_back() -> None:
    way = Way()
    way.inhibit(False)
    way.sending.settings.batch_interval_ms = 1_000
    way.put()
    batch = way.sending.current
    assert batch is not None
    for behind_ms in (5, 0):
        way.sender.wake_ms = -1
        way.here.tick(1_000 - behind_ms - (way.here.now_ms - int(batch.began_ms)))
        way.sending.on_timer()
        assert (way.sending.current is None) == (behind_ms == 0)
        assert (way.sender.wake_ms >= 0) == (behind_ms > 0)


def test_an_hour_that_comes_twice_does_not_hold_a_batch() -> None:
    way = Way()
    way.inhibit(False)
    way.sending.settings.batch_interval_ms = 1_000
    way.put()
    way.here.tick(-3_600_000)
    way.sending.on_timer()
    assert way.sending.current is None
