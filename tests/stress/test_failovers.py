"""Failovers in a row, and faults in combination, with real processes and a real etcd: nothing lost, nothing twice."""

from __future__ import annotations

import random
import signal
import statistics
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdCluster, EtcdServer
from tests.world.replica.link_relay import BACK, FORWARD
from tests.world.replica.replica_group import History, ReplicaGroup

pytestmark = [pytest.mark.stress, pytest.mark.timeout(1800)]

FAILOVERS = 50
LEASE_SECONDS = 2
# From the death of a leader to its end in etcd takes up to a second more than the lease.
AWAY_SECONDS_MAX = LEASE_SECONDS + 3.0
SWITCH_SECONDS_MAX = 2.0


@pytest.fixture
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path_factory.mktemp("etcd"))
    yield server
    server.close()


def started(tmp_path: Path, endpoints: str, is_relayed: bool = False, instances: str = "abc") -> ReplicaGroup:
    arbiter = f"   Type=Etcd\n   Endpoints={endpoints}\n"
    group = ReplicaGroup(tmp_path, instances, arbiter, LEASE_SECONDS, is_relayed)
    group.start()
    return group


@pytest.fixture
def group(tmp_path: Path, etcd: EtcdServer) -> Iterator[ReplicaGroup]:
    made = started(tmp_path, etcd.endpoint)
    made.prepare()
    made.wait_until_in_sync(3)
    yield made
    made.close()


@pytest.fixture
def relayed(tmp_path: Path, etcd: EtcdServer) -> Iterator[ReplicaGroup]:
    made = started(tmp_path, etcd.endpoint, is_relayed=True)
    made.prepare()
    made.wait_until_in_sync(3)
    yield made
    made.close()


def report(what: str, away: list[float], history: History) -> None:
    account = history.account
    print(
        f"\n{len(away)} x {what}: away {min(away):.2f} / {statistics.median(away):.2f} / {max(away):.2f} s (least, "
        f"median, most); {account.puts} puts and {account.gets} gets acknowledged, {account.doubtful} in doubt"
    )


@pytest.mark.parametrize("way", ["power off", "kill -9", "endmqm -s"])
def test_fifty_failovers_in_a_row(group: ReplicaGroup, way: str) -> None:
    history = History(group, putters=6, getters=4)
    history.wait_for_puts(100)
    away: list[float] = []
    back: list[float] = []
    for _ in range(FAILOVERS):
        leader = group.wait_for_leader()
        began = time.monotonic()
        if way == "endmqm -s":
            group.end(leader, switch_over=True)
        elif way == "kill -9":
            group.kill(leader)
        else:
            group.power_off(leader)
        group.wait_for_leader(leader)
        history.wait_for_puts(50)
        away.append(history.account.seconds_away(began))
        started_at = time.monotonic()
        group.start(leader)
        group.wait_until_in_sync(3)
        back.append(time.monotonic() - started_at)
        history.wait_for_puts(50)
    history.finish()
    history.check()
    report(way, away, history)
    print(f"back in sync after {min(back):.2f} / {statistics.median(back):.2f} / {max(back):.2f} s, with its start")
    assert max(away) < (AWAY_SECONDS_MAX if way == "power off" else SWITCH_SECONDS_MAX)
    assert "base" not in group.describe(), "an instance needed a base"


def test_deaths_in_every_combination(group: ReplicaGroup, etcd: EtcdServer) -> None:
    """The leader, its followers and etcd die together, and come back in any order."""
    chance = random.Random(18)
    history = History(group)
    history.wait_for_puts(50)
    kinds = ("leader", "follower", "other", "etcd")
    for victims in [list(each) for count in range(1, 5) for each in combinations(kinds, count)]:
        leader = group.wait_for_leader()
        names = dict(zip(kinds, [leader, *group.followers(leader), "etcd"], strict=True))
        began = time.monotonic()
        for each in victims:
            etcd.kill() if each == "etcd" else group.kill(names[each])
        time.sleep(chance.uniform(0.0, 2 * LEASE_SECONDS))
        back_at = time.monotonic()
        chance.shuffle(victims)
        for each in victims:
            etcd.start() if each == "etcd" else group.start(names[each])
            time.sleep(chance.uniform(0.0, 0.5))
        history.wait_for_puts(50)
        group.wait_until_in_sync(3)
        away = history.account.seconds_away(began)
        print(f"{' and '.join(victims)} dead for {back_at - began:.2f} s: {away:.2f} s without an acknowledged put")
    history.finish()
    history.check()
    account = history.account
    print(
        f"{account.puts} puts and {account.gets} gets acknowledged, {account.doubtful} in doubt, none lost, none twice"
    )


def test_etcd_is_away_for_a_minute(group: ReplicaGroup, etcd: EtcdServer) -> None:
    history = History(group)
    history.wait_for_puts(100)
    leader = group.wait_for_leader()
    gone_at = time.monotonic()
    etcd.kill()
    history.wait_for_puts(100, gone_at + 60.0)
    etcd.start()
    history.wait_for_puts(100, time.monotonic() + 2 * LEASE_SECONDS)
    assert group.wait_for_leader() == leader
    away = history.account.seconds_away(gone_at)
    print(f"\netcd was away for a minute; the longest time without an acknowledged put was {away:.2f} s")
    assert away < LEASE_SECONDS
    history.finish()
    history.check()


def test_etcd_and_a_follower_are_away_for_a_minute(group: ReplicaGroup, etcd: EtcdServer) -> None:
    """The two that are left are enough. The set cannot be changed meanwhile, and need not be."""
    history = History(group)
    history.wait_for_puts(100)
    leader = group.wait_for_leader()
    follower = group.followers(leader)[0]
    gone_at = time.monotonic()
    etcd.kill()
    group.kill(follower)
    history.wait_for_puts(100, gone_at + 60.0)
    group.start(follower)
    etcd.start()
    group.wait_until_in_sync(3)
    assert group.wait_for_leader() == leader
    report("etcd and a follower away for a minute", [history.account.seconds_away(gone_at)], history)
    history.finish()
    history.check()


def test_a_leader_of_two_holds_replies_while_etcd_and_its_follower_are_away(tmp_path: Path, etcd: EtcdServer) -> None:
    """It may not go on alone: nobody has noted that. Nothing is acknowledged for a minute, and nothing lost."""
    group = started(tmp_path, etcd.endpoint, instances="ab")
    try:
        group.prepare()
        group.wait_until_in_sync(2)
        history = History(group)
        history.wait_for_puts(100)
        leader = group.wait_for_leader()
        (follower,) = group.followers(leader)
        gone_at = time.monotonic()
        etcd.kill()
        group.kill(follower)
        time.sleep(0.5)  # an answer may still be on its way
        held_at = time.monotonic()
        time.sleep(60.0)
        assert history.account.puts_since(held_at) == 0
        etcd.start()
        group.start(follower)
        history.wait_for_puts(100)
        group.wait_until_in_sync(2)
        report("etcd and the only follower away for a minute", [history.account.seconds_away(gone_at)], history)
        history.finish()
        history.check()
    finally:
        group.close()


def test_leaders_sleep_beyond_their_lease(group: ReplicaGroup) -> None:
    history = History(group)
    history.wait_for_puts(50)
    away: list[float] = []
    for _ in range(5):
        old = group.wait_for_leader()
        began = time.monotonic()
        group.pause(old)
        group.wait_for_leader(old)
        # Its clients still wait for it: the system keeps the connections of a process that stands still.
        group.resume(old)
        history.wait_for_puts(50)
        away.append(history.account.seconds_away(began))
        group.wait_until_in_sync(3)
    history.finish()
    history.check()
    report("SIGSTOP of the leader", away, history)


@pytest.mark.parametrize("directions", [(FORWARD,), (BACK,), (FORWARD, BACK)], ids=["forward", "back", "both"])
def test_links_of_the_leader_lose_everything(relayed: ReplicaGroup, directions: tuple[int, ...]) -> None:
    """The leader reaches etcd, but its copies do not hear it, or it does not hear them: it makes way."""
    history = History(relayed)
    history.wait_for_puts(50)
    away: list[float] = []
    for _ in range(3):
        old = relayed.wait_for_leader()
        began = time.monotonic()
        for relay in relayed.links_of(old):
            relay.hold(*directions)
        relayed.wait_for_leader(old)
        history.wait_for_puts(50)
        away.append(history.account.seconds_away(began))
        for relay in relayed.links_of(old):
            relay.mend()
        relayed.wait_until_in_sync(3)
    history.finish()
    history.check()
    report(f"links held in {len(directions)} direction(s)", away, history)


def test_links_flap(relayed: ReplicaGroup) -> None:
    chance = random.Random(7)
    history = History(relayed)
    history.wait_for_puts(50)
    began = time.monotonic()
    end = began + 30.0
    while time.monotonic() < end:
        relay = chance.choice(list(relayed.relays.values()))
        relay.cut()
        time.sleep(chance.uniform(0.0, 0.5))
        relay.mend()
    history.wait_for_puts(50)
    relayed.wait_until_in_sync(3)
    history.finish()
    history.check()
    report("links that flap for 30 s", [history.account.seconds_away(began)], history)


def test_a_member_of_an_etcd_cluster_dies(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With two of three members everything goes on, a failover included; each member dies once."""
    cluster = EtcdCluster(tmp_path_factory.mktemp("etcd"))
    group = started(tmp_path, cluster.endpoints)
    try:
        group.prepare()
        group.wait_until_in_sync(3)
        history = History(group)
        history.wait_for_puts(50)
        for name in cluster.names:
            cluster.kill(name)
            leader = group.wait_for_leader()
            group.kill(leader)
            group.wait_for_leader(leader)
            history.wait_for_puts(50)
            group.start(leader)
            group.wait_until_in_sync(3)
            cluster.start(name)
            time.sleep(1.0)  # it catches up
        history.finish()
        history.check()
    finally:
        group.close()
        cluster.close()


def test_a_sleeping_etcd_and_a_killed_leader(group: ReplicaGroup, etcd: EtcdServer) -> None:
    """Nobody can be elected while the arbiter is away; then somebody is, with everything."""
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    etcd.signal(signal.SIGSTOP)
    group.kill(leader)
    time.sleep(2 * LEASE_SECONDS)
    assert group.leader() == ""
    etcd.signal(signal.SIGCONT)
    group.wait_for_leader(leader)
    history.wait_for_puts(50)
    group.start(leader)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
