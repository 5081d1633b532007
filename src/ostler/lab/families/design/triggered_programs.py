"""The programs of triggered sessions, each a process of its own: the trigger monitor, and the application it starts.

    python -m ostler.lab.families.design.triggered_programs monitor DATA MANAGER
    python -m ostler.lab.families.design.triggered_programs MQTMC2

The monitor answers every line of its input with the number of applications started and the processor time that all of
them have used, in nanoseconds, and ends with its input. The application finds its queue manager by OSTLER_DATA, as any
other program, and its queue and disconnect interval in the structure that trigger monitors pass on.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from ostler.client.api.connection import Connection, connect
from ostler.client.api.queue import Queue
from ostler.client.api.trigger_monitor import TriggerMonitor
from ostler.lab.common.processor_time import process_ns
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.headers import MQTMC2
from ostler.model.structures.layout import trim

INITIATION_QUEUE: Final = "TRIGGER.INITQ"
"""Not one of the queues whose counts are compared with those of the drivers."""
PROCESS: Final = "TRIGGERED.SESSION"
DATA_VARIABLE: Final = "OSTLER_DATA"
READY: Final = "ready"
_APPLICATION: Final = "ostler-lab-triggered"
_ENDINGS: Final = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_CONNECTION_QUIESCING,
    mq.MQRC_Q_MGR_NOT_AVAILABLE,
    mq.MQRC_Q_MGR_QUIESCING,
    mq.MQRC_Q_MGR_STOPPING,
)


def monitor(data: str, manager: str) -> int:
    """Serve the initiation queue until the input ends."""
    os.environ[DATA_VARIABLE] = data
    serving = TriggerMonitor(manager, INITIATION_QUEUE)
    serving.start()
    try:
        print(READY, flush=True)
        for _ in sys.stdin:
            print(serving.started, _used_ns(), flush=True)
    finally:
        serving.stop()
    return 0


def _used_ns() -> int:
    """Return the processor time of all children: of those that have ended, and of those that run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = round((ended.ru_utime + ended.ru_stime) * 1e9)
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            # It may have ended meanwhile.
            with suppress(OSError):
                total += process_ns(int(pid))
    return total


def application(structure: bytes) -> int:
    """Answer requests until none has come for the disconnect interval, which is the user data of the process, or until
    the queue manager ends."""

    def text(name: str) -> str:
        return trim(MQTMC2.read_bytes(structure, name)).decode()

    wait_seconds = int(text("UserData")) / 1000
    try:
        with connect(text("QMgrName"), application=_APPLICATION, binding="local") as connection:
            _answer(connection, text("QName"), wait_seconds)
    except MQError as error:
        # The queue manager of a measured step ends while applications with a long interval still wait.
        if error.reason not in _ENDINGS:
            raise
    return 0


def _answer(connection: Connection, queue_name: str, wait_seconds: float) -> None:
    replies: dict[str, Queue] = {}
    with connection.open(queue_name, "s") as requests:
        while (request := requests.get(wait=wait_seconds)) is not None:
            queue = request.reply_to
            if queue not in replies:
                replies[queue] = connection.open(queue, "w")
            replies[queue].put(request.data, correlation_id=request.message_id, persistent=request.persistent)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["monitor"]:
        return monitor(*arguments[1:])
    return application(os.fsencode(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
