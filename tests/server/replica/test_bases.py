"""Real instances that take a base: the leader works on, nothing acknowledged is lost, and the old copy is set aside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import History, ReplicaGroup, wait_until

from ostler.client.link.control import control

pytestmark = pytest.mark.slow

_MESSAGE = bytes(500_000)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ReplicaGroup]:
    made = ReplicaGroup(tmp_path)
    made.start()
    yield made
    made.close()


def wait_for_text(group: ReplicaGroup, instance: str, text: str, times: int = 1) -> None:
    wait_until(
        lambda: group.error_text(instance).count(text) >= times,
        lambda: f"{instance} has not written {text} {times} times:\n{group.describe()}",
    )


def flip_bit(path: Path, offset: int) -> None:
    """Change one byte in place: a process may write to the others meanwhile."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes((byte ^ 1,)))


def spoil_log(directory: Path) -> None:
    """Flip a bit of a block in the middle of what is written in the newest extent."""
    for path in sorted((directory / "log" / "active").glob("S*.LOG"), reverse=True):
        data = path.read_bytes()
        blocks = [at for at in range(4096, len(data), 4096) if data[at : at + 4] == b"OLB1"]
        if len(blocks) > 4:
            flip_bit(path, blocks[len(blocks) // 2] + 60)
            return
    raise AssertionError("hardly anything is written in any extent")


def test_a_follower_whose_log_is_gone_takes_a_base_under_load(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    away = next(each for each in group.instances if each != leader)
    group.kill(away)
    with group.connect_to() as connection, connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", "w") as queue:
        for _ in range(50):
            queue.put(_MESSAGE, persistent=True)
    # From now on media recovery needs no older log. The images are five times as long as the log.
    list(control(group.directory(leader), "record_image", type="all", name="*"))
    history = History(group)
    history.wait_for_puts(20)
    group.start(away)
    wait_for_text(group, away, "AMQ3238I", 1 if away == "a" else 2)
    group.wait_until_in_sync(3)
    history.wait_for_puts(20)
    group.kill(leader)
    others = [each for each in group.instances if each not in (leader, away)]
    group.wait_for_leader(leader)
    history.wait_for_puts(20)
    group.start(leader)
    group.wait_until_in_sync(3)
    # What the base brought must do alone, together with an instance that has followed it.
    for each in others:
        group.kill(each)
    history.wait_for_puts(20)
    history.finish()
    history.check()
    with group.connect_to() as connection, connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", "r") as queue:
        for _ in range(50):
            message = queue.get(wait=30)
            assert message is not None
            assert message.data == _MESSAGE
    assert (group.directory(away).path / "aside+1" / "objects").exists()


def test_a_leader_whose_log_is_unreadable_becomes_a_follower(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    history = History(group, putters=1, getters=1)
    history.wait_for_puts(100)
    leader = group.wait_for_leader()
    group.kill(leader)
    spoil_log(group.directory(leader).path)
    group.wait_for_leader(leader)
    history.wait_for_puts(20)
    group.start(leader)
    wait_for_text(group, leader, "AMQ3291W")
    wait_for_text(group, leader, "AMQ3238I", 1 if leader == "a" else 2)
    group.wait_until_in_sync(3)
    history.finish()
    history.check()
    assert (group.directory(leader).path / "log+1" / "amqhlctl.lfh").exists()
