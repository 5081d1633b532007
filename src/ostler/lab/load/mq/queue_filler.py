"""An application inside the queue manager's process that puts hundreds of thousands of messages on a queue.

It is not measured: it fills a queue before a measurement.
"""

from __future__ import annotations

from typing import Final

import ostler

FILL: Final = f"{__name__}:fill"
"""The function that the queue manager calls."""
PROPERTY: Final = "k"
_VALUES: Final = 10


def fill(manager: str, queue: str, count: str, message_bytes: str, has_property: str = "") -> int:
    """Run in the process of the queue manager: put this many nonpersistent messages.

    With a property each has the number `k`, from 0 to 9 in turn.
    """
    body = bytes(int(message_bytes))
    with ostler.connect(manager) as connection, connection.open(queue, "w") as target:
        for number in range(int(count)):
            if has_property:
                target.put(body, persistent=False, properties={PROPERTY: number % _VALUES})
            else:
                target.put(body, persistent=False)
    return 0
