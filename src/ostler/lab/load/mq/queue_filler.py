"""Messages by the hundred thousand: an application inside the queue manager's process that puts them on a queue.

Nothing of it is measured: it is what a queue holds before somebody does something with it.
"""

from __future__ import annotations

from typing import Final

import ostler

FILL: Final = f"{__name__}:fill"
"""What the queue manager is to call."""
PROPERTY: Final = "k"
_VALUES: Final = 10


def fill(manager: str, queue: str, count: str, message_bytes: str, has_property: str = "") -> int:
    """In the process of the queue manager: put so many nonpersistent messages.

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
