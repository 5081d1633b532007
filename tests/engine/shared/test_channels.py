"""Channels to shared queues and from shared transmission queues, with crashes: all messages arrive exactly once."""

from __future__ import annotations

import pytest
from tests.world.group.channel_group import ChannelGroup


@pytest.mark.parametrize("seed", range(20, 34))
@pytest.mark.parametrize("is_group_listener", [False, True])
def test_messages_arrive_exactly_once_and_in_order(seed: int, is_group_listener: bool) -> None:
    world = ChannelGroup(seed, is_group_listener)
    world.run(900)
    assert world.sent["FAR"]
    assert world.sent["QM1"]


@pytest.mark.parametrize("seed", range(40, 52))
def test_either_member_sends_exactly_once_and_in_order(seed: int) -> None:
    """CHLDISP(SHARED): whoever has the lock goes on with the position of the group."""
    world = ChannelGroup(seed, is_shared_sender=True)
    world.run(900)
    assert world.sent["QM1"]
