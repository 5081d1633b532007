"""Real instances with flipped bits at one copy: the others have what is lost, and it is brought from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.replica.test_bases import flip_bit, group, spoil_log, wait_for_text
from tests.world.replica.replica_group import QUEUE, ReplicaGroup, wait_until

pytestmark = pytest.mark.slow

_COUNT = 40
assert group  # a fixture


def bodies() -> list[bytes]:
    return [f"{number:08d}".encode() * 6000 for number in range(_COUNT)]


def spoil_messages(directory: Path) -> None:
    """Flip a bit of a message in the file of the queue."""
    (path,) = directory.glob(f"queues/*{QUEUE}*/messages")
    flip_bit(path, 100_000)


def has_messages_on_disk(directory: Path) -> bool:
    return any(path.stat().st_size > 200_000 for path in directory.glob(f"queues/*{QUEUE}*/messages"))


def test_damage_at_one_copy_is_repaired_from_another(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    follower = next(each for each in group.instances if each != leader)
    with group.connect_to() as connection, connection.open(QUEUE, "w") as queue:
        for each in bodies():
            queue.put(each, persistent=True)
    for each in (leader, follower):
        path = group.directory(each).path
        wait_until(lambda path=path: has_messages_on_disk(path), lambda: f"nothing is in the file:\n{group.describe()}")  # type: ignore[misc]
    # At the follower it is found by scrubbing.
    spoil_messages(group.directory(follower).path)
    wait_for_text(group, follower, "AMQ3293I: Damage was repaired: message")
    spoil_log(group.directory(follower).path)
    wait_for_text(group, follower, "AMQ3293I: Damage was repaired: the log")
    # At the leader it is found by an application, which notices nothing.
    spoil_messages(group.directory(leader).path)
    with group.connect_to() as connection, connection.open(QUEUE, "r") as queue:
        got = [queue.get(wait=30) for _ in range(_COUNT)]
    assert [message.data if message is not None else b"" for message in got] == bodies()
    wait_for_text(group, leader, "AMQ3293I")
    # The repaired copy is as good as the others.
    assert "AMQ3291W" not in group.error_text(follower)


def test_damage_at_the_leader_is_found_without_an_application(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    path = group.directory(leader).path
    with group.connect_to() as connection, connection.open(QUEUE, "w") as queue:
        for each in bodies():
            queue.put(each, persistent=True)
    wait_until(lambda: has_messages_on_disk(path), lambda: f"nothing is in the file:\n{group.describe()}")
    spoil_messages(path)
    wait_for_text(group, leader, "AMQ3293I: Damage was repaired: message")
    spoil_log(path)
    wait_for_text(group, leader, "AMQ3293I: Damage was repaired: the log")
    assert "AMQ3301W" not in group.error_text(leader)
    # It starts with what it has, and takes no base.
    group.kill(leader)
    group.wait_for_leader(leader)
    group.start(leader)
    group.wait_until_in_sync(3)
    assert "AMQ3291W" not in group.error_text(leader)
    with group.connect_to() as connection, connection.open(QUEUE, "r") as queue:
        got = [queue.get(wait=30) for _ in range(_COUNT)]
    assert [message.data if message is not None else b"" for message in got] == bodies()


def test_damage_at_the_leader_that_nobody_can_repair_is_told(group: ReplicaGroup) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    path = group.directory(leader).path
    with group.connect_to() as connection, connection.open(QUEUE, "w") as queue:
        for each in bodies():
            queue.put(each, persistent=True)
    wait_until(lambda: has_messages_on_disk(path), lambda: f"nothing is in the file:\n{group.describe()}")
    for each in group.followers(leader):
        group.kill(each)
    spoil_messages(path)
    group.wait_for_text(leader, "AMQ3301W", f"of queue {QUEUE}")
    # They come back, and it is repaired.
    group.start(*group.followers(leader))
    wait_for_text(group, leader, "AMQ3293I: Damage was repaired: message")
