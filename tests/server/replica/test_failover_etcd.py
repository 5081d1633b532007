"""Real instances with a real etcd: it stops, it dies with copies, and the files of yesterday come back."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.replica_group import NAME, History, ReplicaGroup, wait_until

from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings

pytestmark = pytest.mark.slow

LEASE_SECONDS = 5
QUIET_SECONDS = 1.0


@pytest.fixture
def group(tmp_path: Path, own_etcd: EtcdServer) -> Iterator[ReplicaGroup]:
    arbiter = f"   Type=Etcd\n   Endpoints={own_etcd.endpoint}\n"
    made = ReplicaGroup(tmp_path, arbiter=arbiter, lease_seconds=LEASE_SECONDS)
    made.start()
    made.prepare()
    made.wait_until_in_sync(3)
    yield made
    made.close()


def test_nothing_stops_while_etcd_is_away_and_the_leader_dies_later(group: ReplicaGroup, own_etcd: EtcdServer) -> None:
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    gone_at = time.monotonic()
    own_etcd.signal(signal.SIGSTOP)
    history.wait_for_puts(50, gone_at + 2 * LEASE_SECONDS)
    own_etcd.signal(signal.SIGCONT)
    history.wait_for_puts(50)
    assert group.wait_for_leader() == leader
    for each in group.instances:
        assert "does not lead any more" not in group.error_text(each), "applications had to wait"
    group.kill(leader)
    history.wait_for_puts(50, time.monotonic() + 0.5)
    group.start(leader)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_a_process_that_is_killed_does_not_cost_its_lease(tmp_path: Path, own_etcd: EtcdServer) -> None:
    arbiter = f"   Type=Etcd\n   Endpoints={own_etcd.endpoint}\n"
    group = ReplicaGroup(tmp_path, arbiter=arbiter, lease_seconds=600)
    try:
        group.start()
        group.prepare()
        group.wait_until_in_sync(3)
        history = History(group)
        for _ in range(2):
            history.wait_for_puts(50)
            leader = group.wait_for_leader()
            group.kill(leader)
            assert group.wait_for_leader(leader) != leader
            history.wait_for_puts(50)
            group.start(leader)
            group.wait_until_in_sync(3)
        history.finish()
        history.check()
    finally:
        group.close()


def test_replies_are_held_without_etcd_and_copies(group: ReplicaGroup, own_etcd: EtcdServer) -> None:
    """etcd and both followers are killed: nothing is acknowledged until enough copies are back."""
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    own_etcd.kill()
    for each in group.followers(leader):
        group.kill(each)
    # What was acknowledged until now is on the disks of two. Answers may still be on their way.
    wait_until(
        lambda: history.account.puts_since(time.monotonic() - QUIET_SECONDS) == 0,
        lambda: f"puts are acknowledged without a second copy:\n{group.describe()}",
    )
    held_at = time.monotonic()
    time.sleep(LEASE_SECONDS)
    assert history.account.puts_since(held_at) == 0
    own_etcd.start()
    group.start(*group.followers(leader))
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def own_mark(etcd: EtcdServer, instance: str) -> tuple[int, int]:
    """Return how far the log of an instance goes, as it has told the arbiter."""
    arbiter = EtcdArbiter(EtcdSettings((etcd.endpoint,)), NAME, NAME)
    try:
        mark = arbiter.read().marks[instance]
        return mark.epoch, mark.end_lsn
    finally:
        arbiter.close()


def test_an_old_backup_takes_no_part(group: ReplicaGroup, own_etcd: EtcdServer, tmp_path: Path) -> None:
    """The files of a follower are replaced by older ones of the same life, and all instances die."""
    leader = group.wait_for_leader()
    other, stale = group.followers(leader)
    group.kill(stale)
    backup = tmp_path / "backup"
    shutil.copytree(group.root / stale, backup, ignore=shutil.ignore_patterns("run"))
    group.start(stale)
    group.wait_until_in_sync(3)
    told = own_mark(own_etcd, stale)
    history = History(group)
    history.wait_for_puts(50)
    wait_until(
        lambda: own_mark(own_etcd, stale) > told,
        lambda: f"{stale} does not tell the arbiter how far its log goes:\n{group.describe()}",
    )
    for each in group.instances:
        group.kill(each)
    shutil.rmtree(group.root / stale)
    shutil.copytree(backup, group.root / stale)
    group.start(stale, other)
    group.wait_for_text(stale, "takes no part in the election", "an old copy?")
    assert group.leader() == ""
    group.start(leader)
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
