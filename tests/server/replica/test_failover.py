"""Real instances, killed and paused under load: nothing acknowledged is lost, nothing comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import NAME, History, ReplicaGroup, wait_until

from ostler.client.link.control import control
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import InstanceRole

pytestmark = pytest.mark.slow


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ReplicaGroup]:
    made = ReplicaGroup(tmp_path)
    made.start()
    yield made
    made.close()


def test_leaders_are_killed_under_load(group: ReplicaGroup) -> None:
    """The other instances were created empty: they take the whole log from the first one."""
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(100)
    for _ in range(3):
        leader = group.wait_for_leader()
        group.kill(leader)
        history.wait_for_puts(100)
        group.start(leader)
        group.wait_until_in_sync(3)
        history.wait_for_puts(50)
    history.finish()
    history.check()


def test_followers_are_killed_under_load(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    leader = group.wait_for_leader()
    for follower in [each for each in group.instances if each != leader]:
        group.kill(follower)
        history.wait_for_puts(100)
        group.start(follower)
        group.wait_until_in_sync(3)
    assert group.wait_for_leader() == leader
    history.finish()
    history.check()


def test_a_paused_leader_wakes_and_follows(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(50)
    old = group.wait_for_leader()
    group.pause(old)
    new = group.wait_for_leader(old)
    # Its clients still wait for it. It must not answer them any more, but break their connections.
    group.resume(old)
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    group.wait_for_role_of(old, InstanceRole.REPLICA)
    assert group.wait_for_leader() == new
    history.finish()
    history.check()


def test_switches_over_in_order(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    group.end(leader, switch_over=True)
    assert group.wait_for_leader() != leader
    history.wait_for_puts(50)
    group.start(leader)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_the_last_of_three_holds_its_replies(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    followers = [each for each in group.instances if each != leader]
    history = History(group)
    history.wait_for_puts(50)
    for each in followers:
        group.kill(each)
    group.start(*followers)
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_the_last_instance_ends_without_copies(group: ReplicaGroup) -> None:
    """An end waits for no copy: all machines may be switched off one after the other."""
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    for each in group.followers(leader):
        group.end(each)
    group.end(leader)
    group.start()
    history.wait_for_puts(50)
    history.finish()
    history.check()


def test_a_follower_refuses_applications_and_names_the_leader(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    follower = next(each for each in group.instances if each != leader)
    refusals: list[str] = []

    def names_leader() -> bool:
        with pytest.raises(MQError) as refused:
            list(control(group.directory(follower), "mqsc", text="DISPLAY QMGR"))
        assert refused.value.reason == mq.MQRC_STANDBY_Q_MGR
        assert NAME in str(refused.value)
        refusals.append(str(refused.value))
        return f"The active instance is {leader}" in refusals[-1]

    wait_until(names_leader, lambda: f"{follower} does not name {leader}: {refusals[-1]}\n{group.describe()}")


def test_clients_find_the_new_leader_while_the_old_one_is_frozen(group: ReplicaGroup) -> None:
    """HBINT is 300 seconds, and nobody breaks their connections: they look for a later leader themselves."""
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(50)
    old = group.wait_for_leader()
    group.pause(old)
    group.wait_for_leader(old)
    history.wait_for_puts(50)
    group.resume(old)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
