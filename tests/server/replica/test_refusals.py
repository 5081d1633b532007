"""Who does not belong to a group of real instances: it is refused, both sides are told, and the group goes on."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.world.replica.replica_group import History, ReplicaGroup, certify

from ostler.model.replication import InstanceRole
from ostler.server.replica.certificates import make_authority
from ostler.server.tls.certificate_maker import Authority

pytestmark = pytest.mark.slow


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "ca", "north")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def group(tmp_path: Path, authority: Authority, stack: ExitStack) -> ReplicaGroup:
    """Three secured instances in sync."""
    made = ReplicaGroup(tmp_path / "north", authority=authority)
    stack.callback(made.close)
    made.start()
    made.prepare()
    made.wait_until_in_sync(3)
    return made


def finish(group: ReplicaGroup, history: History) -> None:
    """The group works with all its instances, and nothing was lost."""
    group.wait_until_in_sync(3)
    history.wait_for_puts(20)
    history.finish()
    history.check()


def test_a_certificate_of_another_authority(group: ReplicaGroup, authority: Authority, tmp_path: Path) -> None:
    history = History(group)
    leader = group.wait_for_leader()
    wrong = group.followers(leader)[0]
    group.end(wrong)
    certify(make_authority(tmp_path / "other" / "ca", "north"), group.directory(wrong), wrong)
    group.start(wrong)
    group.wait_for_text(leader, "AMQ3230E", f"instance {wrong} at 127.0.0.1", "is not accepted")
    group.wait_for_text(wrong, "AMQ3230E", "127.0.0.1(")
    history.wait_for_puts(20)
    assert group.wait_for_leader() == leader
    group.end(wrong)
    certify(authority, group.directory(wrong), wrong)
    group.start(wrong)
    finish(group, history)


def test_the_certificate_of_another_instance(group: ReplicaGroup, authority: Authority) -> None:
    """It is of the group's authority, but the name in it is not that of the instance."""
    history = History(group)
    leader = group.wait_for_leader()
    wrong, other = group.followers(leader)
    group.end(wrong)
    repository = group.directory(wrong).path / "ha"
    for ending in (".crt", ".key"):
        shutil.copy(group.directory(other).path / "ha" / f"{other}{ending}", repository / f"{wrong}{ending}")
    group.start(wrong)
    group.wait_for_text(leader, "AMQ3230E", f"instance {wrong} at 127.0.0.1", f"is that of {other}, not of {wrong}")
    group.wait_for_text(wrong, "AMQ32", "127.0.0.1(")
    history.wait_for_puts(20)
    group.end(wrong)
    certify(authority, group.directory(wrong), wrong)
    group.start(wrong)
    finish(group, history)


@pytest.mark.parametrize("has_own_authority", [True, False])
def test_an_instance_of_another_queue_manager(
    group: ReplicaGroup, authority: Authority, stack: ExitStack, tmp_path: Path, has_own_authority: bool
) -> None:
    """The leader of another queue manager has the address of an instance here in its qm.ini.

    Its certificates are those of its own group, or of the same machines: then only the names tell.
    """
    history = History(group)
    leader = group.wait_for_leader()
    follower = group.followers(leader)[0]
    theirs = make_authority(tmp_path / "south-ca", "south") if has_own_authority else authority
    other = ReplicaGroup(tmp_path / "south", instances=f"{leader}{follower}", authority=theirs, name="QM2")
    stack.callback(other.close)
    other.connect_through(leader, follower, group.replication_ports[follower])
    other.start(leader)
    number = "AMQ3230E" if has_own_authority else "AMQ3280W"
    reason = "" if has_own_authority else "This is QM1 of group QM1, not QM2 of QM2."
    group.wait_for_text(follower, number, "127.0.0.1(", reason)
    if has_own_authority:
        other.wait_for_text(leader, "AMQ3230E", f"instance {follower} at 127.0.0.1")
    else:
        other.wait_for_text(leader, "AMQ3208E", f"Instance {follower}", reason)
    history.wait_for_puts(20)
    assert group.wait_for_leader() == leader
    finish(group, history)


def test_a_leader_of_an_old_term(group: ReplicaGroup) -> None:
    """It was asleep, and hears of the new term from a follower, because the arbiter does not answer it."""
    history = History(group)
    history.wait_for_puts(20)
    old = group.wait_for_leader()
    group.pause(old)
    new = group.wait_for_leader(old)
    follower = next(each for each in group.instances if each not in (old, new))
    group.wait_for_text(follower, "AMQ3213I", f"Instance {new} at")
    with open(group.root / "arbiter" / "QM1" / "QM1" / "lock", "rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        group.resume(old)
        group.wait_for_text(follower, "AMQ3280W", "is over", f"{follower} has promised to hear none before")
        group.wait_for_text(old, "AMQ3270I", "does not lead any more", "a follower has heard term")
    finish(group, history)
    group.wait_for_role_of(old, InstanceRole.REPLICA)


def test_two_instances_with_one_name(group: ReplicaGroup, stack: ExitStack, tmp_path: Path) -> None:
    """A copy of an instance's directory, as of a machine that was cloned, is started beside it."""
    history = History(group)
    leader = group.wait_for_leader()
    follower = group.followers(leader)[0]
    group.end(follower)
    clone = group.clone(follower, tmp_path / "clones")
    stack.callback(clone.close)
    group.start(follower)
    group.wait_until_in_sync(3)
    clone.start(follower)
    clone.wait_for_text(follower, "AMQ3296E", f"registered at the arbiter as instance {follower}")
    group.wait_for_text(follower, "AMQ3297W", f"asked for the name of instance {follower}")
    # The clone helps nobody to be elected.
    group.kill(leader)
    group.wait_for_leader(leader)
    history.wait_for_puts(20)
    group.start(leader)
    finish(group, history)
    clone.wait_for_role_of(follower, InstanceRole.REPLICA)
