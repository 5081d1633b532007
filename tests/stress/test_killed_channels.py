"""Channels between two queue managers in processes of their own, which are killed, cut off and held up under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.channels.support.channel_rounds import ChannelRounds


def live_through(root: Path, seed: int, count: int) -> ChannelRounds:
    rounds = ChannelRounds(root, seed)
    try:
        for _ in range(count):
            rounds.run()
    finally:
        rounds.close()
    print(
        f"\n{count} rounds, {rounds.kills} kills, {rounds.cuts} cuts: "
        f"{rounds.committed:,} messages were committed and {rounds.arrived:,} arrived"
    )
    return rounds


@pytest.mark.slow
def test_two_rounds_of_trouble(tmp_path: Path) -> None:
    rounds = live_through(tmp_path, 1, 2)
    assert rounds.arrived > 100
    assert rounds.kills > 0
    assert rounds.cuts > 0


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_thirty_rounds_of_trouble(tmp_path: Path) -> None:
    rounds = live_through(tmp_path, 2, 30)
    assert rounds.arrived > 100 * 30
    assert rounds.kills >= 30
    assert rounds.cuts > 30
