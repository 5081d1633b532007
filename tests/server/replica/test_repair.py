"""Real instances with flipped bits at one copy: the others have what is lost, and it is brought from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.replica.test_bases import group, spoil_log, wait_for_text
from tests.world.replica.replica_group import QUEUE, ReplicaGroup, wait_until

pytestmark = pytest.mark.slow

_COUNT = 40
assert group  # a fixture


def bodies() -> list[bytes]:
    return [f"{number:08d}".encode() * 6000 for number in range(_COUNT)]


def spoil_messages(directory: Path) -> None:
    """Flip a bit of a message in the file of the queue."""
    (path,) = directory.glob(f"queues/*{QUEUE}*/messages")
    data = bytearray(path.read_bytes())
    data[100_000] ^= 1
    path.write_bytes(data)


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
        got = [queue.get(wait=5) for _ in range(_COUNT)]
    assert [message.data if message is not None else b"" for message in got] == bodies()
    assert "AMQ3293I" in group.error_text(leader)
    # The repaired copy is as good as the others.
    assert "AMQ3291W" not in group.error_text(follower)
