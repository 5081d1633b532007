"""kill -9 of the queue manager under programs that get with the Python API: no acknowledged get comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.session.get_rounds import GetRounds


@pytest.mark.parametrize("way", ["main thread", "other thread", "task", "consumer", "task consumer"])
@pytest.mark.parametrize("reconnect", [False, True], ids=["broken", "reconnected"])
def test_what_a_get_returned_does_not_come_back(tmp_path: Path, way: str, reconnect: bool) -> None:
    rounds = GetRounds(tmp_path, seed=1, messages=200)
    try:
        rounds.run(way, reconnect, kills=3)
    finally:
        rounds.manager.end()
    assert rounds.acknowledged > 0
