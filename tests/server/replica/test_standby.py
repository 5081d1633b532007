"""A copy that follows: what it loads of its own files."""

from __future__ import annotations

from pathlib import Path

import ostler
from ostler.client.locate import registry
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.queue_manager import QueueManager, create_queue_manager

QUEUE = "KEPT"


def test_restores_no_nonpersistent_messages_of_an_orderly_end(tmp_path: Path) -> None:
    """They are in no log: the leader of the next life does not have them."""
    directory = create_queue_manager(tmp_path, "QM1")
    manager = QueueManager(directory)
    manager.start()
    registry.register(manager)
    manager.define(new_definition(ObjectType.QLOCAL, QUEUE, {"NPMCLASS": 10}))  # MQNPM_CLASS_HIGH
    with ostler.connect("QM1") as connection, connection.open(QUEUE) as queue:
        queue.put(b"not logged", persistent=False)
        queue.put(b"logged", persistent=True)
    manager.end("quiesce")
    again = QueueManager(directory)
    again.start()
    assert again.engine.queues[QUEUE].depth == 2
    again.end("quiesce")
    follower = QueueManager(directory)
    standby = follower.open_standby(8)
    assert standby.engine.queues[QUEUE].depth == 1
    follower.close_standby(standby)
