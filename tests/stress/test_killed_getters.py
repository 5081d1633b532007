"""Many lives of a queue manager, each ended by kill -9 under a program that gets with the Python API."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.session.get_rounds import GetRounds

ROUNDS = 4
KILLS = 5


@pytest.mark.stress
@pytest.mark.parametrize("way", ["main thread", "other thread", "task", "consumer", "task consumer"])
def test_getters_of_a_killed_queue_manager(tmp_path: Path, way: str) -> None:
    rounds = GetRounds(tmp_path, seed=2, messages=200)
    try:
        for number in range(ROUNDS):
            rounds.run(way, reconnect=number % 2 == 1, kills=KILLS)
    finally:
        rounds.manager.end()
    print(f"\n{ROUNDS * KILLS} kills: {rounds.acknowledged:,} gets were acknowledged")
    assert rounds.acknowledged > 10 * ROUNDS
