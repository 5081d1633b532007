"""Random days of a group with crashes and lost links: private and shared parts of units never disagree."""

from __future__ import annotations

import pytest
from tests.world.group.group_day import GroupDay


@pytest.mark.parametrize("seed", range(12))
def test_every_message_is_there_exactly_once(seed: int) -> None:
    day = GroupDay(seed, faults=1.0 if seed % 2 else 0.2)
    for _ in range(4):
        day.run(1500)
        day.check_numbers()
    assert day.moved > 20
    assert day.deaths > 0
    assert not day.left_units()
