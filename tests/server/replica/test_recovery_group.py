"""A recovery site of three real instances: one takes the log and passes it on, the others take over from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.replica.test_disaster_recovery import messages_at, put_at
from tests.world.replica.replica_group import History
from tests.world.replica.site_pair import SitePair

from ostler.model.replication import GroupRole, HaStatus, InstanceRole

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[SitePair]:
    """n works; s, t and u are created empty. One of them takes a base from n, and the others from that one."""
    made = SitePair(tmp_path, "Synchronous", recovery="stu")
    made.start()
    made.prepare()
    yield made
    made.close()


def test_the_others_have_what_the_first_one_took_when_it_dies(pair: SitePair) -> None:
    first = pair.wait_for_receiver("stu", 3)
    status = pair.status(first)
    assert status is not None
    assert (status.role, status.group_role) == (InstanceRole.LEADER, GroupRole.RECOVERY)
    others = [each for each in "stu" if each != first]
    history = History(pair)
    history.wait_for_puts(50)
    pair.kill(first)
    history.wait_for_puts(50)
    second = pair.wait_for_receiver("stu", 2, first)
    assert second in others
    history.wait_for_puts(50)
    pair.start(first)
    pair.wait_for_receiver("stu", 3)
    assert "AMQ3291W" not in pair.error_text(first), "it took a base, and had only to catch up"
    history.wait_for_puts(50)
    # The live site is lost. What it was told of is at the group, whoever leads it.
    pair.wait_for_copy()
    pair.kill("n")
    pair.change_role(second, GroupRole.LIVE)
    assert pair.wait_for_leader("n") == second
    pair.wait_until_in_sync(3)
    history.wait_for_puts(50)
    pair.kill(second)
    assert pair.wait_for_leader("n", second) in "stu"
    history.wait_for_puts(50)
    history.finish()
    history.check()


def test_a_site_of_three_switches_in_order_both_ways(pair: SitePair) -> None:
    receiver = pair.wait_for_receiver("stu", 3)
    history = History(pair)
    history.wait_for_puts(50)
    pair.switch("n", receiver)
    history.wait_for_puts(50)
    pair.wait_until_in_sync(3)
    pair.wait_for_dr(receiver, HaStatus.NORMAL)
    pair.switch(receiver, "n")
    history.wait_for_puts(50)
    pair.wait_for_receiver("stu", 3)
    history.finish()
    history.check()


def test_a_partition_with_a_group_is_resolved_by_one_command(pair: SitePair) -> None:
    """The group works alone, n comes back and is right: the data of all three are set aside, one of which is down."""
    first = pair.wait_for_receiver("stu", 3)
    put_at(pair, "n", "copied")
    pair.wait_for_copy()
    for each in "stu":
        pair.kill(each)
    put_at(pair, "n", "only at n")
    pair.kill("n")
    pair.start(*"stu")
    first = pair.wait_for_receiver("stu", 3, is_alone=True)
    pair.change_role(first, GroupRole.LIVE)
    first = pair.wait_for_leader("n")
    put_at(pair, first, "only at the group")
    pair.wait_until_in_sync(3)
    down = next(each for each in "stu" if each != first)
    pair.kill(down)
    pair.start("n")
    for each in ("n", first):
        pair.wait_for_dr(each, HaStatus.PARTITIONED)
    pair.change_role("n", GroupRole.LIVE, forces=True)
    follower = next(each for each in "stu" if each not in (first, down))
    pair.wait_for_dr(follower, HaStatus.PARTITIONED)
    pair.change_role(first, GroupRole.RECOVERY)
    pair.wait_for_receiver("stu", 2)
    pair.start(down)
    receiver = pair.wait_for_receiver("stu", 3)
    for each in ("n", receiver):
        pair.wait_for_dr(each, HaStatus.NORMAL)
    for each in "stu":
        (kept,) = (pair.directory(each).path / "set-aside").iterdir()
        assert {"log", "queues", "messages"} <= {one.name for one in kept.iterdir()}
    pair.wait_for_copy()
    pair.switch("n", receiver)
    assert messages_at(pair, receiver) == {"copied", "only at n"}
    pair.wait_until_in_sync(3)
