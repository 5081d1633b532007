"""Real instances whose storage fails at one copy: its fsync, or its space. Nothing acknowledged is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.failing_storage import FORCE, SPACE, FailingStorage
from tests.world.replica.replica_group import History, ReplicaGroup, wait_until

from ostler.model import constants as mq
from ostler.model.errors import MQError

pytestmark = pytest.mark.slow

LEASE_SECONDS = 5
PATIENCE_SECONDS = 150.0


class Trial:
    """A group with load, each of its instances with storage that can fail."""

    def __init__(self, directory: Path, etcd: EtcdServer) -> None:
        arbiter = f"   Type=Etcd\n   Endpoints={etcd.endpoint}\n"
        self.group = ReplicaGroup(directory, arbiter=arbiter, lease_seconds=LEASE_SECONDS)
        self.storage = {each: FailingStorage(directory, directory / each) for each in self.group.instances}
        for name, storage in self.storage.items():
            self.group.environments[name] = storage.environment
        self.group.start()
        self.group.prepare()
        self.group.wait_until_in_sync(3)
        self.history = History(self.group)
        self.history.wait_for_puts(100)
        self.leader = self.group.wait_for_leader()
        self.follower = self.group.followers(self.leader)[0]

    def finish(self, what: str, began: float) -> None:
        """All is well again: check what the applications were told."""
        self.group.wait_until_in_sync(3)
        self.history.wait_for_puts(50)
        self.history.finish()
        self.history.check()
        account = self.history.account
        print(
            f"\n{what}: {account.seconds_away(began):.2f} s without an acknowledged put; {account.puts} puts and "
            f"{account.gets} gets acknowledged, {account.doubtful} in doubt, none lost, none doubled"
        )


@pytest.fixture
def trial(tmp_path: Path, own_etcd: EtcdServer) -> Iterator[Trial]:
    made = Trial(tmp_path, own_etcd)
    yield made
    made.group.close()


def test_a_force_fails_at_a_follower(trial: Trial) -> None:
    """Nobody knows what is on its disk: it ends, and comes back with what it had."""
    began = time.monotonic()
    trial.storage[trial.follower].fail(FORCE)
    assert trial.group.wait_for_end(trial.follower) != 0
    trial.history.wait_for_puts(100)
    trial.group.wait_for_text(trial.follower, "AMQ7017S")
    assert trial.group.wait_for_leader() == trial.leader
    trial.storage[trial.follower].mend()
    trial.group.start(trial.follower)
    trial.finish("A force fails at a follower", began)


def test_a_force_fails_at_the_leader(trial: Trial) -> None:
    began = time.monotonic()
    trial.storage[trial.leader].fail(FORCE)
    assert trial.group.wait_for_end(trial.leader) != 0
    trial.history.wait_for_puts(100)
    trial.group.wait_for_text(trial.leader, "AMQ7017S")
    elected = trial.group.wait_for_leader(trial.leader)
    # It did not let the others wait for its lease. The one that was elected may be busy with that, and not write it.
    (other,) = (each for each in trial.group.instances if each not in (trial.leader, elected))
    trial.group.wait_for_text(other, "said farewell: its storage failed")
    trial.storage[trial.leader].mend()
    trial.group.start(trial.leader)
    trial.finish("A force fails at the leader", began)


def in_sync(group: ReplicaGroup, instance: str) -> bool:
    status = group.status(group.leader() or instance)
    return status is not None and any(each.name == instance and each.is_in_sync for each in status.instances)


def put_much(trial: Trial, megabytes: int) -> None:
    """Put what no extent that exists has space for."""
    with trial.group.connect_to() as connection, connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", "w") as queue:
        for _ in range(megabytes):
            queue.put(bytes(1 << 20), persistent=True)


def test_the_disk_is_full_at_a_follower(trial: Trial) -> None:
    """It leaves the set, and comes back when there is space. Applications do not notice."""
    began = time.monotonic()
    trial.storage[trial.follower].fail(SPACE)
    put_much(trial, 10)
    wait_until(
        lambda: not in_sync(trial.group, trial.follower),
        lambda: f"{trial.follower} is in sync with a full disk:\n{trial.group.describe()}",
    )
    trial.history.wait_for_puts(100)
    assert trial.group.wait_for_leader() == trial.leader
    trial.storage[trial.follower].mend()
    trial.finish("The disk of a follower is full", began)


def test_the_disk_is_full_at_the_leader(trial: Trial) -> None:
    """Applications are refused, and are told why. Then it makes way for an instance that has space."""
    began = time.monotonic()
    trial.storage[trial.leader].fail(SPACE)
    reasons: list[int] = []
    while trial.group.leader() in ("", trial.leader):
        try:
            put_much(trial, 10)
        except MQError as error:
            reasons.append(error.reason)
        assert time.monotonic() < began + PATIENCE_SECONDS, f"nobody else leads: {reasons}\n{trial.group.describe()}"
    assert mq.MQRC_Q_SPACE_NOT_AVAILABLE in reasons
    trial.history.wait_for_puts(100)
    trial.storage[trial.leader].mend()
    trial.finish("The disk of the leader is full", began)
