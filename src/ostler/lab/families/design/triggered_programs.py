"""The programs of triggered sessions, each a process of its own: the trigger monitor, and the application it starts.

    python -m ostler.lab.families.design.triggered_programs monitor DATA MANAGER
    python -m ostler.lab.families.design.triggered_programs MQTMC2

The monitor answers every line of its input with the number of applications started, and ends with its input. The
application finds its queue manager by OSTLER_DATA, as any other program, and its queue and disconnect interval in the
structure that trigger monitors pass on.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.trigger_monitor import TriggerMonitor
from ostler.model.structures.headers import MQTMC2
from ostler.model.structures.layout import trim

INITIATION_QUEUE: Final = "TRIGGER.INITQ"
"""Not one of the queues whose counts are compared with those of the drivers."""
PROCESS: Final = "TRIGGERED.SESSION"
DATA_VARIABLE: Final = "OSTLER_DATA"
READY: Final = "ready"
_APPLICATION: Final = "ostler-lab-triggered"


def monitor(data: str, manager: str) -> int:
    """Serve the initiation queue until the input ends."""
    os.environ[DATA_VARIABLE] = data
    serving = TriggerMonitor(manager, INITIATION_QUEUE)
    serving.start()
    try:
        print(READY, flush=True)
        for _ in sys.stdin:
            print(serving.started, flush=True)
    finally:
        serving.stop()
    return 0


def application(structure: bytes) -> int:
    """Answer requests until none has come for the disconnect interval, which is the user data of the process."""

    def text(name: str) -> str:
        return trim(MQTMC2.read_bytes(structure, name)).decode()

    wait_seconds = int(text("UserData")) / 1000
    with connect(text("QMgrName"), application=_APPLICATION, binding="local") as connection:
        replies = {}
        with connection.open(text("QName"), "s") as requests:
            while (request := requests.get(wait=wait_seconds)) is not None:
                queue = request.reply_to
                if queue not in replies:
                    replies[queue] = connection.open(queue, "w")
                replies[queue].put(request.data, correlation_id=request.message_id, persistent=request.persistent)
    return 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["monitor"]:
        return monitor(*arguments[1:])
    return application(os.fsencode(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
