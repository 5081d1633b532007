"""Failovers in a row, and faults in combination, with real processes and a real etcd: nothing lost, nothing twice."""

from __future__ import annotations

import random
import signal
import statistics
import time
from collections.abc import Iterator
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
ROUNDS = 12


@pytest.fixture
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path_factory.mktemp("etcd"))
    yield server
    server.close()


def started(tmp_path: Path, endpoints: str, is_relayed: bool = False) -> ReplicaGroup:
    arbiter = f"   Type=Etcd\n   Endpoints={endpoints}\n"
    group = ReplicaGroup(tmp_path, arbiter=arbiter, lease_seconds=LEASE_SECONDS, is_relayed=is_relayed)
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


@pytest.mark.parametrize("is_orderly", [False, True], ids=["kill -9", "endmqm -s"])
def test_fifty_failovers_in_a_row(group: ReplicaGroup, is_orderly: bool) -> None:
    history = History(group, putters=6, getters=4)
    history.wait_for_puts(100)
    away: list[float] = []
    for _ in range(FAILOVERS):
        leader = group.wait_for_leader()
        began = time.monotonic()
        if is_orderly:
            group.end(leader, switch_over=True)
        else:
            group.kill(leader)
        group.wait_for_leader(leader)
        history.wait_for_puts(50)
        away.append(history.account.seconds_away(began))
        group.start(leader)
        group.wait_until_in_sync(3)
        history.wait_for_puts(50)
    history.finish()
    history.check()
    report("endmqm -s" if is_orderly else "kill -9", away, history)
    assert max(away) < (SWITCH_SECONDS_MAX if is_orderly else AWAY_SECONDS_MAX)
    assert "base" not in group.describe(), "an instance needed a base"


def test_deaths_in_combination(group: ReplicaGroup, etcd: EtcdServer) -> None:
    """Any of the three instances and etcd die together, and come back in any order."""
    chance = random.Random(18)
    history = History(group)
    for _ in range(ROUNDS):
        victims = chance.sample([*group.instances, "etcd"], chance.randint(1, 4))
        for each in victims:
            etcd.kill() if each == "etcd" else group.kill(each)
        time.sleep(chance.uniform(0.0, 2 * LEASE_SECONDS))
        chance.shuffle(victims)
        for each in victims:
            etcd.start() if each == "etcd" else group.start(each)
            time.sleep(chance.uniform(0.0, 0.5))
        history.wait_for_puts(50)
        group.wait_until_in_sync(3)
    history.finish()
    history.check()


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


def test_leaders_sleep_beyond_their_lease(group: ReplicaGroup) -> None:
    history = History(group)
    history.wait_for_puts(50)
    for _ in range(5):
        old = group.wait_for_leader()
        group.pause(old)
        group.wait_for_leader(old)
        # Its clients still wait for it: the system keeps the connections of a process that stands still.
        group.resume(old)
        history.wait_for_puts(50)
        group.wait_until_in_sync(3)
    history.finish()
    history.check()


@pytest.mark.parametrize("directions", [(FORWARD,), (BACK,), (FORWARD, BACK)], ids=["forward", "back", "both"])
def test_links_of_the_leader_lose_everything(relayed: ReplicaGroup, directions: tuple[int, ...]) -> None:
    """The leader reaches etcd, but its copies do not hear it, or it does not hear them: it makes way."""
    history = History(relayed)
    history.wait_for_puts(50)
    for _ in range(3):
        old = relayed.wait_for_leader()
        for relay in relayed.links_of(old):
            relay.hold(*directions)
        relayed.wait_for_leader(old)
        for relay in relayed.links_of(old):
            relay.mend()
        history.wait_for_puts(50)
        relayed.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_links_flap(relayed: ReplicaGroup) -> None:
    chance = random.Random(7)
    history = History(relayed)
    history.wait_for_puts(50)
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        relay = chance.choice(list(relayed.relays.values()))
        relay.cut()
        time.sleep(chance.uniform(0.0, 0.5))
        relay.mend()
    history.wait_for_puts(50)
    relayed.wait_until_in_sync(3)
    history.finish()
    history.check()


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
