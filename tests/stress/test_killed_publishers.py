"""Lives of a queue manager with publishers and durable subscriptions, each ended by kill -9."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.publish_rounds import PublishRounds

ROUNDS = 5


@pytest.mark.stress
@pytest.mark.parametrize("seed", [1])
def test_publications_are_for_all_or_none(tmp_path: Path, seed: int) -> None:
    rounds = PublishRounds(tmp_path, seed)
    for _ in range(ROUNDS):
        rounds.run(1.5)
    print(f"\n{ROUNDS} rounds: {rounds.told:,} units of publications were acknowledged")
    assert rounds.told > 20 * ROUNDS
