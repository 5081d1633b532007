"""Instances of different releases: each serves the other as both know, or refuses it with both numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import History, ReplicaGroup, wait_until

from ostler.cli.framework.flavour import is_compiled
from ostler.security.passwords import UserEntry
from ostler.server.replica.certificates import make_authority
from ostler.server.replica.side.places import read_set
from ostler.server.security.password_store import edit_passwords

pytestmark = pytest.mark.skipif(
    is_compiled(), reason="the constants of compiled modules cannot be changed for another release"
)

MakeGroup = Callable[..., ReplicaGroup]


@pytest.fixture
def make_group(tmp_path: Path) -> Iterator[MakeGroup]:
    made: list[ReplicaGroup] = []

    def make(instances: str, **releases: str) -> ReplicaGroup:
        """Make a group of secured instances that work; by name, those of another release."""
        group = ReplicaGroup(tmp_path / "group", instances, authority=make_authority(tmp_path / "ca", "north"))
        made.append(group)
        group.releases.update(releases)
        group.start()
        group.prepare()
        return group

    yield make
    for each in made:
        each.close()


def command(group: ReplicaGroup, instance: str, *arguments: str) -> str:
    """Run a command on the machine of an instance, and return what it prints."""
    environment = {**os.environ, "OSTLER_DATA": str(group.root / instance)}
    done = subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shows_all_in_sync(group: ReplicaGroup, instance: str) -> bool:
    return command(group, instance, "dspmq", "-o", "nativeha", "-x").count("INSYNC(yes)") == 4


def upgrade(group: ReplicaGroup, history: History, instance: str, *how_to_end: str) -> None:
    """Take the steps of the page High availability for one instance: end it, install, start it, wait."""
    command(group, instance, "endmqm", *how_to_end, "QM1")
    group.forget(instance)
    group.releases[instance] = "newer"
    group.start(instance)
    group.wait_until_in_sync(3)
    history.wait_for_puts(50)


def test_an_upgrade_goes_follower_first_and_loses_nothing(make_group: MakeGroup) -> None:
    group = make_group("abc")
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(50)
    leader = group.wait_for_leader()
    for each in group.followers(leader):
        wait_until(lambda: shows_all_in_sync(group, leader), lambda: f"dspmq shows less:\n{group.describe()}")
        upgrade(group, history, each, "-w")
        assert group.wait_for_leader() == leader, "a follower that is upgraded follows the older leader"
    upgrade(group, history, leader, "-s", "-w")
    group.wait_for_leader(leader)
    history.finish()
    history.check()


def test_a_follower_does_not_take_a_log_of_a_newer_format(make_group: MakeGroup) -> None:
    group = make_group("ab")
    group.wait_until_in_sync(2)
    history = History(group, putters=1, getters=1)
    history.wait_for_puts(20)
    group.end("a", switch_over=True)
    group.wait_for_leader("a")
    history.wait_for_puts(20)
    # The upgraded one leads: the other way round than it should be.
    group.end("b")
    group.releases["b"] = "newer"
    group.start("b")
    group.wait_for_leader("a")
    group.start("a")
    said = "The leader's log has format 2; this release reads up to 1."
    group.wait_for_text("a", "AMQ3280W", said)
    group.wait_for_text("b", "AMQ3208E", "Instance a cannot follow (refused)", said)
    history.wait_for_puts(20)
    group.end("a")
    group.releases["a"] = "newer"
    group.start("a")
    group.wait_until_in_sync(2)
    history.finish()
    history.check()


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_follower_does_not_take_frames_of_a_newer_version(make_group: MakeGroup, is_empty: bool) -> None:
    group = make_group("ab", **({"a": "strict"} if is_empty else {}))
    if not is_empty:
        group.wait_until_in_sync(2)
        group.end("b")
        group.wait_for_text("a", "AMQ3235I", "In sync are now a: b does not answer")
        group.end("a")
        group.releases["a"] = "strict"
        group.start("a")
        group.wait_for_leader("b")
        group.start("b")
    said = "The leader speaks version 4 between copies; this release up to 3."
    group.wait_for_text("b", "AMQ3280W", said)
    group.wait_for_text("a", "AMQ3208E", "Instance b cannot follow (refused)", said)


def test_an_older_follower_gets_what_it_knows(make_group: MakeGroup) -> None:
    group = make_group("abc", b="older")
    group.wait_until_in_sync(3)
    history = History(group)
    with edit_passwords(group.directory("a")) as passwords:
        passwords.set_user(UserEntry("app", None, ()))
    wait_until(
        lambda: read_set(group.directory("c"), "passwords") is not None, lambda: f"c has none:\n{group.describe()}"
    )
    history.wait_for_puts(100)
    assert read_set(group.directory("b"), "passwords") is None
    assert "unexpected frame" not in group.error_text("b")
    # And the other way round: it leads, and newer ones follow it.
    group.kill("a")
    group.kill("c")
    group.start("c")
    assert group.wait_for_leader("a") in "bc"
    history.wait_for_puts(50)
    group.start("a")
    group.wait_until_in_sync(3)
    history.finish()
    history.check()


def test_newer_followers_follow_an_older_leader(make_group: MakeGroup) -> None:
    group = make_group("abc", a="older", b="newer")
    group.wait_until_in_sync(3)
    history = History(group)
    history.wait_for_puts(100)
    assert group.wait_for_leader() == "a"
    group.kill("c")
    history.wait_for_puts(50)
    group.start("c")
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
