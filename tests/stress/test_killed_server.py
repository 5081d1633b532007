"""Twenty lives of a queue manager with clients, each ended by kill -9."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.kill_rounds import KillRounds

ROUNDS = 20


@pytest.mark.stress
@pytest.mark.parametrize("seed", [1])
def test_killed_under_load_again_and_again(tmp_path: Path, seed: int) -> None:
    rounds = KillRounds(tmp_path, seed)
    for _ in range(ROUNDS):
        rounds.run(1.5)
    print(f"\n{ROUNDS} rounds: {rounds.puts_told:,} puts and {rounds.gets_told:,} gets were acknowledged")
    assert rounds.puts_told > 100 * ROUNDS
    assert rounds.gets_told > 10 * ROUNDS
