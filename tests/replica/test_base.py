"""A base in the simulated world: a copy that cannot catch up gets the whole state while its leader works."""

from __future__ import annotations

from tests.replica.test_replica_world import in_sync_world, leader_other_than
from tests.world.replica.instance import FOLLOWS


def test_a_follower_whose_log_is_gone_takes_a_base() -> None:
    world, leader = in_sync_world(3)
    away = next(each for each in world.instances if each is not leader)
    away.stop()
    assert leader.leading is not None
    assert leader.side is not None
    leader.leading.log.writer.keep_extents = 1
    leader.side.live_bytes_max = 20_000
    for _ in range(200):
        world.step()
    away.start()
    for _ in range(200):
        world.step()
        if away.state == "down":
            away.start()
        if away.bases and away.state == FOLLOWS:
            break
    assert away.bases == 1, "\n".join(world.notes)
    world.settle()
    assert away.state == FOLLOWS
    away.lose_power(3)
    world.settle()
    leader.lose_power(5)
    leader_other_than(world, leader)
    world.settle()
