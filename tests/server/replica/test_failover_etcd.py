"""Real instances with a real etcd: it stops, it dies with copies, and the files of yesterday come back."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.replica_group import History, ReplicaGroup, wait_until

pytestmark = pytest.mark.slow

LEASE_SECONDS = 2


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
    assert history.account.seconds_away(gone_at) < LEASE_SECONDS, "applications had to wait"
    group.kill(leader)
    history.wait_for_puts(50, time.monotonic() + 0.5)
    group.start(leader)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_replies_are_held_without_etcd_and_copies(group: ReplicaGroup, own_etcd: EtcdServer) -> None:
    """etcd and both followers are killed: nothing is acknowledged until enough copies are back."""
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    own_etcd.kill()
    for each in group.followers(leader):
        group.kill(each)
    # What was acknowledged until now is on the disks of two. An answer may still be on its way.
    time.sleep(0.2)
    held_at = time.monotonic()
    time.sleep(LEASE_SECONDS)
    assert history.account.puts_since(held_at) == 0
    own_etcd.start()
    group.start(*group.followers(leader))
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_an_old_backup_takes_no_part(group: ReplicaGroup, tmp_path: Path) -> None:
    """The files of a follower are replaced by older ones of the same life, and all instances die."""
    leader = group.wait_for_leader()
    other, stale = group.followers(leader)
    group.kill(stale)
    backup = tmp_path / "backup"
    shutil.copytree(group.root / stale, backup, ignore=shutil.ignore_patterns("run"))
    group.start(stale)
    group.wait_until_in_sync(3)
    history = History(group)
    # Longer than an instance takes to tell the arbiter how far its log goes.
    history.wait_for_puts(50, time.monotonic() + 6.0)
    for each in group.instances:
        group.kill(each)
    shutil.rmtree(group.root / stale)
    shutil.copytree(backup, group.root / stale)
    group.start(stale, other)
    wait_until(
        lambda: "takes no part in the election" in group.describe(), lambda: f"nobody abstains:\n{group.describe()}"
    )
    assert "an old copy?" in group.describe()
    assert group.leader() == ""
    group.start(leader)
    history.wait_for_puts(50)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
