"""A sending end that has had nothing to do for its disconnect interval (DISCINT) ends, wherever its partner is."""

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
    assert way.sending.figures.batches == 3
    way.time_passes(INTERVAL_SECONDS * 1000 - 1_100)
    assert way.sending.state == sending.RUNNING
    way.time_passes(200)
    assert way.sending.state == sending.PARTING
