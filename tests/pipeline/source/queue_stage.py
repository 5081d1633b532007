"""Common parts of the tests of queues in Spark: the place of the queue manager, and the contents of its queues."""

from __future__ import annotations

from typing import Any

from ostler.testing import RunningQueueManager


def options(qm: RunningQueueManager, **more: str) -> dict[str, str]:
    """The options that lead to a queue manager, and more."""
    return {"queueManager": qm.name, "host": qm.host, "port": str(qm.port), "channel": qm.channel, **more}


def texts(qm: RunningQueueManager, queue: str) -> list[str]:
    return [message.text for message in qm.browse(queue)]


def put_all(qm: RunningQueueManager, queue: str, bodies: list[str], **fields: Any) -> None:
    with qm.connect() as connection, connection.open(queue, "w") as opened:
        for body in bodies:
            opened.put(body, **fields)
